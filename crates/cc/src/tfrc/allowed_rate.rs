//! The allowed sending rate X (RFC 5348 sections 4.2 to 4.4), in bytes per second.

use windtunnel_units::{Bytes, Duration, Time};

use super::equation::Equation;
use super::receive_set::ReceiveSet;

/// The longest time between two packets, in seconds: `t_mbi`.
const MAX_BACKOFF_INTERVAL: f64 = 64.0;
/// What is taken off the rate at which data arrived if a sender that had too little to send sees a loss.
const AFTER_LIMITED_LOSS: f64 = 0.85;
/// The nofeedback timer waits for four round trips, or for two packets if that is longer.
const FEEDBACK_ROUNDS: u64 = 4;
const FEEDBACK_PACKETS: f64 = 2.0;

/// What feedback reports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) now: Time,
    /// R with the new sample in it.
    pub(super) rtt: Duration,
    /// The loss event rate; zero before the first event.
    pub(super) p: f64,
    /// The rate `X_recv` at which data arrived.
    pub(super) received: f64,
    /// A loss event started since the last report.
    pub(super) new_event: bool,
    /// The application had too little to send in all of the time that the report covers.
    pub(super) data_limited: bool,
}

/// The allowed rate, and what it depends on. Exists from the first round-trip sample on.
#[derive(Clone, Debug)]
pub(super) struct AllowedRate {
    equation: Equation,
    x: f64,
    /// What the equation gave at the last feedback: `X_Bps`.
    x_bps: f64,
    p: f64,
    received: ReceiveSet,
    rtt: Duration,
    /// `W_init / R`, also the rate down to which an idle sender's is halved (`recover_rate`).
    initial: f64,
    /// When slow start last doubled the rate: `tld`.
    doubled: Time,
}

impl AllowedRate {
    /// The rate of the first round trip.
    pub(super) fn new(equation: Equation, window: Bytes, now: Time, rtt: Duration) -> AllowedRate {
        let initial = window.as_f64() / rtt.as_secs_f64();
        AllowedRate {
            equation,
            x: initial,
            x_bps: f64::NAN,
            p: 0.0,
            received: ReceiveSet::new(now),
            rtt,
            initial,
            doubled: now,
        }
    }

    /// X.
    pub(super) const fn get(&self) -> f64 {
        self.x
    }

    /// `X_Bps`: NaN before the first loss event.
    pub(super) const fn of_equation(&self) -> f64 {
        self.x_bps
    }

    /// The loss event rate of the last feedback.
    pub(super) const fn loss_event_rate(&self) -> f64 {
        self.p
    }

    /// The largest rate in `X_recv_set`.
    pub(super) fn received(&self) -> f64 {
        self.received.max()
    }

    /// How long the nofeedback timer waits.
    pub(super) fn patience(&self) -> Duration {
        let packets = FEEDBACK_PACKETS * self.equation.segment.as_f64() / self.x;
        (self.rtt * FEEDBACK_ROUNDS).max(Duration::from_secs_f64(packets))
    }

    /// `s / t_mbi`.
    pub(super) fn least(&self) -> f64 {
        self.equation.segment.as_f64() / MAX_BACKOFF_INTERVAL
    }

    /// Step 4 of section 4.3.
    pub(super) fn on_feedback(&mut self, report: &Report) {
        let limit = self.receive_limit(report);
        (self.rtt, self.p) = (report.rtt, report.p);
        if report.p > 0.0 {
            self.x_bps = self.equation.rate(report.rtt, report.p);
            self.follow_equation(limit);
        } else if report.now.since(self.doubled) >= report.rtt {
            self.x = (2.0 * self.x).min(limit).max(self.initial);
            self.doubled = report.now;
        }
    }

    /// `recv_limit`: twice what arrived lately. A sender that had too little to send keeps the largest rate that it ever
    /// tested, but a loss then costs it half of that.
    fn receive_limit(&mut self, report: &Report) -> f64 {
        if !report.data_limited {
            self.received.update(report.now, report.received, report.rtt);
            return 2.0 * self.received.max();
        }
        if report.new_event || report.p > self.p {
            self.received.halve();
            self.received.maximize(report.now, AFTER_LIMITED_LOSS * report.received);
            self.received.max()
        } else {
            self.received.maximize(report.now, report.received);
            2.0 * self.received.max()
        }
    }

