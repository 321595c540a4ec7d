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

/// A class of Python with an attribute for each line, computed when it is read: a call for each ACK pays for what its
/// controller uses.
macro_rules! view {
    ($(#[$doc:meta])* $name:literal: $view:ident($of:ty) |$it:ident| { $($attribute:ident: $type:ty = $value:expr,)* }) => {
        $(#[$doc])*
        #[pyclass(frozen, name = $name, module = "windtunnel._core")]
        pub(crate) struct $view(pub(crate) $of);

        #[pymethods]
        impl $view {
            $(
                #[getter]
                fn $attribute(&self) -> $type {
                    let $it = &self.0;
                    $value
                }
            )*
        }
    };
}

/// The connection that a controller is for.
#[pyclass(frozen, name = "FlowInit", module = "windtunnel._core")]
pub(crate) struct PyFlow {
    #[pyo3(get)]
    mss: u64,
    #[pyo3(get)]
    iw: u64,
    #[pyo3(get)]
    min_cwnd: u64,
    #[pyo3(get)]
    paced: bool,
    random: std::sync::Mutex<RandomStream>,
}

impl PyFlow {
    pub(crate) fn new(init: &FlowInit) -> PyFlow {
        PyFlow {
            mss: init.mss.get(),
            iw: init.iw.get(),
            min_cwnd: init.min_cwnd.get(),
            paced: init.paced,
            random: std::sync::Mutex::new(init.random()),
        }
    }
}

#[pymethods]
impl PyFlow {
    fn random(&self) -> f64 {
        self.random.lock().unwrap_or_else(std::sync::PoisonError::into_inner).uniform()
    }
}

view! {
    /// The connection at the moment of an event.
    "PathView": PyPath(PathView) |path| {
        now: f64 = since_start(path.now),
        mss: u64 = path.mss.get(),
        srtt: f64 = seconds(path.srtt),
        min_rtt: f64 = seconds(path.min_rtt),
        in_flight: u64 = path.in_flight.get(),
        una: u64 = path.una.get(),
        nxt: u64 = path.nxt.get(),
    }
}

view! {
    /// One ACK.
    "AckSample": PyAck(AckSample) |ack| {
        acked: u64 = ack.acked.get(),
        newly_delivered: u64 = ack.newly_delivered.get(),
        growth_barred: bool = ack.growth_barred,
        newly_lost: u64 = ack.newly_lost.get(),
        delivered: u64 = ack.delivered.get(),
        lost: u64 = ack.lost.get(),
        rtt: Option<f64> = ack.rtt.map(seconds),
        rate: Option<PyRateSample> = ack.rate.map(PyRateSample),
        ce_packets: u32 = ack.ecn.ce.packets,
        ce_bytes: u64 = ack.ecn.ce.bytes.get(),
        sce_packets: u32 = ack.ecn.sce.packets,
        sce_bytes: u64 = ack.ecn.sce.bytes.get(),
        app_limited: bool = ack.app_limited,
        cwnd_limited: bool = ack.cwnd_limited,
        round_start: bool = ack.round_start,
    }
}

view! {
    /// A delivery-rate sample.
    "RateSample": PyRateSample(RateSample) |sample| {
        rate: u64 = sample.rate.bits_per_sec(),
        interval: f64 = seconds(sample.interval),
        delivered: u64 = sample.delivered.get(),
        lost: u64 = sample.lost.get(),
        departure: PyDeparture = PyDeparture(sample.departure),
    }
}

view! {
    /// The connection's counters when a segment left.
    "Departure": PyDeparture(Departure) |departure| {
        sent: f64 = since_start(departure.sent),
        in_flight: u64 = departure.in_flight.get(),
        delivered: u64 = departure.delivered.get(),
        lost: u64 = departure.lost.get(),
        app_limited: bool = departure.app_limited,
    }
}

view! {
    /// A congestion event.
    "CongestionEvent": PyCongestion(CongestionEvent) |event| {
        trigger: &'static str = match event.trigger {
            Trigger::Loss => "loss",
            Trigger::Ce => "ce",
            Trigger::Controller => "controller",
        },
        lost: u64 = event.lost.get(),
        rtt: Option<f64> = event.rtt.map(seconds),
    }
}

view! {
    /// A segment that was found to be lost.
    "LostSegment": PyLostSegment(LostSegment) |segment| {
        seq: u64 = segment.seq.get(),
        payload: u64 = segment.payload.get(),
        departure: PyDeparture = PyDeparture(segment.departure),
        lost: u64 = segment.lost.get(),
        found_by: &'static str = match segment.found_by {
            LossFinder::Ack => "ack",
            LossFinder::ReorderingTimer => "reordering timer",
            LossFinder::RetransmissionTimer => "retransmission timer",
        },
    }
}

view! {
    /// A segment that was just sent.
    "SentSegment": PySentSegment(SentSegment) |segment| {
        seq: u64 = segment.seq.get(),
        payload: u64 = segment.payload.get(),
        retransmission: bool = segment.retransmission,
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
