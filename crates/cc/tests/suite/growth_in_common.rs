//! What Linux's growth functions have in common: when credit is lost, what slow start leaves of an ACK, what they ask
//! of the sender, and whose slow start they take.

use std::sync::Arc;

use windtunnel_cc::{
    AimdGrowth, AimdParams, AvoidanceParams, BicParams, BinomialParams, CaState, CdgParams, CompoundParams,
    CubicParams, CubicVariant, Feedback, HighspeedParams, HtcpParams, HyblaParams, IllinoisParams,
    LedbatParams, LedbatPpParams, LpParams, MdsParams, NvParams, RenoParams, ScalableParams, ScalableVariant,
    SlowStartParams, Style, VegasParams, VegasVariant, VenoParams, WestwoodParams, WindowedConfig,
    YeahParams,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{CLEAN, Driver, MSS};
use crate::parts::{none, standard};

const RTT: Duration = Duration::from_millis(100);
const NS: Duration = Duration::from_nanos(1);

fn flow(avoidance: &Arc<dyn AvoidanceParams>, slow_start: Arc<dyn SlowStartParams>, segments: u64) -> Driver {
    let mut config =
        WindowedConfig { avoidance: Arc::clone(avoidance), slow_start, ..WindowedConfig::default() };
    config.resolve(Style::Linux);
    Driver::new(&config, MSS * segments, RTT)
}

/// A flow in congestion avoidance, outside of Open, where controllers that measure delay grow as Reno.
fn avoiding(avoidance: &Arc<dyn AvoidanceParams>, segments: u64) -> Driver {
    let mut flow = flow(avoidance, none(), segments);
    flow.state(CaState::Disorder);
    // The ACK that starts congestion avoidance does not count.
    flow.barred = true;
    flow.ack(NS, 1, CLEAN);
    flow.barred = false;
    flow
}

/// Growth functions that are Reno's at ten segments.
fn renos() -> Vec<Arc<dyn AvoidanceParams>> {
    let linux = AimdParams { growth: Some(AimdGrowth::Linux), ..AimdParams::default() };
    vec![
        Arc::new(RenoParams::default()),
        Arc::new(linux),
        Arc::new(ScalableParams { variant: Some(ScalableVariant::Linux), ..ScalableParams::default() }),
        Arc::new(BicParams::default()),
        Arc::new(HighspeedParams {}),
        Arc::new(HtcpParams::default()),
        Arc::new(HyblaParams::default()),
        Arc::new(WestwoodParams {}),
        Arc::new(VegasParams::default()),
        Arc::new(VenoParams {}),
        Arc::new(YeahParams {}),
        Arc::new(CompoundParams::default()),
        Arc::new(CdgParams::default()),
        Arc::new(LpParams::default()),
    ]
}

/// ACKs of a segment each until the window grows.
fn acks_to_growth(flow: &mut Driver) -> u32 {
    let before = flow.cwnd();
    let mut acks = 0;
    while flow.cwnd() == before {
        flow.ack(NS, 1, CLEAN);
        acks += 1;
    }
    acks
}

/// Linux `tcp_enter_loss` and `tcp_init_cwnd_reduction` set `snd_cwnd_cnt` to zero: nine segments of credit at ten
/// are lost with a timeout, one that repeats a loss as well, and with a reduction.
#[test]
fn losses_take_the_credit() {
    let counted = AimdParams { growth: Some(AimdGrowth::PerWindow), ..AimdParams::default() };
    let counted: Arc<dyn AvoidanceParams> = Arc::new(counted);
    for avoidance in renos().into_iter().chain([counted]) {
        for loss in ["timeout", "repeated timeout", "reduction"] {
            let mut flow = avoiding(&avoidance, 10);
            // Hybla chooses its first window, of four segments.
            while flow.cwnd() < MSS * 10 {
                flow.ack(NS, 1, CLEAN);
            }
            for _ in 0..9 {
                flow.ack(NS, 1, CLEAN);
            }
            assert_eq!(flow.cwnd(), MSS * 10, "{avoidance:?}");
            if loss == "reduction" {
                flow.lose();
            } else {
                flow.time_out(loss == "timeout");
            }
            while !flow.avoids() {
                flow.ack(NS, 1, CLEAN);
            }
            let w = flow.cwnd() / MSS;
            let acks = u64::from(acks_to_growth(&mut flow));
            // H-TCP and Hybla compare credit with the window before they count the ACK.
            assert!((w..=w + 1).contains(&acks), "{acks} ACKs at {w} after a {loss}, {avoidance:?}");
        }
    }
}

/// spec/congestion-control sections 3.5 and 3.6, Linux `tcp_illinois_cong_avoid`: H-TCP, `HighSpeed` TCP and Illinois
/// do not use what slow start leaves of an ACK. Of eight segments acknowledged at four of six, Reno has six of credit
/// left, which is one segment of growth; the others then need a whole window, and H-TCP the ACK after that.
#[test]
fn what_slow_start_leaves() {
    let cases: [(Arc<dyn AvoidanceParams>, Option<u32>); 5] = [
        (Arc::new(RenoParams::default()), None),
        (Arc::new(BicParams::default()), None),
        (Arc::new(HighspeedParams {}), Some(6)),
        (Arc::new(HtcpParams::default()), Some(7)),
        (Arc::new(IllinoisParams::default()), Some(6)),
    ];
    for (avoidance, acks) in cases {
        let mut flow = flow(&avoidance, standard(), 12);
        flow.time_out(true);
        flow.state(CaState::Loss);
        flow.state(CaState::Open);
        assert_eq!(flow.cc.control().ssthresh, MSS * 6, "{avoidance:?}");
        for _ in 0..3 {
            flow.ack(NS, 1, CLEAN);
        }
        flow.ack(NS, 8, CLEAN);
        assert_eq!(flow.cwnd(), MSS * if acks.is_none() { 7 } else { 6 }, "{avoidance:?}");
        if let Some(acks) = acks {
            assert_eq!(acks_to_growth(&mut flow), acks, "{avoidance:?}");
        }
    }
}

/// Linux `tcp_current_ssthresh`, which ssthresh keeps of a window that was not used: of 11 segments 5 + 2, of 23, 11
/// + 5. RFC 2861 section 3.1 has three quarters: in bytes, for windows that are real numbers.
#[test]
fn what_of_an_unused_window_is_remembered() {
    let real: [Arc<dyn AvoidanceParams>; 3] = [
        Arc::new(BinomialParams::default()),
        Arc::new(AimdParams { growth: Some(AimdGrowth::PerAck), ..AimdParams::default() }),
        Arc::new(CubicParams { variant: Some(CubicVariant::Rfc9438), ..CubicParams::default() }),
    ];
    for (avoidance, whole) in
        renos().into_iter().map(|it| (it, true)).chain(real.into_iter().map(|it| (it, false)))
    {
        for (segments, kept) in [(11, 7), (23, 16)] {
            let mut flow = avoiding(&avoidance, 6);
            flow.lose();
            while flow.cwnd() < MSS * segments {
                flow.ack(Duration::from_millis(10), 1, CLEAN);
            }
            let cwnd = flow.cwnd();
            flow.validate(MSS * 5);
            let kept = if whole { MSS * kept } else { Bytes::new(cwnd.get() * 3 / 4) };
            assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * 5, kept), "{avoidance:?}");
        }
    }
}

