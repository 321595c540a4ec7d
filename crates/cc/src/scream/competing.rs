//! The delay target where other flows fill the queue (section "Competing Flows Compensation").
//!
//! A flow that gives way at 60 ms of queue starves next to one that fills the queue until it loses packets. If losses
//! are frequent, or the delay is high and steady, the target follows the delay; else it returns. All delays are
//! relative to the lowest target.

use windtunnel_units::{Duration, Time};

/// How many delays the variance is taken over, and the mean.
const OF_VARIANCE: usize = 200;
const OF_MEAN: usize = 50;
/// The variance below which the delay counts as steady.
const STEADY: f64 = 0.2;
/// The share of round trips with a loss above which other flows are assumed to fill the queue.
const FREQUENT: f64 = 0.002;
/// The gain of that share, for each round trip.
const LOSS_EVENT_G: f64 = 0.01;

/// The target, in seconds, and what decides about it.
#[derive(Debug)]
pub(super) struct Competing {
    lowest: f64,
    highest: f64,
    target: f64,
    /// The last delays, one for each round trip.
    history: [f64; OF_VARIANCE],
    /// How many delays entered the history.
    count: usize,
    loss_event_rate: f64,
    /// A loss in this round trip.
    lost: bool,
    since: Option<Time>,
}

impl Competing {
    pub(super) fn new(lowest: Duration, highest: Duration) -> Competing {
        Competing {
            lowest: lowest.as_secs_f64(),
            highest: highest.as_secs_f64(),
            target: lowest.as_secs_f64(),
            history: [0.0; OF_VARIANCE],
            count: 0,
            loss_event_rate: 0.0,
            lost: false,
            since: None,
        }
    }

    pub(super) const fn target(&self) -> f64 {
        self.target
    }

    pub(super) const fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    pub(super) const fn on_loss(&mut self) {
        self.lost = true;
    }

    /// Adjusts the target, once in each round trip.
    pub(super) fn update(&mut self, qdelay: f64, now: Time, srtt: Duration) {
        if self.since.is_some_and(|since| now.since(since) < srtt) {
            return;
        }
        self.since = Some(now);
        let lost = f64::from(u8::from(std::mem::take(&mut self.lost)));
        self.loss_event_rate += LOSS_EVENT_G * (lost - self.loss_event_rate);
        self.history[self.count % OF_VARIANCE] = qdelay / self.lowest;
        self.count += 1;
        self.adjust();
    }

    fn adjust(&mut self) {
        let variance = self.variance();
        let new_target = (self.mean() + libm::sqrt(variance)) * self.lowest;
        let target = if self.loss_event_rate > FREQUENT {
            1.5 * new_target
        } else if variance < STEADY {
            new_target
        } else if new_target < self.lowest {
            (self.target * 0.5).max(new_target)
        } else {
            self.target * 0.9
        };
        self.target = target.clamp(self.lowest, self.highest);
    }

    /// The mean of the last [`OF_MEAN`] delays.
    fn mean(&self) -> f64 {
        let n = self.count.min(OF_MEAN);
        let newest = (self.count - n..self.count).map(|number| self.history[number % OF_VARIANCE]);
        newest.sum::<f64>() / n as f64
    }

