//! The reference window: what reduces it and how it grows (sections "Reference Window Reduction" and "Increase").

use windtunnel_units::{Duration, Time};

use super::params::ScreamParams;

/// How sharply growth and answers depend on the distance from the inflection point.
const INFLECTION_SHARPNESS: f64 = 8.0;
/// The least growth and the least answer to marks near the inflection point.
const LEAST_NEAR_INFLECTION: f64 = 0.25;
/// After this many round trips without an answer the window is first cut to what was in flight.
const LONG_AGO: u64 = 100;
/// What part of the window a policer leaves as the most it may be, and by what part of itself that rises in a round trip.
const BETA_LOSS_POLICER: f64 = 0.9;
const POLICED_RISE: f64 = 0.001;
/// The part of an answer that is given where the target rate is low already.
const BACKOFF_SCALE_LOW_TARGET_RATE: f64 = 0.25;

/// The state of the path at an update. Delays in seconds, amounts in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) now: Time,
    pub(super) srtt: Duration,
    pub(super) qdelay: f64,
    pub(super) qdelay_avg: f64,
    pub(super) qdelay_target: f64,
    pub(super) l4s_alpha: f64,
    pub(super) delay_scale: f64,
    pub(super) max_in_flight: f64,
    pub(super) max_in_flight_prev: f64,
    /// A loss is a sign of congestion.
    pub(super) loss_counts: bool,
    /// It is that of a policer.
    pub(super) policed: bool,
    /// The target rate is well below what is acknowledged.
    pub(super) low_target: bool,
}

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Loss,
    Ce,
    /// The queueing delay, which counts as marks.
    VirtualCe,
}

/// The reference window, in bytes.
#[derive(Debug)]
pub(super) struct RefWnd {
    wnd: f64,
    /// `ref_wnd_i`: the window before the last congestion.
    inflection: f64,
    /// It has grown since then.
    inflection_may_move: bool,
    /// When a loss or a mark was last found.
    detected: Option<Time>,
    /// When it was last answered.
    reacted: Option<Time>,
    loss: bool,
    marked: bool,
    /// How far the window is from the inflection point: from 0.1, near, to 1.
    distance: f64,
    /// `max_policed_ref_wnd`, and when it last rose.
    policed: f64,
    policed_at: Time,
    mss: f64,
}

impl RefWnd {
    pub(super) const fn new(least: f64, mss: f64) -> RefWnd {
        RefWnd {
            wnd: least,
            inflection: 1.0,
            inflection_may_move: true,
            detected: None,
            reacted: None,
            loss: false,
            marked: false,
            distance: 1.0,
            policed: f64::INFINITY,
            policed_at: Time::ZERO,
            mss,
        }
    }

    pub(super) const fn get(&self) -> f64 {
        self.wnd
    }

    pub(super) const fn inflection(&self) -> f64 {
        self.inflection
    }

    /// `ref_wnd_ratio`: a segment's part of the window.
    pub(super) const fn segment_ratio(&self) -> f64 {
        (self.mss / self.wnd).min(1.0)
    }

    /// The most that a policer leaves; infinite where none was found.
    pub(super) const fn policed(&self) -> f64 {
        self.policed
    }

    pub(super) const fn on_loss(&mut self) {
        self.loss = true;
    }

    /// A loss that does not count when its report has come is none: it hides no marks and no delay.
    pub(super) const fn forget_loss(&mut self) {
        self.loss = false;
    }

    pub(super) const fn on_mark(&mut self) {
        self.marked = true;
    }

    /// Nothing is heard from the receiver: the window starts again from the least.
    pub(super) fn restart(&mut self, params: &ScreamParams, now: Time) {
        self.note_inflection();
        self.wnd = params.min_ref_wnd.as_f64();
        self.detected = Some(now);
        self.reacted = Some(now);
        self.loss = false;
        self.marked = false;
    }

