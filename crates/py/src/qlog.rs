//! The qlog exporter for Python.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use windtunnel_export::qlog::{Flow, Logs, Vantage, Version};

use crate::packets::{to_python, with_packets};

/// What is known of a flow, by the names of Rust's fields.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyFlow {
    index: u32,
    name: String,
    ends: [(String, u16); 2],
    mss: u32,
    initial_window: u64,
    reordering_threshold: u32,
    by_time: bool,
    granularity: u32,
    modes: Vec<(u64, String)>,
    over_stack: bool,
    lost: Vec<(u64, u64)>,
    /// The file for each vantage point: client, network, server.
    paths: [Option<PathBuf>; 3],
}

/// Writes the logs of flows from the packets in `parts`, an iterable of columns by name, each part later than the one before
/// it.
#[pyfunction]
pub(crate) fn write_qlog(
    py: Python<'_>,
    title: &str,
    flows: Vec<PyFlow>,
    queues: Vec<String>,
    parts: &Bound<'_, PyAny>,
    version: &str,
) -> PyResult<()> {
    let version = Version::named(version)
        .ok_or_else(|| PyValueError::new_err(format!("`{version}` is not a version of qlog: 0.3 or 0.4")))?;
    let wanted = |vantage: &Vantage| flows.iter().any(|flow| flow.paths[*vantage as usize].is_some());
    let vantages: Vec<Vantage> = Vantage::ALL.into_iter().filter(wanted).collect();
    let (mut paths, mut named) = (Vec::new(), Vec::new());
    for flow in flows {
        let PyFlow { index, name, ends, mss, initial_window, .. } = flow;
        let PyFlow { reordering_threshold, by_time, granularity, modes, over_stack, lost, .. } = flow;
        paths.push(flow.paths);
        named.push(Flow {
            index,
            name,
            ends,
            mss,
            initial_window,
            reordering_threshold,
            by_time,
            granularity,
            modes,
            over_stack,
            lost,
        });
    }
    let mut logs = Logs::new(paths, title, named, queues, &vantages, version);
    for part in parts.try_iter()? {
        with_packets(py, part?.cast::<PyDict>()?, |table| logs.write(table))?;
    }
    py.detach(|| logs.finish()).map(|_| ()).map_err(to_python)
}
