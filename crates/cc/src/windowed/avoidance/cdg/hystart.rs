//! CDG's variant of `HyStart`: at any window below ssthresh, in microseconds, and with CDG's filter of delayed ACKs.
//!
//! It ends slow start when a train of ACKs, each at most 3 ms after the one before, lasts longer than half of the least
//! round trip, or when the least round trip of this round exceeds the least ever by an eighth, after eight ACKs. Neither
//! threshold is below 125 us, which is what interrupts of a network card disturb. A train starts anew with each round,
//! and when something else than cwnd limits the sender.

use windtunnel_units::{Duration, Time};

/// The longest gap in a train.
const SPACING: Duration = Duration::from_millis(3);
/// The least threshold, in microseconds.
const FLOOR_US: i64 = 125;
/// ACKs before delay decides.
const SAMPLES: u32 = 8;

/// CDG's `HyStart`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hystart {
    by_train: bool,
    by_delay: bool,
    /// The least round trip, in microseconds; zero before the first sample.
    least: i64,
    /// When the train started, and its last ACK.
    train: Option<(Time, Time)>,
    samples: u32,
}

impl Hystart {
    pub(super) fn new(detect: u32) -> Hystart {
        Hystart { by_train: detect & 1 != 0, by_delay: detect & 2 != 0, ..Hystart::default() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.by_train || self.by_delay
    }

    pub(super) fn forget(&mut self) {
        *self = Hystart { by_train: self.by_train, by_delay: self.by_delay, ..Hystart::default() };
    }

    pub(super) fn start_round(&mut self) {
        self.train = None;
        self.samples = 0;
    }

    /// An ACK in slow start; `round_us` is the least round trip of this round, zero if there is none. True if slow start
    /// ends.
    pub(super) fn on_ack(&mut self, round_us: i64, cwnd_limited: bool, now: Time) -> bool {
        if round_us > 0 {
            self.least = if self.least == 0 { round_us } else { self.least.min(round_us) };
        }
        if self.least == 0 {
            return false;
        }
        (self.by_train && self.is_train_long(cwnd_limited, now))
            || (self.by_delay && self.is_delayed(round_us))
    }

    fn is_train_long(&mut self, cwnd_limited: bool, now: Time) -> bool {
        let Some((start, last)) = self.train.filter(|_| cwnd_limited) else {
            self.train = Some((now, now));
            return false;
        };
        if now.since(last) >= SPACING {
            return false;
        }
        self.train = Some((start, now));
        now.since(start) > Duration::from_micros((self.least / 2).max(FLOOR_US).unsigned_abs())
    }

    fn is_delayed(&mut self, round_us: i64) -> bool {
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        round_us > (self.least + self.least / 8).max(FLOOR_US)
    }
}
