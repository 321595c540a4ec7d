//! How many ACKs the sender asks for (draft-ietf-ccwg-bbr at 007dbe1, "Impact of changing ACK frequency").
//!
//! While it probes, in Startup, Drain, REFILL and UP, a flow wants a sample often: an ACK per two segments as usual (RFC 5681 section
//! 4.2), and four in a round trip at least. In DOWN and CRUISE it asks for one per quarter of the window, which is the most that
//! the text allows. In `ProbeRTT` the last packet of each flight is to be acknowledged promptly: every segment is. Where the
//! window ran out in most ACKs of a round, the share of the window is halved, until the next probe.
//!
//! "QUIC Offload Budget" may add to the budget what one ACK covers. As that is a quarter of the window at most, the budget would
//! never decide the window, and it is left out.

use super::controller::{Bbr3, Mode};
use crate::sample::AckSample;

/// ACKs in a round trip at least.
const LEAST_ACKS: f64 = 4.0;
/// Segments per ACK without a request.
const USUAL_RATIO: f64 = 2.0;

/// What is asked for, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckFrequency {
    ratio: u32,
    /// ACKs per window in DOWN and CRUISE.
    acks: f64,
    /// ACKs of the round, and those of them at which the window had run out.
    seen: u32,
    exhausted: u32,
}

impl AckFrequency {
    const PROBING: AckFrequency = AckFrequency { ratio: 2, acks: LEAST_ACKS, seen: 0, exhausted: 0 };

    /// An ACK at which the window had run out, or not. The first of a round closes the account of the last one.
    fn take(&mut self, exhausted: bool, starts_round: bool) {
        self.seen += 1;
        self.exhausted += u32::from(exhausted);
        if starts_round {
            if 2 * self.exhausted > self.seen {
                self.acks *= 2.0;
            }
            (self.seen, self.exhausted) = (0, 0);
        }
    }

    pub(super) const fn ratio(self) -> u32 {
        self.ratio
    }
}

impl Bbr3 {
    /// The same flow, which asks for ACKs.
    pub(super) const fn asking_for_acks(mut self) -> Bbr3 {
        self.ack_frequency = Some(AckFrequency::PROBING);
        self
    }

    /// After an ACK: what the mode and the window ask for.
    pub(super) fn update_ack_frequency(&mut self, ack: &AckSample) {
        let (cwnd, starts, mode) = (self.cwnd / self.mss, self.round.start, self.mode);
        let Some(frequency) = &mut self.ack_frequency else { return };
        let ratio = match mode {
            Mode::Startup | Mode::Drain | Mode::Refill | Mode::Up => {
                *frequency = AckFrequency::PROBING;
                USUAL_RATIO.min(cwnd / LEAST_ACKS)
            }
            Mode::Down | Mode::Cruise => {
                frequency.take(ack.cwnd_limited, starts);
                (cwnd / frequency.acks).max(USUAL_RATIO)
            }
            Mode::ProbeRtt => 1.0,
        };
        frequency.ratio = ratio.max(1.0) as u32;
    }
}