/// What each controller asks of its sender, as the calls of `tcp_congestion_ops` that its module has: `pkts_acked` or
/// `in_ack_event`, `set_state`; one-way delays for TCP-LP and LEDBAT; nothing for LEDBAT++ and Reno. None of them but CDG starts
/// a reduction by itself.
#[test]
fn needs_are_those_of_the_modules() {
    let cases: [(Arc<dyn AvoidanceParams>, bool, bool, bool); 14] = [
        (Arc::new(RenoParams::default()), false, false, false),
        (Arc::new(HtcpParams::default()), true, true, false),
        (Arc::new(BicParams::default()), true, true, false),
        (Arc::new(HyblaParams::default()), false, true, false),
        (Arc::new(WestwoodParams {}), true, true, false),
        (Arc::new(VegasParams::default()), true, true, false),
        (Arc::new(VenoParams {}), true, true, false),
        (Arc::new(YeahParams {}), true, true, false),
        (Arc::new(IllinoisParams::default()), false, true, false),
        (Arc::new(CompoundParams::default()), false, true, false),
        (Arc::new(LpParams::default()), false, true, true),
        (Arc::new(LedbatParams::default()), false, false, true),
        (Arc::new(LedbatPpParams::default()), false, false, false),
        (Arc::new(NvParams::default()), false, true, false),
    ];
    for (avoidance, delivery_reports, states, one_way) in cases {
        let mut flow = flow(&avoidance, none(), 10);
        let needs = flow.cc.needs();
        let asked = (needs.delivery_reports, needs.states, needs.one_way);
        assert_eq!(asked, (delivery_reports, states, one_way), "{avoidance:?}");
        assert!(!needs.own_reductions && !flow.cc.asks_reduction(), "{avoidance:?}");
        let response = Arc::new(MdsParams::default());
        let config = WindowedConfig { avoidance, slow_start: none(), response };
        let sce = Driver::new(&config, MSS * 10, RTT).cc.needs();
        assert_eq!(sce.feedback, Feedback::Sce, "the response's need remains, {:?}", config.avoidance);
    }
}

