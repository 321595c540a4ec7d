//! The loss-based controller (section 6). Rates are in bits per second.

use windtunnel_units::{Duration, Time};

/// Below this share of losses the estimate grows, and above the other one it falls.
const FEW: f64 = 0.02;
const MANY: f64 = 0.1;
/// The growth of a report.
const GROWTH: f64 = 1.05;

/// `As_hat`, and the packets since the last report.
#[derive(Debug)]
pub(super) struct LossBased {
    rate: f64,
    interval: Duration,
    arrived: u64,
    lost: u64,
    /// The last report.
    since: Option<Time>,
    /// The share of losses that it told.
    share: f64,
}

impl LossBased {
    pub(super) const fn new(interval: Duration, rate: f64) -> LossBased {
        LossBased { rate, interval, arrived: 0, lost: 0, since: None, share: 0.0 }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) const fn share(&self) -> f64 {
        self.share
    }

    /// What the encoder can do bounds the estimate.
    pub(super) fn clamp(&mut self, least: f64, most: f64) {
        self.rate = self.rate.max(least).min(most);
    }

    pub(super) fn arrived(&mut self, packets: u32) {
        self.arrived += u64::from(packets);
    }

    pub(super) const fn lost(&mut self) {
        self.lost += 1;
    }

    /// A report is due after each interval; the first one starts with the first arrival.
    pub(super) fn update(&mut self, now: Time) {
        let since = *self.since.get_or_insert(now);
        if now.since(since) >= self.interval {
            self.report(now);
        }
    }

    /// The report of what became of the packets since the last one.
    pub(super) fn report(&mut self, now: Time) {
        let packets = self.arrived + self.lost;
        if packets == 0 {
            return;
        }
        self.share = self.lost as f64 / packets as f64;
        if self.share < FEW {
            self.rate *= GROWTH;
        } else if self.share > MANY {
            self.rate *= 1.0 - 0.5 * self.share;
        }
        (self.since, self.arrived, self.lost) = (Some(now), 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Reports of a hundred packets: up to one lost one the rate grows by 5 %, from two to ten it stays, with twelve 0.94 of it stay,
    /// with all lost a half.
    #[test]
    fn shares_of_losses() {
        for (lost, factor) in [(0, 1.05), (1, 1.05), (2, 1.0), (10, 1.0), (12, 0.94), (100, 0.5)] {
            let mut control = LossBased::new(Duration::SECOND, 1e6);
            control.update(at(0));
            control.arrived(100 - lost);
            (0..lost).for_each(|_| control.lost());
            control.update(at(999));
            assert!((control.rate() - 1e6).abs() < 1e-6, "the interval is not over");
            control.update(at(1000));
            assert!((control.rate() - factor * 1e6).abs() < 1e-6, "{lost}: {}", control.rate());
            assert!((control.share() - f64::from(lost) / 100.0).abs() < 1e-12);
            // Nothing arrived since then.
            control.update(at(2000));
            assert!((control.rate() - factor * 1e6).abs() < 1e-6);
        }
    }
}
