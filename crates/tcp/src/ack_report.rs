//! What a sender of any profile reports about an ACK.

use windtunnel_units::{Bytes, Duration};

/// What an ACK did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckReport {
    /// The round-trip time sampled from the newest segment that it delivered, if that segment was sent only once; in
    /// whole ticks with 4.2BSD.
    pub rtt: Option<Duration>,
    /// It echoed CE.
    pub ece: bool,
    /// It echoed SCE.
    pub esce: bool,
    /// The amount delivered for the first time, cumulatively or by SACK.
    pub newly_delivered: Bytes,
}
