//! The Python module `windtunnel._core`: validate, run, hand out columns. It contains no logic;
//! `python/windtunnel/_core.pyi` describes each function.

mod controller;
mod counted;
mod emulate;
mod error;
mod packets;
mod panics;
mod pcapng;
mod qlog;
mod registry;
mod result;
mod run;
mod shadow;
mod store;
mod trace;
mod views;
mod xplot;

use std::cell::RefCell;
use std::path::PathBuf;

use pyo3::prelude::*;
use windtunnel_scenario::{Estimate, Places, Reading, Scenario};

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::emulate::Emulator;
    #[pymodule_export]
    use super::error::{ControllerError, MemoryLimitError, ScenarioError};
    #[pymodule_export]
    use super::panics::leaving;
    #[pymodule_export]
    use super::pcapng::write_pcapng;
    #[pymodule_export]
    use super::qlog::write_qlog;
    #[pymodule_export]
    use super::registry::{allow_library, quantity, register_controller, size};
    #[pymodule_export]
    use super::result::PyRunResult;
    #[pymodule_export]
    use super::run::{run, windows};
    #[pymodule_export]
    use super::shadow::follow;
    #[pymodule_export]
    use super::store::{PyTableParts, TableReader, TableWriter, merge_parts, write_csv, write_table};
    #[pymodule_export]
    use super::trace::{PySegments, read_trace};
    #[pymodule_export]
    use super::views::{
        PyAck, PyCongestion, PyControl, PyDeparture, PyFlow, PyLostSegment, PyNeeds, PyPath, PyRateSample,
        PySentSegment,
    };
    #[pymodule_export]
    use super::xplot::xplot;
    #[pymodule_export]
    use super::{check, commit, error_at, estimate, holds, indented, listing, resolve, schema};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The longest text of a scenario, in bytes.
    #[pymodule_export]
    const LONGEST_SCENARIO: usize = windtunnel_scenario::LONGEST_TEXT;

    #[pymodule_init]
    #[expect(clippy::unnecessary_wraps, reason = "as PyO3 asks for")]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::panics::init();
        Ok(())
    }
}

/// The commit of the build; none outside of the project's repository.
#[pyfunction]
fn commit() -> Option<&'static str> {
    option_env!("WINDTUNNEL_COMMIT")
}

#[pyfunction]
fn indented(json: &str) -> String {
    windtunnel_export::json::indented(json)
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

#[pyfunction]
fn holds(py: Python<'_>, count: u64) -> u64 {
    py.detach(|| windtunnel_calibration::holds(count))
}

#[expect(clippy::too_many_arguments, reason = "the keyword arguments of Python's function")]
#[pyfunction]
#[pyo3(signature = (key, problem, text, file=None, overrides=Vec::new(), allow_read=Vec::new(), built=false))]
fn error_at(
    py: Python<'_>,
    key: &str,
    problem: String,
    text: &str,
    file: Option<&str>,
    overrides: Vec<String>,
    allow_read: Vec<PathBuf>,
    built: bool,
) -> PyErr {
    let registry = registry::current();
    let reading = Reading {
        file,
        overrides: &overrides,
        allow_read: &allow_read,
        places: places(built),
        ..Reading::new(&registry)
    };
    error::to_python(py, &Scenario::error_at(key, problem, text, &reading))
}

/// How messages name places: a text that was built from the arguments of `Scenario(...)` has no lines that a user
/// wrote.
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
    let reading = Reading {
        file,
        overrides,
        allow_read,
        places: places(built),
        go_on: &go_on,
        ..Reading::new(registry)
    };
    let scenario = Scenario::read(text, &reading);
    scenario.map_err(|error| interrupt.take().unwrap_or_else(|| error::to_python(py, &error)))
}
