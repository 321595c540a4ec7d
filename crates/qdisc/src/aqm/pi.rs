//! The linear PI controller of PI2 and DualPI2: a pseudo-probability p' that keeps the queueing delay at a target.
//!
//! Source: De Schepper et al., "PI2: A Linearized AQM for both Classic and Scalable TCP", CoNEXT 2016; RFC 9332
//! sections 2.4 and A.1; Linux `sch_dualpi2`. Every `tupdate`, p' moves by `alpha` times the distance of the delay from its
//! target and `beta` times the delay's change since the last update. Traffic that responds to the square root of its
//! signals (Reno, CUBIC) is signalled with p'^2, traffic that responds to their number (DCTCP, Prague) with k p': for
//! both, the rate then falls in proportion to p', and the gains need no tuning to the load as PIE's do.

use windtunnel_units::{Duration, OutOfRange, Time};

use crate::params::AqmInit;

/// How fast p' follows the delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PiGains {
    /// The queueing delay at which the queue is held.
    pub(crate) target: Duration,
    /// How often p' is updated.
    pub(crate) tupdate: Duration,
    /// The gain of the distance from the target, in Hz.
    pub(crate) alpha: f64,
    /// The gain of the delay's change, in Hz.
    pub(crate) beta: f64,
}

impl PiGains {
    /// The paper's, section 5.
    pub(crate) const PAPER: PiGains = PiGains {
        target: Duration::from_millis(20),
        tupdate: Duration::from_millis(32),
        alpha: 0.3125,
        beta: 3.125,
    };
    /// Those of RFC 9332 appendix A.1 for round trips of up to 100 ms.
    pub(crate) const RFC: PiGains = PiGains {
        target: Duration::from_millis(15),
        tupdate: Duration::from_millis(15),
        alpha: 0.15,
        beta: 3.0,
    };
    /// Linux's, in 1/256 Hz as it has them.
    pub(crate) const LINUX: PiGains = PiGains {
        target: Duration::from_millis(15),
        tupdate: Duration::from_millis(16),
        alpha: 41.0 / 256.0,
        beta: 819.0 / 256.0,
    };

    /// Linux's largest gain.
    const LARGEST: f64 = 8_388_607.0;

    /// Those that suit paths whose typical and longest round trips are these (RFC 9332 appendix A.1).
    pub(crate) fn for_paths(typical_rtt: Duration, max_rtt: Duration) -> PiGains {
        let (tupdate, rtt) = (typical_rtt.min(max_rtt / 3), max_rtt.as_secs_f64());
        let alpha = 0.1 * tupdate.as_secs_f64() / (rtt * rtt);
        PiGains { target: typical_rtt, tupdate, alpha, beta: 0.3 / rtt }
    }

    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        for (key, span) in [("target", self.target), ("tupdate", self.tupdate)] {
            if span.is_zero() {
                return Err(OutOfRange::new(key, span, "more than 0 s"));
            }
        }
        for (key, gain) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(gain > 0.0 && gain <= PiGains::LARGEST) {
                return Err(OutOfRange::new(key, gain, "more than 0 and at most 8388607, in Hz"));
            }
        }
        Ok(())
    }
}

/// The controller's variables.
#[derive(Clone, Debug)]
pub(crate) struct PiController {
    gains: PiGains,
    /// The largest p'.
    most: f64,
    p: f64,
    /// The delay at the last update.
    delay: Duration,
    next_update: Time,
}

impl PiController {
    /// A controller whose p' stays at or below `most`. Idle time leaves nothing in it but the phase of its timer.
    pub(crate) fn new(gains: PiGains, most: f64, init: &AqmInit) -> PiController {
        let next_update = init.next_tick(gains.tupdate, gains.tupdate);
        PiController { gains, most, p: 0.0, delay: Duration::ZERO, next_update }
    }

    /// p'.
    #[inline]
    pub(crate) const fn p(&self) -> f64 {
        self.p
    }

    /// When [`PiController::update`] is due.
    #[inline]
    pub(crate) const fn next_update(&self) -> Time {
        self.next_update
    }

    /// The control law; `delay` is how long the oldest packet has waited.
    pub(crate) fn update(&mut self, delay: Duration, now: Time) {
        let PiGains { target, tupdate, alpha, beta } = self.gains;
        let [is, was, target] = [delay, self.delay, target].map(Duration::as_secs_f64);
        self.p = (self.p + alpha * (is - target) + beta * (is - was)).clamp(0.0, self.most);
        self.delay = delay;
        self.next_update = now + tupdate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;

    fn controller(gains: PiGains) -> PiController {
        let init = AqmInit { limit: Limit::Unlimited, seed: 1, now: Time::ZERO, age: Duration::ZERO };
        PiController::new(gains, 1.0, &init)
    }

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// spec/queues-and-signalling section 7: at the target p' stays; 10 ms above it p' rises by alpha/100 per update,
    /// after one step of beta/100.
    #[test]
    fn law() {
        for gains in [PiGains::PAPER, PiGains::RFC, PiGains::LINUX] {
            let mut pi = controller(gains);
            pi.update(gains.target + ms(10), Time::ZERO);
            let risen = pi.p();
            assert!(
                (risen - gains.alpha * 0.01 - gains.beta * (0.01 + gains.target.as_secs_f64())).abs() < 1e-12
            );
            for n in 1..5 {
                pi.update(gains.target + ms(10), Time::ZERO);
                assert!((pi.p() - risen - f64::from(n) * gains.alpha * 0.01).abs() < 1e-12);
            }
            pi.update(gains.target, Time::ZERO);
            let p = pi.p();
            pi.update(gains.target, Time::ZERO);
            assert_eq!(pi.p().to_bits(), p.to_bits());
        }
    }

    /// p' is a probability, and at most what it was told.
    #[test]
    fn bounds() {
        let mut pi = controller(PiGains::LINUX);
        pi.update(ms(10_000), Time::ZERO);
        assert_eq!(pi.p().to_bits(), 1.0_f64.to_bits());
        pi.update(ms(0), Time::ZERO);
        assert_eq!(pi.p().to_bits(), 0.0_f64.to_bits());
        let mut pi = PiController { most: 0.5, ..pi };
        pi.update(ms(10_000), Time::ZERO);
        assert_eq!(pi.p().to_bits(), 0.5_f64.to_bits());
    }

    /// Round trips of 100 ms at most and 15 ms typically give RFC 9332's own gains.
    #[test]
    fn gains_for_paths() {
        let gains = PiGains::for_paths(ms(15), ms(100));
        assert_eq!((gains.target, gains.tupdate), (PiGains::RFC.target, PiGains::RFC.tupdate));
        assert!((gains.alpha - 0.15).abs() < 1e-12 && (gains.beta - 3.0).abs() < 1e-12);
        assert_eq!(PiGains::for_paths(ms(60), ms(90)).tupdate, ms(30));
    }
}
