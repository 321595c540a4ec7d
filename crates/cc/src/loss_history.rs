//! Loss events, and the mean of the intervals between them (RFC 5348 section 5).

use windtunnel_units::{Duration, Time};

/// The most intervals that a history can count.
pub(crate) const MOST_INTERVALS: usize = 16;
/// Discounting leaves at least this much of an interval's weight (section 5.5).
const THRESHOLD: f64 = 0.25;

/// A packet that was lost, or marked CE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Congested {
    /// When it left.
    pub(crate) sent: Time,
    /// Its number among all departures, in segments.
    pub(crate) number: f64,
}

/// A closed interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    packets: f64,
    /// `DF_i`: what discounting leaves of its weight.
    discount: f64,
}

/// The loss intervals of a flow.
#[derive(Clone, Debug)]
pub(crate) struct LossHistory {
    /// How many intervals count.
    n: usize,
    discounts: bool,
    /// `I_1`, `I_2`, and so on: the newest first.
    closed: [Interval; MOST_INTERVALS],
    len: usize,
    /// The packet with which the last loss event started, and with it the open interval `I_0`.
    last: Option<Congested>,
    events: u32,
}

impl LossHistory {
    pub(crate) const fn new(n: usize, discounts: bool) -> LossHistory {
        let none = Interval { packets: 0.0, discount: 1.0 };
        LossHistory { n, discounts, closed: [none; MOST_INTERVALS], len: 0, last: None, events: 0 }
    }

    /// True once there was a loss event.
    pub(crate) const fn is_started(&self) -> bool {
        self.last.is_some()
    }

    /// Loss events so far.
    pub(crate) const fn events(&self) -> u32 {
        self.events
    }

    /// Takes a congested packet. It belongs to the last loss event if it left at most a round trip after the packet with which that
    /// started (section 5.2), or before it; otherwise a new event starts, and true is returned. `first` is the interval
    /// before the first event.
    pub(crate) fn congested(
        &mut self,
        packet: Congested,
        rtt: Duration,
        first: impl FnOnce() -> f64,
    ) -> bool {
        match self.last {
            Some(last) if packet.sent <= last.sent + rtt => return false,
            Some(last) => self.close((packet.number - last.number).max(1.0)),
            None => self.push(first()),
        }
        self.last = Some(packet);
        self.events = self.events.saturating_add(1);
        true
    }

    /// The loss event rate p once the packets up to `newest` arrived; zero before the first event (sections 5.4 and 5.5).
    pub(crate) fn event_rate(&self, newest: f64) -> f64 {
        let Some(open) = self.open(newest) else { return 0.0 };
        let discount = self.discount(open);
        let with_open = self.closed[..self.len - 1].iter().enumerate().fold(
            (self.weight(0), self.weight(0) * open),
            |(weights, packets), (i, interval)| {
                let weight = self.weight(i + 1) * interval.discount * discount;
                (weights + weight, packets + weight * interval.packets)
            },
        );
        let (weights, packets) = self.totals();
        (with_open.0 / with_open.1).min(weights / packets)
    }

    /// The mean of the closed intervals, `I_tot1 / W_tot` (section 5.4); none before the first event.
    pub(crate) fn closed_mean(&self) -> Option<f64> {
        let (weights, packets) = self.totals();
        self.is_started().then(|| packets / weights)
    }

    /// `I_0`: the packets from the start of the last event to `newest`, both counted (section 5.3).
    pub(crate) fn open(&self, newest: f64) -> Option<f64> {
        self.last.map(|last| (newest - last.number + 1.0).max(1.0))
    }

    /// DF: what the open interval leaves of the weight of the closed ones. It is less than 1 if the open one is longer than twice their
    /// mean.
    pub(crate) fn discount(&self, open: f64) -> f64 {
        let (weights, packets) = self.totals();
        let twice_mean = 2.0 * packets / weights;
        if self.discounts && open > twice_mean { (twice_mean / open).max(THRESHOLD) } else { 1.0 }
    }

    /// The total of the weights of the closed intervals, and of their weighted packets.
    fn totals(&self) -> (f64, f64) {
        self.closed[..self.len].iter().enumerate().fold((0.0, 0.0), |(weights, packets), (i, interval)| {
            let weight = self.weight(i) * interval.discount;
            (weights + weight, packets + weight * interval.packets)
        })
    }

