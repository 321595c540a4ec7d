//! The pcapng exporter for Python.

use std::fs::File;
use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use windtunnel_export::pcapng::{Capture, Flow, Format, IpVersion, Link, MdsOffer, Payloads, Point};

use crate::packets::{to_python, with_packets};

/// `(name, mss, timestamps, sack, (state_change_acks, immediate_acks) | None)`.
type PyFlow = (String, u16, bool, bool, Option<(bool, bool)>);

/// Writes a capture of the packets in `parts`, an iterable of columns by name, each part later than the one before it.
/// `payloads` are the identities of packets, in ascending order, and the payload of each; `secrets` decrypt them.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each is named in Python")]
#[pyo3(signature = (path, about, flows, queues, parts, points, link="ethernet", ip=4, snaplen=128, payloads=None, secrets=""))]
pub(crate) fn write_pcapng(
    py: Python<'_>,
    path: PathBuf,
    about: &str,
    flows: Vec<PyFlow>,
    queues: Vec<String>,
    parts: &Bound<'_, PyAny>,
    points: Vec<String>,
    link: &str,
    ip: u8,
    snaplen: u32,
    payloads: Option<(PyReadonlyArray1<'_, u64>, Vec<PyBackedBytes>)>,
    secrets: &str,
) -> PyResult<u64> {
    let point = |name: &String| {
        Point::named(name).ok_or_else(|| PyValueError::new_err(format!("`{name}` is not a point")))
    };
    let format = Format {
        points: points.iter().map(point).collect::<PyResult<_>>()?,
        link: match link {
            "ethernet" => Link::Ethernet,
            "raw" => Link::Raw,
            other => return Err(PyValueError::new_err(format!("`{other}` is not a link: ethernet or raw"))),
        },
        ip: match ip {
            4 => IpVersion::V4,
            6 => IpVersion::V6,
            other => return Err(PyValueError::new_err(format!("{other} is not a version of IP: 4 or 6"))),
        },
        snaplen,
    };
    let flows: Vec<Flow> = flows.into_iter().map(flow).collect();
    let file = File::create(path)?;
    let mut capture = Capture::new(file, about, flows, &queues, format).map_err(to_python)?;
    if !secrets.is_empty() {
        capture.secrets(secrets).map_err(to_python)?;
    }
    let contents: Vec<&[u8]> =
        payloads.iter().flat_map(|(_, contents)| contents).map(|bytes| &**bytes).collect();
    let ids = payloads.as_ref().map(|(ids, _)| ids.as_slice()).transpose()?;
    let payloads = Payloads { ids: ids.unwrap_or_default(), contents: &contents };
    for part in parts.try_iter()? {
        with_packets(py, part?.cast::<PyDict>()?, |table| capture.write(table, &payloads))?;
    }
    py.detach(|| capture.finish()).map_err(to_python)
}

fn flow((name, mss, timestamps, sack, mds): PyFlow) -> Flow {
    let mds = mds.map(|(state_change_acks, immediate_acks)| MdsOffer { state_change_acks, immediate_acks });
    Flow { name, mss, timestamps, sack, mds }
}
