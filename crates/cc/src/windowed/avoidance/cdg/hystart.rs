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

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Duration = Duration::from_micros;

    fn at(us: u64) -> Time {
        Time::ZERO + US(us)
    }

    /// Linux `tcp_cdg_hystart_update`: a train ends slow start once it is longer than half of the least round trip,
    /// and than 125 us. A gap of 3 ms ends it, and it starts anew while something else than cwnd limits the sender.
    #[test]
    fn a_train_of_acks() {
        for (least, us, long) in
            [(1000, 500, false), (1000, 501, true), (200, 125, false), (200, 126, true), (8000, 3001, false)]
        {
            let mut hystart = Hystart::new(1);
            assert!(!hystart.on_ack(least, true, at(7000)));
            assert_eq!(hystart.on_ack(least, true, at(7000 + us)), long, "{us} us at {least} us");
        }
        for (gap, long) in [(2999, true), (3000, false)] {
            let mut hystart = Hystart::new(1);
            hystart.on_ack(8000, true, at(0));
            hystart.on_ack(8000, true, at(2000));
            assert_eq!(hystart.on_ack(8000, true, at(2000 + gap)), long, "{gap} us");
        }
        for limited in [true, false] {
            let mut hystart = Hystart::new(1);
            hystart.on_ack(1000, true, at(0));
            if limited {
                hystart.start_round();
            } else {
                hystart.on_ack(1000, false, at(600));
            }
            assert!(!hystart.on_ack(1000, true, at(700)), "the train started a moment ago");
        }
    }

    /// Linux `tcp_cdg_hystart_update`: from the ninth ACK of a round on, more than 9/8 of the least round trip ends
    /// slow start, and more than 125 us.
    #[test]
    fn a_longer_round_trip() {
        for (least, us, longer) in
            [(1000, 1125, false), (1000, 1126, true), (80, 125, false), (80, 126, true), (1000, 0, false)]
        {
            let mut hystart = Hystart::new(2);
            for _ in 0..8 {
                assert!(!hystart.on_ack(least, true, at(0)));
            }
            assert_eq!(hystart.on_ack(us, true, at(0)), longer, "{us} us at {least} us");
            assert_eq!(hystart.least, least, "an ACK without a round trip");
            hystart.start_round();
            assert!(!hystart.on_ack(2 * least, true, at(0)), "the first ACK of a round");
        }
    }

    /// The bits of `hystart_detect`: 1 for trains, 2 for delay. What a restart forgets are not these.
    #[test]
    fn each_detection_by_its_bit() {
        for (detect, train, delay) in [(0, false, false), (1, true, false), (2, false, true), (3, true, true)]
        {
            let mut hystart = Hystart::new(detect);
            hystart.on_ack(500, true, at(0));
            hystart.forget();
            assert_eq!((hystart.is_on(), hystart.least, hystart.samples), (train || delay, 0, 0));
            hystart.on_ack(1000, true, at(0));
            assert_eq!(hystart.on_ack(1000, true, at(501)), train, "{detect}");
            for _ in 0..8 {
                hystart.on_ack(1000, false, at(501));
            }
            assert_eq!(hystart.on_ack(2000, false, at(501)), delay, "{detect}");
        }
    }
}
