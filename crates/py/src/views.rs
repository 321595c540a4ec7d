//! The values passed to and returned by a controller in Python: plain values, each created for one call. Times are in
//! seconds, amounts in bytes, rates in bits per second.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use windtunnel_cc::{
    AckSample, CongestionEvent, Control, Departure, Feedback, FlowInit, LossFinder, LostSegment, Needs,
    Pacing, PacingNeed, PathView, Phase, RandomStream, RateSample, SentSegment, Trigger,
};
use windtunnel_units::{Bytes, Duration, Rate, Time};

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

fn since_start(time: Time) -> f64 {
    seconds(time.since_start())
}

/// The connection that a controller is for.
#[pyclass(frozen, name = "FlowInit", module = "windtunnel._core")]
pub(crate) struct PyFlow {
    init: FlowInit,
    random: std::sync::Mutex<RandomStream>,
}

impl PyFlow {
    pub(crate) fn new(init: FlowInit) -> PyFlow {
        PyFlow { init, random: std::sync::Mutex::new(init.random()) }
    }
}

#[pymethods]
impl PyFlow {
    #[getter]
    fn mss(&self) -> u64 {
        self.init.mss.get()
    }
    #[getter]
    fn iw(&self) -> u64 {
        self.init.iw.get()
    }
    #[getter]
    fn min_cwnd(&self) -> u64 {
        self.init.min_cwnd.get()
    }
    #[getter]
    fn paced(&self) -> bool {
        self.init.paced
    }
    fn random(&self) -> f64 {
        self.random.lock().unwrap_or_else(std::sync::PoisonError::into_inner).uniform()
    }
}

/// The connection at the moment of an event.
#[pyclass(frozen, name = "PathView", module = "windtunnel._core")]
pub(crate) struct PyPath(pub(crate) PathView);

#[pymethods]
impl PyPath {
    #[getter]
    fn now(&self) -> f64 {
        since_start(self.0.now)
    }
    #[getter]
    fn mss(&self) -> u64 {
        self.0.mss.get()
    }
    #[getter]
    fn srtt(&self) -> f64 {
        seconds(self.0.srtt)
    }
    #[getter]
    fn min_rtt(&self) -> f64 {
        seconds(self.0.min_rtt)
    }
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight.get()
    }
    #[getter]
    fn una(&self) -> u64 {
        self.0.una.get()
    }
    #[getter]
    fn nxt(&self) -> u64 {
        self.0.nxt.get()
    }
}

/// One ACK.
#[pyclass(frozen, name = "AckSample", module = "windtunnel._core")]
pub(crate) struct PyAck(pub(crate) AckSample);

#[pymethods]
impl PyAck {
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked.get()
    }
    #[getter]
    fn newly_delivered(&self) -> u64 {
        self.0.newly_delivered.get()
    }
    #[getter]
    fn growth_barred(&self) -> bool {
        self.0.growth_barred
    }
    #[getter]
    fn newly_lost(&self) -> u64 {
        self.0.newly_lost.get()
    }
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered.get()
    }
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost.get()
    }
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(seconds)
    }
    #[getter]
    fn rate(&self) -> Option<PyRateSample> {
        self.0.rate.map(PyRateSample)
    }
    #[getter]
    fn ce_packets(&self) -> u32 {
        self.0.ecn.ce.packets
    }
    #[getter]
    fn ce_bytes(&self) -> u64 {
        self.0.ecn.ce.bytes.get()
    }
    #[getter]
    fn sce_packets(&self) -> u32 {
        self.0.ecn.sce.packets
    }
    #[getter]
    fn sce_bytes(&self) -> u64 {
        self.0.ecn.sce.bytes.get()
    }
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }
    #[getter]
    fn round_start(&self) -> bool {
        self.0.round_start
    }
}

/// A delivery-rate sample.
#[pyclass(frozen, name = "RateSample", module = "windtunnel._core")]
pub(crate) struct PyRateSample(RateSample);

#[pymethods]
impl PyRateSample {
    #[getter]
    fn rate(&self) -> u64 {
        self.0.rate.bits_per_sec()
    }
    #[getter]
    fn interval(&self) -> f64 {
        seconds(self.0.interval)
    }
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered.get()
    }
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost.get()
    }
    #[getter]
    fn departure(&self) -> PyDeparture {
        PyDeparture(self.0.departure)
    }
}

/// The connection's counters when a segment left.
#[pyclass(frozen, name = "Departure", module = "windtunnel._core")]
pub(crate) struct PyDeparture(Departure);

#[pymethods]
impl PyDeparture {
    #[getter]
    fn sent(&self) -> f64 {
        since_start(self.0.sent)
    }
    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight.get()
    }
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered.get()
    }
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost.get()
    }
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.app_limited
    }
}

/// A congestion event.
#[pyclass(frozen, name = "CongestionEvent", module = "windtunnel._core")]
pub(crate) struct PyCongestion(pub(crate) CongestionEvent);

