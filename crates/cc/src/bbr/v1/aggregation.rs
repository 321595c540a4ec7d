//! How many packets ACKs deliver at once beyond what the bandwidth explains: Wi-Fi, cable modems and receive offload hold
//! ACKs back and then release them together. Without room for these, cwnd would stop the flow in the meantime.

use super::super::fixed::Bandwidth;

/// The rounds of each of the two windows. The maximum of both is kept.
const WINDOW: u32 = 5;
/// The number of packets at which an epoch ends in any case.
const LONGEST_EPOCH: u64 = 1 << 20;

/// The estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// When the epoch started, in microseconds, and what was delivered since.
    since: u64,
    acked: u64,
    /// The largest excess in this window of rounds and in the previous one.
    most: [u64; 2],
    /// The window in use, and its age in rounds.
    window: usize,
    rounds: u32,
}

impl Aggregation {
    /// A new epoch starts at `now`.
    pub(super) fn restart(&mut self, now: u64) {
        self.since = now;
        self.acked = 0;
    }

    /// The largest excess of the last five to ten rounds.
    pub(super) fn extra(&self) -> u64 {
        self.most[0].max(self.most[1])
    }

    /// An ACK delivered `packets` at `now`; the excess counts at most as `cwnd`.
    pub(super) fn on_ack(
        &mut self,
        packets: u64,
        now: u64,
        bandwidth: Bandwidth,
        cwnd: u64,
        round_start: bool,
    ) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW {
                self.rounds = 0;
                self.window = 1 - self.window;
                self.most[self.window] = 0;
            }
        }
        let mut expected = bandwidth.packets_in(now - self.since);
        if self.acked <= expected || self.acked + packets >= LONGEST_EPOCH {
            self.restart(now);
            expected = 0;
        }
        self.acked = (self.acked + packets).min(LONGEST_EPOCH - 1);
        let extra = self.acked.saturating_sub(expected).min(cwnd);
        self.most[self.window] = self.most[self.window].max(extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A little more than one packet per ms is expected. Twenty come at once after 20 ms of silence: the silence starts a new epoch with the
    /// ACK, in which nothing is expected yet. Five rounds later the older window still counts, ten rounds later none does.
    #[test]
    fn a_burst_counts_for_five_to_ten_rounds() {
        let bandwidth = Bandwidth::of(1_001, 1_000_000);
        let mut aggregation = Aggregation::default();
        aggregation.restart(0);
        for ms in 1..=10 {
            aggregation.on_ack(1, ms * 1_000, bandwidth, 100, false);
        }
        assert_eq!(aggregation.extra(), 1, "each starts an epoch of its own");
        aggregation.on_ack(20, 30_000, bandwidth, 100, false);
        assert_eq!(aggregation.extra(), 20);
        let mut after = Vec::new();
        for round in 1..=10 {
            aggregation.on_ack(1, 30_000 + round * 100_000, bandwidth, 100, true);
            after.push(aggregation.extra());
        }
        assert_eq!(after, [20, 20, 20, 20, 20, 20, 20, 20, 20, 1]);
        aggregation.on_ack(500, 2_000_000, bandwidth, 100, false);
        assert_eq!(aggregation.extra(), 100, "a window at most");
    }

    /// Two packets each ms, where one is expected: the excess of an epoch grows by one each ms from the two of its
    /// first ACK. Linux ends an epoch before 2^20 packets, and counts at most 2^20 - 1.
    #[test]
    fn an_epoch_lasts_as_long_as_there_is_excess() {
        let bandwidth = Bandwidth::of(1_001, 1_000_000);
        let mut aggregation = Aggregation::default();
        for ms in 1..=10 {
            aggregation.on_ack(2, ms * 1_000, bandwidth, 100, false);
            assert_eq!(aggregation.extra(), 1 + ms);
        }
        let mut aggregation = Aggregation::default();
        for (packets, extra) in [
            (1_100, 1_100),
            (1_100, 2_200),
            (LONGEST_EPOCH - 2_201, LONGEST_EPOCH - 1),
            (1, LONGEST_EPOCH - 1),
        ] {
            aggregation.on_ack(packets, 0, bandwidth, u64::MAX, false);
            assert_eq!(aggregation.extra(), extra);
        }
        assert_eq!(aggregation.acked, 1, "a new epoch");
        let mut aggregation = Aggregation::default();
        aggregation.on_ack(LONGEST_EPOCH + 5, 0, bandwidth, u64::MAX, false);
        assert_eq!(aggregation.extra(), LONGEST_EPOCH - 1);
    }
}