/// Hybla's slow start is its own, and LEDBAT has none; CUBIC's parameters for `HyStart` choose it, in either style, as the variant does
/// for Linux. Everything else leaves the choice to the scenario.
#[test]
fn whose_slow_start_it_is() {
    let cubic = CubicParams::default;
    for (params, fixed, document, linux) in [
        (cubic(), false, "standard", "hystart"),
        (CubicParams { variant: Some(CubicVariant::Paper), ..cubic() }, false, "standard", "standard"),
        (CubicParams { hystart: Some(true), ..cubic() }, true, "hystart", "hystart"),
        (CubicParams { hystart: Some(false), ..cubic() }, true, "standard", "standard"),
        (CubicParams { hystart_detect: Some(3), ..cubic() }, true, "hystart", "hystart"),
        (CubicParams { hystart_low_window: Some(20), ..cubic() }, true, "hystart", "hystart"),
        (CubicParams { hystart_ack_delta_us: Some(900), ..cubic() }, true, "hystart", "hystart"),
        (CubicParams { hystart_ack_delta: Some(1), ..cubic() }, true, "hystart", "hystart"),
    ] {
        assert_eq!(params.fixes_slow_start().is_some(), fixed, "{params:?}");
        assert_eq!(params.usual_slow_start(Style::Document).name(), document, "{params:?}");
        assert_eq!(params.usual_slow_start(Style::Linux).name(), linux, "{params:?}");
    }
    // Both detections unless `hystart_detect` chooses one: 1 for trains of ACKs, 2 for delay.
    for (detect, train, delay) in [(None, true, true), (Some(1), true, false), (Some(2), false, true)] {
        let params = CubicParams { hystart: Some(true), hystart_detect: detect, ..cubic() };
        let hystart = params.usual_slow_start(Style::Linux).to_map();
        assert_eq!((&hystart["ack_train"], &hystart["delay"]), (&train.into(), &delay.into()), "{detect:?}");
    }
    let ledbat = LedbatParams::default;
    assert!(ledbat().fixes_slow_start().is_some());
    for style in [Style::Document, Style::Linux] {
        assert_eq!(ledbat().usual_slow_start(style).name(), "none", "RFC 6817 has none");
    }
    let hybla = HyblaParams::default().fixes_slow_start();
    assert!(hybla.is_some_and(|why| why.contains("2^rho - 1")));
    assert_eq!(HtcpParams::default().fixes_slow_start(), None);
}

/// beta is a fraction or a whole number of 1024ths; 819.5 and 1 are neither.
#[test]
fn beta_in_1024ths_is_whole() {
    for (text, beta) in
        [("0.7", 0.7), ("717", 717.0 / 1024.0), ("2", 2.0 / 1024.0), ("819.5", 819.5), ("1", 1.0)]
    {
        let params: CubicParams = serde_json::from_str(&format!("{{\"beta\": {text}}}")).expect("a number");
        assert_eq!(params.beta, Some(beta));
        assert_eq!(windtunnel_cc::Params::check(&params).is_ok(), beta < 1.0, "{text}");
    }
}

/// Configurations are equal if all of their parameters are.
#[test]
fn configurations_compare_by_their_growth() {
    let of = |avoidance: Arc<dyn AvoidanceParams>| WindowedConfig { avoidance, ..WindowedConfig::default() };
    let bic = of(Arc::new(BicParams::default()));
    assert_eq!(bic, of(Arc::new(BicParams::default())));
    assert_ne!(bic, of(Arc::new(BicParams { low_window: 15, ..BicParams::default() })));
    assert_ne!(bic, of(Arc::new(HtcpParams::default())));
}

