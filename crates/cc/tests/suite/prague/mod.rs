//! TCP Prague alone: the numbers and laws of spec/congestion-control section 3.20.

use windtunnel_cc::{
    CongestionControl, ControllerParams, ExitReason, Feedback, FlowInit, Pacing, PacingNeed, Params,
    PragueMode, PragueParams, PragueVariant, RandomStream,
};
use windtunnel_units::{Bytes, Duration, Probability};

use crate::driver::{CE, CLEAN, Driver, MSS, Marks, init};

mod linux_2020;
mod periods;
mod udp;

const NS: Duration = Duration::from_nanos(1);

/// A flow whose handshake agreed on this feedback.
fn agreed(params: &PragueParams, heard: Feedback, segments: u64, rtt: Duration) -> Driver {
    let mut cc: Box<dyn CongestionControl> = params.build(init(MSS * segments));
    cc.on_negotiated(heard);
    Driver::of(cc, rtt)
}

fn prague(params: &PragueParams, segments: u64, rtt: Duration) -> Driver {
    agreed(params, Feedback::Counts, segments, rtt)
}

/// The pace in Mbit/s of payload.
fn pace(flow: &Driver) -> f64 {
    match flow.cc.pacing() {
        Pacing::Rate(rate) => rate.as_mbps(),
        Pacing::Gain(gain) => panic!("a gain of {gain}"),
    }
}

/// The mean rate in Mbit/s of full packets, with marks of probability `p` on each. Packets leave at the pace.
fn at_random_marks(params: &PragueParams, p: f64, rtt: Duration) -> f64 {
    let mut flow = prague(params, 10, rtt);
    let mut random = RandomStream::new(7);
    let chance = Probability::clamped(p);
    let mut start = None;
    let packets = 300_000_u32;
    for packet in 0..packets {
        let gap = Duration::from_secs_f64(MSS.as_f64() * 8.0 / (pace(&flow) * 1e6));
        let marks = if random.chance(chance) { CE } else { CLEAN };
        flow.ack(gap, 1, marks);
        if packet == packets / 10 {
            start = Some(flow.now);
        }
    }
    let time = flow.now.since(start.expect("a tenth has passed")).as_secs_f64();
    f64::from(packets - packets / 10) * 1500.0 * 8.0 / time / 1e6
}

/// The law at independent marks `p`, in Mbit/s of full packets, for a round trip of `ms`.
fn law_at_random_marks(p: f64, ms: u64) -> f64 {
    let q: f64 = 1.0 - p;
    let y = q + (q * q + 2.0 * q).sqrt();
    y / (p * 0.025_f64.max(ms as f64 / 1e3)) * 1500.0 * 8.0 / 1e6
}

/// The law at independent marks, for the round trip `R_v` of at least 25 ms as which a flow behaves. The rate r grows by `1 - p`
/// packets per `R_v` and `R_v`; an answer takes `p / 2` of it. Answers are `R_v` apart and then wait for a mark, `1 / (p r)`
/// more. With `y = p r R_v` that is `y^2 = 2 (1 - p) (y + 1)`. (Where every round has a mark, `y = 2 (1 - p)`, the draft's `0.96
/// (1 - p) / p` Mbit/s.) It does not depend on the round trip up to 25 ms.
#[test]
fn the_rate_at_random_marks() {
    for (p, ms) in [(0.01, 5), (0.01, 25), (0.03, 10), (0.02, 50)] {
        let law = law_at_random_marks(p, ms);
        let rate = at_random_marks(&PragueParams::default(), p, Duration::from_millis(ms));
        assert!((rate / law - 1.0).abs() < 0.06, "{rate:.2} Mbit/s at {p} and {ms} ms, not {law:.2}");
    }
}