    /// The nofeedback timer expired (section 4.4). `idle`: nothing was sent since it was started. Returns whether the
    /// rate changed.
    pub(super) fn on_silence(&mut self, now: Time, idle: bool) -> bool {
        let (before, received) = (self.x, self.received.max());
        let has_events = self.p > 0.0;
        let low = if has_events { received < self.initial } else { self.x < 2.0 * self.initial };
        if idle && low {
            return false;
        }
        if !has_events {
            self.x = (self.x / 2.0).max(self.least());
        } else if self.x_bps > 2.0 * received {
            self.limit(now, received);
        } else {
            self.limit(now, self.x_bps / 2.0);
        }
        self.x < before
    }

    /// `Update_Limits`: what arrived is taken to be half of `limit`.
    fn limit(&mut self, now: Time, limit: f64) {
        let limit = limit.max(self.least());
        self.received.replace(now, limit / 2.0);
        self.follow_equation(limit);
    }

    fn follow_equation(&mut self, limit: f64) {
        self.x = self.x_bps.min(limit).max(self.least());
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "minima, maxima and doubles of exact numbers")]
mod tests {
    use super::*;

    const S: Bytes = Bytes::new(1000);
    const RTT: Duration = Duration::from_millis(100);
    const EQUATION: Equation = Equation { segment: S, b: 1.0, t_rto_factor: 4.0 };
    /// Four segments in a round trip.
    const INITIAL: f64 = 40_000.0;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn fresh() -> AllowedRate {
        AllowedRate::new(EQUATION, S * 4, at(0), RTT)
    }

    fn report(ms: u64, p: f64, received: f64) -> Report {
        Report { now: at(ms), rtt: RTT, p, received, new_event: false, data_limited: false }
    }

    /// A flow at the rate of the equation for p = 0.01, where as much arrives.
    fn steady() -> (AllowedRate, f64) {
        let (mut rate, x) = (fresh(), EQUATION.rate(RTT, 0.01));
        for n in 1..5 {
            rate.on_feedback(&report(n * 200, 0.01, x));
        }
        assert_eq!(rate.get(), x);
        (rate, x)
    }

    /// Section 4.3: slow start doubles once per round trip, and not more often, up to twice what arrives; never below the initial rate.
    #[test]
    fn slow_start() {
        let mut rate = fresh();
        assert_eq!(rate.get(), INITIAL);
        for (ms, received, x) in [
            (100, 1.0, 2.0),
            (150, 1.0, 2.0),
            (200, 2.0, 4.0),
            (300, 4.0, 8.0),
            (400, 5.0, 10.0),
            (500, 5.0, 10.0),
            (900, 0.1, 1.0),
        ] {
            rate.on_feedback(&report(ms, 0.0, received * INITIAL));
            assert_eq!(rate.get(), x * INITIAL, "{ms} ms: {}", rate.get() / INITIAL);
        }
    }

    /// Section 4.3: with losses, the smaller of the equation and of twice what arrived, and at least a packet in 64 s.
    #[test]
    fn congestion_avoidance() {
        let (mut rate, x) = steady();
        rate.on_feedback(&report(1100, 0.004, x));
        assert!((rate.get() / EQUATION.rate(RTT, 0.004) - 1.0).abs() < 1e-12);
        rate.on_feedback(&report(1400, 0.0001, 0.7 * x));
        assert!((rate.get() / (1.4 * x) - 1.0).abs() < 1e-12, "{}", rate.get() / x);
        rate.on_feedback(&report(2000, 1.0, 0.0));
        assert_eq!(rate.get(), 1000.0 / 64.0);
    }