    fn variance(&self) -> f64 {
        let all = &self.history[..self.count.min(OF_VARIANCE)];
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        all.iter().map(|delay| (delay - mean) * (delay - mean)).sum::<f64>() / n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn competing() -> Competing {
        Competing::new(Duration::from_millis(60), Duration::from_millis(400))
    }

    fn rounds(competing: &mut Competing, from: u64, n: u64, qdelay: f64) {
        for round in from..from + n {
            competing.update(qdelay, Time::ZERO + RTT * round, RTT);
        }
    }

    /// By the draft's formulae: a steady delay of 180 ms is 3 with variance 0, so the target becomes 3 * 60 ms; with losses 1.5 times
    /// that; 300 ms and losses reach the highest target, 400 ms.
    #[test]
    fn follows_a_steady_delay() {
        let mut steady = competing();
        rounds(&mut steady, 0, 200, 0.18);
        assert!((steady.target() - 0.18).abs() < 1e-9, "{}", steady.target());
        steady.on_loss();
        rounds(&mut steady, 200, 1, 0.18);
        assert!((steady.target() - 0.27).abs() < 1e-9, "one loss in a round is 0.01 > 0.002");
        let mut high = competing();
        high.on_loss();
        rounds(&mut high, 0, 100, 0.3);
        assert!((high.target() - 0.4).abs() < 1e-12);
    }

    /// One delay a round: what comes within it is not sampled.
    #[test]
    fn samples_once_per_round_trip() {
        let mut target = competing();
        rounds(&mut target, 0, 1, 0.18);
        target.update(0.6, Time::ZERO + RTT / 2, RTT);
        assert_eq!(target.count, 1);
        assert!((target.target() - 0.18).abs() < 1e-12);
    }

    /// Half the delays are 0 and half 120 ms: mean 1 and variance 1, which is not steady, so a high target falls by a tenth; once
    /// the mean is 0 and the sum below 60 ms it halves.
    #[test]
    fn returns_where_the_delay_varies() {
        let mut target = competing();
        for round in 0..200 {
            rounds(&mut target, round, 1, if round % 2 == 0 { 0.0 } else { 0.12 });
        }
        target.target = 0.3;
        rounds(&mut target, 200, 1, 0.0);
        assert!((target.target() - 0.27).abs() < 1e-9, "{}", target.target());
        rounds(&mut target, 201, 50, 0.0);
        assert!((target.target() - 0.06).abs() < 1e-12);
    }

    /// Rule 10 of spec/congestion-control section 3.27, in units of 60 ms. Half the delays 2 and half 2.8: mean 2.4,
    /// deviation 0.4, and 0.16 is steady. Half 0 and half 2, with losses: 1.5 * (1 + 1). A hundred of 5 and fifty of
    /// 3, with losses: the mean is that of the last fifty, the variance 8/9 that of all.
    #[test]
    fn targets_by_hand() {
        let low = 0.06;
        for (delays, lossy, target) in [
            ([[2.0, 2.8]; 75], false, 2.4 + 0.4),
            ([[0.0, 2.0]; 75], true, 1.5 * 2.0),
            (std::array::from_fn(|pair| if pair < 50 { [5.0; 2] } else { [3.0; 2] }), true, {
                1.5 * (3.0 + libm::sqrt(8.0 / 9.0))
            }),
        ] {
            let mut competing = competing();
            for (round, delay) in (0..).zip(delays.concat()) {
                if lossy {
                    competing.on_loss();
                }
                rounds(&mut competing, round, 1, delay * low);
            }
            assert!(
                (competing.target() - target * low).abs() < 1e-9,
                "{} {target}",
                competing.target() / low
            );
        }
    }

    /// The loss event rate of one loss, 0.01, is no more than 0.002 after 161 round trips, because 0.99^160 > 0.2 >
    /// 0.99^161.
    #[test]
    fn losses_are_forgotten() {
        let mut steady = competing();
        steady.on_loss();
        rounds(&mut steady, 0, 161, 0.18);
        assert!((steady.target() - 0.27).abs() < 1e-9);
        rounds(&mut steady, 161, 1, 0.18);
        assert!((steady.target() - 0.18).abs() < 1e-9);
    }

    /// A target far too high halves where the delay varies but is short, and is a tenth less where it is not so
    /// short: 75 delays of 2 and 75 of 0 are followed by 50 of 0 or of 1.
    #[test]
    fn a_high_target_halves_or_falls_by_a_tenth() {
        for (last, factor) in [(0.0, 0.5), (0.06, 0.9)] {
            let mut competing = competing();
            for round in 0..150 {
                rounds(&mut competing, round, 1, if round % 2 == 0 { 0.12 } else { 0.0 });
            }
            rounds(&mut competing, 150, 49, last);
            competing.target = 0.4;
            rounds(&mut competing, 199, 1, last);
            assert!((competing.target() - 0.4 * factor).abs() < 1e-9, "{}", competing.target());
        }
    }
}
