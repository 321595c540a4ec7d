//! LEDBAT: background transport that holds the delay that it adds at 100 ms at most, and gives way to others.
//!
//! RFC 6817 section 2.4.2; spec/congestion-control section 3.18. The delay by queues, d, is compared with TARGET. With
//! each ACK the window grows by `GAIN off_target bytes_newly_acked MSS / cwnd`, where `off_target = (TARGET - d) / TARGET`:
//! by GAIN segments per round trip without a queue, not at all at the target, and it shrinks by as many at twice the
//! target. TARGET is at most 100 ms, because calls suffer from more. GAIN is at most 1, so that LEDBAT is nowhere faster
//! than Reno. Where queues stay far below the target, as an AQM keeps them, LEDBAT is thus Reno and does not give way.
//!
//! d is measured one way, so that queues on the ACKs' way do not count: the least of the last four samples that are not
//! older than a round trip, less the least of ten minutes. Only differences count, so that clocks need not agree. Without
//! timestamps there are no samples: d is 0, and LEDBAT is Reno.
//!
//! The flow starts with two segments (`INIT_CWND`), and has no slow start: not at first, and not after a timeout, which
//! leaves one segment. After each ACK the window is at most `ALLOWED_INCREASE` segments more than were in flight before
//! it, and at least two (`MIN_CWND`). A loss halves it, at most once per round trip. A sender that paces below cwnd per
//! round trip never has its window in flight, and the bound stops it: the ideal endpoints pace packets by a window of
//! payload, and 52 bytes of 1500 are a segment at 28.8 segments. `pacing = false` or a larger bound helps.
//!
//! The base of a flow that starts later includes the queue that another one keeps. It adds TARGET to that, and the earlier
//! one gives way: the latecomer's advantage, which LEDBAT++ removes.

use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration, Time};

use super::queueing_delay::QueueingDelay;
use super::{Avoidance, AvoidanceParams, SlowStartParams, Steered, Unit, Window};
use crate::check;
use crate::controller::CongestionControl;
use crate::needs::Needs;
use crate::sample::{AckSample, PathView};
use crate::style::Style;
use crate::windowed::carry::Fraction;
use crate::windowed::config::Composition;
use crate::windowed::slow_start::NoSlowStartParams;

/// `INIT_CWND` and `MIN_CWND`, in segments.
const LEAST: u64 = 2;
/// The greatest TARGET.
const TARGET_MOST: Duration = Duration::from_millis(100);

/// Parameters of LEDBAT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 6817", "x-title" = "LEDBAT", "x-traits" = ["delay"]))]
pub struct LedbatParams {
    /// TARGET, the delay by queues that LEDBAT holds; at most 100 ms.
    pub target: Duration,
    /// GAIN, the growth in segments per round trip while there is no queue. RFC 6817 allows 1 at most; RFC 7928 section 5.4
    /// tests AQMs with 10.
    #[schemars(range(min = 0.0))]
    pub gain: f64,
    /// `ALLOWED_INCREASE`, the segments by which the window may exceed what was in flight.
    pub allowed_increase: NonZeroU32,
}

impl Default for LedbatParams {
    fn default() -> LedbatParams {
        LedbatParams { target: TARGET_MOST, gain: 1.0, allowed_increase: NonZeroU32::MIN }
    }
}

impl Params for LedbatParams {
    const NAME: &'static str = "ledbat";
    const SUMMARY: &'static str =
        "LEDBAT: holds the one-way delay that it adds at 100 ms, and gives way to others";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.target.is_zero() || self.target > TARGET_MOST {
            return Err(OutOfRange::new("target", self.target, "more than 0 s and at most 100 ms"));
        }
        check::positive("gain", self.gain)
    }
}

impl AvoidanceParams for LedbatParams {
    fn usual_slow_start(&self, _style: Style) -> Arc<dyn SlowStartParams> {
        Arc::new(NoSlowStartParams::default())
    }

    fn fixes_slow_start(&self) -> Option<&'static str> {
        Some("ledbat has none, and grows by a segment per round trip from the start")
    }

    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(Ledbat::new(self))
    }
}

/// LEDBAT.
#[derive(Clone, Debug)]
struct Ledbat {
    target: f64,
    gain: f64,
    allowed_increase: u64,
    delay: QueueingDelay,
    fraction: Fraction,
}

impl Ledbat {
    fn new(params: &LedbatParams) -> Ledbat {
        Ledbat {
            target: params.target.as_secs_f64(),
            gain: params.gain,
            allowed_increase: u64::from(params.allowed_increase.get()),
            delay: QueueingDelay::new(),
            fraction: Fraction::default(),
        }
    }

    /// How far the delay is below the target, as a share of it; negative above.
    fn off_target(&self, path: &PathView) -> f64 {
        let round_trip_ago = Time::ZERO + path.now.since_start().saturating_sub(path.srtt);
        1.0 - self.delay.queued_since(round_trip_ago).as_secs_f64() / self.target
    }

