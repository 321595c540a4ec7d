//! TCP-NV's decisions.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::NvParams;
use crate::needs::Needs;
use crate::sample::{AckSample, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, additive};
use crate::windowed::credit::Credit;

/// Greater than any round trip: none was measured.
const UNKNOWN: u64 = u32::MAX as u64;
/// The first renewal of the least round trip.
const FIRST_PERIOD: Duration = Duration::from_secs(2);
/// Below this window a decision needs more than one ACK per round trip; it adapts between these bounds.
const EVAL_LEAST: u64 = 4;
const EVAL_STEP: u64 = 2;
const EVAL_MOST: u64 = 81;
/// The slowest growth: a segment per 2^8 windows.
const SLOWEST: i32 = -8;
/// Counts end here, as bytes do.
const COUNT_MOST: u32 = 255;

/// TCP-NV. Round trips are in microseconds, rates in bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Nv {
    params: NvParams,
    random: RandomStream,
    /// Growth is as Reno's times 2^growth.
    growth: i32,
    grows: bool,
    /// What was measured is forgotten when the state is Open again.
    resets: bool,
    /// The present ACK brought the state back to Open: it was measured before.
    reset: bool,
    /// ACKs since the last decision, and round trips.
    acks: u32,
    rounds: u32,
    /// Decisions without congestion, one after the other.
    free: u32,
    /// The window that a round trip with one ACK is compared with.
    eval_window: u64,
    last_rtt: u64,
    least: u64,
    /// The least since the last renewal.
    least_new: u64,
    renewal: Time,
    /// The greatest rate since the last decision.
    rate: u64,
    /// The largest window allowed at the last decision.
    max_win: Option<u64>,
    end: Seq,
    una: Seq,
    state: CaState,
}

impl Nv {
    pub(super) fn new(params: &NvParams, random: RandomStream) -> Nv {
        Nv {
            params: params.clone(),
            random,
            growth: 0,
            grows: true,
            resets: false,
            reset: false,
            acks: 0,
            rounds: 0,
            free: 0,
            eval_window: EVAL_LEAST,
            last_rtt: 0,
            least: UNKNOWN,
            least_new: UNKNOWN,
            renewal: Time::ZERO,
            rate: 0,
            max_win: None,
            end: Seq::SYN,
            una: Seq::SYN,
            state: CaState::Open,
        }
    }

    /// Forgets the measurements since the last decision.
    fn reset(&mut self, una: Seq) {
        self.resets = false;
        (self.acks, self.rounds, self.free) = (0, 0, 0);
        (self.last_rtt, self.rate) = (0, 0);
        (self.end, self.una) = (una, una);
    }

    /// Takes the round trip and the bytes delivered within it.
    fn measure(&mut self, us: u64, delivered: Bytes, now: Time) {
        let average = match u64::from(self.params.nv_rtt_factor) {
            0 => us,
            _ if self.last_rtt == 0 => {
                self.least = 2 * us;
                us
            }
            weight => (us * weight + self.last_rtt * (256 - weight)) >> 8,
        };
        self.last_rtt = average;
        self.rate = self.rate.max(delivered.get() * 1_000_000 / average.max(1));
        self.acks = (self.acks + 1).min(COUNT_MOST);
        let bounded = self.bounded(average);
        self.least = self.least.min(bounded);
        self.least_new = self.least_new.min(bounded);
        if now >= self.renewal {
            self.renew(now);
        }
    }

    /// The average within the bounds of a known base.
    fn bounded(&self, average: u64) -> u64 {
        let Some(base) = self.params.base_rtt else { return average };
        let base = base.as_nanos() / 1000;
        let floor = (base * 205) >> 8;
        if average < floor { floor } else { average.min(base) }
    }

