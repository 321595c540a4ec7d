//! How much the queueing delay varies, and what that restricts (section "Detecting Increased Queue Delay", `REDUCE_JITTER`).
//!
//! Links that schedule or send again vary the delay without congestion. A window that grows slowly, and little beyond it in
//! flight, gives a steadier rate there.

/// The gain of the averages of the least and the largest delay.
const QDELAY_MIN_MAX_AVG_G: f64 = 1.0 / 16.0;
/// The gain of the average of their difference.
const QDELAY_DEV_AVG_G: f64 = 1.0 / 32.0;
/// The difference, in seconds, from which on the restriction is full.
const QDELAY_DEV_THRESHOLD: f64 = 0.01;

/// The variation of the queueing delay, in seconds.
#[derive(Debug)]
pub(super) struct Jitter {
    largest: f64,
    least: f64,
    deviation: f64,
}

impl Jitter {
    pub(super) const fn new(qdelay_target: f64) -> Jitter {
        Jitter { largest: qdelay_target, least: 0.0, deviation: 0.0 }
    }

    pub(super) const fn sample(&mut self, qdelay: f64, qdelay_target: f64) {
        self.largest = qdelay_target.min(qdelay.max(self.largest));
        self.least = qdelay.min(self.least);
    }

    /// The largest falls towards zero, the least rises towards the largest.
    pub(super) fn update(&mut self) {
        self.largest *= 1.0 - QDELAY_MIN_MAX_AVG_G;
        self.least += QDELAY_MIN_MAX_AVG_G * (self.largest - self.least);
        self.deviation += QDELAY_DEV_AVG_G * (self.largest - self.least - self.deviation);
    }

    /// `ref_wnd_delay_scale`: 1 without variation, 0 at the threshold.
    pub(super) const fn scale(&self) -> f64 {
        (1.0 - self.deviation / QDELAY_DEV_THRESHOLD).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the draft's formulae, without any delay: the largest falls from 60 to 56.25 ms, the least rises by 1/16 of that, and 1/32
    /// of their difference, 52.734375 ms, enters the average.
    #[test]
    fn one_update_by_hand() {
        let mut jitter = Jitter::new(0.06);
        jitter.sample(0.0, 0.06);
        jitter.update();
        assert!((jitter.scale() - (1.0 - 0.052_734_375 / 32.0 / 0.01)).abs() < 1e-12, "{}", jitter.scale());
    }

    /// Rule 6 of spec/congestion-control section 3.27 twice, with a delay of 60 ms: the largest is 56.25 ms each
    /// time, the least 56.25/16 and then 15/16 of that more.
    #[test]
    fn two_updates_by_hand() {
        let mut jitter = Jitter::new(0.06);
        for _ in 0..2 {
            jitter.sample(0.06, 0.06);
            jitter.update();
        }
        let (largest, first) = (0.05625, 0.05625 / 16.0);
        let second = first + (largest - first) / 16.0;
        let deviation = (largest - first) / 32.0;
        let deviation = deviation + (largest - second - deviation) / 32.0;
        assert!((jitter.scale() - (1.0 - deviation / 0.01)).abs() < 1e-12, "{}", jitter.scale());
    }
}
