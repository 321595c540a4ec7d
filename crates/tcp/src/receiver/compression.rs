//! Compression of the ACKs of out-of-order segments.
//!
//! spec/congestion-control section 1.16; Linux, `net.ipv4.tcp_comp_sack_*`. All these ACKs carry the same cumulative
//! ACK, and the SACK blocks of each repeat those of the one before. The first three leave at once, because a sender
//! may count duplicate ACKs up to three; then one ACK waits for further segments, for 5 % of a round trip or at most
//! 1 ms, and stands for at most 44 others. It leaves before a block that it reports is displaced from the first two
//! (`sack`); the segment that does so has no ACK of its own, and waits for the next one (`tcp_sack_compress_send_ack` clears
//! what `inet_csk_schedule_ack` had asked for). This needs SACK: without it the number of duplicate ACKs is information.

use windtunnel_units::{Duration, Seq};

const IMMEDIATE: u32 = 3;
const MOST_HELD: u32 = 44;
const DELAY_MAX: Duration = Duration::from_millis(1);
const ROUND_TRIP_SHARE: u64 = 20;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Compression {
    /// The gap that these ACKs report.
    gap: Seq,
    immediate: u32,
    held: u32,
}

impl Compression {
    /// An out-of-order segment arrived while `gap` is awaited. Returns how long its ACK may wait; `None` if it may
    /// not.
    pub(super) fn hold(&mut self, gap: Seq, rtt: Option<Duration>) -> Option<Duration> {
        if self.gap != gap || self.immediate < IMMEDIATE {
            self.on_reported(gap);
            return None;
        }
        let delay = (rtt? / ROUND_TRIP_SHARE).min(DELAY_MAX);
        if self.held >= MOST_HELD || delay.is_zero() {
            return None;
        }
        self.held += 1;
        Some(delay)
    }

    /// An ACK that reports `gap` leaves at once.
    pub(super) fn on_reported(&mut self, gap: Seq) {
        self.immediate = if self.gap == gap { self.immediate + 1 } else { 1 };
        self.gap = gap;
    }

    /// ACKs that wait.
    #[inline]
    pub(super) fn held(&self) -> u32 {
        self.held
    }

    /// An ACK left, which says what the waiting ones would have said.
    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delay after three immediate ACKs: 5 % of the round trip, at most 1 ms; none where the round trip is not
    /// known.
    #[test]
    fn delay() {
        let micros = Duration::from_micros;
        for (rtt, delay) in [(4_000, 200), (20_000, 1_000), (100_000, 1_000)] {
            let mut compression = Compression::default();
            let holds = [(); 4].map(|()| compression.hold(Seq::FIRST_DATA, Some(micros(rtt))));
            assert_eq!(holds, [None, None, None, Some(micros(delay))]);
        }
        let mut compression = Compression::default();
        assert_eq!([(); 9].map(|()| compression.hold(Seq::FIRST_DATA, None)), [None; 9]);
    }
}