    /// The least round trip of the last period becomes the least.
    fn renew(&mut self, now: Time) {
        self.least = std::mem::replace(&mut self.least_new, UNKNOWN);
        // The kernel draws a byte: three quarters to five quarters of the period, in 512ths.
        let byte = (self.random.uniform() * 256.0) as u64;
        self.renewal = now + self.params.nv_reset_period * (384 + byte) / 512;
        self.eval_window = (self.eval_window / 2).max(EVAL_LEAST);
    }

    /// A round trip is over, in which `acked` bytes were acknowledged by its last ACK.
    fn end_round(&mut self, window: &mut Segments, acked: u64, path: &PathView) {
        self.end = path.nxt;
        self.rounds = (self.rounds + 1).min(COUNT_MOST);
        let mss = path.mss.get();
        if self.acks == 1 && acked >= (self.eval_window - 1) * mss && self.eval_window < EVAL_MOST {
            self.eval_window = (self.eval_window + EVAL_STEP).min(EVAL_MOST);
            self.end = path.nxt + path.mss * self.eval_window;
            self.acks = 0;
            self.grows = true;
            return;
        }
        let max_win = self.largest_window(mss);
        self.max_win = Some(max_win);
        let decided = if window.w > max_win {
            self.decrease(window, max_win)
        } else if window.w + u64::from(self.params.nv_pad_buffer) <= max_win {
            self.allow_growth()
        } else {
            false
        };
        if decided {
            (self.acks, self.rounds, self.rate) = (0, 0, 0);
            window.w = window.w.max(u64::from(self.params.nv_min_cwnd));
        }
    }

    /// What the rate needs on an empty path, and the pad.
    fn largest_window(&self, mss: u64) -> u64 {
        let needed = u128::from(self.rate) * u128::from(self.least) / (1_000_000 * u128::from(mss));
        needed as u64 + u64::from(self.params.nv_pad)
    }

    /// The window is larger than it need be. True if there are enough measurements to decide.
    fn decrease(&mut self, window: &mut Segments, max_win: u64) -> bool {
        let params = &self.params;
        if self.rounds < params.nv_rtt_min_cnt {
            return false;
        }
        let seeking = window.ssthresh == Segments::INFINITE;
        if seeking && self.acks < params.nv_ssthresh_eval_min_calls {
            return false;
        }
        if !seeking && self.acks < params.nv_dec_eval_min_calls {
            self.grows &= self.rounds <= params.nv_stop_rtt_cnt;
            return false;
        }
        self.grows = false;
        window.ssthresh = max_win * u64::from(params.nv_ssthresh_factor) / 8;
        let excess = window.w - max_win;
        if excess > 2 {
            window.w -= (excess * u64::from(params.nv_cong_dec_mult) / 128).max(2);
        } else if params.nv_cong_dec_mult > 0 {
            window.w = max_win;
        }
        self.growth = self.growth.min(0);
        self.free = 0;
        true
    }

    /// There is room. True if there are enough measurements to decide.
    fn allow_growth(&mut self) -> bool {
        if self.acks < self.params.nv_inc_eval_min_calls {
            return false;
        }
        self.grows = true;
        self.free = self.free.saturating_add(1);
        let steps = if self.growth < 0 {
            self.params.nv_cwnd_growth_rate_neg
        } else {
            self.params.nv_cwnd_growth_rate_pos
        };
        if steps > 0 && self.free > steps {
            self.growth = (self.growth + 1).min(63);
            self.free = 0;
        }
        true
    }
}

impl Module for Nv {
    fn needs(&self, needs: Needs) -> Needs {
        Needs { rate_samples: true, states: true, ..needs }
    }

    fn established(&mut self, _window: &mut Segments, path: &PathView) {
        self.reset(path.una);
        self.renewal = path.now + FIRST_PERIOD;
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        let measures = !std::mem::take(&mut self.reset) && self.state <= CaState::Disorder;
        if let Some(rtt) = ack.rtt.filter(|_| measures) {
            let acked = path.una - std::mem::replace(&mut self.una, path.una);
            if let Some(rate) = ack.rate {
                self.measure(rtt.as_nanos() / 1000, rate.delivered, path.now);
                if path.una > self.end {
                    self.end_round(window, acked.get(), path);
                }
            }
        }
        if self.grows { Steered::Grow } else { Steered::Hold }
    }

