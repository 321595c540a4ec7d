//! Scenario errors as Python exceptions, with their place in attributes.

use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(windtunnel._core, ScenarioError, PyValueError, "A scenario that is wrong.");
create_exception!(
    windtunnel._core,
    MemoryLimitError,
    PyMemoryError,
    "A run that held more memory than it may."
);

create_exception!(
    windtunnel._core,
    ControllerError,
    PyRuntimeError,
    "A controller written in Python raised what would be taken for an error of the scenario or of the machine."
);

pub(crate) fn to_python(py: Python<'_>, error: &windtunnel_scenario::ScenarioError) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    let value = raised.value(py);
    let attributes = || -> PyResult<()> {
        value.setattr("file", error.file.as_deref())?;
        value.setattr("line", error.line)?;
        value.setattr("column", error.column)?;
        value.setattr("key", error.key.as_deref())?;
        value.setattr("value", error.value.as_deref())
    };
    match attributes() {
        Ok(()) => raised,
        Err(e) => e,
    }
}
