//! The rate control of the delay-based controller (section 5.5). Rates are in bits per second, times in milliseconds.

use windtunnel_units::Time;

use super::detector::Signal;

/// The growth in a second far from convergence.
const ETA: f64 = 1.08;
/// What the detector takes, in addition to the round trip.
const REACTION: f64 = 100.0;
/// The least growth close to convergence, in bits for each update.
const LEAST_STEP: f64 = 1000.0;
/// Frames in a second, and the bits of a packet, by which the size of packets is estimated.
const FRAMES: f64 = 30.0;
const PACKET: f64 = 1200.0 * 8.0;
/// The estimate stays below this multiple of what arrives.
const BOUND: f64 = 1.5;

/// What the rate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Increase,
    Hold,
    Decrease,
}

impl State {
    /// The table of transitions.
    const fn after(self, signal: Signal) -> State {
        match (self, signal) {
            (_, Signal::Overuse) => State::Decrease,
            (State::Decrease, _) | (State::Increase | State::Hold, Signal::Underuse) => State::Hold,
            (State::Increase | State::Hold, Signal::Normal) => State::Increase,
        }
    }
}

/// What is measured at an update.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) now: Time,
    pub(super) rtt: f64,
    /// `R_hat`.
    pub(super) received: Option<f64>,
}

/// `A_hat`, and what it follows from.
#[derive(Debug)]
pub(super) struct DelayBased {
    beta: f64,
    rate: f64,
    state: State,
    updated: Option<Time>,
    ceiling: Ceiling,
}

impl DelayBased {
    pub(super) fn new(beta: f64, rate: f64) -> DelayBased {
        DelayBased { beta, rate, state: State::Increase, updated: None, ceiling: Ceiling::default() }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) const fn state(&self) -> State {
        self.state
    }

    /// The last update.
    pub(super) const fn updated(&self) -> Option<Time> {
        self.updated
    }

    /// What the encoder can do bounds the estimate.
    pub(super) fn clamp(&mut self, least: f64, most: f64) {
        self.rate = self.rate.max(least).min(most);
    }

    pub(super) fn update(&mut self, signal: Signal, measured: &Measured) {
        let passed = self.updated.map_or(0.0, |last| measured.now.since(last).as_millis_f64());
        self.updated = Some(measured.now);
        let before = self.state;
        self.state = before.after(signal);
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(passed, measured),
            State::Decrease => {
                let Some(received) = measured.received else { return };
                if before != State::Decrease {
                    self.ceiling.note(received);
                }
                self.rate = self.rate.min(self.beta * received);
            }
        }
    }

    fn increase(&mut self, passed: f64, measured: &Measured) {
        let close = measured.received.is_some_and(|received| self.ceiling.is_close(received));
        self.rate = if close {
            self.rate + additive(self.rate, passed, measured.rtt)
        } else {
            self.rate * libm::pow(ETA, (passed / 1e3).min(1.0))
        };
        if let Some(received) = measured.received {
            self.rate = self.rate.min(BOUND * received);
        }
    }
}

/// At most half a packet in a response time.
fn additive(rate: f64, passed: f64, rtt: f64) -> f64 {
    let frame = rate / FRAMES;
    let packet = frame / libm::ceil(frame / PACKET);
    let alpha = 0.5 * (passed / (REACTION + rtt)).min(1.0);
    (alpha * packet).max(LEAST_STEP)
}

/// The average of the rates that arrived when the state became Decrease, and their deviation.
#[derive(Debug, Default)]
struct Ceiling {
    count: u32,
    mean: f64,
    variance: f64,
}

impl Ceiling {
    /// What an average keeps of itself.
    const SMOOTHING: f64 = 0.95;
    /// How many standard deviations are close.
    const CLOSE: f64 = 3.0;

    fn note(&mut self, rate: f64) {
        let difference = if self.count == 0 { 0.0 } else { rate - self.mean };
        self.mean = if self.count == 0 { rate } else { rate - Ceiling::SMOOTHING * difference };
        self.variance =
            Ceiling::SMOOTHING * self.variance + (1.0 - Ceiling::SMOOTHING) * difference * difference;
        self.count += 1;
    }

    /// Whether a rate is close to the average: not before there are two. A rate far above it is news of the path, and the
    /// average starts again.
    fn is_close(&mut self, rate: f64) -> bool {
        let (difference, close) = (rate - self.mean, Ceiling::CLOSE * libm::sqrt(self.variance));
        if self.count < 2 {
            return false;
        }
        if difference > close {
            *self = Ceiling::default();
            return false;
        }
        difference >= -close
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Duration;

    use super::*;

    fn assert_near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
    }

    fn at(ms: u64, received: f64) -> Measured {
        let now = Time::ZERO + Duration::from_millis(ms);
        Measured { now, rtt: 50.0, received: (received > 0.0).then_some(received) }
    }

