//! A path of a scenario in real time, for Python: packets pass in a thread of their own, without Python's interpreter.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use windtunnel_emulate::{Emulation, Hosts, Lateness, LinkState, Live, Side, Snapshot, Tap, Traffic};
use windtunnel_export::pcapng::DeviceCapture;
use windtunnel_units::{Bytes, Time};

use crate::error::MemoryLimitError;
use crate::packets::to_python;
use crate::result::PyRunResult;
use crate::{parse, store};

/// A path between two devices.
#[pyclass(frozen, module = "windtunnel._core")]
pub(crate) struct Emulator(Mutex<State>);

/// A path before its start, with its devices, and what sees their packets.
type Ready = (Emulation, [OwnedFd; 2], Option<Box<dyn Tap>>);

/// How far it is.
struct State {
    ready: Option<Ready>,
    live: Option<Live>,
    ended: Option<(Emulation, Time)>,
    last: Snapshot,
    /// The name of each flow of real traffic, and the ends of its connection.
    connections: Vec<(String, String)>,
}

#[pymethods]
impl Emulator {
    #[expect(clippy::too_many_arguments, reason = "the keyword arguments of Python's class")]
    #[new]
    #[pyo3(signature = (text, file=None, overrides=Vec::new(), allow_read=Vec::new(), *, way=None, keep=false, near, far, duration=None, hosts=None, parts=None, memory=None, capture=None, built=false))]
    fn new(
        py: Python<'_>,
        text: &str,
        file: Option<&str>,
        overrides: Vec<String>,
        allow_read: Vec<PathBuf>,
        way: Option<String>,
        keep: bool,
        near: RawFd,
        far: RawFd,
        duration: Option<u64>,
        hosts: Option<Vec<(String, IpAddr, IpAddr)>>,
        parts: Option<(Py<PyAny>, BTreeMap<String, String>)>,
        memory: Option<u64>,
        capture: Option<RawFd>,
        built: bool,
    ) -> PyResult<Emulator> {
        let scenario = parse(py, text, file, &overrides, &allow_read, built)?;
        let path = if let Some(hosts) = hosts {
            let named = hosts.into_iter().map(|(flow, near, far)| Hosts { flow, near, far });
            Emulation::between(&scenario, &named.collect::<Vec<_>>())
        } else {
            let duration = duration.map(windtunnel_units::Duration::from_nanos);
            Emulation::new(&scenario, &Traffic { way, keep, duration })
        };
        let mut path = path.map_err(|e| PyValueError::new_err(e.to_string()))?;
        path.limit_memory(memory.map_or(Bytes::MAX, Bytes::new));
        if let Some((make, columns)) = parts {
            let (flows, queues) = path.names();
            path.stream_to(Box::new(store::parts(make, &columns, flows, queues)));
        }
        let devices = [own(near)?, own(far)?];
        let tap = capture.map(|file| Capture::into(own(file)?)).transpose()?;
        Ok(Emulator(Mutex::new(State {
            ready: Some((path, devices, tap)),
            live: None,
            ended: None,
            last: Snapshot::default(),
            connections: Vec::new(),
        })))
    }

    /// Starts; the path's time begins in `ahead` nanoseconds.
    #[pyo3(signature = (ahead=0))]
    fn start(&self, ahead: u64) -> PyResult<()> {
        let mut state = self.lock();
        let (path, devices, tap) =
            state.ready.take().ok_or_else(|| PyRuntimeError::new_err("it was started before"))?;
        #[expect(clippy::disallowed_methods, reason = "real packets come and go by a real clock")]
        let zero = Instant::now() + Duration::from_nanos(ahead);
        state.live = Some(Live::start(path, devices, zero, tap)?);
        Ok(())
    }

    fn is_running(&self) -> bool {
        self.lock().live.as_ref().is_some_and(Live::is_running)
    }

    fn snapshot(&self) -> PyResult<String> {
        let mut state = self.lock();
        let now = match &state.live {
            Some(live) => live.snapshot(),
            None => state.last.clone(),
        };
        let seen = Seen::between(&state.last, &now);
        let json = serde_json::to_string(&seen).map_err(|e| PyRuntimeError::new_err(e.to_string()));
        state.last = now;
        json
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| {
            let mut state = self.lock();
            if let Some(mut live) = state.live.take() {
                state.ended = live.stop();
                state.last = live.snapshot();
                if let Some((path, _)) = &state.ended {
                    let all = path.connections().into_iter();
                    state.connections = all.map(|(flow, tuple)| (flow, tuple.to_string())).collect();
                }
            }
        });
    }

    fn finish(&self, py: Python<'_>) -> PyResult<PyRunResult> {
        self.stop(py);
        let (path, end) = self
            .lock()
            .ended
            .take()
            .ok_or_else(|| PyRuntimeError::new_err("it has not run, or its result was taken before"))?;
        let finished = py.detach(|| path.finish(end));
        let (result, scenario) = finished.map_err(|e| MemoryLimitError::new_err(e.to_string()))?;
        PyRunResult::new(py, result, &scenario, (1, None))
    }

    fn connections(&self) -> Vec<(String, String)> {
        self.lock().connections.clone()
    }

    fn lateness(&self) -> PyResult<String> {
        let state = self.lock();
        let lateness = match &state.live {
            Some(live) => live.snapshot().lateness,
            None => state.last.lateness.clone(),
        };
        serde_json::to_string(&Late::of(&lateness)).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }
}

