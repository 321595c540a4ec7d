//! Recognises a policer: a token bucket lets a burst pass and then loses all that exceeds its rate, so that the largest
//! delivery rate overstates what there is. Two intervals in a row with much loss and equal throughput are its mark; their
//! mean is then the bandwidth for 48 rounds.

use windtunnel_units::Bytes;

use super::super::fixed::{Bandwidth, Gain};

/// The rounds of an interval: at least four, because the rate varies within a cycle, at most sixteen.
const SHORTEST: u32 = 4;
const LONGEST: u32 = 16;
/// An interval counts if it lost this part of what it delivered: 20 %.
const LOSSY: u64 = 50;
/// Two bandwidths are equal if they differ by an eighth, or by 4 kbit/s.
const RATIO: Gain = Gain(Gain::ONE.0 / 8);
const DIFFERENCE: u64 = 4_000 / 8;
/// How long the bandwidth is kept, in rounds.
const KEPT: u32 = 48;

/// What the policer's bandwidth is derived from, at one ACK.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the flow")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// The ACK, or the timeout, showed a loss.
    pub(super) lossy: bool,
    /// The application limited the sender.
    pub(super) app_limited: bool,
    /// A round starts.
    pub(super) round_start: bool,
    /// The flow cycles through its phases.
    pub(super) cycling: bool,
    /// When something was delivered last, in microseconds.
    pub(super) at: u64,
    /// Delivered and lost since the connection started.
    pub(super) delivered: Bytes,
    pub(super) lost: Bytes,
}

/// The estimator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policer {
    on: bool,
    mss: Bytes,
    /// The share of the bandwidth that counts, in percent: the pacing margin.
    percent: u64,
    sampling: bool,
    rounds: u32,
    /// When the interval started, in milliseconds, and the counters then.
    since: u64,
    delivered: Bytes,
    lost: Bytes,
    /// The bandwidth of the last lossy interval, or the policer's if it is in use.
    bandwidth: Option<Bandwidth>,
    in_use: bool,
}

impl Policer {
    /// An estimator that does nothing unless it is `on`.
    pub(super) fn new(on: bool, mss: Bytes, percent: u64) -> Policer {
        Policer {
            on,
            mss,
            percent,
            sampling: false,
            rounds: 0,
            since: 0,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            bandwidth: None,
            in_use: false,
        }
    }

