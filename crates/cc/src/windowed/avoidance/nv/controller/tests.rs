//! The averages, bounds and decisions of TCP-NV one by one.

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
    let mut cwnd_cnt = CwndCnt::default();
    assert_eq!((nv.cong_avoid(10, 19, &mut cwnd_cnt), nv.cong_avoid(10, 1, &mut cwnd_cnt)), (10, 11));
    for decision in 1..=9 {
        nv.acks = 20;
        assert!(nv.allow_growth());
        assert_eq!(nv.growth, if decision > 8 { 0 } else { -1 });
    }
}

const MSS: Bytes = Bytes::new(1460);

fn nv(params: &NvParams) -> Nv {
    Nv::new(params, RandomStream::new(1))
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
        let mut nv = nv(&NvParams { nv_rtt_factor: weight, ..NvParams::default() });
        nv.renewal = Time::ZERO + Duration::SECOND;
        for ((us, bytes), average) in
            [(1000, 100_000), (3000, 100_000), (1000, 450_000)].into_iter().zip(averages)
        {
            nv.measure(us, Bytes::new(bytes), Time::ZERO);
            assert_eq!(nv.last_rtt, average, "weight {weight}");
        }
        assert_eq!((nv.rate, nv.least, nv.least_new, nv.acks), (rate, least, least, 3), "weight {weight}");
    }
    let mut unweighted = nv(&NvParams { nv_rtt_factor: 0, ..NvParams::default() });
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
        let mut nv = nv(&NvParams { base_rtt: Some(Duration::from_millis(10)), ..NvParams::default() });
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
    let mut nv = nv(&NvParams::default());
    nv.init(&mut Segments { w: 10, ssthresh: Segments::INFINITE }, &at(start, 0, 10));
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
    assert!(shortest >= Duration::from_millis(3750) && shortest < Duration::from_millis(3900), "{shortest}");
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
        let mut nv = nv(&NvParams::default());
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
        let mut nv = nv(&NvParams::default());
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
        let mut nv = nv(&NvParams { nv_cong_dec_mult: 0, ..NvParams::default() });
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
    let mut nv = nv(&NvParams::default());
    for _ in 0..20 {
        nv.acks = 20;
        assert!(nv.allow_growth());
    }
    assert_eq!(nv.growth, 0);
    for (growth, w, cnt) in [(0, 40, 40), (1, 40, 20), (2, 40, 10), (2, 12, 4), (-2, 10, 40)] {
        nv.growth = growth;
        let mut cwnd_cnt = CwndCnt::default();
        let grown = (nv.cong_avoid(w, cnt - 1, &mut cwnd_cnt), nv.cong_avoid(w, 1, &mut cwnd_cnt));
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
        let mut nv = nv(&NvParams::default());
        (nv.acks, nv.rounds, nv.last_rtt, nv.rate) = (9, 3, 1000, 5000);
        nv.set_state(state, &path);
        assert_eq!((nv.grows, nv.acks), (grows, 9), "{state:?}");
        nv.set_state(CaState::Open, &path);
        let expected = if reset { (0, 0, 0, 0) } else { (9, 3, 1000, 5000) };
        assert_eq!((nv.acks, nv.rounds, nv.last_rtt, nv.rate), expected, "after {state:?}");
    }
    for (rate, before, after) in [(8, 3, -1), (8, 0, -1), (8, -7, -8), (8, -8, -8), (0, 3, 0), (0, 0, 0)] {
        let mut nv = nv(&NvParams { nv_cwnd_growth_rate_neg: rate, ..NvParams::default() });
        nv.growth = before;
        nv.set_state(CaState::Loss, &path);
        assert_eq!(nv.growth, after, "2^{before}, {rate}");
    }
}

/// What a run records: nothing is known before the first round trip; then rates in bits, times in seconds.
#[test]
fn what_is_known_is_reported() {
    let number = |nv: &Nv, wanted: &str| {
        let mut answer = None;
        nv.probe(&mut |name, value| {
            if name == wanted {
                answer = Some(value);
            }
        });
        answer.expect("a number of NV")
    };
    let mut nv = nv(&NvParams::default());
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