impl Emulator {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Packets at both devices go to a file.
struct Capture(DeviceCapture<File>);

impl Capture {
    fn into(file: OwnedFd) -> PyResult<Box<dyn Tap>> {
        Ok(Box::new(Capture(DeviceCapture::new(File::from(file), "an emulated path", &["near", "far"])?)))
    }
}

impl Tap for Capture {
    fn see(&mut self, side: Side, enters: bool, at: Time, packet: &[u8]) -> io::Result<()> {
        self.0.write(side as usize, enters, Duration::from_nanos(at.since_start().as_nanos()), packet)
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}

/// A file descriptor of this program's own for a file of Python's.
fn own(file: RawFd) -> PyResult<OwnedFd> {
    if file < 0 {
        return Err(PyValueError::new_err(format!("{file} is no file descriptor")));
    }
    #[expect(unsafe_code, reason = "Python's files are numbers")]
    // SAFETY: the caller holds the file open during the call, and the descriptor is duplicated here.
    let borrowed = unsafe { BorrowedFd::borrow_raw(file) };
    borrowed.try_clone_to_owned().map_err(to_python)
}

/// What has passed, as a watcher reads it.
#[derive(Serialize)]
struct Seen<'a> {
    elapsed_s: f64,
    packets: u64,
    bytes: u64,
    not_carried: u64,
    refused: u64,
    flows: usize,
    links: Vec<SeenLink<'a>>,
    lateness_us: LateNow,
    exceeded: Option<String>,
    broken: Option<&'a str>,
}

/// A link since the last look.
#[derive(Serialize)]
struct SeenLink<'a> {
    name: &'a str,
    rate_bps: f64,
    /// The mean of the packets that have left since the last look; none without any.
    sojourn_ms: Option<f64>,
    backlog_bytes: u64,
    /// Since the start.
    dropped: u64,
    marked: u64,
}

#[derive(Serialize)]
struct LateNow {
    p50: Option<f64>,
    p99: Option<f64>,
    max: f64,
}

impl<'a> Seen<'a> {
    fn between(before: &Snapshot, now: &'a Snapshot) -> Seen<'a> {
        let span = now.at.since_start().saturating_sub(before.at.since_start());
        let link = |(index, link): (usize, &'a LinkState)| {
            let earlier = before.links.get(index);
            let departed = link.departed - earlier.map_or(Bytes::ZERO, |link| link.departed);
            let packets = link.packets - earlier.map_or(0, |link| link.packets);
            let waited = link.waited.saturating_sub(earlier.map(|link| link.waited).unwrap_or_default());
            SeenLink {
                name: &link.name,
                rate_bps: if span.is_zero() { 0.0 } else { departed.bits() as f64 / span.as_secs_f64() },
                sojourn_ms: (packets > 0).then(|| waited.as_millis_f64() / packets as f64),
                backlog_bytes: link.backlog.get(),
                dropped: link.dropped,
                marked: link.marked,
            }
        };
        let us = |share| now.lateness.quantile(share).map(micros);
        Seen {
            elapsed_s: now.at.as_secs_f64(),
            packets: now.packets,
            bytes: now.bytes.get(),
            not_carried: now.not_carried,
            refused: now.refused,
            flows: now.flows,
            links: now.links.iter().enumerate().map(link).collect(),
            lateness_us: LateNow { p50: us(0.5), p99: us(0.99), max: micros(now.lateness.max()) },
            exceeded: now.exceeded.map(|exceeded| exceeded.to_string()),
            broken: now.broken.as_deref(),
        }
    }
}

/// How late packets have left, all told.
#[derive(Serialize)]
struct Late {
    packets: u64,
    p50_us: Option<f64>,
    p90_us: Option<f64>,
    p99_us: Option<f64>,
    p999_us: Option<f64>,
    max_us: f64,
    histogram: Vec<(f64, u64)>,
}

impl Late {
    fn of(lateness: &Lateness) -> Late {
        let us = |share| lateness.quantile(share).map(micros);
        Late {
            packets: lateness.packets(),
            p50_us: us(0.5),
            p90_us: us(0.9),
            p99_us: us(0.99),
            p999_us: us(0.999),
            max_us: micros(lateness.max()),
            histogram: lateness.histogram().map(|(upper, count)| (micros(upper), count)).collect(),
        }
    }
}

fn micros(time: windtunnel_units::Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}