    /// Answers congestion, at most once in the shorter of a round trip and the virtual one. Returns whether it did.
    pub(super) fn reduce(&mut self, params: &ScreamParams, m: &Measured) -> bool {
        if self.reacted == Some(m.now) {
            return false;
        }
        let scl = INFLECTION_SHARPNESS * (self.wnd - self.inflection) / self.inflection;
        self.distance = (scl * scl).clamp(0.1, 1.0);
        if (self.loss && m.loss_counts) || self.marked {
            self.detected = Some(m.now);
        }
        let Some(cause) = self.cause(params, m) else { return false };
        self.note_inflection();
        let kept = match cause {
            Cause::Loss => {
                if m.policed {
                    self.policed = self.wnd * BETA_LOSS_POLICER;
                    self.policed_at = m.now;
                }
                params.beta_loss
            }
            Cause::Ce if params.is_l4s => {
                if self.reacted.is_none_or(|last| is_long_ago(last, params, m)) {
                    self.wnd = self.wnd.min(m.max_in_flight_prev);
                }
                1.0 - self.answer_to_share(params, m)
            }
            Cause::Ce => params.beta_ecn,
            Cause::VirtualCe => {
                let half = m.qdelay_target / 2.0;
                let alpha = ((m.qdelay_avg - half) / half).clamp(0.0, 1.0);
                1.0 - answer(alpha, params, m)
            }
        };
        self.wnd = (self.wnd * kept).min(self.policed).max(params.min_ref_wnd.as_f64());
        self.reacted = Some(m.now);
        self.loss = false;
        self.marked = false;
        true
    }

    fn cause(&self, params: &ScreamParams, m: &Measured) -> Option<Cause> {
        let pause = params.virtual_rtt.min(m.srtt);
        if self.reacted.is_some_and(|last| m.now.since(last) < pause) {
            None
        } else if self.loss && m.loss_counts {
            Some(Cause::Loss)
        } else if self.marked {
            Some(Cause::Ce)
        } else {
            (m.qdelay_avg > m.qdelay_target / 2.0).then_some(Cause::VirtualCe)
        }
    }

    const fn note_inflection(&mut self) {
        if self.inflection_may_move {
            self.inflection = self.wnd;
            self.inflection_may_move = false;
        }
    }

    /// The part of the window that marks take in L4S mode. Where the queue is short, a window near the inflection point
    /// is left nearly as it is.
    fn answer_to_share(&self, params: &ScreamParams, m: &Measured) -> f64 {
        let mut answer = answer(m.l4s_alpha, params, m);
        if m.qdelay < m.qdelay_target * 0.25 {
            answer *= self.distance.max(LEAST_NEAR_INFLECTION);
            answer *= m.delay_scale.max(0.25);
        }
        answer
    }

    /// Grows by what arrived unmarked, in bytes. [`RefWnd::reduce`] came before.
    pub(super) fn increase(&mut self, params: &ScreamParams, m: &Measured, unmarked: f64) {
        let calm = self.detected.map_or(1.0, |last| {
            let span = params.virtual_rtt.max(m.srtt) * u64::from(params.post_congestion_delay_rtt);
            m.now.since(last).ratio(span).min(1.0)
        });
        let proportional = params.mul_increase_factor * self.wnd / self.mss;
        let increment = unmarked
            * self.segment_ratio()
            * m.srtt.ratio(params.virtual_rtt).min(1.0)
            * self.distance.max(LEAST_NEAR_INFLECTION)
            * m.delay_scale.max(0.1)
            * (1.0 + proportional * calm * self.distance);
        let most = self.mss + m.max_in_flight * params.bytes_in_flight_head_room;
        if increment > 0.0 && self.wnd + increment <= most {
            self.grow(increment);
        }
    }

    /// Grows, but not above what a policer leaves.
    fn grow(&mut self, increment: f64) {
        let grown = (self.wnd + increment).min(self.policed);
        if grown > self.wnd {
            self.wnd = grown;
            self.inflection_may_move = true;
        }
    }

    /// What a policer leaves rises in each round trip: it may have been taken for one.
    pub(super) fn raise_policed(&mut self, now: Time, srtt: Duration) {
        if now.since(self.policed_at) >= srtt {
            self.policed *= 1.0 + POLICED_RISE;
            self.policed_at = now;
        }
    }
}

/// The part of the window that a share of marks takes.
fn answer(share: f64, params: &ScreamParams, m: &Measured) -> f64 {
    let scale = if m.low_target { BACKOFF_SCALE_LOW_TARGET_RATE } else { 1.0 };
    share / 2.0 / round_trips(params, m) * scale
}

/// How many virtual round trips a round trip has: an answer is given in each.
fn round_trips(params: &ScreamParams, m: &Measured) -> f64 {
    m.srtt.ratio(params.virtual_rtt).max(1.0)
}

