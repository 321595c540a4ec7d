//! The result of a run as a Python object whose arrays own the recorder's columns.

use numpy::IntoPyArray;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use windtunnel_scenario::Scenario;
use windtunnel_sim::RunResult;
use windtunnel_sim::recorder::columns::{Column, Table};

/// What a run measured.
#[pyclass(frozen, name = "RunResult", module = "windtunnel._core")]
pub(crate) struct PyRunResult {
    summary: String,
    digest: String,
    tables: Py<PyDict>,
    foreign: Vec<String>,
    resolved: String,
    toml: String,
}

impl PyRunResult {
    pub(crate) fn new(
        py: Python<'_>,
        result: RunResult,
        scenario: &Scenario,
        foreign: Vec<String>,
    ) -> PyResult<PyRunResult> {
        let mut summary =
            serde_json::to_value(&result.summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        summary["seed"] = scenario.seed.into();
        let tables = PyDict::new(py);
        for table in result.tables {
            tables.set_item(table.name, columns(py, table)?)?;
        }
        Ok(PyRunResult {
            summary: summary.to_string(),
            digest: result.summary.digest,
            tables: tables.unbind(),
            foreign,
            resolved: scenario.to_json(),
            toml: scenario.to_toml(),
        })
    }
}

#[pymethods]
impl PyRunResult {
    #[getter]
    fn summary(&self) -> &str {
        &self.summary
    }

    #[getter]
    fn digest(&self) -> &str {
        &self.digest
    }

    #[getter]
    fn foreign(&self) -> Vec<String> {
        self.foreign.clone()
    }

    #[getter]
    fn resolved(&self) -> &str {
        &self.resolved
    }

    #[getter]
    fn toml(&self) -> &str {
        &self.toml
    }

    #[getter]
    fn tables(&self, py: Python<'_>) -> Py<PyDict> {
        self.tables.clone_ref(py)
    }
}

/// The columns of a table as arrays that own them: nothing is copied.
fn columns(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, column) in table.columns {
        match column {
            Column::F64(v) => dict.set_item(name, v.into_pyarray(py)),
            Column::U64(v) => dict.set_item(name, v.into_pyarray(py)),
            Column::I64(v) => dict.set_item(name, v.into_pyarray(py)),
            Column::U32(v) => dict.set_item(name, v.into_pyarray(py)),
            Column::I32(v) => dict.set_item(name, v.into_pyarray(py)),
            Column::U8(v) => dict.set_item(name, v.into_pyarray(py)),
            Column::Bool(v) => dict.set_item(name, v.into_pyarray(py)),
        }?;
    }
    Ok(dict)
}