    fn grow(&mut self, w: u64, n: u64, credit: &mut Credit) -> u64 {
        let price = match u32::try_from(self.growth) {
            Ok(quicker) => (w >> quicker).max(4),
            Err(_) => w << self.growth.unsigned_abs(),
        };
        additive(w, price, n, credit)
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        (w * u64::from(self.params.nv_loss_dec_factor) / 1024).max(2)
    }

    fn state(&mut self, state: CaState, path: &PathView) {
        self.state = state;
        if state == CaState::Open && self.resets {
            self.reset(path.una);
            self.reset = true;
        }
        if state > CaState::Disorder {
            self.resets = true;
            self.grows = false;
        }
        if state == CaState::Loss {
            self.growth = self.growth.min(0);
            if self.params.nv_cwnd_growth_rate_neg > 0 {
                self.growth = (self.growth - 1).max(SLOWEST);
            }
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let known = |us: u64| if us == UNKNOWN { f64::NAN } else { us as f64 * 1e-6 };
        out("max_win_segments", self.max_win.map_or(f64::NAN, |w| w as f64));
        out("rate_bps", self.rate as f64 * 8.0);
        out("min_rtt_s", known(self.least));
        out("growth_log2", f64::from(self.growth));
        out("grows", f64::from(u8::from(self.grows)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/congestion-control section 3.15: 10 Gbit/s at 100 us and 1460 bytes need 85 segments; 95 are allowed, and a
    /// window of 120 gives up 7 of its excess of 25.
    #[test]
    fn the_excess_shrinks_by_thirty_percent() {
        let mut nv = Nv::new(&NvParams::default(), RandomStream::new(1));
        (nv.rate, nv.least, nv.acks, nv.rounds) = (1_250_000_000, 100, 60, 2);
        assert_eq!(nv.largest_window(1460), 95);
        let mut window = Segments { w: 120, ssthresh: 200 };
        assert!(nv.decrease(&mut window, 95));
        assert_eq!(window, Segments { w: 113, ssthresh: 95 });
        assert!(!nv.grows);
    }

    /// Too few ACKs decide nothing, until the path was full for more than ten round trips: then growth stops.
    #[test]
    fn few_samples_stop_growth_at_most() {
        let mut nv = Nv::new(&NvParams::default(), RandomStream::new(1));
        let mut window = Segments { w: 120, ssthresh: 200 };
        (nv.acks, nv.rounds) = (59, 10);
        assert!(!nv.decrease(&mut window, 95) && nv.grows);
        nv.rounds = 11;
        assert!(!nv.decrease(&mut window, 95) && !nv.grows);
        assert_eq!(window.w, 120);
    }

    /// After a timeout growth is half of Reno's, and Reno's again after more than eight decisions without congestion.
    #[test]
    fn timeouts_slow_growth() {
        let mut nv = Nv::new(&NvParams::default(), RandomStream::new(1));
        nv.growth = -1;
        let mut credit = Credit::default();
        assert_eq!((nv.grow(10, 19, &mut credit), nv.grow(10, 1, &mut credit)), (10, 11));
        for decision in 1..=9 {
            nv.acks = 20;
            assert!(nv.allow_growth());
            assert_eq!(nv.growth, if decision > 8 { 0 } else { -1 });
        }
    }

    const MSS: Bytes = Bytes::new(1460);

    fn nv(params: NvParams) -> Nv {
        Nv::new(&params, RandomStream::new(1))
    }

    fn at(now: Time, una: u64, nxt: u64) -> PathView {
        PathView {
            now,
            mss: MSS,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            in_flight: MSS * (nxt - una),
            una: Seq::FIRST_DATA + MSS * una,
            nxt: Seq::FIRST_DATA + MSS * nxt,
        }
    }

    /// Section 3.15 and Linux `tcpnv_acked`: the first round trip is the average itself, later ones have a weight in
    /// 256ths, or all of it with a weight of zero. The greatest rate is `bytes / average`; the least average counts.
    #[test]
    fn round_trips_are_averaged() {
        for (weight, averages, rate, least) in [
            // (3000 + 1000) / 2 and (1000 + 2000) / 2; 450,000 bytes in 1.5 ms.
            (128, [1000, 2000, 1500], 300_000_000, 1000),
            // (64 * 3000 + 192 * 1000) / 256 and (64 * 1000 + 192 * 1500) / 256; 450,000 bytes in 1.375 ms.
            (64, [1000, 1500, 1375], 327_272_727, 1000),
            (256, [1000, 3000, 1000], 450_000_000, 1000),
        ] {
            let mut nv = nv(NvParams { nv_rtt_factor: weight, ..NvParams::default() });
            nv.renewal = Time::ZERO + Duration::SECOND;
            for ((us, bytes), average) in
                [(1000, 100_000), (3000, 100_000), (1000, 450_000)].into_iter().zip(averages)
            {
                nv.measure(us, Bytes::new(bytes), Time::ZERO);
                assert_eq!(nv.last_rtt, average, "weight {weight}");
            }
            assert_eq!(
                (nv.rate, nv.least, nv.least_new, nv.acks),
                (rate, least, least, 3),
                "weight {weight}"
            );
        }
        let mut unweighted = nv(NvParams { nv_rtt_factor: 0, ..NvParams::default() });
        unweighted.renewal = Time::ZERO + Duration::SECOND;
        unweighted.measure(3000, Bytes::new(6000), Time::ZERO);
        unweighted.measure(1000, Bytes::new(6000), Time::ZERO);
        assert_eq!((unweighted.last_rtt, unweighted.rate), (1000, 6_000_000));
    }

    /// Linux `nv_get_bounded_rtt`: with a base of 10 ms the least round trip is between 10 * 205 / 256 and 10 ms, but
    /// the first sample also sets it to twice its own value.
    #[test]
    fn a_known_base_bounds_the_least() {
        for (us, bounded, least) in [
            (1000, 8007, 2000),
            (5000, 8007, 8007),
            (8006, 8007, 8007),
            (9000, 9000, 9000),
            (12_000, 10_000, 10_000),
        ] {
            let mut nv = nv(NvParams { base_rtt: Some(Duration::from_millis(10)), ..NvParams::default() });
            nv.renewal = Time::ZERO + Duration::SECOND;
            assert_eq!(nv.bounded(us), bounded, "{us} us");
            nv.measure(us, MSS, Time::ZERO);
            assert_eq!((nv.least, nv.last_rtt), (least, us), "{us} us");
        }
    }

    /// Section 3.15: two seconds after the start, and then every 5 s times 0.75 to 1.25, the least round trip is that
    /// of the last period alone. The window for which one ACK per round trip is too few is halved, down to four.
    #[test]
    fn the_least_round_trip_is_renewed() {
        let start = Time::ZERO + Duration::SECOND;
        let first = start + Duration::from_secs(2);
        let mut nv = nv(NvParams::default());
        nv.established(&mut Segments { w: 10, ssthresh: Segments::INFINITE }, &at(start, 0, 10));
        (nv.least, nv.least_new, nv.last_rtt, nv.eval_window) = (500, 700, 800, 20);
        nv.measure(800, MSS, start + Duration::from_nanos(1_999_999_999));
        assert_eq!((nv.least, nv.least_new, nv.eval_window), (500, 700, 20));
        let (mut shortest, mut longest) = (Duration::MAX, Duration::ZERO);
        for (window, count) in [(10, 1), (5, 1), (4, 400)] {
            for _ in 0..count {
                (nv.least_new, nv.renewal) = (700, first);
                nv.measure(800, MSS, first);
                assert_eq!((nv.least, nv.least_new, nv.eval_window), (700, UNKNOWN, window));
                let period = nv.renewal.since(first);
                (shortest, longest) = (shortest.min(period), longest.max(period));
            }
        }
        assert!(
            shortest >= Duration::from_millis(3750) && shortest < Duration::from_millis(3900),
            "{shortest}"
        );
        assert!(longest > Duration::from_millis(6100) && longest < Duration::from_millis(6250), "{longest}");
    }

    /// Section 3.15 rule 1: a round trip with one ACK of the evaluation window less a segment or more decides
    /// nothing, raises that window by two, to 81 at most, and makes the next round longer by it.
    #[test]
    fn one_ack_per_round_trip_is_too_few() {
        for (evaluated, acked, acks, extended) in [
            (4, 3 * 1460, 1, Some(6)),
            (4, 3 * 1460 - 1, 1, None),
            (4, 100 * 1460, 2, None),
            (10, 9 * 1460, 1, Some(12)),
            (10, 8 * 1460, 1, None),
            (80, 79 * 1460, 1, Some(81)),
            (81, 80 * 1460, 1, None),
        ] {
            let mut nv = nv(NvParams::default());
            (nv.eval_window, nv.acks, nv.grows) = (evaluated, acks, false);
            let mut window = Segments { w: 200, ssthresh: 100 };
            let path = at(Time::ZERO, 100, 300);
            nv.end_round(&mut window, acked, &path);
            assert_eq!(window, Segments { w: 200, ssthresh: 100 });
            let expected = match extended {
                Some(raised) => (raised, 0, true, path.nxt + MSS * raised),
                None => (evaluated, acks, false, path.nxt),
            };
            assert_eq!((nv.eval_window, nv.acks, nv.grows, nv.end), expected, "{evaluated} {acked} {acks}");
        }
    }

    /// Section 3.15 rules 3 to 5 with 95 segments allowed: more is an excess once two round trips are over and there
    /// are 60 ACKs, or 30 while ssthresh is infinite; 93 and less leave room once there are 20; in between nothing is
    /// decided and what was counted stays. An excess of one or two goes at once, a larger one by 38/128, at least
    /// two.
    #[test]
    fn decisions_by_the_window() {
        const NO: u64 = Segments::INFINITE;
        for (w, ssthresh, acks, rounds, left, decided) in [
            (120, 200, 60, 1, (113, 95), true),
            (120, 200, 60, 0, (120, 200), false),
            (120, 200, 59, 1, (120, 200), false),
            (120, NO, 30, 1, (113, 95), true),
            (120, NO, 29, 1, (120, NO), false),
            (96, 200, 60, 1, (95, 95), true),
            (97, 200, 60, 1, (95, 95), true),
            (98, 200, 60, 1, (96, 95), true),
            (95, 200, 60, 1, (95, 200), false),
            (94, 200, 60, 1, (94, 200), false),
            (93, 200, 20, 0, (93, 200), true),
            (93, 200, 19, 0, (93, 200), false),
        ] {
            let mut nv = nv(NvParams::default());
            (nv.rate, nv.least, nv.acks, nv.rounds) = (1_250_000_000, 100, acks, rounds);
            let mut window = Segments { w, ssthresh };
            nv.end_round(&mut window, 0, &at(Time::ZERO, 100, 100 + w));
            assert_eq!((window.w, window.ssthresh), left, "{w} segments, {acks} ACKs");
            let counts = if decided { (0, 0, 0) } else { (acks, rounds + 1, 1_250_000_000) };
            assert_eq!((nv.acks, nv.rounds, nv.rate), counts, "{w} segments, {acks} ACKs");
            assert_eq!(nv.max_win, Some(95));
        }
        // With `nv_cong_dec_mult` = 0, Linux leaves a small excess as it is.
        for (w, left) in [(96, 96), (97, 97), (98, 96)] {
            let mut nv = nv(NvParams { nv_cong_dec_mult: 0, ..NvParams::default() });
            (nv.acks, nv.rounds) = (60, 2);
            let mut window = Segments { w, ssthresh: 200 };
            assert!(nv.decrease(&mut window, 95));
            assert_eq!(window.w, left);
        }
    }

    /// Section 3.15: growth is Reno's at first, and stays so without congestion. A quicker one costs `W / 2^g`
    /// segments, at least four.
    #[test]
    fn growth_is_renos_unless_asked_for_more() {
        let mut nv = nv(NvParams::default());
        for _ in 0..20 {
            nv.acks = 20;
            assert!(nv.allow_growth());
        }
        assert_eq!(nv.growth, 0);
        for (growth, w, price) in [(0, 40, 40), (1, 40, 20), (2, 40, 10), (2, 12, 4), (-2, 10, 40)] {
            nv.growth = growth;
            let mut credit = Credit::default();
            let grown = (nv.grow(w, price - 1, &mut credit), nv.grow(w, 1, &mut credit));
            assert_eq!(grown, (w, w + 1), "2^{growth} at {w}");
        }
    }

    /// Section 3.15: reductions forbid growth, and what was measured is forgotten once the state is Open again;
    /// Disorder does neither. A timeout halves the growth, down to a 2^8th, unless `nv_cwnd_growth_rate_neg` is 0.
    #[test]
    fn states_stop_growth_and_reset() {
        let path = at(Time::ZERO, 100, 200);
        for (state, grows, reset) in [
            (CaState::Disorder, true, false),
            (CaState::Cwr, false, true),
            (CaState::Recovery, false, true),
            (CaState::Loss, false, true),
        ] {
            let mut nv = nv(NvParams::default());
            (nv.acks, nv.rounds, nv.last_rtt, nv.rate) = (9, 3, 1000, 5000);
            nv.state(state, &path);
            assert_eq!((nv.grows, nv.acks), (grows, 9), "{state:?}");
            nv.state(CaState::Open, &path);
            let expected = if reset { (0, 0, 0, 0) } else { (9, 3, 1000, 5000) };
            assert_eq!((nv.acks, nv.rounds, nv.last_rtt, nv.rate), expected, "after {state:?}");
        }
        for (rate, before, after) in [(8, 3, -1), (8, 0, -1), (8, -7, -8), (8, -8, -8), (0, 3, 0), (0, 0, 0)]
        {
            let mut nv = nv(NvParams { nv_cwnd_growth_rate_neg: rate, ..NvParams::default() });
            nv.growth = before;
            nv.state(CaState::Loss, &path);
            assert_eq!(nv.growth, after, "2^{before}, {rate}");
        }
    }

    /// What a run records: nothing is known before the first round trip; then rates in bits, times in seconds.
    #[test]
    fn what_is_known_is_reported() {
        let number = |nv: &Nv, wanted: &str| {
            let mut found = None;
            nv.probe(&mut |name, value| {
                if name == wanted {
                    found = Some(value);
                }
            });
            found.expect("a number of NV")
        };
        let mut nv = nv(NvParams::default());
        assert!(number(&nv, "min_rtt_s").is_nan() && number(&nv, "max_win_segments").is_nan());
        (nv.rate, nv.least, nv.growth, nv.grows, nv.max_win) = (1_250_000, 100, -3, false, Some(95));
        for (name, value) in [
            ("max_win_segments", 95.0),
            ("rate_bps", 1e7),
            ("min_rtt_s", 1e-4),
            ("growth_log2", -3.0),
            ("grows", 0.0),
        ] {
            assert!((number(&nv, name) - value).abs() < 1e-9, "{name}");
        }
    }
}
