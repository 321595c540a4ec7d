//! Captures and qlog, and the walk through their segments, for Python.

use std::cell::RefCell;
use std::io::{self, BufReader, Read};

use numpy::{Element, IntoPyArray, PyReadonlyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyError, PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use windtunnel_trace::qlog::Qlog;
use windtunnel_trace::walk::{Known, Walked, walk};
use windtunnel_trace::{Capture, Connection, ReadError, Row, Segments, Side, Trace};

/// `(connections, segments, packets, notes, less)`.
type PyCapture<'py> = (Vec<Bound<'py, PyDict>>, Bound<'py, PySegments>, u64, Vec<String>, usize);

/// Bytes that are asked of a file at a time.
const PART: usize = 1 << 18;

/// The flag of a SYN.
const SYN: u16 = 0x02;

/// A file that Python has opened. Signals are checked before each read, and while it waits.
struct PyFile {
    file: Py<PyAny>,
    /// What a signal, or the file's own method, raised.
    raised: Option<PyErr>,
}

impl PyFile {
    fn part(&self, py: Python<'_>, into: &mut [u8]) -> PyResult<usize> {
        py.check_signals()?;
        let read = self.file.call_method1(py, "read", (into.len(),))?;
        let bytes = read.cast_bound::<PyBytes>(py)?.as_bytes();
        let into = into
            .get_mut(..bytes.len())
            .ok_or_else(|| PyValueError::new_err("the file gives more than it was asked for"))?;
        into.copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

impl Read for PyFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            self.part(py, into).map_err(|error| {
                // The system's own errors end the capture; what was read before is explained.
                if error.is_instance_of::<PyOSError>(py) {
                    return error.into();
                }
                self.raised = Some(error);
                io::ErrorKind::Other.into()
            })
        })
    }
}

/// The kind of a trace, `capture` or `qlog`, and what is in it: of a capture, `most` connections, those with most data.
#[pyfunction]
#[pyo3(signature = (file, most = None))]
pub(crate) fn read_trace(
    py: Python<'_>,
    file: Py<PyAny>,
    most: Option<usize>,
) -> PyResult<(&'static str, Bound<'_, PyAny>)> {
    let mut file = PyFile { file, raised: None };
    let trace = py.detach(|| windtunnel_trace::open(BufReader::with_capacity(PART, &mut file)));
    if let Some(raised) = file.raised {
        return Err(raised);
    }
    let trace = trace.map_err(|error| match error {
        ReadError::Io(error) => error.into(),
        other => PyValueError::new_err(other.to_string()),
    })?;
    // Below, arrays are made, in which an exception would be a panic.
    py.check_signals()?;
    Ok(match trace {
        Trace::Capture(capture) => ("capture", captured(py, *capture, most)?.into_bound_py_any(py)?),
        Trace::Qlog(log) => ("qlog", logged(py, *log)?.into_any()),
    })
}

fn captured(py: Python<'_>, mut capture: Capture, most: Option<usize>) -> PyResult<PyCapture<'_>> {
    let less = most.map_or(0, |most| py.detach(|| capture.keep_most(most)));
    let mut connections = Vec::with_capacity(capture.connections.len());
    for each in &capture.connections {
        py.check_signals()?;
        connections.push(connection(py, each)?);
    }
    let segments = Bound::new(py, PySegments { segments: capture.segments })?;
    Ok((connections, segments, capture.packets, capture.notes, less))
}

fn logged(py: Python<'_>, log: Qlog) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let connections = log.connections.iter().map(|connection| {
        let dict = PyDict::new(py);
        macro_rules! tell {
            ($($name:ident),*) => { $(dict.set_item(stringify!($name), &connection.$name)?;)* };
        }
        tell!(name, sent, received, acks, largest, handshake_ns, limit_known, tcp);
        Ok(dict)
    });
    out.set_item("connections", connections.collect::<PyResult<Vec<_>>>()?)?;
    let metrics = PyDict::new(py);
    macro_rules! hand_out {
        ($($name:ident),*) => { $(metrics.set_item(stringify!($name), log.metrics.$name.into_pyarray(py))?;)* };
    }
    hand_out!(time_s, flow, cwnd_bytes, in_flight_bytes, srtt_ms, rtt_mean_ms, rtt_min_ms, retransmits, sent);
    out.set_item("metrics", metrics)?;
    out.set_item("walked", walked_tables(py, log.walked)?)?;
    out.set_item("events", log.events)?;
    out.set_item("duration_s", log.duration_ns as f64 / 1e9)?;
    out.set_item("notes", log.notes)?;
    Ok(out)
}

