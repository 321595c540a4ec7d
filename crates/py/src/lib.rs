//! The Python module `windtunnel._core`: validate, run, hand out columns. It contains no logic;
//! `python/windtunnel/_core.pyi` describes each function.

mod controller;
mod error;
mod pcapng;
mod registry;
mod result;
mod views;
mod xplot;

use std::cell::RefCell;
use std::path::PathBuf;

use pyo3::prelude::*;
use windtunnel_scenario::{Reading, Scenario};
use windtunnel_units::Time;

use crate::result::PyRunResult;

/// How many times a run reports its progress, evenly spread over its simulated time.
const PROGRESS_STEPS: u32 = 200;

/// Events between two checks for an interrupt: about a fifth of a second.
const SLICE: u64 = 5_000_000;

/// The same where a controller is a Python class: its events take longer, and its exceptions must stop the run soon.
const FOREIGN_SLICE: u64 = 10_000;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::error::ScenarioError;
    #[pymodule_export]
    use super::pcapng::write_pcapng;
    #[pymodule_export]
    use super::registry::{quantity, register_controller};
    #[pymodule_export]
    use super::result::PyRunResult;
    #[pymodule_export]
    use super::views::{
        PyAck, PyCongestion, PyControl, PyDeparture, PyFlow, PyLostSegment, PyNeeds, PyPath, PyRateSample,
        PySentSegment,
    };
    #[pymodule_export]
    use super::xplot::xplot;
    #[pymodule_export]
    use super::{check, listing, resolve, run, schema};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The longest text of a scenario, in bytes.
    #[pymodule_export]
    const LONGEST_SCENARIO: usize = windtunnel_scenario::LONGEST_TEXT;
}

#[pyfunction]
#[pyo3(signature = (text, file=None, overrides=Vec::new(), allow_read=Vec::new()))]
fn check(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: Vec<String>,
    allow_read: Vec<PathBuf>,
) -> PyResult<String> {
    Ok(parse(py, text, file, &overrides, &allow_read)?.to_toml())
}

#[pyfunction]
#[pyo3(signature = (text, file=None, overrides=Vec::new(), allow_read=Vec::new()))]
fn resolve(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: Vec<String>,
    allow_read: Vec<PathBuf>,
) -> PyResult<String> {
    Ok(parse(py, text, file, &overrides, &allow_read)?.to_json())
}

#[pyfunction]
fn schema() -> String {
    windtunnel_scenario::schema(&registry::current())
}

#[pyfunction]
fn listing() -> String {
    windtunnel_scenario::listing(&registry::current())
}

#[pyfunction]
#[pyo3(signature = (text, file=None, overrides=Vec::new(), progress=None, allow_read=Vec::new()))]
fn run(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: Vec<String>,
    progress: Option<Py<PyAny>>,
    allow_read: Vec<PathBuf>,
) -> PyResult<PyRunResult> {
    let scenario = parse(py, text, file, &overrides, &allow_read)?;
    let foreign = scenario.foreign();
    controller::take_failure();
    let mut simulation = windtunnel_sim::Simulation::new(windtunnel_scenario::compile(&scenario));
    let end = simulation.end();
    for step in 1..=PROGRESS_STEPS {
        let share = f64::from(step) / f64::from(PROGRESS_STEPS);
        let until = Time::ZERO + end.since_start().scale(share);
        loop {
            // With controllers in Python every ACK needs the interpreter, so the run keeps it attached.
            let done = if foreign.is_empty() {
                py.detach(|| simulation.run_slice(until, SLICE))
            } else {
                simulation.run_slice(until, FOREIGN_SLICE)
            };
            if let Some(error) = controller::take_failure() {
                return Err(error);
            }
            py.check_signals()?;
            if done {
                break;
            }
        }
        if let Some(progress) = &progress
            && !progress.call1(py, (share,))?.extract::<bool>(py)?
        {
            return Err(pyo3::exceptions::PyKeyboardInterrupt::new_err("stopped"));
        }
    }
    let result = py.detach(|| simulation.finish());
    if let Some(error) = controller::take_failure() {
        return Err(error);
    }
    PyRunResult::new(py, result, scenario.seed, foreign)
}

/// Reads a scenario; an interrupt ends it.
fn parse(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: &[String],
    allow_read: &[PathBuf],
) -> PyResult<Scenario> {
    let interrupt = RefCell::new(None);
    let go_on = || py.check_signals().map_err(|error| interrupt.replace(Some(error))).is_ok();
    let reading = Reading { file, overrides, allow_read, registry: &registry::current(), go_on: &go_on };
    let scenario = Scenario::read(text, &reading);
    scenario.map_err(|error| interrupt.take().unwrap_or_else(|| error::to_python(py, &error)))
}
