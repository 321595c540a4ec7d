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
    /// The phase that the controller is in.
    pub phase: Phase,
}

/// How departures are spaced in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// At `gain * cwnd / srtt`, from the values at each departure.
    Gain(f64),
    /// At a rate of the controller's own (model-based controllers).
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
        }
    }
}