fn connection<'py>(py: Python<'py>, connection: &Connection) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let [sender, receiver] = &connection.sides;
    dict.set_item("sender", side(py, sender)?)?;
    dict.set_item("receiver", side(py, receiver)?)?;
    dict.set_item("closed", connection.closed)?;
    dict.set_item("points", connection.points.clone())?;
    dict.set_item("window_known", connection.window_known)?;
    Ok(dict)
}

fn side<'py>(py: Python<'py>, side: &Side) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("address", side.address.to_string())?;
    dict.set_item("port", side.port)?;
    dict.set_item("segments", side.segments)?;
    dict.set_item("data_bytes", side.data_bytes)?;
    dict.set_item("largest", side.largest)?;
    dict.set_item("timestamps", side.timestamps && side.segments > 0)?;
    dict.set_item("ecn", side.ecn.to_vec())?;
    dict.set_item("options", numbers(&side.options))?;
    let syn = side.syn.as_ref().map(|syn| -> PyResult<_> {
        let dict = PyDict::new(py);
        dict.set_item("mss", syn.mss)?;
        dict.set_item("window_scale", syn.window_scale)?;
        dict.set_item("sack", syn.sack)?;
        dict.set_item("timestamps", syn.timestamps)?;
        dict.set_item("flags", syn.flags)?;
        dict.set_item("options", numbers(&syn.options))?;
        Ok(dict)
    });
    dict.set_item("syn", syn.transpose()?)?;
    Ok(dict)
}

/// As a list of numbers; bytes would become `bytes`.
fn numbers(kinds: &[u8]) -> Vec<u16> {
    kinds.iter().map(|kind| u16::from(*kind)).collect()
}

/// The segments of a capture, or of a run that recorded its packets, in order of time.
#[pyclass(name = "Segments", module = "windtunnel._core")]
#[derive(Default)]
pub(crate) struct PySegments {
    segments: Segments,
}

#[pymethods]
impl PySegments {
    #[new]
    fn new() -> PySegments {
        PySegments::default()
    }

    fn __len__(&self) -> usize {
        self.segments.len()
    }

    /// When the last segment passed.
    #[getter]
    fn last_ns(&self) -> u64 {
        self.segments.last_ns()
    }

    /// Adds rows.
    fn add(&mut self, columns: &Bound<'_, PyDict>) -> PyResult<()> {
        macro_rules! borrow {
            ($lengths:ident: $($name:ident: $kind:ty),* $(,)?) => {
                $(let $name = column::<$kind>(columns, stringify!($name))?; let $name = $name.as_slice()?;)*
                let $lengths = [$($name.len()),*];
            };
        }
        borrow!(
            lengths: t_ns: u64, flow: u32, dir: u8, payload: u32, seq: u64, ack: u64, flags: u32, ecn: u8, dscp: u8, ts_val: u64,
            ts_ecr: u64, window: u64, sack_n: u8, sack1_start: u64, sack1_end: u64, sack2_start: u64, sack2_end: u64,
            sack3_start: u64, sack3_end: u64, sack4_start: u64, sack4_end: u64,
        );
        if lengths.iter().any(|length| *length != t_ns.len()) {
            return Err(PyValueError::new_err("the columns differ in length"));
        }
        for n in 0..t_ns.len() {
            let sack = [
                (sack1_start[n], sack1_end[n]),
                (sack2_start[n], sack2_end[n]),
                (sack3_start[n], sack3_end[n]),
                (sack4_start[n], sack4_end[n]),
            ];
            let row = Row {
                t_ns: t_ns[n],
                seq: seq[n],
                ack: ack[n],
                ts_val: ts_val[n],
                ts_ecr: ts_ecr[n],
                window: window[n],
                flow: flow[n],
                payload: payload[n],
                flags: flags[n] as u16,
                dir: dir[n],
                class: Row::class(dscp[n], ecn[n]),
                ..Row::default()
            };
            self.segments.push(row, &sack[..usize::from(sack_n[n]).min(sack.len())]);
        }
        Ok(())
    }