#[pymethods]
impl PyCongestion {
    #[getter]
    fn trigger(&self) -> &'static str {
        match self.0.trigger {
            Trigger::Loss => "loss",
            Trigger::Ce => "ce",
            Trigger::Controller => "controller",
        }
    }
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost.get()
    }
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(seconds)
    }
}

/// A segment that was found to be lost.
#[pyclass(frozen, name = "LostSegment", module = "windtunnel._core")]
pub(crate) struct PyLostSegment(pub(crate) LostSegment);

#[pymethods]
impl PyLostSegment {
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq.get()
    }
    #[getter]
    fn payload(&self) -> u64 {
        self.0.payload.get()
    }
    #[getter]
    fn departure(&self) -> PyDeparture {
        PyDeparture(self.0.departure)
    }
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost.get()
    }
    #[getter]
    fn found_by(&self) -> &'static str {
        match self.0.found_by {
            LossFinder::Ack => "ack",
            LossFinder::ReorderingTimer => "reordering timer",
            LossFinder::RetransmissionTimer => "retransmission timer",
        }
    }
}

/// A segment that was just sent.
#[pyclass(frozen, name = "SentSegment", module = "windtunnel._core")]
pub(crate) struct PySentSegment(pub(crate) SentSegment);

#[pymethods]
impl PySentSegment {
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq.get()
    }
    #[getter]
    fn payload(&self) -> u64 {
        self.0.payload.get()
    }
    #[getter]
    fn retransmission(&self) -> bool {
        self.0.retransmission
    }
}

/// What a controller needs of its sender.
#[pyclass(frozen, name = "Needs", module = "windtunnel._core")]
#[derive(Clone, Copy)]
pub(crate) struct PyNeeds(pub(crate) Needs);

#[pymethods]
impl PyNeeds {
    #[new]
    #[pyo3(signature = (*, pacing=false, feedback="classic", scalable=false, rate_samples=false, every_ack=false,
                        own_window=false, send_buffer_windows=2))]
    #[expect(clippy::fn_params_excessive_bools, reason = "each is named in Python")]
    fn new(
        pacing: bool,
        feedback: &str,
        scalable: bool,
        rate_samples: bool,
        every_ack: bool,
        own_window: bool,
        send_buffer_windows: u32,
    ) -> PyResult<PyNeeds> {
        let feedback = match feedback {
            "none" => Feedback::None,
            "classic" => Feedback::Classic,
            "plain-sce" => Feedback::PlainSce,
            "sce" => Feedback::Sce,
            "shares" => Feedback::Shares,
            "counts" => Feedback::Counts,
            other => {
                return Err(PyValueError::new_err(format!(
                    "`{other}` is not a kind of feedback: none, classic, plain-sce, sce, shares or counts"
                )));
            }
        };
        Ok(PyNeeds(Needs {
            pacing: if pacing { PacingNeed::Always } else { PacingNeed::None },
            feedback,
            scalable,
            rate_samples,
            every_ack,
            own_window,
            send_buffer_windows,
            ..Needs::default()
        }))
    }
}

/// What the sender is to do.
#[pyclass(frozen, name = "Control", module = "windtunnel._core")]
#[derive(Clone, Copy)]
pub(crate) struct PyControl(pub(crate) Control);

#[pymethods]
impl PyControl {
    #[new]
    #[pyo3(signature = (cwnd, ssthresh=None, *, pacing_rate=None, pacing_gain=1.0, send_quantum=None, slow_start=false,
                        app_limited=false))]
    fn new(
        cwnd: f64,
        ssthresh: Option<f64>,
        pacing_rate: Option<f64>,
        pacing_gain: f64,
        send_quantum: Option<f64>,
        slow_start: bool,
        app_limited: bool,
    ) -> PyResult<PyControl> {
        Ok(PyControl(Control {
            cwnd: Bytes::new(whole("cwnd", cwnd)?),
            ssthresh: match ssthresh {
                Some(f64::INFINITY) | None => Bytes::MAX,
                Some(ssthresh) => Bytes::new(whole("ssthresh", ssthresh)?),
            },
            pacing: match pacing_rate {
                Some(rate) => Pacing::Rate(Rate::from_bits_per_sec(whole("pacing_rate", rate)?)),
                None => Pacing::Gain(positive("pacing_gain", pacing_gain)?),
            },
            send_quantum: send_quantum.map(|q| whole("send_quantum", q)).transpose()?.map(Bytes::new),
            app_limited,
            phase: if slow_start { Phase::SlowStart } else { Phase::CongestionAvoidance },
        }))
    }

    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd.get()
    }
}

/// The largest number that is exact in Python's floats: 2^53, more bytes than any path holds.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// An amount, rounded down.
fn whole(name: &str, value: f64) -> PyResult<u64> {
    if (0.0..=LARGEST).contains(&value) {
        return Ok(value as u64);
    }
    Err(PyValueError::new_err(format!("{name} = {value} is out of range: 0 to 2**53")))
}

fn positive(name: &str, value: f64) -> PyResult<f64> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(PyValueError::new_err(format!("{name} = {value} is out of range: more than 0")))
}