/// The numbers that a run records of each controller, after round trips of 100 ms and one with 10 ms more. Linux's
/// Vegas and its relatives count a microsecond more.
#[test]
fn numbers_are_reported() {
    type Numbers = &'static [(&'static str, f64, f64)];
    let paper = VegasParams { variant: VegasVariant::Paper, ..VegasParams::default() };
    let cases: [(Arc<dyn AvoidanceParams>, Numbers); 16] = [
        (Arc::new(RenoParams::default()), &[("credit_segments", 51.0, 51.0)]),
        (Arc::new(ScalableParams::default()), &[("credit_segments", 51.0, 51.0)]),
        (Arc::new(VegasParams::default()), &[("base_rtt_s", 0.100_001, 1e-9)]),
        // W (1 - 100 / 110) at 100 to 115 segments.
        (Arc::new(paper), &[("base_rtt_s", 0.1, 1e-9), ("diff_packets", 9.3, 0.3)]),
        (Arc::new(VenoParams {}), &[("base_rtt_s", 0.100_001, 1e-9), ("queued_packets", 9.25, 0.3)]),
        (Arc::new(YeahParams {}), &[("base_rtt_s", 0.100_001, 1e-9)]),
        (Arc::new(IllinoisParams::default()), &[("base_rtt_s", 0.1, 1e-9), ("max_rtt_s", 0.11, 1e-9)]),
        (
            Arc::new(CompoundParams::default()),
            &[("base_rtt_s", 0.1, 1e-9), ("gamma_packets", 30.0, 1e-9), ("diff_packets", 9.8, 0.8)],
        ),
        (
            Arc::new(LedbatParams::default()),
            &[("base_one_way_s", 0.1, 1e-9), ("queued_s", 0.01, 1e-9), ("off_target", 0.9, 1e-9)],
        ),
        (
            Arc::new(LedbatPpParams::default()),
            &[("base_rtt_s", 0.1, 1e-9), ("queued_s", 0.01, 1e-9), ("gain_segments", 0.5, 1e-9)],
        ),
        (Arc::new(BicParams::default()), &[("segments_per_ack", 31.0 / 16.0, 1e-9)]),
        // Row 118 of the table: two segments per round trip, 112/256.
        (Arc::new(HighspeedParams {}), &[("a_segments", 2.0, 1e-9), ("md", 144.0 / 256.0, 1e-9)]),
        (
            Arc::new(HtcpParams::default()),
            &[
                ("alpha_segments", 1.0, 1e-9),
                ("beta", 0.5, 1e-9),
                ("min_rtt_s", 0.1, 1e-9),
                ("max_rtt_s", 0.11, 1e-9),
            ],
        ),
        (Arc::new(HyblaParams::default()), &[("rho", 4.0, 1e-9)]),
        (
            Arc::new(WestwoodParams {}),
            &[("rtt_min_s", 0.1, 1e-9), ("bandwidth_bytes_per_s", 1_448_000.0, 150_000.0)],
        ),
        // 0.5 of a square root of W: 5 % at 100.
        (Arc::new(BinomialParams::default()), &[("md", 0.5, 0.5)]),
    ];
    for (avoidance, numbers) in cases {
        let mut flow = flow(&avoidance, none(), 100);
        if flow.probe("base_rtt_s").is_some() {
            assert!(flow.probe("base_rtt_s").is_some_and(f64::is_nan), "unknown at first, {avoidance:?}");
        }
        flow.barred = true;
        flow.ack(NS, 1, CLEAN);
        flow.barred = false;
        flow.round(1);
        flow.round(1);
        flow.rtt = Duration::from_millis(110);
        flow.round(1);
        flow.round(1);
        for (name, value, tolerance) in numbers {
            let actual = flow.probe(name).expect("a number of the controller");
            assert!((actual - value).abs() <= *tolerance, "{name} = {actual}, not {value}, {avoidance:?}");
        }
    }
}