    /// The SYNs.
    fn syns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let syns: Vec<&Row> = self.segments.rows().filter(|row| row.flags & SYN != 0).collect();
        let table = PyDict::new(py);
        macro_rules! hand_out {
            ($($name:ident),*) => {
                $(table.set_item(stringify!($name), syns.iter().map(|row| row.$name).collect::<Vec<_>>().into_pyarray(py))?;)*
            };
        }
        hand_out!(t_ns, flow, dir, flags);
        Ok(table)
    }

    /// What pictures draw of the segments.
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        macro_rules! hand_out {
            ($($name:ident: $of:expr),* $(,)?) => {
                $(table.set_item(
                    stringify!($name),
                    self.segments.with_sack().map($of).collect::<Vec<_>>().into_pyarray(py),
                )?;)*
            };
        }
        hand_out!(
            t_ns: |(row, _)| row.t_ns,
            flow: |(row, _)| row.flow,
            dir: |(row, _)| row.dir,
            payload: |(row, _)| row.payload,
            seq: |(row, _)| row.seq,
            ack: |(row, _)| row.ack,
            flags: |(row, _)| u32::from(row.flags),
            ecn: |(row, _)| row.ecn(),
            stamped: |(row, _)| row.ts_val > 0,
            window: |(row, _)| row.window,
            sack_n: |(_, sack)| sack.len() as u8,
            sack1_end: |(_, sack)| sack.first().map_or(0, |(_, end)| *end),
        );
        Ok(table)
    }

    /// Follows the senders. The segments are gone afterwards.
    fn walk<'py>(
        &mut self,
        py: Python<'py>,
        connections: Vec<(u64, bool, bool)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let connections: Vec<Known> = connections
            .into_iter()
            .map(|(mss, timestamps, window)| Known { mss, timestamps, window })
            .collect();
        let segments = std::mem::take(&mut self.segments);
        let walked = py.detach(|| {
            let raised = RefCell::new(None);
            let go_on = || signals().map_err(|error| raised.replace(Some(error))).is_ok();
            walk(segments, &connections, &go_on).ok_or_else(|| raised.take())
        });
        let walked = walked.map_err(|raised| {
            raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err("the walk was stopped"))
        })?;
        // Below, arrays are made, in which an exception would be a panic.
        py.check_signals()?;
        walked_tables(py, walked)
    }
}

fn walked_tables(py: Python<'_>, walked: Walked) -> PyResult<Bound<'_, PyDict>> {
    let (out, sends, acks) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
    macro_rules! hand_out {
        ($from:ident: $($name:ident),* $(,)?) => { $($from.set_item(stringify!($name), walked.$from.$name.into_pyarray(py))?;)* };
    }
    hand_out!(sends: t_ns, flow, seq, payload, kind, in_flight, room, round, since_ack_ns, back_ns, ecn, dscp);
    hand_out!(acks: t_ns, flow, ack, acked, delivered, rtt_ns, in_flight, round, kind, flags);
    out.set_item("sends", sends)?;
    out.set_item("acks", acks)?;
    out.set_item("back_ns", walked.back_ns.into_pyarray(py))?;
    out.set_item("at_sender", walked.at_sender)?;
    Ok(out)
}

/// Looks at the signals from where the interpreter is not attached.
fn signals() -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        Ok(())
    })
}

pub(crate) fn column<'py, T: Element>(
    table: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<PyReadonlyArray1<'py, T>> {
    let column =
        table.get_item(name)?.ok_or_else(|| PyKeyError::new_err(format!("there is no column {name}")))?;
    column.extract().map_err(|e: PyErr| PyValueError::new_err(format!("column {name}: {e}")))
}