/// The increase per round trip: 0.04, 0.16 and 1 packets at 5, 10 and 25 ms, once four rounds after slow start are over; 1
/// before.
#[test]
fn the_increase_follows_the_round_trip() {
    for (ms, increase) in [(5, 0.04), (10, 0.16), (25, 1.0), (60, 1.0)] {
        let mut flow = prague(&PragueParams::default(), 100, Duration::from_millis(ms));
        flow.ack(NS, 1, CE);
        assert_eq!(flow.probe("increase_packets"), Some(1.0));
        for _ in 0..12 {
            flow.round(1);
        }
        let actual = flow.probe("increase_packets").expect("a number");
        assert!((actual - increase).abs() < 1e-9, "{actual} at {ms} ms");
    }
}

/// alpha from 0 with all marked: 0.0625, 0.121, 0.176; the draft starts at 1.
#[test]
fn the_average() {
    let mut flow = prague(&PragueParams::default(), 50, Duration::from_millis(30));
    flow.ack(NS, 1, CE);
    let mut values = Vec::new();
    for _ in 0..3 {
        let window = flow.cwnd() / MSS;
        flow.ack(Duration::from_millis(30), window, Marks { ce: window as u32, sce: 0 });
        values.push(flow.probe("alpha").expect("alpha"));
    }
    for (alpha, expected) in values.iter().zip([0.0625, 0.1211, 0.1760]) {
        assert!((alpha - expected).abs() < 0.002, "{values:?}");
    }
    let draft = PragueParams { variant: PragueVariant::Draft, ..PragueParams::default() };
    assert_eq!(prague(&draft, 50, Duration::from_millis(30)).probe("alpha"), Some(1.0));
}

/// Rule 2: the first mark halves the fractional window and ends slow start; cwnd follows by a segment for each ACK, and ssthresh
/// with it.
#[test]
fn the_first_mark() {
    let mut flow = prague(&PragueParams::default(), 100, Duration::from_millis(20));
    assert!(!flow.avoids());
    flow.ack(NS, 1, CE);
    assert_eq!(flow.probe("window_segments"), Some(50.0));
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * 99, MSS * 99));
    assert!(flow.avoids());
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Ce));
    for _ in 0..10 {
        flow.ack(NS, 1, CLEAN);
    }
    assert_eq!(flow.cwnd(), MSS * 89);
}

/// Rule 4: once per round; alpha / 2 of the window, nothing with alpha = 0; as Reno with the fall-back for classic queues.
#[test]
fn marks_are_answered_in_proportion() {
    let start = |classic_fallback, variant| {
        let params = PragueParams { classic_fallback, variant, ..PragueParams::default() };
        let mut flow = prague(&params, 100, Duration::from_millis(30));
        assert_eq!(flow.ack(NS, 1, CE), Some(classic_fallback || variant == PragueVariant::Draft));
        let window = flow.probe("window_segments");
        assert_eq!(flow.ack(NS, 1, CE), Some(false), "the same round");
        window
    };
    assert_eq!(start(false, PragueVariant::Linux), Some(50.0), "the first mark alone");
    assert_eq!(start(false, PragueVariant::Draft), Some(50.0), "alpha is 1");
    assert_eq!(start(true, PragueVariant::Draft), Some(50.0));
}

/// Rule 6: a loss halves the window, and nothing grows until it is repaired; an undo gives back what was there.
#[test]
fn losses() {
    let mut flow = prague(&PragueParams::default(), 100, Duration::from_millis(30));
    flow.lose();
    assert_eq!(flow.probe("window_segments"), Some(50.0));
    flow.ack(NS, 1, CLEAN);
    assert_eq!((flow.probe("window_segments"), flow.cwnd()), (Some(50.0), MSS * 99));
    assert_eq!((flow.probe("undo_cwnd_bytes"), flow.probe("undos")), (Some((MSS * 100).as_f64()), Some(0.0)));
    flow.undo();
    assert_eq!(flow.probe("undos"), Some(1.0));
    assert!(flow.cwnd() >= MSS * 100);
    let mut flow = prague(&PragueParams::default(), 100, Duration::from_millis(30));
    flow.time_out(true);
    assert_eq!((flow.cwnd(), flow.probe("window_segments")), (MSS, Some(50.0)));
}

