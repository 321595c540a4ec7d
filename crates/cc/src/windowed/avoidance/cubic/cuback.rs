//! Cuback: CUBIC's growth without a clock (draft-kazuho-ccwg-cuback-00).
//!
//! How many segments must be acknowledged until the window is `w` follows from the two curves of RFC 9438, inverted
//! (section 3): `A_cubic(w)`, the time to get there on the cubic at the rate `bandwidth` at which the flow sent before
//! the last response, and `A_reno(w)`, the sum of `w / alpha` from the window after the response on. The lesser of the
//! two is `A(w)`. The window grows by one segment whenever as many segments were acknowledged as `A` takes from it to
//! the next, as Reno's does whenever a window was, but by no more than a segment for two.
//!
//! Nothing changes while nothing is acknowledged, so that idle and limited times need no rule. A flow that gains share
//! grows faster than CUBIC, because it sends faster than it did before the response; one that gives up share grows more
//! slowly.
//!
//! The parameters of the curves are set at the response, and where slow start ends without one: then the window is the
//! plateau. What the draft leaves to RFC 9438 is done as [`super::rfc9438`] does it: a timeout keeps `cwnd_prior`.

use windtunnel_units::Bytes;

use super::{CubicParams, RFC_BETA, RFC_C, friendly_increase, time_to_plateau};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Unit, Window};

/// The least segments for which the window grows by one (section 3).
const LEAST: f64 = 2.0;

/// Cuback's growth.
#[derive(Clone, Debug)]
pub(crate) struct Cuback {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    grow_on_marked: bool,
    /// `alpha_cubic` below `cwnd_prior`.
    alpha: f64,
    curves: Curves,
    /// Segments acknowledged for which the window has not grown yet (`pending`).
    pending: f64,
    /// `D` at a window, which is that of the last ACK.
    threshold: Option<(Bytes, f64)>,
}

/// What the curves are made of, in segments (section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Curves {
    /// The plateau: the window before the last response, reduced by fast convergence.
    w_max: f64,
    /// The window before the last response.
    cwnd_prior: f64,
    /// The window after it (`cwnd_epoch`).
    cwnd_epoch: f64,
    /// What a round trip carried before it, per second.
    bandwidth: f64,
}

impl Cuback {
    pub(crate) fn new(params: &CubicParams) -> Cuback {
        let beta = params.beta.unwrap_or(RFC_BETA);
        Cuback {
            c: params.c.unwrap_or(RFC_C),
            beta,
            fast_convergence: params.fast_convergence,
            tcp_friendliness: params.tcp_friendliness,
            grow_on_marked: params.grow_on_marked,
            alpha: friendly_increase(beta),
            curves: Curves::default(),
            pending: 0.0,
            threshold: None,
        }
    }

    /// Starts an epoch: nothing has been acknowledged in it yet.
    fn start(&mut self, curves: Curves) {
        self.curves = curves;
        self.pending = 0.0;
        self.threshold = None;
    }

    /// Returns the segments that must be acknowledged from the start of the epoch until the cubic has reached `w`.
    fn a_cubic(&self, w: f64) -> f64 {
        let curves = &self.curves;
        let to_plateau = time_to_plateau(self.c, curves.w_max - curves.cwnd_epoch);
        curves.bandwidth * (to_plateau + libm::cbrt((w - curves.w_max) / self.c))
    }

    /// The same for the Reno-friendly window, which grows as Reno's from `cwnd_prior` on.
    fn a_reno(&self, w: f64) -> f64 {
        let Curves { cwnd_prior, cwnd_epoch, .. } = self.curves;
        // Segments acknowledged while the window goes from one to another, in steps of a segment.
        let sum = |from: f64, to: f64| (to - from) * (to + from - 1.0) / 2.0;
        let knee = w.min(cwnd_prior);
        sum(cwnd_epoch, knee) / self.alpha + sum(knee, w)
    }