    /// `w_i`: 1 for the newer half, then falling in equal steps (section 5.4).
    fn weight(&self, i: usize) -> f64 {
        if 2 * i < self.n { 1.0 } else { 2.0 * (self.n - i) as f64 / (self.n + 2) as f64 }
    }

    /// The open interval ends with this many packets.
    fn close(&mut self, packets: f64) {
        let discount = self.discount(packets);
        for interval in &mut self.closed[..self.len] {
            interval.discount *= discount;
        }
        self.push(packets);
    }

    fn push(&mut self, packets: f64) {
        self.len = (self.len + 1).min(self.n);
        self.closed[..self.len].rotate_right(1);
        self.closed[0] = Interval { packets, discount: 1.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn packet(ms: u64, number: u32) -> Congested {
        Congested { sent: Time::ZERO + Duration::from_millis(ms), number: f64::from(number) }
    }

    /// A history whose closed intervals are these, the oldest first. The next event starts with packet 0 of the open interval.
    fn history(n: usize, discounts: bool, intervals: &[u32]) -> LossHistory {
        let mut history = LossHistory::new(n, discounts);
        let (first, later) = intervals.split_first().expect("one interval");
        assert!(history.congested(packet(0, 0), RTT, || f64::from(*first)));
        let (mut number, mut ms) = (0, 0);
        for length in later {
            (number, ms) = (number + length, ms + 1000);
            assert!(history.congested(packet(ms, number), RTT, || unreachable!("only before the first")));
        }
        let last = history.last.as_mut().expect("an event");
        last.number = 0.0;
        history
    }

    /// The mean interval once `open` packets arrived, that of the last loss event among them.
    fn mean(history: &LossHistory, open: u32) -> f64 {
        1.0 / history.event_rate(f64::from(open) - 1.0)
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9 * expected, "{value}, not {expected}");
    }

    /// Section 5.4 gives the weights for n = 8; its formula gives 2 (4 - 2) / 6 and 2 (4 - 3) / 6 for n = 4.
    #[test]
    fn weights() {
        let weights = |n: usize| (0..n).map(|i| LossHistory::new(n, true).weight(i)).collect::<Vec<_>>();
        assert_eq!(weights(8), [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]);
        assert_eq!(weights(4), [1.0, 1.0, 2.0 / 3.0, 1.0 / 3.0]);
    }

    /// Section 5.2: a loss event started at T belongs with the losses up to T + R, however many, and one after that is new. The event
    /// does not grow with its losses: the start counts. Section 5.3: the interval is the distance of the first packets.
    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut history = LossHistory::new(8, false);
        assert!(!history.is_started() && history.event_rate(50.0) <= 0.0);
        assert!(history.congested(packet(1000, 100), RTT, || 70.0));
        for (ms, number) in [(1001, 101), (1060, 160), (1100, 200), (990, 90)] {
            assert!(!history.congested(packet(ms, number), RTT, || 0.0), "{ms} ms");
        }
        assert!(history.congested(packet(1101, 201), RTT, || 0.0));
        assert!(!history.congested(packet(1180, 280), RTT, || 0.0), "80 ms after the new event");
        assert_eq!(history.len, 2);
        assert_eq!((history.closed[0].packets, history.closed[1].packets), (101.0, 70.0));
    }

    /// Section 5.3: the open interval has one packet if the one that is marked is the newest.
    #[test]
    fn open_interval_counts_both_ends() {
        let mut history = LossHistory::new(8, false);
        assert_eq!(history.open(7.0), None);
        history.congested(packet(0, 7), RTT, || 70.0);
        assert_eq!((history.open(7.0), history.open(16.0)), (Some(1.0), Some(10.0)));
    }

    /// Section 5.4: with eight closed intervals of 100 the mean is 100, until the open one raises it: with 400 packets it is
    /// (400 + 3 * 100 + (0.8 + 0.6 + 0.4 + 0.2) * 100) / 6 = 150. The interval that falls out of the history counts no more.
    #[test]
    fn open_interval_counts_once_it_raises_the_mean() {
        let history = history(8, false, &[5000, 100, 100, 100, 100, 100, 100, 100, 100]);
        for open in [1, 50, 100] {
            assert_near(mean(&history, open), 100.0);
        }
        assert_near(mean(&history, 400), 150.0);
    }