    /// The table of section 5.5, a row for each signal.
    #[test]
    fn transitions() {
        use Signal::{Normal, Overuse, Underuse};
        use State::{Decrease, Hold, Increase};
        for (signal, after) in [
            (Overuse, [Decrease, Decrease, Decrease]),
            (Normal, [Increase, Increase, Hold]),
            (Underuse, [Hold, Hold, Hold]),
        ] {
            assert_eq!([Hold, Increase, Decrease].map(|state| state.after(signal)), after, "{signal:?}");
        }
        assert_eq!(DelayBased::new(0.85, 1e6).state(), Increase);
    }

    /// 8 % in a second, also in ten steps; at most 8 % in one step. The bound of 1.5 times what arrives also lowers the rate.
    #[test]
    fn multiplicative_increase() {
        let mut control = DelayBased::new(0.85, 1e6);
        control.update(Signal::Normal, &at(0, 0.0));
        assert_near(control.rate(), 1e6);
        for n in 1..=10 {
            control.update(Signal::Normal, &at(100 * n, 1e6));
        }
        assert_near(control.rate(), 1.08e6);
        control.update(Signal::Normal, &at(4000, 1e6));
        assert_near(control.rate(), 1.08 * 1.08e6);
        control.update(Signal::Normal, &at(4100, 0.7e6));
        assert_near(control.rate(), 1.05e6);
    }

    /// `alpha` for 75 ms of a response time of 150 ms is 1/4. At 1.2 Mbit/s a frame has 40000 bits in 5 packets of 8000 bits: 2000 bits.
    /// A longer time counts as 150 ms: half a packet. At 96 kbit/s a packet has 3200 bits, and the least step is 1000.
    #[test]
    fn additive_increase() {
        assert_near(additive(1.2e6, 75.0, 50.0), 2000.0);
        assert_near(additive(1.2e6, 1000.0, 50.0), 4000.0);
        assert_near(additive(96e3, 75.0, 50.0), 1000.0);
        // A packet of 9600 bits in each frame: as many bits as there can be.
        assert_near(additive(288e3, 150.0, 50.0), 4800.0);
    }

    /// `beta` times what arrives, in each update while over-use lasts, but never more than before. Hold keeps the rate.
    #[test]
    fn decrease_and_hold() {
        let mut control = DelayBased::new(0.85, 1.2e6);
        for (ms, signal, received, rate) in [
            (0, Signal::Overuse, 1e6, 0.85e6),
            (100, Signal::Overuse, 0.96e6, 0.816e6),
            (200, Signal::Overuse, 2e6, 0.816e6),
            (300, Signal::Normal, 0.9e6, 0.816e6),
            (400, Signal::Underuse, 0.9e6, 0.816e6),
            (1400, Signal::Normal, 0.9e6, 0.816e6 * 1.08),
            (1500, Signal::Underuse, 0.9e6, 0.816e6 * 1.08),
        ] {
            control.update(signal, &at(ms, received));
            assert_near(control.rate(), rate);
        }
    }

    /// Two decreases, at 1 and 1.1 Mbit/s: the average is 1.005, the variance 0.05 * 0.1^2, and close is up to 67.1 kbit/s away.
    /// Within that the increase is additive, below it is not, and above the average is forgotten.
    #[test]
    fn close_to_convergence() {
        let mut ceiling = Ceiling::default();
        assert!(!ceiling.is_close(1e6));
        ceiling.note(1e6);
        assert!(!ceiling.is_close(1e6), "no deviation is known");
        ceiling.note(1.1e6);
        assert_near(ceiling.mean, 1.005e6);
        assert_near(ceiling.variance, 0.05 * 1e10);
        let close = 3.0 * libm::sqrt(0.05 * 1e10);
        assert!((close - 67_082.0).abs() < 1.0);
        assert!(ceiling.is_close(1.005e6 - 67e3) && !ceiling.is_close(1.005e6 - 68e3));
        assert!(ceiling.is_close(1.005e6 + 67e3) && !ceiling.is_close(1.005e6 + 68e3));
        assert!(!ceiling.is_close(1.005e6), "forgotten");

        let mut control = DelayBased::new(0.85, 1e6);
        for (ms, signal, received) in [
            (0, Signal::Overuse, 1e6),
            (100, Signal::Normal, 1e6),
            (200, Signal::Overuse, 1.1e6),
            (300, Signal::Normal, 1e6),
        ] {
            control.update(signal, &at(ms, received));
        }
        assert_near(control.rate(), 0.85e6);
        control.update(Signal::Normal, &at(450, 1e6));
        // 850 kbit/s are 28333 bits a frame in three packets, and half of one.
        assert_near(control.rate(), 0.85e6 + 0.5 * 0.85e6 / 90.0);
    }
}
