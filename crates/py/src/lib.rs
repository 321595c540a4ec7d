//! The Python module `windtunnel._core`: validate, run, hand out columns. It contains no logic;
//! `python/windtunnel/_core.pyi` describes each function.

mod controller;
mod error;
mod pcapng;
mod registry;
mod result;
mod trace;
mod views;
mod xplot;

use std::cell::RefCell;
use std::path::PathBuf;

use pyo3::prelude::*;
use windtunnel_scenario::{Estimate, Places, Reading, Scenario};
use windtunnel_sim::{MemoryExceeded, Simulation};
use windtunnel_units::Bytes;

use crate::result::PyRunResult;

/// Events between two looks at a run (interrupt, memory, progress): about a hundredth of a second, so that its first second
/// shows how fast it is, however long it will take.
const SLICE: u64 = 250_000;

/// Events for each flow between two looks, because each look reads all flows.
const EVENTS_PER_FLOW: u64 = 25;

/// The same where a controller is a Python class: its events take longer, and its exceptions must stop the run soon.
const FOREIGN_SLICE: u64 = 10_000;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::error::{MemoryLimitError, ScenarioError};
    #[pymodule_export]
    use super::pcapng::write_pcapng;
    #[pymodule_export]
    use super::registry::{quantity, register_controller, size};
    #[pymodule_export]
    use super::result::PyRunResult;
    #[pymodule_export]
    use super::trace::{read_capture, walk_segments};
    #[pymodule_export]
    use super::views::{
        PyAck, PyCongestion, PyControl, PyDeparture, PyFlow, PyLostSegment, PyNeeds, PyPath, PyRateSample,
        PySentSegment,
    };
    #[pymodule_export]
    use super::xplot::xplot;
    #[pymodule_export]
    use super::{check, estimate, listing, resolve, run, schema};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The longest text of a scenario, in bytes.
    #[pymodule_export]
    const LONGEST_SCENARIO: usize = windtunnel_scenario::LONGEST_TEXT;
}

#[pyfunction]
#[pyo3(signature = (text, file=None, overrides=Vec::new(), allow_read=Vec::new(), built=false))]
fn check(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: Vec<String>,
    allow_read: Vec<PathBuf>,
    built: bool,
) -> PyResult<String> {
    Ok(parse(py, text, file, &overrides, &allow_read, built)?.to_toml())
}

#[pyfunction]
#[pyo3(signature = (text, file=None, overrides=Vec::new(), allow_read=Vec::new(), built=false))]
fn resolve(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: Vec<String>,
    allow_read: Vec<PathBuf>,
    built: bool,
) -> PyResult<String> {
    Ok(parse(py, text, file, &overrides, &allow_read, built)?.to_json())
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
#[pyo3(signature = (text, file=None, overrides=Vec::new(), allow_read=Vec::new(), built=false))]
fn estimate(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: Vec<String>,
    allow_read: Vec<PathBuf>,
    built: bool,
) -> PyResult<String> {
    Ok(Estimate::of(&parse(py, text, file, &overrides, &allow_read, built)?).to_json())
}

#[expect(clippy::too_many_arguments, reason = "the keyword arguments of Python's function")]
#[pyfunction]
#[pyo3(signature = (text, file=None, overrides=Vec::new(), progress=None, allow_read=Vec::new(), memory=None, built=false))]
fn run(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: Vec<String>,
    progress: Option<Py<PyAny>>,
    allow_read: Vec<PathBuf>,
    memory: Option<u64>,
    built: bool,
) -> PyResult<PyRunResult> {
    let scenario = parse(py, text, file, &overrides, &allow_read, built)?;
    let limit = memory.map_or(Bytes::MAX, Bytes::new);
    let registry = registry::current();
    let places = places(built);
    let reading =
        Reading { file, overrides: &overrides, allow_read: &allow_read, places, ..Reading::new(&registry) };
    scenario.check_memory(limit, text, &reading).map_err(|e| error::to_python(py, &e))?;
    let exceeded = |exceeded: MemoryExceeded| {
        error::MemoryLimitError::new_err(Estimate::of(&scenario).explanation(&exceeded))
    };
    let foreign = scenario.foreign();
    controller::take_failure();
    let mut simulation = Simulation::new(windtunnel_scenario::compile(&scenario));
    simulation.limit_memory(limit);
    let slice =
        SLICE.max(EVENTS_PER_FLOW * scenario.flows.iter().map(|group| u64::from(group.count)).sum::<u64>());
    let mut share = 0.0;
    loop {
        if let Some(progress) = &progress
            && !progress.call1(py, (share,))?.extract::<bool>(py)?
        {
            return Err(pyo3::exceptions::PyKeyboardInterrupt::new_err("stopped"));
        }
        if share >= 1.0 {
            break;
        }
        // With controllers in Python every ACK needs the interpreter, so the run keeps it attached.
        let end = simulation.end();
        let done = if foreign.is_empty() {
            py.detach(|| simulation.run_slice(end, slice))
        } else {
            simulation.run_slice(end, FOREIGN_SLICE)
        };
        if let Some(error) = controller::take_failure() {
            return Err(error);
        }
        py.check_signals()?;
        simulation.check_memory().map_err(exceeded)?;
        // Less than 1 before the end, whatever the division rounds to.
        let past = simulation.now().since_start().ratio(end.since_start());
        share = if done { 1.0 } else { past.min(1.0 - f64::EPSILON) };
    }
    let result = py.detach(|| simulation.finish_within()).map_err(exceeded)?;
    if let Some(error) = controller::take_failure() {
        return Err(error);
    }
    PyRunResult::new(py, result, scenario.seed, foreign)
}

/// How messages name places: a text that was built from the arguments of `Scenario(...)` has no lines that anybody wrote.
fn places(built: bool) -> Places {
    if built { Places::Arguments } else { Places::Lines }
}

/// Reads a scenario; an interrupt ends it.
fn parse(
    py: Python<'_>,
    text: &str,
    file: Option<&str>,
    overrides: &[String],
    allow_read: &[PathBuf],
    built: bool,
) -> PyResult<Scenario> {
    let interrupt = RefCell::new(None);
    let go_on = || py.check_signals().map_err(|error| interrupt.replace(Some(error))).is_ok();
    let registry = &registry::current();
    let reading = Reading { file, overrides, allow_read, registry, places: places(built), go_on: &go_on };
    let scenario = Scenario::read(text, &reading);
    scenario.map_err(|error| interrupt.take().unwrap_or_else(|| error::to_python(py, &error)))
}