fn is_long_ago(last: Time, params: &ScreamParams, m: &Measured) -> bool {
    m.now.since(last) > params.virtual_rtt.max(m.srtt) * LONG_AGO
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Bytes;

    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// An update without delay at this time and with this round trip.
    fn measured(now: Time, srtt_us: u64) -> Measured {
        Measured {
            now,
            srtt: Duration::from_micros(srtt_us),
            qdelay: 0.0,
            qdelay_avg: 0.0,
            qdelay_target: 0.06,
            l4s_alpha: 0.0,
            delay_scale: 1.0,
            max_in_flight: 1e6,
            max_in_flight_prev: 1e6,
            loss_counts: true,
            policed: false,
            low_target: false,
        }
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value}, not {expected}");
    }

    /// Rule 5 of spec/congestion-control section 3.27 with all its factors: 2000 bytes at a window of 6000, half a
    /// virtual round trip, a distance and a scale of one half add 2000/6 * 1/2 * 1/2 * 1/2 * (1 + 0.02 * 6 * 1/2).
    /// The distance counts as a quarter at least in front, the scale as a tenth.
    #[test]
    fn growth_by_hand() {
        let params = ScreamParams::default();
        for (distance, scale, increment) in
            [(0.5, 0.5, 2000.0 / 6.0 / 8.0 * 1.06), (0.1, 0.0, 2000.0 / 6.0 / 80.0 * 1.012)]
        {
            let mut wnd = RefWnd { wnd: 6000.0, distance, ..RefWnd::new(3000.0, 1000.0) };
            wnd.increase(&params, &Measured { delay_scale: scale, ..measured(at(0), 12_500) }, 2000.0);
            assert_near(wnd.get(), 6000.0 + increment);
        }
    }

    /// Rule 4 in L4S mode: alpha/2 of 0.4, divided by the two virtual round trips of 50 ms. With less than a quarter
    /// of the target's delay also by the distance, (8 * 3/32)^2 = 0.5625, and the scale, which counts as a quarter at
    /// least.
    #[test]
    fn answers_by_hand() {
        let params = ScreamParams { is_l4s: true, ..ScreamParams::default() };
        for (qdelay, delay_scale, answer) in
            [(0.0, 0.5, 0.2 * 0.5625 * 0.5), (0.0, 0.1, 0.2 * 0.5625 * 0.25), (0.0625, 0.5, 0.2)]
        {
            let mut wnd = RefWnd { wnd: 35_000.0, inflection: 32_000.0, ..RefWnd::new(3000.0, 1000.0) };
            let m = Measured {
                qdelay,
                qdelay_target: 0.25,
                l4s_alpha: 0.8,
                delay_scale,
                ..measured(at(0), 50_000)
            };
            wnd.on_mark();
            assert!(wnd.reduce(&params, &m));
            assert_near(wnd.get(), 35_000.0 * (1.0 - answer));
        }
    }

    /// Rule 4 in L4S mode: if the last answer is more than 100 max(R, 25 ms) ago, the window first becomes what was
    /// in flight.
    #[test]
    fn a_late_answer_starts_from_what_was_in_flight() {
        let params = ScreamParams { is_l4s: true, ..ScreamParams::default() };
        for (srtt_us, ms) in [(50_000, 5000), (10_000, 2500)] {
            for (late, cut) in [(Duration::ZERO, false), (Duration::from_nanos(1), true)] {
                let mut wnd = RefWnd { wnd: 35_000.0, reacted: Some(at(0)), ..RefWnd::new(3000.0, 1000.0) };
                let m = Measured { max_in_flight_prev: 20_000.0, ..measured(at(ms) + late, srtt_us) };
                wnd.on_mark();
                assert!(wnd.reduce(&params, &m));
                assert_near(wnd.get(), if cut { 20_000.0 } else { 35_000.0 });
            }
        }
    }

    /// Rule 4: a mean delay of just half the target is no congestion.
    #[test]
    fn half_the_target_is_allowed() {
        let params = ScreamParams { min_ref_wnd: Bytes::new(1000), ..ScreamParams::default() };
        for (qdelay_avg, reduced) in [(0.125, false), (0.126, true)] {
            let mut wnd = RefWnd { wnd: 35_000.0, ..RefWnd::new(3000.0, 1000.0) };
            let m = Measured { qdelay_avg, qdelay_target: 0.25, ..measured(at(0), 50_000) };
            assert_eq!(wnd.reduce(&params, &m), reduced);
        }
    }
}