/// Rule 7: the pace is window / srtt, twice that in slow start, never less than 100 kbit/s of packets; governed by its rate, 3 %
/// more in the first half of a round and 3 % less in the second. A burst is at most a 4096th of a second.
#[test]
fn pacing() {
    let rtt = Duration::from_millis(20);
    let mut flow = prague(&PragueParams::default(), 100, rtt);
    flow.ack(NS, 1, CLEAN);
    let cwnd = flow.segments();
    assert!((pace(&flow) - 2.0 * cwnd * 1448.0 * 8.0 / 0.02 / 1e6).abs() < 0.01, "{}", pace(&flow));
    assert_eq!(flow.cc.control().send_quantum, Some(MSS * 2), "2 * 101 / 0.02 / 4096");

    let slow = PragueParams {
        prague_cwnd_mode: PragueMode::Rate,
        prague_rtt_transition: 0,
        ..PragueParams::default()
    };
    let mut flow = prague(&slow, 4, rtt);
    for _ in 0..4 {
        flow.ack(rtt, 1, CE);
    }
    let mut paces = Vec::new();
    for _ in 0..40 {
        flow.ack(Duration::from_millis(2), 1, Marks::default());
        let rate = flow.probe("rate_bytes_per_s").expect("a rate") * 8.0 / 1e6 * 1448.0 / 1500.0;
        paces.push(pace(&flow) / rate);
    }
    assert!(paces.iter().all(|ratio| (ratio - 1.0).abs() > 0.03 && (ratio - 1.0).abs() < 0.032), "{paces:?}");
    assert!(paces.iter().any(|ratio| *ratio > 1.0) && paces.iter().any(|ratio| *ratio < 1.0));
}

/// The rate may fall below two segments per round trip, down to 100 kbit/s of packets, while cwnd stays at two.
#[test]
fn below_two_segments() {
    let mut flow = prague(&PragueParams::default(), 4, Duration::from_millis(5));
    for _ in 0..4000 {
        flow.ack(Duration::from_millis(2), 1, CE);
    }
    assert_eq!(flow.cwnd(), MSS * 2);
    let least = 0.1 * 1448.0 / 1500.0;
    assert!((pace(&flow) / least - 1.0).abs() < 0.04, "{} Mbit/s", pace(&flow));
    assert!(flow.probe("window_segments").expect("a window") < 0.1);
}

/// Rule 9: without counts of marks Prague is Reno: CE and losses halve, growth is a segment per round trip.
#[test]
fn without_counts_prague_is_reno() {
    for heard in [Feedback::None, Feedback::Classic] {
        let mut flow = agreed(&PragueParams::default(), heard, 100, Duration::from_millis(30));
        assert_eq!(flow.probe("is_reno"), Some(1.0));
        flow.ack(NS, 1, CE);
        assert_eq!(flow.cwnd(), MSS * 50);
        flow.round(1);
        assert_eq!(flow.cwnd(), MSS * 51);
        assert!(!flow.cc.needs().own_window);
    }
}

fn number(flow: &Driver, name: &str) -> f64 {
    flow.probe(name).expect("a known name")
}

/// `actual` is `expected` but for a part of it.
fn close(actual: f64, expected: f64, part: f64) {
    assert!((actual / expected - 1.0).abs() < part, "{actual}, not {expected}");
}

/// A flow that is governed by its rate from the first mark on: 100 packets of 1500 bytes in 50 ms, 3 MB/s, and a window
/// of half of them.
fn by_rate(handshake: Duration) -> Driver {
    let params = PragueParams {
        prague_cwnd_mode: PragueMode::Rate,
        prague_rtt_transition: 0,
        ..PragueParams::default()
    };
    let mut flow = prague(&params, 100, handshake);
    flow.rtt = Duration::from_millis(50);
    flow.ack(NS, 1, CE);
    close(number(&flow, "rate_bytes_per_s"), 3e6, 1e-9);
    assert_eq!(flow.probe("window_segments"), Some(50.0));
    flow
}

