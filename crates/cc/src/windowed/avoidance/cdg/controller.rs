//! CDG's window: gradients, backoffs, the shadow window.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::Seq;

use super::CdgParams;
use super::gradients::{Extremes, Gradients, Trend};
use super::hystart::Hystart;
use crate::needs::Needs;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, cong_avoid_ai, half};
use crate::windowed::cwnd_cnt::CwndCnt;

/// Sums that fall by this much, in microseconds, show that a backoff had an effect.
const EFFECT_US: i64 = 32;
/// Sums are rounded to this, in microseconds, before they judge the queue.
const NOISE_US: i64 = 64;
/// The most ACKs of one segment that are taken for delayed ones.
const DELAYED: u32 = 5;

/// What the gradients say about the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Queue {
    #[default]
    Unknown,
    NotFull,
    Full,
    /// The present reduction is CDG's own.
    Backoff,
}

/// CDG.
#[derive(Clone, Debug)]
pub(super) struct Cdg {
    params: CdgParams,
    random: RandomStream,
    hystart: Hystart,
    /// The round trips of this round and of the one before.
    round: Extremes,
    rtt_prev: Extremes,
    rtt_seq: Seq,
    gradients: Gradients,
    trend: Trend,
    queue: Queue,
    /// Backoffs since one had an effect.
    backoff_cnt: u32,
    /// The window without backoffs.
    shadow_wnd: u64,
    /// ACKs of one segment that may be delayed ones.
    delack: u32,
    /// The window after the last ACK; before this one grows it.
    w: u64,
    state: CaState,
    asks: bool,
}

impl Cdg {
    pub(super) fn new(params: &CdgParams, random: RandomStream) -> Cdg {
        Cdg {
            params: params.clone(),
            random,
            hystart: Hystart::new(params.hystart_detect),
            round: Extremes::default(),
            rtt_prev: Extremes::default(),
            rtt_seq: Seq::SYN,
            gradients: Gradients::new(params.window),
            trend: Trend { sum: Extremes::default(), gradient: 0 },
            queue: Queue::Unknown,
            backoff_cnt: 0,
            shadow_wnd: 0,
            delack: 0,
            w: 0,
            state: CaState::Open,
            asks: false,
        }
    }

    /// A round is over. True if CDG backs off.
    fn end_round(&mut self, w: u64, rtt_seq: Seq) -> bool {
        let has_previous = !self.rtt_prev.is_empty();
        if has_previous {
            self.trend = self.gradients.add(self.rtt_prev, self.round);
            self.judge();
        }
        self.rtt_seq = rtt_seq;
        self.rtt_prev = std::mem::take(&mut self.round);
        self.hystart.start_round();
        has_previous && self.trend.gradient > 0 && self.backs_off(w)
    }

    /// Notes what the sums show.
    fn judge(&mut self) {
        let Extremes { min, max } = self.trend.sum;
        if min <= -EFFECT_US || max <= -EFFECT_US {
            self.backoff_cnt = 0;
        }
        if !self.params.use_tolerance {
            return;
        }
        let (min, max) = (rounded(min), rounded(max));
        if min > 0 && max <= 0 {
            self.queue = Queue::Full;
        } else if (min > 0 && max > 0) || max < 0 {
            self.queue = Queue::NotFull;
        }
    }

    fn backs_off(&mut self, w: u64) -> bool {
        let exponent = self.trend.gradient as f64 * f64::from(self.params.backoff_factor) * 1e-6;
        if self.random.uniform() < libm::exp(-exponent) {
            return false;
        }
        self.backoff_cnt = self.backoff_cnt.saturating_add(1);
        if self.params.use_ineff > 0 && self.backoff_cnt > self.params.use_ineff {
            return false;
        }
        self.shadow_wnd = self.shadow_wnd.max(w);
        self.queue = Queue::Backoff;
        self.asks = true;
        true
    }
}

/// The nearest multiple of the noise.
const fn rounded(us: i64) -> i64 {
    let half = if us < 0 { -NOISE_US / 2 } else { NOISE_US / 2 };
    (us + half) / NOISE_US
}

impl Module for Cdg {
    fn needs(&self, needs: Needs) -> Needs {
        Needs { delivery_reports: true, states: true, own_reductions: true, ..needs }
    }