    /// Section 4.3: an application that sends a tenth of the rate for a while keeps it: the largest rate stays. A loss then halves what is
    /// remembered: the limit is x / 2 itself, or 0.85 of what arrives.
    #[test]
    fn data_limited() {
        let (mut rate, x) = steady();
        for n in 0..20 {
            rate.on_feedback(&Report { data_limited: true, ..report(1000 + n * 100, 0.01, x / 10.0) });
            assert_eq!(rate.get(), x);
        }
        let loss =
            |ms, received| Report { data_limited: true, new_event: true, ..report(ms, 0.01, received) };
        rate.on_feedback(&loss(3000, x / 10.0));
        assert!((rate.get() / (0.5 * x) - 1.0).abs() < 1e-12);
        rate.on_feedback(&loss(3100, 0.4 * x));
        assert!((rate.get() / (0.34 * x) - 1.0).abs() < 1e-12);
    }

    /// Section 4.4: each silence of 4 R halves the rate, in slow start and after it, down to a packet in 64 s; the timer waits for two
    /// packets where these take longer.
    #[test]
    fn silence_halves() {
        for p in [0.0, 0.01] {
            let mut rate = if p > 0.0 { steady().0 } else { fresh() };
            let mut x = rate.get();
            assert_eq!(rate.patience(), RTT * 4);
            while x / 2.0 > 1000.0 / 64.0 {
                x /= 2.0;
                assert!(rate.on_silence(at(5000), false));
                assert!((rate.get() / x - 1.0).abs() < 1e-12, "p {p}: {} {x}", rate.get());
            }
            rate.on_silence(at(5000), false);
            rate.on_silence(at(5000), false);
            assert_eq!(rate.get(), 1000.0 / 64.0);
            assert_eq!(rate.patience(), Duration::from_secs(128));
        }
    }

    /// Where twice what arrived was the limit and not the equation, that is halved.
    #[test]
    fn silence_halves_the_receive_limit() {
        let (mut rate, x) = steady();
        rate.on_feedback(&report(2000, 0.0001, 0.7 * x));
        assert!(rate.on_silence(at(2400), false));
        assert!((rate.get() / (0.7 * x) - 1.0).abs() < 1e-12, "{}", rate.get() / x);
    }

    /// Section 4.4: an idle sender's rate falls until it could start anew at that rate: in slow start to less than twice the initial rate,
    /// after it until what arrived is less than that.
    #[test]
    fn idle_senders_keep_the_initial_rate() {
        let mut rate = fresh();
        assert!(!rate.on_silence(at(400), true));
        rate.on_feedback(&report(500, 0.0, 8.0 * INITIAL));
        rate.on_feedback(&report(600, 0.0, 8.0 * INITIAL));
        assert_eq!(rate.get(), 4.0 * INITIAL);
        let halved: Vec<bool> = (0..4).map(|_| rate.on_silence(at(2000), true)).collect();
        assert_eq!(halved, [true, true, false, false]);
        assert_eq!(rate.get(), INITIAL);

        let (mut rate, x) = steady();
        assert!(x > 2.0 * INITIAL);
        while rate.on_silence(at(9000), true) {}
        assert!(rate.received() < INITIAL && rate.get() >= INITIAL / 2.0, "{}", rate.get() / INITIAL);
    }

    /// Section 4.3 for an application that sends little: a p that rises halves what is remembered, though no event is
    /// new; while p falls, the limit stays twice that, above the equation's rate.
    #[test]
    fn data_limited_with_another_p() {
        for (p, limited) in [(0.02, true), (0.004, false)] {
            let (mut rate, x) = steady();
            assert_eq!(rate.received(), x);
            rate.on_feedback(&Report { data_limited: true, ..report(1000, p, x / 10.0) });
            let expected = if limited { 0.5 * x } else { EQUATION.rate(RTT, p) };
            assert!((rate.get() / expected - 1.0).abs() < 1e-12, "{p}: {}", rate.get() / x);
        }
    }

    /// Section 4.4: a silence halves the equation's rate where that is the limit: where 0.7 of it arrived, twice that
    /// is more.
    #[test]
    fn silence_halves_the_rate_of_the_equation() {
        let (mut rate, x) = steady();
        rate.on_feedback(&report(2000, 0.01, 0.7 * x));
        assert!(rate.on_silence(at(2400), false));
        assert!((rate.get() / (0.5 * x) - 1.0).abs() < 1e-12, "{}", rate.get() / x);
    }
}