/// Rule 1, by rate: three packets add `3 * 1500 / R_v / 100` = 900 B/s at 50 ms, where a round has 100 packets (or
/// 101, as it is rounded up). The window is at least that of the rate in the averaged round trip, to which a round
/// adds a 128th of the difference: at 60 ms it goes from 50 ms to 50.078 ms. Before the first round it is the
/// handshake's, or else the smoothed one.
#[test]
fn growth_by_rate() {
    let window_in = |flow: &Driver, rtt: f64| number(flow, "rate_bytes_per_s") * rtt / 1500.0;
    for handshake in [50, 0] {
        let mut flow = by_rate(Duration::from_millis(handshake));
        let before = number(&flow, "rate_bytes_per_s");
        flow.ack(NS, 3, CLEAN);
        close(number(&flow, "rate_bytes_per_s") - before, 900.0, 0.02);
        close(number(&flow, "window_segments"), 100.03, 1e-5);
        flow.ack(Duration::from_millis(30), 97, CLEAN);
        flow.rtt = Duration::from_millis(60);
        flow.ack(NS, 1, CLEAN);
        close(number(&flow, "window_segments"), window_in(&flow, 0.05), 1e-5);
        flow.ack(Duration::from_millis(30), 200, CLEAN);
        flow.ack(NS, 1, CLEAN);
        close(number(&flow, "window_segments"), window_in(&flow, 0.05 + 0.01 / 128.0), 1e-5);
    }
}

/// Rule 7: the pace is 1/32 above the rate in the first half of `R_v`, here 50 ms, and 1/32 below it in the second.
#[test]
fn the_pace_is_higher_first() {
    let mut flow = by_rate(Duration::from_millis(50));
    for ratio in [1.0 + 1.0 / 32.0, 1.0 - 1.0 / 32.0] {
        flow.ack(Duration::from_millis(20), 1, CLEAN);
        close(pace(&flow), number(&flow, "rate_bytes_per_s") * ratio * 1448.0 / 1500.0 * 8.0 / 1e6, 1e-5);
    }
}

/// Rule 1, by window, where the user says so: `1 / fw` for each segment, and half of that with packets of 3000 bytes.
#[test]
fn growth_by_window() {
    for (mtu, growth) in [(1500, 1.0), (3000, 0.5)] {
        let params = PragueParams {
            prague_cwnd_mode: PragueMode::Window,
            prague_rtt_transition: 0,
            ..PragueParams::default()
        };
        let mut cc = params.build(FlowInit { mtu: Bytes::new(mtu), ..init(MSS * 100) });
        cc.on_negotiated(Feedback::Counts);
        let mut flow = Driver::of(cc, Duration::from_millis(30));
        flow.ack(NS, 1, CE);
        flow.ack(NS, 5, CLEAN);
        close(number(&flow, "window_segments"), 50.0 + 5.0 * growth / 50.0, 1e-9);
    }
}

/// Rule 1: from the fourth round after slow start on, the increase is `(srtt / target)^2` below the target, up to a
/// round trip of 100 ms.
#[test]
fn where_the_increase_is_scaled() {
    for (target, ms, scaled) in [(25, 10, 0.16), (200, 100, 0.25), (200, 101, 1.0), (200, 150, 1.0)] {
        let prague_rtt_target = Duration::from_millis(target);
        let params = PragueParams { prague_rtt_target, ..PragueParams::default() };
        let mut flow = prague(&params, 100, Duration::from_millis(ms));
        flow.ack(NS, 1, CE);
        let mut rounds = 0.0;
        for _ in 0..12 {
            flow.round(1);
            rounds = number(&flow, "rounds");
            close(number(&flow, "increase_packets"), if rounds < 4.0 { 1.0 } else { scaled }, 1e-9);
        }
        assert!(rounds > 4.0);
    }
}