    fn init(&mut self, window: &mut Segments, path: &PathView) {
        self.rtt_seq = path.nxt;
        self.shadow_wnd = window.w;
    }

    fn pkts_acked(&mut self, delivery: &Delivery, _w: u64, path: &PathView) {
        let Some(rtt) = delivery.rtt else { return };
        let us = (rtt.as_nanos() / 1000).cast_signed();
        if us == 0 {
            return;
        }
        // In Disorder and Recovery segments are SACKed.
        if !matches!(self.state, CaState::Disorder | CaState::Recovery) {
            let segments = delivery.acked / path.mss;
            if segments == 1 && self.delack > 0 {
                self.round.lower(us);
                self.delack -= 1;
                return;
            }
            if segments > 1 && self.delack < DELAYED {
                self.delack += 1;
            }
        }
        self.round.sample(us);
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        self.w = window.w;
        if !ack.may_raise {
            return Steered::Grow;
        }
        if window.in_slow_start()
            && self.hystart.is_on()
            && self.hystart.on_ack(self.round.min, !ack.growth_barred, path.now)
        {
            window.ssthresh = window.w;
        }
        if path.una > self.rtt_seq && !self.round.is_empty() && self.end_round(window.w, path.nxt) {
            return Steered::Hold;
        }
        if ack.growth_barred {
            self.shadow_wnd = self.shadow_wnd.min(window.w);
        }
        Steered::Grow
    }

    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
        cong_avoid_ai(w, w, n, cwnd_cnt)
    }

    fn settled(&mut self, window: &mut Segments, _ack: &AckSample, _path: &PathView) {
        self.shadow_wnd += window.w.saturating_sub(self.w);
        self.w = window.w;
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        if self.queue == Queue::Backoff {
            return (w * u64::from(self.params.backoff_beta) / 1024).max(2);
        }
        if self.queue == Queue::NotFull && self.params.use_tolerance {
            return w;
        }
        self.shadow_wnd = (self.shadow_wnd / 2).min(w);
        if self.params.use_shadow { half(w).max(self.shadow_wnd) } else { half(w) }
    }

    fn set_state(&mut self, state: CaState, _path: &PathView) {
        self.state = state;
    }

    fn complete_cwr(&mut self, path: &PathView) {
        // A timeout's end is none of a reduction's (Linux `tcp_end_cwnd_reduction`).
        if self.state == CaState::Loss {
            return;
        }
        self.queue = Queue::Unknown;
        self.rtt_seq = path.nxt;
        self.rtt_prev = std::mem::take(&mut self.round);
    }

    fn cwnd_restart(&mut self, path: &PathView) {
        self.gradients.clear();
        self.hystart.forget();
        (self.round, self.rtt_prev) = (Extremes::default(), Extremes::default());
        (self.queue, self.backoff_cnt, self.delack) = (Queue::Unknown, 0, 0);
        self.rtt_seq = path.nxt;
        self.shadow_wnd = self.w;
    }

    fn asks_reduction(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("gradient_s", self.trend.gradient as f64 * 1e-6);
        out("backoffs", f64::from(self.backoff_cnt));
        out("shadow_segments", self.shadow_wnd as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cdg(params: &CdgParams) -> Cdg {
        Cdg::new(params, RandomStream::new(1))
    }

    /// spec/congestion-control section 3.16: summed gradients of 1, 3 and 10 ms back off with probability 0.041, 0.118 and
    /// 0.343; five standard errors of 20,000 draws are at most 0.017.
    #[test]
    fn probability_of_a_backoff() {
        let mut cdg = cdg(&CdgParams { use_ineff: 0, ..CdgParams::default() });
        for (ms, probability) in [(1, 0.041), (3, 0.118), (10, 0.343)] {
            cdg.trend.gradient = ms * 1000;
            let made = (0..20_000).filter(|_| cdg.backs_off(100)).count() as f64 / 20_000.0;
            let error = 5.0 * libm::sqrt(probability * (1.0 - probability) / 20_000.0);
            assert!((made - probability).abs() < error + 0.0005, "{ms} ms: {made}");
        }
    }

    /// After five backoffs without effect others are left out, until the round trip falls.
    #[test]
    fn backoffs_without_effect_end() {
        let mut cdg = cdg(&CdgParams { backoff_factor: 1_000_000, ..CdgParams::default() });
        cdg.trend.gradient = 1000;
        assert_eq!((0..20).filter(|_| cdg.backs_off(100)).count(), 5);
        cdg.trend.sum = Extremes { min: -EFFECT_US, max: 0 };
        cdg.judge();
        assert!(cdg.backs_off(100));
    }

    /// A loss returns to half of the shadow window, which backoffs do not lower; a backoff leaves 724/1024.
    #[test]
    fn losses_are_answered_from_the_shadow() {
        let at = windtunnel_units::Time::ZERO;
        let none = windtunnel_units::Bytes::ZERO;
        let zero = windtunnel_units::Duration::ZERO;
        let path = PathView {
            now: at,
            mss: windtunnel_units::Bytes::new(1448),
            srtt: zero,
            min_rtt: zero,
            in_flight: none,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA,
        };
        let mut cdg = cdg(&CdgParams { backoff_factor: 1_000_000, ..CdgParams::default() });
        cdg.trend.gradient = 1000;
        assert!(cdg.backs_off(100) && cdg.asks_reduction() && !cdg.asks_reduction());
        assert_eq!(cdg.ssthresh(100, &path), 70);
        cdg.complete_cwr(&path);
        assert_eq!(cdg.ssthresh(60, &path), 50, "half of the shadow, 100");
        assert_eq!(cdg.ssthresh(60, &path), 30, "half of the window: the shadow is 50 / 2");
    }

    /// With `use_tolerance`, a loss while the greatest round trip falls takes nothing.
    #[test]
    fn tolerance() {
        let mut cdg = cdg(&CdgParams { use_tolerance: true, ..CdgParams::default() });
        for (min, max, queue) in [
            (64, 0, Queue::Full),
            (64, 64, Queue::NotFull),
            (0, -64, Queue::NotFull),
            (31, -31, Queue::NotFull),
        ] {
            cdg.trend.sum = Extremes { min, max };
            cdg.judge();
            assert_eq!(cdg.queue, queue, "{min} {max}");
        }
    }

    fn at(us: u64, una: u64, nxt: u64) -> PathView {
        let now = windtunnel_units::Time::ZERO + windtunnel_units::Duration::from_micros(us);
        PathView { now, ..PathView::of_segments(una, nxt) }
    }

    /// Section 3.16 and Linux `tcp_cdg_acked`: each ACK of several segments lets one of a single segment, whose round
    /// trip may be a delayed ACK's, lower the least only, up to five; not while segments are SACKed.
    #[test]
    fn delayed_acks_are_filtered() {
        let mut cdg = cdg(&CdgParams::default());
        for (state, segments, us, min, max, delayed) in [
            (CaState::Open, 1, 1000, 1000, 1000, 0),
            (CaState::Open, 2, 1200, 1000, 1200, 1),
            (CaState::Open, 1, 5000, 1000, 1200, 0),
            (CaState::Open, 1, 5000, 1000, 5000, 0),
            (CaState::Open, 2, 2000, 1000, 5000, 1),
            (CaState::Cwr, 3, 2000, 1000, 5000, 2),
            (CaState::Open, 2, 2000, 1000, 5000, 3),
            (CaState::Open, 2, 2000, 1000, 5000, 4),
            (CaState::Open, 2, 2000, 1000, 5000, 5),
            (CaState::Open, 2, 6000, 1000, 6000, 5),
            (CaState::Open, 0, 6500, 1000, 6500, 5),
            (CaState::Open, 1, 900, 900, 6500, 4),
            (CaState::Open, 2, 0, 900, 6500, 4),
            (CaState::Disorder, 1, 7000, 900, 7000, 4),
            (CaState::Recovery, 2, 8000, 900, 8000, 4),
            (CaState::Loss, 1, 9000, 900, 8000, 3),
        ] {
            cdg.set_state(state, &at(0, 0, 10));
            let acked = windtunnel_units::Bytes::new(1448) * segments;
            let rtt = Some(windtunnel_units::Duration::from_micros(us));
            cdg.pkts_acked(&Delivery { acked, rtt, ..Delivery::default() }, 10, &at(0, 0, 10));
            assert_eq!((cdg.round.min, cdg.round.max, cdg.delack), (min, max, delayed), "{state:?} {us} us");
        }
    }

    /// Section 3.16: a sum of -32 us or less, of either round trip, ends the count of backoffs. With `use_tolerance`
    /// the sums, in 64 us, tell whether the queue is full: the least rises and the greatest does not. It is not if
    /// both rise, or the greatest falls.
    #[test]
    fn sums_tell_of_the_queue() {
        for (min, max, backoffs, queue) in [
            (-31, -31, 3, Queue::Unknown),
            (-32, 0, 0, Queue::Unknown),
            (0, -32, 0, Queue::NotFull),
            (32, -31, 3, Queue::Full),
            (31, -31, 3, Queue::Unknown),
            (64, -64, 0, Queue::Full),
            (32, 32, 3, Queue::NotFull),
            (0, 64, 3, Queue::Unknown),
            (-64, 64, 0, Queue::Unknown),
            (-64, -64, 0, Queue::NotFull),
        ] {
            for use_tolerance in [true, false] {
                let mut cdg = cdg(&CdgParams { use_tolerance, ..CdgParams::default() });
                cdg.backoff_cnt = 3;
                cdg.trend.sum = Extremes { min, max };
                cdg.judge();
                let queue = if use_tolerance { queue } else { Queue::Unknown };
                assert_eq!((cdg.backoff_cnt, cdg.queue), (backoffs, queue), "{min} {max}");
            }
        }
    }

    /// Section 3.16: a backoff needs a rising round trip and a round before to compare with, whatever the trend was.
    #[test]
    fn a_backoff_needs_two_rounds() {
        let params = CdgParams { backoff_factor: 1_000_000, ..CdgParams::default() };
        for (last, us, backs_off) in
            [(0, 9000, false), (8000, 9000, true), (9000, 8000, false), (9000, 9000, false)]
        {
            let mut cdg = cdg(&params);
            cdg.trend.gradient = 1000;
            cdg.rtt_prev = Extremes { min: last, max: last };
            cdg.round = Extremes { min: us, max: us };
            assert_eq!(cdg.end_round(100, Seq::FIRST_DATA), backs_off, "{last} us, then {us} us");
            assert_eq!((cdg.rtt_prev.min, cdg.round.is_empty()), (us, true));
        }
    }

    /// Section 3.16: what a loss leaves at W = 60 with a shadow of 100: 50, or half of the window without
    /// `use_shadow`; all of it with `use_tolerance` while the queue is not full. CDG's own reductions leave 724/1024
    /// in any case.
    #[test]
    fn what_a_loss_leaves() {
        for (queue, use_shadow, use_tolerance, left, shadow) in [
            (Queue::Unknown, true, false, 50, 50),
            (Queue::Unknown, true, true, 50, 50),
            (Queue::Full, true, true, 50, 50),
            (Queue::NotFull, true, false, 50, 50),
            (Queue::NotFull, true, true, 60, 100),
            (Queue::Unknown, false, false, 30, 50),
            (Queue::Backoff, true, true, 42, 100),
        ] {
            let params = CdgParams { use_shadow, use_tolerance, ..CdgParams::default() };
            let mut cdg = Cdg { queue, shadow_wnd: 100, ..cdg(&params) };
            assert_eq!((cdg.ssthresh(60, &at(0, 0, 60)), cdg.shadow_wnd), (left, shadow), "{queue:?}");
        }
    }

    /// Section 3.16: the shadow starts with the window, grows with it, and is no larger while growth is barred. The
    /// round ends with the first ACK beyond what was sent at its start.
    #[test]
    fn the_shadow_grows_with_the_window() {
        let ack = AckSample { may_raise: true, ..AckSample::default() };
        let mut cdg = cdg(&CdgParams { hystart_detect: 0, ..CdgParams::default() });
        let mut window = Segments { w: 10, ssthresh: 5 };
        cdg.init(&mut window, &at(0, 0, 10));
        cdg.round = Extremes { min: 1000, max: 1000 };
        cdg.steer(&mut window, &ack, &at(0, 10, 20));
        assert!(cdg.rtt_prev.is_empty(), "the first round goes on");
        window.w = 12;
        cdg.settled(&mut window, &ack, &at(0, 10, 20));
        cdg.settled(&mut window, &ack, &at(0, 10, 20));
        assert_eq!(cdg.shadow_wnd, 12);
        cdg.steer(&mut window, &ack, &at(0, 11, 21));
        assert_eq!((cdg.rtt_prev.min, cdg.shadow_wnd), (1000, 12));
        window.w = 8;
        cdg.steer(&mut window, &AckSample { growth_barred: true, ..ack }, &at(0, 12, 20));
        assert_eq!(cdg.shadow_wnd, 8);
    }

    /// Section 3.16: a train of ACKs longer than half of the least round trip ends slow start if `hystart_detect`
    /// says so, unless growth is barred or there is no slow start.
    #[test]
    fn slow_start_ends_by_trains() {
        let ack = AckSample { may_raise: true, ..AckSample::default() };
        let barred = AckSample { growth_barred: true, ..ack };
        for (detect, first, ack, left) in
            [(1, 200, ack, 10), (0, 200, ack, 200), (2, 200, ack, 200), (1, 200, barred, 200), (1, 7, ack, 7)]
        {
            let mut cdg = cdg(&CdgParams { hystart_detect: detect, ..CdgParams::default() });
            let mut window = Segments { w: 10, ssthresh: first };
            cdg.init(&mut window, &at(0, 0, 100));
            cdg.round = Extremes { min: 1000, max: 1000 };
            for us in [0, 400, 800] {
                cdg.steer(&mut window, &ack, &at(us, 1, 100));
            }
            assert_eq!(window.ssthresh, left, "{detect} {first}");
        }
    }

    /// Linux `CA_EVENT_CWND_RESTART`: the restart after idle time forgets gradients, round trips and backoffs.
    #[test]
    fn a_restart_forgets_all() {
        let mut cdg = cdg(&CdgParams::default());
        (cdg.w, cdg.shadow_wnd, cdg.backoff_cnt, cdg.delack, cdg.queue) = (10, 100, 3, 2, Queue::Full);
        (cdg.round, cdg.rtt_prev) = (Extremes { min: 3000, max: 4000 }, Extremes { min: 1000, max: 2000 });
        cdg.end_round(10, Seq::FIRST_DATA);
        cdg.cwnd_restart(&at(0, 0, 10));
        assert_eq!((cdg.shadow_wnd, cdg.backoff_cnt, cdg.delack, cdg.queue), (10, 0, 0, Queue::Unknown));
        assert!(cdg.round.is_empty() && cdg.rtt_prev.is_empty());
        assert_eq!(cdg.rtt_seq, at(0, 0, 10).nxt);
        let next = cdg.gradients.add(Extremes { min: 1000, max: 1000 }, Extremes { min: 1100, max: 1100 });
        assert_eq!(next.sum, Extremes { min: 100, max: 100 });
    }

    /// What a run records: the gradient in seconds, the backoffs and the shadow.
    #[test]
    fn the_gradient_is_reported_in_seconds() {
        let mut cdg = Cdg { backoff_cnt: 3, shadow_wnd: 40, ..cdg(&CdgParams::default()) };
        cdg.trend.gradient = 2500;
        let mut numbers = Vec::new();
        cdg.probe(&mut |name, value| numbers.push((name, (value * 1e4).round() as i64)));
        assert_eq!(numbers, [("gradient_s", 25), ("backoffs", 30_000), ("shadow_segments", 400_000)]);
    }

    /// Section 3.16: the end of CDG's own reduction ends what it meant: the next loss is answered by a half, not by
    /// 724/1024.
    #[test]
    fn a_backoff_ends_with_its_reduction() {
        use crate::windowed::avoidance::module::InSegments;
        use crate::windowed::avoidance::{Avoidance, Window};

        let path = at(0, 0, 100);
        let mut window = Window { cwnd: path.mss * 100, ssthresh: path.mss * 100 };
        let mut cdg = InSegments::new(Cdg { queue: Queue::Backoff, ..cdg(&CdgParams::default()) });
        for md in [0.7, 0.5] {
            cdg.congestion_event(&window, &path);
            assert!((cdg.md() - md).abs() < 1e-9, "{}", cdg.md());
            cdg.recovered(&mut window, &path);
        }
    }
}
