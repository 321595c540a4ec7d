//! What a controller tells the sender.

use windtunnel_units::{Bytes, Rate};

/// A controller's answer: the only value that it returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold; [`Bytes::MAX`] while none is known.
    pub ssthresh: Bytes,
    /// How departures are spaced.
    pub pacing: Pacing,
    /// How much the sender sends at once; `None` leaves it to the sender's own rule (Linux: about a millisecond of
    /// data; ideal endpoints: one segment). A TCP without segmentation offload (`gso`) sends one segment at a time in
    /// any case.
    pub send_quantum: Option<Bytes>,
    /// Data sent now do not test the path: their rate samples are marked as limited by the application (BBR's
    /// `ProbeRTT`). This holds until the data in flight are delivered.
    pub app_limited: bool,
    /// The phase that the controller is in.
    pub phase: Phase,
}

impl Control {
    /// Returns a control value with a window only: no threshold is known, departures (if paced) are paced at cwnd per
    /// round trip, and the sender decides on bursts.
    pub const fn window(cwnd: Bytes) -> Control {
        Control {
            cwnd,
            ssthresh: Bytes::MAX,
            pacing: Pacing::Gain(1.0),
            send_quantum: None,
            app_limited: false,
            phase: Phase::SlowStart,
        }
    }
}

/// How departures are spaced in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// At `gain * cwnd / srtt`, from the values at each departure.
    Gain(f64),
    /// At a rate that the controller sets (model-based controllers), in payload bytes as in rate samples;
    /// [`Rate::ZERO`] sends without waiting.
    Rate(Rate),
}

/// The phase of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The controller seeks the capacity.
    SlowStart,
    /// The controller probes around the capacity.
    CongestionAvoidance,
}

/// Why slow start ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// An echo of CE.
    Ce,
    /// Enough echoes of SCE.
    Sce,
    /// The round trip grew.
    Delay,
    /// An ACK train lasted long enough to show that the path is full (`HyStart`).
    AckTrain,
    /// A loss.
    Loss,
    /// cwnd reached ssthresh.
    Threshold,
    /// Base reduction left too little growth to continue (standard slow start, spec/mds section 5).
    Growth,
    /// The flow does not use slow start.
    Unused,
    /// A reason specific to one slow start or controller.
    Other(&'static str),
}

impl ExitReason {
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            ExitReason::Ce => "CE",
            ExitReason::Sce => "SCE",
            ExitReason::Delay => "delay",
            ExitReason::AckTrain => "ACK train",
            ExitReason::Loss => "loss",
            ExitReason::Threshold => "ssthresh",
            ExitReason::Growth => "growth term",
            ExitReason::Unused => "unused",
            ExitReason::Other(name) => name,
        }
    }
}