/// Rules 1, 5 and 7 after a timeout with ssthresh at 99: from one segment cwnd grows by what arrives once the loss is
/// repaired, at twice the pace below half of ssthresh, 49. What passes ssthresh grows the window by `1 / fw` each,
/// and cwnd follows by one.
#[test]
fn slow_start_up_to_ssthresh() {
    let params = PragueParams { prague_cwnd_mode: PragueMode::Window, ..PragueParams::default() };
    let mut flow = prague(&params, 100, Duration::from_millis(30));
    flow.ack(NS, 1, CE);
    flow.time_out(true);
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS, MSS * 99));
    let path = flow.path();
    flow.cc.on_recovered(&path);
    for (acked, cwnd, factor) in [(3, 4, 2.0), (44, 48, 2.0), (1, 49, 1.0)] {
        flow.ack(NS, acked, CLEAN);
        assert_eq!((flow.cwnd(), flow.probe("window_segments")), (MSS * cwnd, Some(cwnd as f64)));
        close(pace(&flow), factor * flow.cwnd().as_f64() / 0.03 * 8.0 / 1e6, 1e-5);
    }
    flow.ack(NS, 200, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 100);
    close(number(&flow, "window_segments"), 99.0 + 150.0 / 99.0, 1e-9);
}

/// Rules 3 and 4: where the flow is independent of the round trip, 25 ms are from one update of alpha to the next,
/// the first from the handshake, and from one answer to the next. The first mark comes a nanosecond after the
/// handshake.
#[test]
fn updates_and_answers_keep_the_target_apart() {
    let params = PragueParams {
        variant: PragueVariant::Draft,
        prague_cwnd_mode: PragueMode::Window,
        prague_rtt_transition: 0,
        ..PragueParams::default()
    };
    let target = Duration::from_millis(25);
    for (since_mark, updated, answered) in
        [(target - NS * 2, false, false), (target - NS, true, false), (target, true, true)]
    {
        for marks in [CLEAN, CE] {
            let mut flow = prague(&params, 100, Duration::from_millis(5));
            assert_eq!(flow.ack(NS, 1, CE), Some(true));
            let answer = flow.ack(since_mark, 200, marks);
            assert_eq!(number(&flow, "alpha") < 1.0, updated, "{since_mark}");
            assert_eq!(answer.unwrap_or(answered), answered, "{since_mark}");
        }
    }
}

/// A mark within 25 ms of an answer has none. In the module the sender enters CWR with it all the same, so that what is in flight then
/// must be acknowledged before the next answer; the draft's rules do not restart the round for it.
#[test]
fn a_mark_without_an_answer_restarts_the_round_in_the_module() {
    for (variant, answered) in [(PragueVariant::Linux, false), (PragueVariant::Draft, true)] {
        let params = PragueParams {
            variant,
            prague_cwnd_mode: PragueMode::Window,
            prague_rtt_transition: 0,
            // An answer is one even where the average is zero.
            classic_fallback: true,
            ..PragueParams::default()
        };
        let mut flow = prague(&params, 100, Duration::from_millis(5));
        assert_eq!(flow.ack(NS, 1, CE), Some(true));
        flow.ack(Duration::from_millis(6), 60, CLEAN);
        assert_eq!(flow.ack(Duration::from_millis(6), 60, CE), Some(false));
        assert_eq!(flow.ack(Duration::from_millis(14), 5, CE), Some(answered), "{variant:?}");
    }
}

