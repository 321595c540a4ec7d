//! The pcapng exporter for Python.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use numpy::{Element, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use windtunnel_export::pcapng::{Capture, Flow, Format, IpVersion, Link, MdsOffer, Packets, Payloads, Point};

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
        write_part(py, &mut capture, part?.cast::<PyDict>()?, &payloads)?;
    }
    py.detach(|| capture.finish()).map_err(to_python)
}

fn write_part(
    py: Python<'_>,
    capture: &mut Capture<File>,
    part: &Bound<'_, PyDict>,
    payloads: &Payloads<'_>,
) -> PyResult<()> {
    /// Borrows the columns of the arrays as a table, and keeps the arrays alive.
    macro_rules! borrow {
        ($table:ident: $($name:ident),* $(,)?) => {
            $(let $name = column(part, stringify!($name))?;)*
            let $table = Packets { $($name: $name.as_slice()?),* };
        };
    }
    #[rustfmt::skip]
    borrow!(
        table: t_ns, tap, queue, flow, connection, dir, proto, id, copy_of, size, payload, seq, ack, flags, ecn, dscp, ts_val_ns,
        ts_ecr_ns, window, window_scale, sack_n, sack1_start, sack1_end, sack2_start, sack2_end, sack3_start, sack3_end, sack4_start, sack4_end,
        mds, accecn_kind, accecn_n, accecn1, accecn2, accecn3,
        drop, retransmission, cwnd, ssthresh, srtt_ns, state, limit, in_flight,
    );
    py.detach(|| capture.write(&table, payloads)).map_err(to_python)
}

fn to_python(error: io::Error) -> PyErr {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::InvalidData, _) => PyValueError::new_err(error.to_string()),
        // Includes the error number, from which Python chooses the exception class.
        (_, Some(number)) => PyOSError::new_err((number, error.to_string())),
        _ => error.into(),
    }
}

fn flow((name, mss, timestamps, sack, mds): PyFlow) -> Flow {
    let mds = mds.map(|(state_change_acks, immediate_acks)| MdsOffer { state_change_acks, immediate_acks });
    Flow { name, mss, timestamps, sack, mds }
}

fn column<'py, T: Element>(part: &Bound<'py, PyDict>, name: &str) -> PyResult<PyReadonlyArray1<'py, T>> {
    let column =
        part.get_item(name)?.ok_or_else(|| PyKeyError::new_err(format!("packets has no column {name}")))?;
    column.extract().map_err(|e: PyErr| PyValueError::new_err(format!("column {name}: {e}")))
}