    fn a(&self, w: f64) -> f64 {
        let cubic = self.a_cubic(w);
        if self.tcp_friendliness { cubic.min(self.a_reno(w)) } else { cubic }
    }

    /// Returns the segments that must be acknowledged for the window to grow from `w` by one (`D`).
    fn d(&self, w: f64) -> f64 {
        (self.a(w + 1.0) - self.a(w)).max(LEAST)
    }
}

impl Avoidance for Cuback {
    const UNIT: Unit = Unit::BytesDelivered;

    fn md(&self) -> f64 {
        self.beta
    }

    fn begin(&mut self, cwnd: Bytes, path: &PathView) {
        let w = cwnd.as_f64() / path.mss.as_f64();
        let cwnd_prior = self.curves.cwnd_prior.max(w);
        self.start(Curves { w_max: w, cwnd_prior, cwnd_epoch: w, bandwidth: per_second(w, path) });
    }

    fn decreased(&mut self, before: Bytes, after: Bytes, factor: f64, path: &PathView) {
        let segments = |window: Bytes| window.as_f64() / path.mss.as_f64();
        let w = segments(before);
        let converge = self.fast_convergence && w < self.curves.w_max;
        self.start(Curves {
            w_max: if converge { w * f64::midpoint(1.0, factor) } else { w },
            cwnd_prior: w,
            cwnd_epoch: segments(after),
            bandwidth: per_second(w, path),
        });
    }

    fn scaled(&mut self, before: Bytes, after: Bytes, path: &PathView) {
        self.decreased(before, after, self.md(), path);
    }

    /// The plateau moves to the window.
    fn flattened(&mut self, after: Bytes, path: &PathView) {
        let w = after.as_f64() / path.mss.as_f64();
        self.start(Curves { w_max: w, cwnd_epoch: w, bandwidth: per_second(w, path), ..self.curves });
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if !self.grow_on_marked && ack.ecn.any() {
            return cwnd;
        }
        let mss = path.mss.as_f64();
        let mut grown = cwnd;
        self.pending += amount.as_f64() / mss;
        loop {
            let threshold = match self.threshold {
                Some((at, threshold)) if at == grown => threshold,
                _ => self.d(grown.as_f64() / mss),
            };
            self.threshold = Some((grown, threshold));
            if self.pending < threshold {
                return grown;
            }
            self.pending -= threshold;
            grown += path.mss;
        }
    }

    /// Forgets the plateau; `begin` sets another when slow start ends.
    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {
        self.start(Curves { cwnd_prior: self.curves.cwnd_prior, ..Curves::default() });
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("w_max_segments", self.curves.w_max);
        out("cwnd_prior_segments", self.curves.cwnd_prior);
        out("cwnd_epoch_segments", self.curves.cwnd_epoch);
        out("bandwidth_segments_per_s", self.curves.bandwidth);
        out("pending_segments", self.pending);
        out("threshold_segments", self.threshold.map_or(f64::NAN, |(_, threshold)| threshold));
    }
}