/// Rule 1: what cwnd did not limit does not grow it (`tcp_is_cwnd_limited`), in slow start and later, by window and by rate.
#[test]
fn unused_windows_do_not_grow() {
    for (mode, first) in [(PragueMode::Window, CLEAN), (PragueMode::Window, CE), (PragueMode::Rate, CE)] {
        for unused in [true, false] {
            let params =
                PragueParams { prague_cwnd_mode: mode, prague_rtt_transition: 0, ..PragueParams::default() };
            let mut flow = prague(&params, 100, Duration::from_millis(30));
            flow.ack(NS, 1, first);
            let before = (number(&flow, "window_segments"), number(&flow, "rate_bytes_per_s"));
            flow.unused = unused;
            flow.ack(NS, 3, CLEAN);
            let grows =
                number(&flow, "window_segments") > before.0 || number(&flow, "rate_bytes_per_s") > before.1;
            assert_eq!(grows, !unused, "{mode:?} {first:?}");
        }
    }
}

/// Rule 1, where the module would shorten packets (rule 8): a fractional window below two segments leaves cwnd, which is never
/// less, unused by its pace. The flow grows nevertheless, up to two segments, or it would stay at the least rate.
#[test]
fn a_window_below_two_segments_grows_unused() {
    for mode in [PragueMode::Window, PragueMode::Rate] {
        let params =
            PragueParams { prague_cwnd_mode: mode, prague_rtt_transition: 0, ..PragueParams::default() };
        let mut flow = prague(&params, 2, Duration::from_millis(30));
        for _ in 0..40 {
            flow.ack(Duration::from_millis(30), 1, CE);
        }
        assert!(number(&flow, "window_segments") < 2.0, "{mode:?}");
        flow.unused = true;
        for _ in 0..400 {
            flow.ack(Duration::from_millis(30), 1, CLEAN);
        }
        let window = number(&flow, "window_segments");
        assert!((2.0..3.1).contains(&window), "{mode:?}: {window}");
    }
}

/// Section 3.20: Prague is scalable, paced and counts marks, and without counts it is Reno with Linux's pace: 2 in
/// slow start and 1.2 later. After a SYN that was lost, cwnd and window are one segment.
#[test]
fn what_prague_needs() {
    let mut cc = PragueParams::default().build(init(MSS * 10));
    let own = cc.needs();
    assert_eq!((own.pacing, own.feedback), (PacingNeed::Always, Feedback::Counts));
    assert!(own.scalable && own.rate_samples && own.loss_after_ce && own.own_window);
    cc.on_negotiated(Feedback::Counts);
    assert_eq!(cc.needs(), own);
    let mut flow = Driver::of(cc, Duration::from_millis(30));
    flow.validate(MSS);
    assert_eq!((flow.cwnd(), flow.probe("window_segments")), (MSS, Some(1.0)));

    let mut flow = agreed(&PragueParams::default(), Feedback::Classic, 100, Duration::from_millis(30));
    let needs = flow.cc.needs();
    assert!(!needs.own_window && !needs.loss_after_ce);
    assert_eq!(flow.cc.control().pacing, Pacing::Gain(2.0));
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cc.control().pacing, Pacing::Gain(1.2));
    flow.validate(MSS * 20);
    assert_eq!(flow.cwnd(), MSS * 20);
}

/// What is outside of its domain is refused with the key.
#[test]
fn parameters_out_of_range() {
    let zero = PragueParams { prague_rtt_target: Duration::ZERO, ..PragueParams::default() };
    assert!(zero.check().expect_err("no target").to_string().contains("prague_rtt_target"));
    let long = |nanos| Duration::SECOND + NS * nanos;
    let target = |prague_rtt_target| PragueParams { prague_rtt_target, ..PragueParams::default() };
    assert!(target(long(0)).check().is_ok() && target(long(1)).check().is_err());
    assert!(PragueParams { prague_burst_shift: 30, ..PragueParams::default() }.check().is_ok());
    let burst = PragueParams { prague_burst_shift: 31, ..PragueParams::default() };
    assert!(burst.check().expect_err("no burst").to_string().contains("0 to 30"));
}
