//! The result of a run as a Python object whose arrays own the recorder's columns.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;
use windtunnel_scenario::Scenario;
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::{RunResult, Summary};

/// What a run measured.
#[pyclass(frozen, name = "RunResult", module = "windtunnel._core")]
pub(crate) struct PyRunResult {
    summary: SeededSummary,
    tables: Py<PyDict>,
    secrets: String,
    foreign: Vec<String>,
    unseeded: Vec<String>,
    resolved: String,
    toml: String,
    threads: usize,
    undivided: Option<String>,
}

/// What `summary.json` says. It is written only when it is asked for, and at once into text: as text it takes 2 kB for
/// each flow.
#[derive(Serialize)]
struct SeededSummary {
    #[serde(flatten)]
    summary: Summary,
    seed: u64,
}

impl PyRunResult {
    /// `threads`: on how many it ran, and why not on more, if it was to.
    pub(crate) fn new(
        py: Python<'_>,
        result: RunResult,
        scenario: &Scenario,
        (threads, undivided): (usize, Option<String>),
    ) -> PyResult<PyRunResult> {
        let tables = PyDict::new(py);
        for table in result.tables {
            tables.set_item(table.name, columns(py, table)?)?;
        }
        Ok(PyRunResult {
            summary: SeededSummary { summary: result.summary, seed: scenario.seed },
            tables: tables.unbind(),
            secrets: result.secrets,
            foreign: scenario.foreign(),
            unseeded: scenario.unseeded(),
            resolved: scenario.to_json(),
            toml: scenario.to_toml(),
            threads,
            undivided,
        })
    }
}

#[pymethods]
impl PyRunResult {
    #[getter]
    fn summary(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }

    #[getter]
    fn digest(&self) -> &str {
        &self.summary.summary.digest
    }

    #[getter]
    fn packets(&self) -> u64 {
        self.summary.summary.packets
    }

    #[getter]
    fn events(&self) -> u64 {
        self.summary.summary.events
    }

    #[getter]
    fn secrets(&self) -> &str {
        &self.secrets
    }

    #[getter]
    fn foreign(&self) -> Vec<String> {
        self.foreign.clone()
    }

    #[getter]
    fn unseeded(&self) -> Vec<String> {
        self.unseeded.clone()
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
    fn threads(&self) -> usize {
        self.threads
    }

    #[getter]
    fn undivided(&self) -> Option<&str> {
        self.undivided.as_deref()
    }

    #[getter]
    fn tables(&self, py: Python<'_>) -> Py<PyDict> {
        self.tables.clone_ref(py)
    }
}

/// The columns of a table as arrays that own them: only bytes are copied, one after the other.
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
            Column::Binary(v) => dict.set_item(name, objects(py, v)),
        }?;
    }
    Ok(dict)
}

/// An array of `bytes`.
fn objects(py: Python<'_>, values: Vec<Arc<[u8]>>) -> Bound<'_, PyArray1<Py<PyAny>>> {
    let bytes = |value: Arc<[u8]>| PyBytes::new(py, &value).into_any().unbind();
    values.into_iter().map(bytes).collect::<Vec<_>>().into_pyarray(py)
}