/// Returns how many segments per second a window of `w` carries.
fn per_second(w: f64, path: &PathView) -> f64 {
    if path.srtt.is_zero() { 0.0 } else { w / path.srtt.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Duration;

    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    fn path() -> PathView {
        PathView { mss: MSS, srtt: Duration::from_millis(100), ..PathView::of_segments(0, 0) }
    }

    fn ack(segments: u64) -> AckSample {
        AckSample { newly_delivered: MSS * segments, may_raise: true, ..AckSample::default() }
    }

    /// Growth after a response from `before` to `after` segments.
    fn after_response(before: u64, after: u64) -> Cuback {
        let mut cuback = Cuback::new(&CubicParams::default());
        cuback.decreased(MSS * before, MSS * after, 0.7, &path());
        cuback
    }

    /// draft-kazuho-ccwg-cuback-00 appendix B, its first vector: from 7 of 10 segments at 100 segments/s, where the
    /// Reno-friendly curve is the lesser throughout. From 10 on each segment costs its own window.
    #[test]
    fn the_vector_of_the_reno_friendly_curve() {
        let cuback = after_response(10, 7);
        assert!((cuback.curves.bandwidth - 100.0).abs() < 1e-9);
        for (w, a, d) in [
            (7.0, 0.0, 13.2222),
            (8.0, 13.2222, 15.1111),
            (9.0, 28.3333, 17.0),
            (10.0, 45.3333, 10.0),
            (11.0, 55.3333, 11.0),
        ] {
            assert!((cuback.a(w) - a).abs() < 5e-5 && (cuback.d(w) - d).abs() < 5e-5, "{w}: {}", cuback.a(w));
        }
        assert!((cuback.a(12.0) - 66.3333).abs() < 5e-5);
    }

    /// Its second vector, the cubic curve: K is 10 s from 600 to 1000 segments, and the curve is symmetric about 1000.
    /// There the cut is by 0.6, so the epoch is given as it is.
    #[test]
    fn the_vector_of_the_cubic_curve() {
        let cuback = after_response(1000, 600);
        assert!((time_to_plateau(0.4, 400.0) - 10.0).abs() < 1e-9);
        for (w, a) in [(600, 0.0), (950, 50e3), (1000, 100e3), (1050, 150e3), (1400, 200e3)] {
            let is = cuback.a(f64::from(w));
            assert!((is - a).abs() < 1e-6 && cuback.a_reno(f64::from(w)) >= is, "{is} at {w}");
        }
    }

    /// spec/ccwg-2026 section F.2: 70 of 100 segments at 1000 segments/s. The curves cross between 100 and 101, where
    /// the lesser of the sums is taken and not the lesser of the steps.
    #[test]
    fn the_lesser_of_the_sums_counts() {
        let cuback = after_response(100, 70);
        let near = |is: f64, expected: f64| assert!((is - expected).abs() < 0.5, "{is}, not {expected}");
        near(cuback.a_cubic(70.0), 0.0);
        near(cuback.a_cubic(100.0), 4217.0);
        // 30 * 169 / (2 * alpha) with alpha 0.52941, which the section rounds to 0.529.
        near(cuback.a_reno(100.0), 4788.3);
        near(cuback.a_reno(101.0), 4888.3);
        near(cuback.a_cubic(101.0), 5574.0);
        near(cuback.d(70.0), 47.5);
        near(cuback.d(99.0), 1357.0);
        near(cuback.d(100.0), 671.1);
    }

    /// Section 3.1: below the last plateau fast convergence takes it to (1 + beta) / 2 of the window, and the
    /// Reno-friendly curve still counts up to the window itself.
    #[test]
    fn fast_convergence_lowers_the_plateau_alone() {
        for (fast, w_max) in [(true, 76.5), (false, 90.0)] {
            let mut cuback = Cuback { fast_convergence: fast, ..after_response(100, 70) };
            cuback.decreased(MSS * 90, MSS * 63, 0.7, &path());
            let curves = Curves { w_max, cwnd_prior: 90.0, cwnd_epoch: 63.0, bandwidth: 900.0 };
            assert_eq!(cuback.curves, curves);
            let step = cuback.a_reno(81.0) - cuback.a_reno(80.0);
            assert!((step - 80.0 / cuback.alpha).abs() < 1e-9, "{step}");
        }
    }

    /// Section 3: where slow start ends without a response the window is the plateau, K is zero, and every segment
    /// costs at least two.
    #[test]
    fn the_end_of_slow_start_is_a_plateau() {
        let mut cuback = Cuback::new(&CubicParams::default());
        cuback.begin(MSS * 100, &path());
        assert_eq!(
            cuback.curves,
            Curves { w_max: 100.0, cwnd_prior: 100.0, cwnd_epoch: 100.0, bandwidth: 1000.0 }
        );
        assert!(cuback.a(100.0).abs() < 1e-9 && (cuback.d(100.0) - 100.0).abs() < 1e-9, "Reno's window");
        cuback.curves.bandwidth = 0.0;
        assert!((cuback.d(100.0) - 2.0).abs() < 1e-12, "half a window per round trip");
    }

    /// A cycle of the cubic between losses: from 0.7 to `W_max = (RTT / p)^(3/4) (C / 0.3)^(1/4)` segments, 191 at 100
    /// ms and 1e-4, `B K = 1 / p` are acknowledged. With a share `a` of those, the window is `W_max (1 - 0.3 (1 -
    /// a)^3)`; over a round trip that does not change its mean over time is the harmonic one, `W_max / 1.0913`: 175
    /// segments, 0.934 of the 187.4 of RFC 9438, because no round trip carries as much as the one before the loss.
    #[test]
    fn a_cycle_between_losses() {
        let w_max = libm::pow(0.1 * 1e4, 0.75) * libm::pow(0.4 / 0.3, 0.25);
        let mss = 1_000_000.0;
        let path = PathView { mss: Bytes::from_f64(mss), ..path() };
        let segments = |w: f64| Bytes::from_f64(w * mss);
        let mut cuback = Cuback::new(&CubicParams::default());
        cuback.decreased(segments(w_max), segments(0.7 * w_max), 0.7, &path);
        // In whole bytes: the inverse of the cubic is vertical at the plateau.
        let acked = cuback.a(cuback.curves.w_max);
        assert!((acked - 1e4).abs() < 0.01, "{acked}");
        let (mut cwnd, mut round_trips) = (segments(0.7 * w_max), 0.0);
        let one = AckSample { newly_delivered: path.mss, ..AckSample::default() };
        for _ in 0..10_000 {
            round_trips += mss / cwnd.as_f64();
            cwnd = cuback.grow(cwnd, path.mss, &one, &path);
        }
        assert!((cwnd.as_f64() / mss - w_max).abs() <= 1.0, "{cwnd}");
        let mean = 1e4 / round_trips;
        assert!((mean / 175.1 - 1.0).abs() < 0.005, "{mean}");
    }

    /// The window grows by one segment for each `D` acknowledged, whatever the ACKs cover; an ACK may make it grow more
    /// than once. 47.5 segments at 70 are 70 / alpha = 132.2 at most.
    #[test]
    fn segments_acknowledged_are_carried_over() {
        for per_ack in [1, 7, 48, 500] {
            let mut cuback = after_response(100, 70);
            let (mut cwnd, mut acked) = (MSS * 70, 0);
            while cwnd < MSS * 80 {
                cwnd = cuback.grow(cwnd, MSS * per_ack, &ack(per_ack), &path());
                acked += per_ack;
            }
            let due = cuback.a(cwnd.as_f64() / 1000.0) + cuback.pending;
            assert!((due - acked as f64).abs() < 1e-6, "{due} of {acked}");
        }
    }

    /// Section 3.2: an undo restores the plateau, the bandwidth, and the window after the response.
    #[test]
    fn an_undo_restores_the_epoch() {
        let mut cuback = after_response(100, 70);
        cuback.grow(MSS * 70, MSS * 30, &ack(30), &path());
        let before = cuback.clone();
        cuback.decreased(MSS * 70, MSS * 49, 0.7, &path());
        assert_ne!(cuback.curves, before.curves);
        cuback.undone(before.clone());
        assert_eq!((cuback.curves, cuback.pending), (before.curves, before.pending));
    }

    /// Marked ACKs grow the window only by choice.
    #[test]
    fn marked_acks_grow_by_choice() {
        let ce = crate::sample::Marked { bytes: MSS, packets: 1 };
        let ecn = crate::sample::EcnFeedback { ce, ..Default::default() };
        for (grow_on_marked, grows) in [(true, true), (false, false)] {
            let mut cuback = Cuback { grow_on_marked, ..after_response(100, 70) };
            let grown = cuback.grow(MSS * 70, MSS * 100, &AckSample { ecn, ..ack(100) }, &path());
            assert_eq!(grown > MSS * 70, grows);
        }
    }
}
