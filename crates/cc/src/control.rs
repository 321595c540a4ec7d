//! What a controller tells the sender.

use windtunnel_units::{Bytes, Rate};

/// The one value that a controller returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold; [`Bytes::MAX`] while none is known.
    pub ssthresh: Bytes,
    /// How departures are spaced.
    pub pacing: Pacing,
    /// How much leaves at once; none: the sender's own rule (Linux: about a millisecond of data; ideal endpoints: one
    /// segment). A TCP without segmentation offload (`gso`) sends one segment at a time in any case.
    pub send_quantum: Option<Bytes>,
    /// What is sent now is no test of the path: its rate samples are marked as limited by the application (BBR's
    /// `ProbeRTT`). Holds until what was in flight is delivered.
    pub app_limited: bool,
    /// The phase that the controller is in.
    pub phase: Phase,
}

impl Control {
    /// A window alone: no threshold is known, departures are paced at cwnd per round trip if at all, bursts are the
    /// sender's.
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
    /// At a rate of the controller's own (model-based controllers), in payload as rate samples are; [`Rate::ZERO`]: without a
    /// wait.
    Rate(Rate),
}

/// The phase of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Seeking the capacity.
    SlowStart,
    /// Probing around it.
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
    /// ACKs kept arriving for as long as a round trip takes (`HyStart`).
    AckTrain,
    /// A loss.
    Loss,
    /// cwnd reached ssthresh.
    Threshold,
    /// The base reduction left no growth (standard slow start, spec/mds section 5).
    Growth,
    /// Slow start was not used.
    Unused,
    /// A reason that only its slow start knows.
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