    /// Returns the window after an ACK.
    fn after(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        let (acked, mss) = (ack.newly_delivered.as_f64(), path.mss.as_f64());
        let change = self.gain * self.off_target(path) * acked * mss / cwnd.as_f64();
        let change = if ack.growth_barred { change.min(0.0) } else { change };
        let changed = self.fraction.whole((cwnd.as_f64() + change).max(0.0));
        // `flightsize` is what was in flight before this ACK. What it showed to be lost will be sent again.
        let flight = path.in_flight + ack.newly_delivered + ack.newly_lost;
        let bounded = changed.min(flight + path.mss * self.allowed_increase).max(path.mss * LEAST);
        let bounded = if ack.growth_barred { bounded.min(cwnd) } else { bounded };
        if bounded != changed {
            self.fraction = Fraction::default();
        }
        bounded
    }
}

impl Avoidance for Ledbat {
    const STEERS: bool = true;
    const UNIT: Unit = Unit::BytesDelivered;

    fn md(&self) -> f64 {
        0.5
    }

    fn needs(&self, needs: Needs) -> Needs {
        Needs { one_way: true, ..needs }
    }

    fn established(&mut self, window: &mut Window, path: &PathView) {
        window.cwnd = window.cwnd.min(path.mss * LEAST);
        window.ssthresh = window.cwnd;
    }

    fn steer(&mut self, window: &mut Window, ack: &AckSample, path: &PathView) -> Steered {
        if let Some(one_way) = ack.one_way {
            self.delay.sample(one_way, path.now);
        }
        if ack.may_raise && !ack.ecn.any() {
            window.cwnd = self.after(window.cwnd, ack, path);
        }
        window.ssthresh = window.ssthresh.min(window.cwnd);
        Steered::Hold
    }

    fn decreased(&mut self, _before: Bytes, _after: Bytes, _factor: f64, _path: &PathView) {
        self.fraction = Fraction::default();
    }

    /// All changes are made by [`Avoidance::steer`].
    fn grow(&mut self, cwnd: Bytes, _amount: Bytes, _ack: &AckSample, _path: &PathView) -> Bytes {
        cwnd
    }

    fn capped(&mut self, _cwnd: Bytes) {
        self.fraction = Fraction::default();
    }

    fn timed_out(&mut self, window: &mut Window, _new_episode: bool, _path: &PathView) {
        window.ssthresh = window.cwnd;
        self.fraction = Fraction::default();
    }