/// Linux `tcp_cwnd_restart` after idle time: Vegas and its relatives forget the base, which the path may no longer
/// have.
#[test]
fn restarts_forget_the_base() {
    let cases: [Arc<dyn AvoidanceParams>; 3] =
        [Arc::new(VegasParams::default()), Arc::new(VenoParams {}), Arc::new(YeahParams {})];
    for avoidance in cases {
        let mut flow = flow(&avoidance, none(), 100);
        flow.round(1);
        assert!(flow.probe("base_rtt_s").is_some_and(f64::is_finite), "{avoidance:?}");
        let path = flow.path();
        flow.cc.on_cwnd_restart(&path);
        assert!(flow.probe("base_rtt_s").is_some_and(f64::is_nan), "{avoidance:?}");
    }
}

/// Parts of a byte that growth left over do not outlast a loss. RFC 5681: 1448 / 10 bytes are 144.8, and 1448^2 /
/// 7312 are 286.8; Kelly's Scalable grows by 14.48 bytes, IIAD's relative with k = 0, l = 1 and alpha = 0.37 by 53.6,
/// 53.4 and 106.4.
#[test]
fn losses_take_fractions_of_a_byte() {
    let per_ack = AimdParams { growth: Some(AimdGrowth::PerAck), ..AimdParams::default() };
    let paper = ScalableParams { variant: Some(ScalableVariant::Paper), ..ScalableParams::default() };
    let binomial = BinomialParams { alpha: 0.37, beta: 0.5, k: 0.0, l: 1.0 };
    let avoidances: [Arc<dyn AvoidanceParams>; 3] = [Arc::new(per_ack), Arc::new(paper), Arc::new(binomial)];
    let cases = [(10, 1, 144, 286), (24, 2, 28, 14), (10, 2, 106, 106)];
    for (avoidance, (segments, acks, before, after)) in avoidances.into_iter().zip(cases) {
        let mut flow = flow(&avoidance, none(), segments);
        flow.barred = true;
        flow.ack(NS, 1, CLEAN);
        flow.barred = false;
        for _ in 0..acks {
            flow.ack(NS, 1, CLEAN);
        }
        assert_eq!(flow.cwnd() - MSS * segments, Bytes::new(before), "{avoidance:?}");
        flow.lose();
        let left = flow.cwnd();
        flow.ack(NS, 1, CLEAN);
        assert_eq!(flow.cwnd() - left, Bytes::new(after), "{avoidance:?}");
    }
}

/// RFC 5681 equation 3 for an increase of two segments per round trip: 2 * 1448 / 10 bytes with an ACK.
#[test]
fn per_ack_growth_in_proportion() {
    let params = AimdParams { a: 2.0, growth: Some(AimdGrowth::PerAck), ..AimdParams::default() };
    let avoidance: Arc<dyn AvoidanceParams> = Arc::new(params);
    let mut flow = flow(&avoidance, none(), 10);
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd() - MSS * 10, Bytes::new(289));
}

/// The MDS document's Scalable with lwnd = 20 segments (spec/mds section 3) is Reno below it: a window that a loss
/// takes there grows by a segment after more than a round trip, and not at once; growth by counted bytes starts at
/// zero again.
#[test]
fn scalable_takes_turns_with_reno() {
    for (growth, segments, acks) in [(AimdGrowth::PerSrtt, 20, 11), (AimdGrowth::PerWindow, 16, 8)] {
        let avoidance = Arc::new(ScalableParams {
            variant: Some(ScalableVariant::Document),
            lwnd: Some(MSS * 20),
            growth: Some(growth),
            ..ScalableParams::default()
        });
        let config = WindowedConfig { avoidance, slow_start: none(), ..WindowedConfig::default() };
        let mut flow = Driver::new(&config, MSS * segments, RTT);
        flow.barred = true;
        flow.ack(NS, 1, CLEAN);
        flow.barred = false;
        flow.ack(RTT * 5, 15, CLEAN);
        let clock = if growth == AimdGrowth::PerSrtt { flow.now.as_secs_f64() } else { 0.0 };
        assert!(flow.probe("last_growth_s").is_some_and(|at| (at - clock).abs() < 1e-12), "{growth:?}");
        flow.lose();
        let before = flow.cwnd();
        for _ in 1..acks {
            flow.ack(RTT / 10, 1, CLEAN);
            assert_eq!(flow.cwnd(), before, "{growth:?}");
        }
        flow.ack(RTT / 10, 1, CLEAN);
        assert_eq!(flow.cwnd(), before + MSS, "{growth:?}");
    }
}