    /// Section 5.4: the open interval is weighted as the closed ones are, so that it is never six times the mean that counts it:
    /// (6000 + 5 * 100) / 6 of 6000. The mean of the closed ones does not follow it.
    #[test]
    fn mean_of_the_closed_intervals() {
        assert_eq!(LossHistory::new(8, false).closed_mean(), None);
        let history = history(8, false, &[5000, 100, 100, 100, 100, 100, 100, 100, 100]);
        assert_near(mean(&history, 6000), 6500.0 / 6.0);
        assert_near(history.closed_mean().expect("events"), 100.0);
    }

    /// Section 5.4 on a history that is not full: of the closed intervals 30 and 60, newest last, the mean is 45. With
    /// 120 open packets the oldest leaves: (120 + 60) / 2 = 90.
    #[test]
    fn short_history() {
        let history = history(8, false, &[30, 60]);
        assert_near(mean(&history, 10), 45.0);
        assert_near(mean(&history, 120), 90.0);
    }

    /// The mean changes by a sixth of a new interval's difference: what makes the rate smooth.
    #[test]
    fn one_interval_moves_the_mean_by_a_sixth() {
        let mut history = history(8, false, &[100; 8]);
        history.congested(packet(9000, 40), RTT, || 0.0);
        assert_near(mean(&history, 1), 100.0 - 60.0 / 6.0);
    }

    /// Section 5.5: the open interval discounts from twice the mean on. With 400 packets and a mean of 100, DF = 2 * 100 / 400 = 0.5,
    /// and the mean is (400 + 0.5 * 5 * 100) / (1 + 0.5 * 5) = 650 / 3.5. From 800 packets on DF stays at 0.25:
    /// at 1600 it is (1600 + 0.25 * 500) / (1 + 0.25 * 5) = 1725 / 2.25.
    #[test]
    fn discounting_of_the_open_interval() {
        let history = history(8, true, &[100; 8]);
        assert_near(mean(&history, 200), (200.0 + 500.0) / 6.0);
        assert_near(mean(&history, 400), 650.0 / 3.5);
        assert_near(mean(&history, 800), (800.0 + 125.0) / 2.25);
        assert_near(mean(&history, 1600), 1725.0 / 2.25);
    }

    /// Section 5.5: when the event after 400 packets comes, 0.5 stays with the older intervals. The mean of the closed ones is
    /// (400 + 0.5 * (1 + 1 + 1 + 0.8 + 0.6 + 0.4 + 0.2) * 100) / (1 + 0.5 * 5) = 650 / 3.5 again, so that the end of the interval does
    /// not move it. The next interval of 800 is longer than twice that: DF = 2 * (650 / 3.5) / 800 = 13 / 28 remains of the weight of the 400,
    /// and half of 13 / 28 of the weight of the others.
    #[test]
    fn discounts_accumulate() {
        let mut history = history(8, true, &[100; 8]);
        history.congested(packet(9000, 400), RTT, || 0.0);
        assert_near(mean(&history, 1), 650.0 / 3.5);
        history.congested(packet(19_000, 1200), RTT, || 0.0);
        let (newer, older) = (13.0 / 28.0, 6.5 / 28.0);
        // The weights of the six others that are left: 1, 1, 0.8, 0.6, 0.4, 0.2.
        let expected = (800.0 + newer * 400.0 + older * 400.0) / (1.0 + newer + older * 4.0);
        assert_near(mean(&history, 1), expected);
    }

    /// Section 5.5: an interval of 40 after three of 10 halves the weight of those, also once it has closed: the mean
    /// is then (40 + 3 * 5)/2.5 = 22. With 40 packets in the open one, less than twice that, it is (40 + 40 + 5 +
    /// 5)/(1 + 1 + 0.5 + 0.5) = 30.
    #[test]
    fn closed_intervals_stay_discounted() {
        let mut history = history(8, true, &[10, 10, 10]);
        assert!(history.congested(packet(10_000, 40), RTT, || unreachable!("only before the first")));
        assert_near(1.0 / history.event_rate(40.0), 22.0);
        assert_near(1.0 / history.event_rate(40.0 + 39.0), 30.0);
    }
}