    /// What was measured in the meantime stays.
    fn undone(&mut self, before: Ledbat) {
        self.fraction = before.fraction;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let base = self.delay.base();
        let queued = base.map(|_| self.delay.queued().as_secs_f64());
        out("queued_s", queued.unwrap_or(f64::NAN));
        out("base_one_way_s", base.map_or(f64::NAN, Duration::as_secs_f64));
        out("off_target", queued.map_or(f64::NAN, |queued| 1.0 - queued / self.target));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// At 1 s, `flight` segments are in flight after the ACK.
    fn at(flight: u64) -> PathView {
        PathView { now: Time::ZERO + MS(1000), srtt: MS(100), ..PathView::of_segments(0, flight) }
    }

    fn ack(segments: u64) -> AckSample {
        AckSample { newly_delivered: Bytes::new(MSS * segments), may_raise: true, ..AckSample::default() }
    }

    /// A flow with a base of 20 ms and this much delay by queues.
    fn with(queued_ms: u64) -> Ledbat {
        let mut ledbat = Ledbat::new(&LedbatParams::default());
        for (ms, after) in [(20, 0), (20 + queued_ms, 1000)] {
            ledbat.delay.sample(MS(ms), Time::ZERO + MS(after));
        }
        ledbat
    }

    /// RFC 6817 section 2.4.2, TARGET = 100 ms and GAIN = 1: a window acknowledged by one ACK grows by a segment without a
    /// queue, by half of one at half of the target and not at all at the target; it shrinks by a segment at twice the
    /// target, by nine at ten times.
    #[test]
    fn the_change_is_in_proportion_to_the_distance() {
        for (queued_ms, halves) in [(0, 2), (50, 1), (100, 0), (150, -1), (200, -2), (1000, -18)] {
            let mut ledbat = with(queued_ms);
            let w = ledbat.after(Bytes::new(MSS * 40), &ack(40), &at(0)).get();
            assert_eq!(
                w.cast_signed() - 40 * MSS.cast_signed(),
                halves * MSS.cast_signed() / 2,
                "{queued_ms} ms"
            );
        }
    }

    /// Section 2.4.2: `max_allowed_cwnd` is a segment more than what was in flight before the ACK, lost data included; the
    /// floor is two segments. `ALLOWED_INCREASE` of 3 allows three more.
    #[test]
    fn the_flight_and_the_floor_bound_the_window() {
        let lost = AckSample { newly_lost: Bytes::new(MSS), ..ack(2) };
        let barred = AckSample { growth_barred: true, ..ack(4) };
        for (queued_ms, allowed_increase, (w, flight), ack, left) in [
            (100, 1, (40, 28), ack(2), 31),
            (100, 1, (40, 28), lost, 32),
            (100, 3, (40, 28), ack(2), 33),
            (0, 1, (31, 0), ack(31), 32),
            (0, 1, (40, 28), barred, 33),
            (0, 1, (4, 0), barred, 4),
            (0, 1, (1, 0), barred, 1),
            (100, 1, (40, 0), ack(0), 2),
            (100, 1, (1, 0), ack(1), 2),
            (1000, 1, (4, 0), ack(4), 2),
        ] {
            let mut ledbat = with(queued_ms);
            ledbat.allowed_increase = allowed_increase;
            let cwnd = ledbat.after(Bytes::new(MSS * w), &ack, &at(flight));
            assert_eq!(cwnd, Bytes::new(MSS * left), "{w} {flight} {ack:?}");
        }
    }

    /// 1448^2 / 14480 / 4 are 36.2 bytes: after five ACKs 181, parts of a byte included. A loss, a timeout and the sender's
    /// limit take the parts; an undo brings them back, and what was measured stays.
    #[test]
    fn parts_of_a_byte_count() {
        let mut ledbat = Ledbat { gain: 0.25, ..with(0) };
        let step = |ledbat: &mut Ledbat| ledbat.after(Bytes::new(MSS * 10), &ack(1), &at(9)).get() - MSS * 10;
        assert_eq!([(); 5].map(|()| step(&mut ledbat)), [36, 36, 36, 36, 37]);
        let before = Ledbat { fraction: Fraction::default(), ..ledbat.clone() };
        let window = Window { cwnd: Bytes::new(MSS), ssthresh: Bytes::new(MSS * 5) };
        for forget in [0, 1, 2] {
            assert_eq!([(); 3].map(|()| step(&mut ledbat)), [36, 36, 36], "{forget}");
            let mut window = window;
            match forget {
                0 => ledbat.decreased(Bytes::new(MSS * 10), Bytes::new(MSS * 5), 0.5, &at(9)),
                1 => ledbat.capped(Bytes::new(MSS * 10)),
                _ => ledbat.timed_out(&mut window, true, &at(0)),
            }
            assert_eq!(ledbat.fraction, Fraction::default());
            assert_eq!(window.ssthresh == window.cwnd, forget == 2, "no slow start after a timeout");
        }
        let ahead = ledbat.clone();
        step(&mut ledbat);
        ledbat.delay.sample(MS(7), Time::ZERO + MS(1000));
        ledbat.undone(ahead);
        assert_eq!((ledbat.fraction, ledbat.delay.base()), (before.fraction, Some(MS(7))));
    }

    /// One of the last four samples counts, and none that is older than a round trip of 100 ms.
    #[test]
    fn old_samples_do_not_count() {
        let mut ledbat = Ledbat::new(&LedbatParams::default());
        assert!((ledbat.off_target(&at(0)) - 1.0).abs() < 1e-12, "Reno without samples");
        for (ms, after) in [(20, 880), (120, 901), (70, 902), (220, 1000)] {
            ledbat.delay.sample(MS(ms), Time::ZERO + MS(after));
        }
        assert!((ledbat.off_target(&at(0)) - 0.5).abs() < 1e-12);
        let later = PathView { srtt: MS(50), ..at(0) };
        assert!((ledbat.off_target(&later) + 1.0).abs() < 1e-12);
    }

    /// Marks, and reductions that the sender runs, leave the window to others; what it measures counts all the same.
    #[test]
    fn marks_and_reductions_hold() {
        let ce = crate::sample::Marked { packets: 1, ..crate::sample::Marked::default() };
        let marked = AckSample { ecn: crate::sample::EcnFeedback { ce, ..Default::default() }, ..ack(10) };
        let reducing = AckSample { may_raise: false, ..ack(10) };
        for (ack, grown) in [(ack(10), 1), (marked, 0), (reducing, 0)] {
            let mut ledbat = with(0);
            let mut window = Window { cwnd: Bytes::new(MSS * 10), ssthresh: Bytes::MAX };
            let ack = AckSample { one_way: Some(MS(15)), ..ack };
            assert_eq!(ledbat.steer(&mut window, &ack, &at(0)), Steered::Hold);
            assert_eq!(window.cwnd, Bytes::new(MSS * (10 + grown)));
            assert_eq!((window.ssthresh, ledbat.delay.base()), (window.cwnd, Some(MS(15))));
        }
    }
}