    /// The bandwidth that a policer enforces.
    #[inline]
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        self.bandwidth.filter(|_| self.in_use)
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self, now: &Sample) {
        self.bandwidth = None;
        self.in_use = false;
        self.sampling = false;
        self.restart(now);
    }

    fn restart(&mut self, now: &Sample) {
        self.since = now.at / 1_000;
        self.delivered = now.delivered;
        self.lost = now.lost;
        self.rounds = 0;
    }

    /// Takes a sample. True if the policer's bandwidth has been in use for long enough: the flow shall probe again.
    #[inline]
    pub(super) fn take(&mut self, sample: &Sample) -> bool {
        if !self.sampling && !sample.lossy && !self.in_use {
            return false;
        }
        self.on && self.consider(sample)
    }

    fn consider(&mut self, sample: &Sample) -> bool {
        if self.in_use {
            if sample.cycling && sample.round_start {
                self.rounds += 1;
                if self.rounds >= KEPT {
                    self.reset(sample);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            self.restart(sample);
            self.sampling = true;
        }
        if sample.app_limited {
            self.reset(sample);
            return false;
        }
        self.rounds += u32::from(sample.round_start);
        if self.rounds > LONGEST {
            self.reset(sample);
        } else if self.rounds >= SHORTEST && sample.lossy {
            self.end_interval(sample);
        }
        false
    }

    /// An interval ends with a loss, when the bucket is empty.
    fn end_interval(&mut self, sample: &Sample) {
        let (lost, delivered) = (sample.lost - self.lost, sample.delivered - self.delivered);
        if delivered == Bytes::ZERO || lost.get() * Gain::ONE.0 < LOSSY * delivered.get() {
            return;
        }
        let millis = sample.at / 1_000 - self.since;
        if millis == 0 {
            return;
        }
        let bandwidth = Bandwidth::of(delivered.get().div_ceil(self.mss.get()), millis * 1_000);
        match self.bandwidth {
            Some(previous) if self.are_equal(bandwidth, previous) => {
                self.bandwidth = Some(bandwidth.mean(previous));
                self.in_use = true;
                self.rounds = 0;
            }
            _ => {
                self.bandwidth = Some(bandwidth);
                self.restart(sample);
            }
        }
    }

    fn are_equal(&self, bandwidth: Bandwidth, previous: Bandwidth) -> bool {
        let distance = bandwidth.distance(previous);
        distance <= previous.times(RATIO)
            || distance.bytes_per_second(self.mss, Gain::ONE, self.percent) <= DIFFERENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    /// A flow with a round each 100 ms that delivers 100 packets in each and loses `lost` of them, up to this round.
    fn at(round: u64, lost: u64) -> Sample {
        Sample {
            lossy: lost > 0,
            app_limited: false,
            round_start: true,
            cycling: true,
            at: round * 100_000,
            delivered: MSS * (100 * round),
            lost: MSS * (lost * round),
        }
    }

    fn policer() -> Policer {
        Policer::new(true, MSS, 99)
    }

    /// The first loss starts an interval, which ends in its fourth round (the first counts), at 300 ms; so does a second. Both
    /// have 100 packets in 100 ms, 1000 per second: used for 48 rounds, and then given up.
    #[test]
    fn two_equal_intervals_with_a_fifth_lost() {
        let mut policer = policer();
        let mut in_use = Vec::new();
        for round in 1..=60 {
            let over = policer.take(&at(round, 25));
            in_use.push(policer.bandwidth());
            assert_eq!(over, round == 56, "round {round}");
        }
        let first = in_use.iter().position(Option::is_some).expect("found");
        assert_eq!(first, 7, "the eighth round: one, three more, and four");
        assert_eq!(in_use[first], Some(Bandwidth::of(1, 1_000)));
    }

    /// 19 % lost, an application that limits, or a policer that is not looked for: nothing.
    #[test]
    fn what_is_none() {
        let cases =
            [(policer(), 19, false), (policer(), 25, true), (Policer::new(false, MSS, 99), 25, false)];
        for (mut policer, lost, app_limited) in cases {
            for round in 1..=100 {
                policer.take(&Sample { app_limited, ..at(round, lost) });
                assert_eq!(policer.bandwidth(), None, "{lost} % in round {round}");
            }
        }
    }

    /// A flow with a round each 100 ms that delivers `per_round` packets in each and loses `lost(round)` of them; the
    /// rounds in which a policer is in use, of the first 40.
    fn in_use(per_round: u64, lost: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut policer = policer();
        let (mut delivered, mut total) = (Bytes::ZERO, Bytes::ZERO);
        let mut rounds = Vec::new();
        for round in 1..=40 {
            delivered += MSS * per_round;
            total += MSS * lost(round);
            policer.take(&Sample { lossy: lost(round) > 0, delivered, lost: total, ..at(round, 0) });
            rounds.extend(policer.bandwidth().map(|_| round));
        }
        rounds
    }

    /// Intervals start with a loss, in whose round they begin to count, and end with one, from the fourth round to
    /// the sixteenth; later they are given up. 50 of 256 packets are enough, 49 are not.
    #[test]
    fn the_ends_of_intervals() {
        let first = |rounds: Vec<u64>| rounds.first().copied();
        assert_eq!(first(in_use(256, |round| if round > 4 { 50 } else { 0 })), Some(12), "5 + 3 + 4");
        assert_eq!(first(in_use(256, |_| 49)), None);
        // A burst of losses ends the first interval, which lasts 15 rounds, and one the second of as many.
        let bursts = |apart: u64| move |round: u64| if round % apart == 1 { 1_000 } else { 0 };
        assert_eq!(first(in_use(200, bursts(15))), Some(31));
        assert_eq!(first(in_use(200, bursts(16))), None, "its own round counts in the first");
        assert_eq!(
            first(in_use(200, |round| if [1, 16, 32].contains(&round) { 1_000 } else { 0 })),
            Some(32)
        );
        assert_eq!(first(in_use(200, |round| if [1, 16, 33].contains(&round) { 1_000 } else { 0 })), None);
    }

    /// Two intervals of 1000 and 1200 packets per second are not of one policer; the second and a third like it are.
    #[test]
    fn unequal_intervals() {
        let mut policer = policer();
        let (mut delivered, mut lost) = (Bytes::ZERO, Bytes::ZERO);
        for round in 1..=12 {
            delivered += MSS * if round > 4 { 120 } else { 100 };
            lost += MSS * 30;
            policer.take(&Sample { delivered, lost, ..at(round, 1) });
            assert_eq!(policer.bandwidth().is_some(), round == 12, "round {round}");
        }
    }

    /// 2097 is an eighth of 16,777. Below about 4 kbit/s (8 of 2^-24 packets per us are 472 bytes per second less the
    /// margin, 9 are 531), the share does not matter.
    #[test]
    fn equal_bandwidths() {
        // This many of 2^-24 packets per us.
        let units = |n: u64| Bandwidth::of(n, 1 << 24);
        let cases = [
            (16_777, 16_777, true),
            (16_777 + 2_097, 16_777, true),
            (16_777 - 2_097, 16_777, true),
            (16_777 + 2_098, 16_777, false),
            (16_777 - 2_098, 16_777, false),
            (24, 16, true),
            (25, 16, false),
        ];
        for (bandwidth, previous, equal) in cases {
            assert_eq!(
                policer().are_equal(units(bandwidth), units(previous)),
                equal,
                "{bandwidth}, {previous}"
            );
        }
    }

    /// A policer in use counts the starts of rounds while the flow cycles, and nothing else.
    #[test]
    fn only_rounds_of_the_cycle_count() {
        let mut policer = policer();
        for round in 1..=8 {
            policer.take(&at(round, 25));
        }
        for ack in 0..200 {
            let cycling = ack % 2 == 0;
            assert!(!policer.take(&Sample { cycling, round_start: !cycling, ..at(9, 0) }));
        }
        for round in 1..=48 {
            assert_eq!(policer.take(&at(9 + round, 0)), round == 48, "round {round}");
        }
    }
}
