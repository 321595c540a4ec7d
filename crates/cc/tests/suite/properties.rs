//! Properties of every controller on any network.

use std::sync::Arc;

use std::num::NonZeroU32;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use windtunnel_cc::{
    AbeParams, AimdGrowth, AimdParams, AnyParams, AvoidanceParams, BaliaParams, BicParams, BinomialParams,
    CdgParams, CompoundParams, CompoundRtt, CongestionControl, ControllerParams, ConventionalParams,
    CopaParams, CubicParams, CubicVariant, DctcpArithmetic, DctcpParams, DctcpSceParams, EsspParams,
    ExitResponse, FlowInit, HighspeedParams, HtcpParams, HyblaParams, HystartParams, HystartPpParams,
    IllinoisParams, Kinds, LedbatParams, LedbatPpParams, LiaParams, LimitedParams, LimiterWindow, LpParams,
    MdsParams, NvParams, OliaParams, Pacing, Params, RapidParams, RapidVariant, RenoParams, ResponseParams,
    ScalableParams, ScalableVariant, SceParams, SearchParams, SentSegment, SlowStartGrowth, SlowStartParams,
    SsthreshBase, StandardParams, Style, VegasParams, VegasVariant, VenoParams, VivaceParams, VivaceUtility,
    WestwoodParams, WindowedConfig, YeahParams,
};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::driver::{CLEAN, Driver, MSS, Marks, init};
use crate::every::{every, variants};
use crate::parts::{none, plain_reno};

/// Something that happens to a controller.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ack { after: u64, segments: u64, marks: Marks, barred: bool },
    Rtt(u64),
    Loss { flight: u64 },
    Timeout { new_episode: bool },
    Undo,
    Idle(u64),
    Validation { cwnd: u64 },
}

impl Event {
    fn without_sce(self) -> Event {
        match self {
            Event::Ack { after, segments, marks, barred } => {
                Event::Ack { after, segments, marks: Marks { sce: 0, ..marks }, barred }
            }
            other => other,
        }
    }
}

/// `event` happens to a flow.
fn happen(flow: &mut Driver, event: Event) {
    match event {
        Event::Ack { after, segments, marks, barred } => {
            flow.barred = barred;
            flow.ack(Duration::from_nanos(after), segments, marks);
        }
        Event::Rtt(rtt) => flow.rtt = Duration::from_nanos(rtt),
        Event::Loss { flight } => flow.lose_of(MSS * flight),
        Event::Timeout { new_episode } => flow.time_out(new_episode),
        Event::Undo => flow.undo(),
        Event::Idle(idle) => flow.idle(Duration::from_nanos(idle)),
        Event::Validation { cwnd } => flow.validate(MSS * cwnd),
    }
}

fn event() -> impl Strategy<Value = Event> {
    let after = prop_oneof![0..1_000_000_u64, 0..10_000_000_000_u64];
    prop_oneof![
        40 => (after, 0..50_u64, 0..3_u32, 0..50_u32, 0..4_u32).prop_map(|(after, segments, kind, sce, n)| {
            let marks = match kind {
                0 => CLEAN,
                1 => Marks { ce: 1, sce: 0 },
                _ => Marks { ce: 0, sce },
            };
            Event::Ack { after, segments, marks, barred: n == 0 }
        }),
        4 => (1_000..20_000_000_000_u64).prop_map(Event::Rtt),
        2 => (0..2_000_u64).prop_map(|flight| Event::Loss { flight }),
        1 => any::<bool>().prop_map(|new_episode| Event::Timeout { new_episode }),
        1 => Just(Event::Undo),
        1 => (0..10_000_000_000_u64).prop_map(Event::Idle),
        1 => (0..200_u64).prop_map(|cwnd| Event::Validation { cwnd }),
    ]
}

fn exit() -> impl Strategy<Value = ExitResponse> {
    prop_oneof![
        Just(ExitResponse::None),
        Just(ExitResponse::Target),
        Just(ExitResponse::Half),
        Just(ExitResponse::Md)
    ]
}

fn limiter() -> impl Strategy<Value = LimiterWindow> {
    prop_oneof![Just(LimiterWindow::Sliding), Just(LimiterWindow::EmptiedAfterSrtt)]
}

fn growth() -> impl Strategy<Value = Option<AimdGrowth>> {
    prop::option::of(prop_oneof![
        Just(AimdGrowth::PerSrtt),
        Just(AimdGrowth::PerWindow),
        Just(AimdGrowth::Linux),
        Just(AimdGrowth::PerAck),
        Just(AimdGrowth::PerAckPlusEighth)
    ])
}

fn cubic() -> impl Strategy<Value = CubicParams> {
    let variant = prop::option::of(prop_oneof![
        Just(CubicVariant::Document),
        Just(CubicVariant::Rfc9438),
        Just(CubicVariant::Linux),
        Just(CubicVariant::Paper),
        Just(CubicVariant::Cuback)
    ]);
    let maybe = || prop::option::of(fraction());
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    (variant, maybe(), maybe(), switches, 0..1000_u32).prop_map(
        |(variant, c, beta, (fast_convergence, tcp_friendliness, grow_on_marked), initial_ssthresh)| {
            CubicParams {
                variant,
                c,
                beta,
                fast_convergence,
                tcp_friendliness,
                initial_ssthresh,
                grow_on_marked,
                ..CubicParams::default()
            }
        },
    )
}

fn scalable() -> impl Strategy<Value = ScalableParams> {
    let variant = prop::option::of(prop_oneof![
        Just(ScalableVariant::Document),
        Just(ScalableVariant::Linux),
        Just(ScalableVariant::Paper)
    ]);
    let inv_a = prop::option::of((1..1000_u32).prop_map(|n| NonZeroU32::new(n).expect("from 1 on")));
    let lwnd = prop::option::of((0..1_000_000_u64).prop_map(Bytes::new));
    (variant, inv_a, prop::option::of(fraction()), lwnd, growth()).prop_map(
        |(variant, inv_a, b, lwnd, growth)| {
            // Linux's has none, and may be what the endpoints choose.
            let knows_lwnd = matches!(variant, Some(ScalableVariant::Document | ScalableVariant::Paper));
            ScalableParams { variant, inv_a, b, lwnd: lwnd.filter(|_| knows_lwnd), growth }
        },
    )
}

/// Controllers that measure delay.
fn delay() -> impl Strategy<Value = Arc<dyn AvoidanceParams>> {
    let vegas = (any::<bool>(), 0..5_u32, 0..5_u32, 0..5_u32).prop_map(|(paper, alpha, more, gamma)| {
        let variant = if paper { VegasVariant::Paper } else { VegasVariant::Linux };
        Arc::new(VegasParams { variant, alpha, beta: alpha + more, gamma }) as Arc<dyn AvoidanceParams>
    });
    let cdg = (0..9_u32, any::<bool>(), any::<bool>(), 0..4_u32, 1..1025_u32).prop_map(
        |(log2, use_shadow, use_tolerance, hystart_detect, backoff_beta)| {
            let window = 1 << log2;
            let defaults = CdgParams::default();
            Arc::new(CdgParams {
                window,
                backoff_beta,
                hystart_detect,
                use_shadow,
                use_tolerance,
                ..defaults
            }) as _
        },
    );
    let nv = (2..50_u32, 0..129_u32, 1..65_u32, 0..257_u32, 0..20_u32).prop_map(
        |(nv_pad, nv_cong_dec_mult, nv_ssthresh_factor, nv_rtt_factor, rate)| {
            Arc::new(NvParams {
                nv_pad,
                nv_cong_dec_mult,
                nv_ssthresh_factor,
                nv_rtt_factor,
                nv_cwnd_growth_rate_neg: rate,
                nv_cwnd_growth_rate_pos: rate,
                nv_dec_eval_min_calls: rate,
                nv_inc_eval_min_calls: rate,
                base_rtt: (rate % 2 == 0).then_some(Duration::from_millis(20)),
                ..NvParams::default()
            }) as _
        },
    );
    let compound = (fraction(), fraction(), fraction(), any::<bool>()).prop_map(|(alpha, beta, k, least)| {
        let rtt = if least { CompoundRtt::Min } else { CompoundRtt::Mean };
        Arc::new(CompoundParams { alpha, beta, k, rtt, low_window: 2, ..CompoundParams::default() }) as _
    });
    let ledbat = (1..101_u64, fraction(), 1..10_u32).prop_map(|(ms, gain, more)| {
        let target = Duration::from_millis(ms);
        let allowed_increase = NonZeroU32::new(more).expect("from 1 on");
        Arc::new(LedbatParams { target, gain, allowed_increase }) as _
    });
    let ledbat_pp = (1..200_u64, any::<bool>()).prop_map(|(ms, slowdown)| {
        let target = Duration::from_millis(ms);
        Arc::new(LedbatPpParams { target, slowdown, ..LedbatPpParams::default() }) as _
    });
    prop_oneof![
        vegas,
        cdg,
        nv,
        compound,
        ledbat,
        ledbat_pp,
        Just(Arc::new(LpParams::default()) as _),
        (0..100_u32, 0..10_u32)
            .prop_map(|(win_thresh, theta)| Arc::new(IllinoisParams { win_thresh, theta }) as _),
        Just(Arc::new(YeahParams::default()) as _),
        Just(Arc::new(VenoParams::default()) as _),
    ]
}

/// A fraction with two digits, which are written and read without rounding.
fn fraction() -> impl Strategy<Value = f64> + Clone {
    (1..100_u32).prop_map(|percent| f64::from(percent) / 100.0)
}

fn fallback() -> impl Strategy<Value = Option<NonZeroU32>> {
    prop::option::of((1..20_u32).prop_map(|n| NonZeroU32::new(n).expect("from 1 on")))
}

fn tau() -> impl Strategy<Value = NonZeroU32> {
    (1..200_u32).prop_map(|n| NonZeroU32::new(n).expect("from 1 on"))
}

fn avoidance() -> impl Strategy<Value = Arc<dyn AvoidanceParams>> {
    prop_oneof![
        growth().prop_map(|growth| Arc::new(RenoParams { growth }) as Arc<dyn AvoidanceParams>),
        ((1..1000_u32).prop_map(f64::from), fraction(), growth())
            .prop_map(|(a, b, growth)| Arc::new(AimdParams { a, b, growth }) as _),
        cubic().prop_map(|params| Arc::new(params) as _),
        scalable().prop_map(|params| Arc::new(params) as _),
        loss_based(),
        delay(),
        Just(Arc::new(LiaParams {}) as _),
        Just(Arc::new(OliaParams {}) as _),
        Just(Arc::new(BaliaParams {}) as _),
        select(every().avoidances),
    ]
}

/// Linux's loss-based controllers with parameters of any kind, and the binomial ones.
fn loss_based() -> impl Strategy<Value = Arc<dyn AvoidanceParams>> {
    let bic = (1..1024_u32, any::<bool>(), 1..100_u32, 0..100_u32, 0..1000_u32, 1..100_u32).prop_map(
        |(beta, fast_convergence, max_increment, low_window, initial_ssthresh, smooth_part)| BicParams {
            beta,
            fast_convergence,
            max_increment,
            low_window,
            initial_ssthresh,
            smooth_part,
        },
    );
    let htcp = (any::<bool>(), any::<bool>()).prop_map(|(use_rtt_scaling, use_bandwidth_switch)| {
        HtcpParams { use_rtt_scaling, use_bandwidth_switch }
    });
    let rtt0 = (1..1000_u32).prop_map(|n| NonZeroU32::new(n).expect("from 1 on"));
    let binomial = (fraction(), fraction(), -1..5_i32, 0..3_i32).prop_map(|(alpha, beta, k, l)| {
        BinomialParams { alpha, beta, k: f64::from(k), l: f64::from(l) / 2.0 }
    });
    prop_oneof![
        Just(Arc::new(HighspeedParams {}) as Arc<dyn AvoidanceParams>),
        htcp.prop_map(|params| Arc::new(params) as _),
        bic.prop_map(|params| Arc::new(params) as _),
        rtt0.prop_map(|rtt0| Arc::new(HyblaParams { rtt0 }) as _),
        Just(Arc::new(WestwoodParams {}) as _),
        binomial.prop_map(|params| Arc::new(params) as _),
    ]
}

fn slow_start() -> impl Strategy<Value = Arc<dyn SlowStartParams>> {
    let growth = prop::option::of(prop_oneof![
        Just(SlowStartGrowth::Acked),
        Just(SlowStartGrowth::PerAck),
        Just(SlowStartGrowth::HalfAcked),
        Just(SlowStartGrowth::Linux),
        Just(SlowStartGrowth::Abc)
    ]);
    let maybe_exit = || prop::option::of(exit());
    prop_oneof![
        select(every().slow_starts),
        (growth, tau(), any::<bool>(), maybe_exit()).prop_map(|(growth, l, base_reduction, exit)| {
            Arc::new(StandardParams { growth, l, base_reduction, exit, ..StandardParams::default() }) as _
        }),
        (2..1000_u32, maybe_exit()).prop_map(|(max_ssthresh, exit)| {
            Arc::new(LimitedParams { max_ssthresh, exit, ..LimitedParams::default() }) as _
        }),
        exit().prop_map(|exit| Arc::new(HystartParams { exit, ..HystartParams::default() }) as _),
        Just(Arc::new(HystartParams::paper()) as _),
        maybe_exit().prop_map(|exit| Arc::new(HystartPpParams { exit, ..HystartPpParams::default() }) as _),
        (1..100_u32, 0..20_u32, any::<bool>(), maybe_exit()).prop_map(|(percent, drain, reset, exit)| {
            let threshold = f64::from(percent) / 100.0;
            Arc::new(SearchParams { threshold, drain, reset, exit, ..SearchParams::default() }) as _
        }),
        (any::<bool>(), 10..30_u32, 10..20_u32).prop_map(|(quicly, peak, gain)| {
            let variant = if quicly { RapidVariant::Quicly } else { RapidVariant::Draft };
            let (peak, pacing_gain) = (f64::from(peak) / 10.0, f64::from(gain) / 10.0);
            Arc::new(RapidParams { variant, peak, pacing_gain, ..RapidParams::default() }) as _
        }),
        exit().prop_map(|exit| Arc::new(EsspParams { exit, ..EsspParams::default() }) as _),
    ]
}

fn config() -> impl Strategy<Value = WindowedConfig> {
    let ce_md = prop::option::of(fraction());
    let response = prop_oneof![
        ce_md.clone().prop_map(|ce_md| Arc::new(ConventionalParams { ce_md }) as Arc<dyn ResponseParams>),
        prop::option::of(fraction()).prop_map(|beta_ecn| Arc::new(AbeParams { beta_ecn }) as _),
        (0.01..10.0, ce_md.clone(), fraction(), any::<bool>()).prop_map(
            |(g, ce_md, ce_md_recent, ce_spread)| {
                Arc::new(SceParams { g, ce_md, ce_md_recent, ce_spread }) as _
            }
        ),
        (ce_md.clone(), fraction(), any::<bool>()).prop_map(|(ce_md, ce_md_recent, ce_spread)| {
            Arc::new(DctcpSceParams { ce_md, ce_md_recent, ce_spread }) as _
        }),
        (any::<bool>(), 0..11_u32, 0..1025_u32).prop_map(|(linux, dctcp_shift_g, dctcp_alpha_on_init)| {
            let arithmetic = if linux { DctcpArithmetic::Linux } else { DctcpArithmetic::Rfc8257 };
            Arc::new(DctcpParams { arithmetic, dctcp_shift_g, dctcp_alpha_on_init }) as _
        }),
        (tau(), limiter(), ce_md, fallback()).prop_map(
            |(tau, limiter, ce_md, fallback)| Arc::new(MdsParams { tau, limiter, ce_md, fallback }) as _
        ),
        select(every().responses),
    ];
    (avoidance(), slow_start(), response).prop_map(|(avoidance, slow_start, response)| WindowedConfig {
        avoidance,
        slow_start,
        response,
    })
}

/// Controllers that follow a delay or a utility.
fn model() -> impl Strategy<Value = Arc<dyn ControllerParams>> {
    let copa = (1..1000_u32, any::<bool>(), 1..20_000_u64).prop_map(|(percent, mode_switching, ms)| {
        let delta = f64::from(percent) / 100.0;
        let min_rtt_window = Duration::from_millis(ms);
        Arc::new(CopaParams { delta, mode_switching, min_rtt_window }) as Arc<dyn ControllerParams>
    });
    let utility =
        prop_oneof![Just(VivaceUtility::Latency), Just(VivaceUtility::Loss), Just(VivaceUtility::Allegro)];
    let (t, epsilon) = (fraction(), (1..50_u32).prop_map(|percent| f64::from(percent) / 100.0));
    let vivace = (utility, t, 0.0..1e6, 0.001..1e6, epsilon, 0.001..1e6, fraction(), fraction()).prop_map(
        |(utility, t, b, c, epsilon, theta, omega, delta)| {
            Arc::new(VivaceParams { utility, t, b, c, epsilon, theta, omega, delta }) as _
        },
    );
    prop_oneof![copa, vivace]
}

/// The names of the numbers that a controller reports.
fn probed_names(cc: &dyn CongestionControl) -> Vec<&'static str> {
    let mut names = Vec::new();
    cc.probe(&mut |name, _| names.push(name));
    names
}

proptest! {
    /// cwnd stays finite and at or above its floor (two segments; one from a timeout on, or if it starts with one, RFC
    /// 5681 section 3.1). A controller always reports the same numbers in the same order, and none is infinite.
    #[test]
    fn controllers_stay_finite_and_above_their_floor(
        config in config(),
        style in prop_oneof![Just(Style::Document), Just(Style::Linux)],
        ssthresh_base in prop_oneof![Just(SsthreshBase::Cwnd), Just(SsthreshBase::Flight)],
        paced in any::<bool>(),
        iw in 1..100_u64,
        events in vec(event(), 1..400),
    ) {
        let mut config = config;
        config.resolve(style);
        prop_assert_eq!(config.check(), Ok(()));
        let init = FlowInit { paced, ssthresh_base, ..init(MSS * iw) };
        let mut flow = Driver::from_init(&config, init, Duration::from_millis(20));
        // Hybla starts with rho segments, one at this round trip; TCP-LP gives way down to one.
        let one = ["hybla", "lp"].contains(&config.avoidance.name());
        let mut floor = if one { MSS } else { MSS * iw.min(2) };
        let own_pace = config.slow_start.samples_rates() || config.slow_start.sets_gaps();
        let names = probed_names(&*flow.cc);
        for event in events {
            match event {
                Event::Ack { after, segments, marks, barred } => {
                    flow.barred = barred;
                    let before = flow.cwnd();
                    flow.ack(Duration::from_nanos(after), segments, marks);
                    prop_assert!(
                        !barred || flow.cwnd() <= before,
                        "{} after {before}, barred",
                        flow.cwnd()
                    );
                }
                Event::Rtt(rtt) => flow.rtt = Duration::from_nanos(rtt),
                Event::Loss { flight } => {
                    let before = flow.cwnd();
                    flow.lose_of(MSS * flight);
                    prop_assert!(flow.cwnd() <= before);
                }
                Event::Timeout { new_episode } => {
                    flow.time_out(new_episode);
                    floor = MSS;
                }
                Event::Undo => flow.undo(),
                Event::Idle(idle) => flow.idle(Duration::from_nanos(idle)),
                Event::Validation { cwnd } => {
                    flow.validate(MSS * cwnd);
                    floor = MSS;
                }
            }
            let control = flow.cc.control();
            prop_assert!(control.cwnd >= floor, "{} after {event:?}", control.cwnd);
            prop_assert!(control.cwnd < Bytes::new(1 << 62), "{} after {event:?}", control.cwnd);
            // Linux's Vegas takes a segment from a window of two before it restores the floor, and ssthresh keeps it.
            prop_assert!(control.ssthresh >= MSS);
            match control.pacing {
                Pacing::Gain(gain) => prop_assert!((1.0..4.2).contains(&gain)),
                Pacing::Rate(_) => prop_assert!(own_pace, "windows are paced by gain"),
            }
            let mut finite = true;
            flow.cc.probe(&mut |_, value| finite &= !value.is_infinite());
            prop_assert!(finite);
            prop_assert_eq!(&probed_names(&*flow.cc), &names);
        }
    }

    /// Controllers with a model of their own keep a window of at least two segments and a positive pace, whatever they are told, and
    /// report the same finite numbers in the same order. Losses alone never reduce their windows.
    #[test]
    fn models_stay_finite_and_above_their_floor(
        params in model(),
        seed in any::<u64>(),
        iw in 2..100_u64,
        events in vec(event(), 1..400),
    ) {
        let cc = params.build(FlowInit { seed, ..init(MSS * iw) });
        let mut flow = Driver::of(cc, Duration::from_millis(20));
        let names = probed_names(&*flow.cc);
        for event in events {
            match event {
                Event::Ack { after, segments, marks, .. } => {
                    for n in 0..segments {
                        let path = flow.path();
                        let seq = path.nxt + MSS * n;
                        flow.cc.on_sent(&SentSegment { seq, payload: MSS, retransmission: n % 7 == 6 }, &path);
                    }
                    flow.ack(Duration::from_nanos(after), segments, marks);
                }
                Event::Rtt(rtt) => flow.rtt = Duration::from_nanos(rtt),
                Event::Loss { flight } => {
                    let before = flow.cwnd();
                    flow.lose_of(MSS * flight);
                    prop_assert_eq!(flow.cwnd(), before);
                }
                Event::Timeout { new_episode } => flow.time_out(new_episode),
                Event::Undo => flow.undo(),
                Event::Idle(idle) => flow.idle(Duration::from_nanos(idle)),
                // Never called for a controller with a window of its own.
                Event::Validation { .. } => {}
            }
            let control = flow.cc.control();
            prop_assert!(control.cwnd >= MSS * 2, "{} after {event:?}", control.cwnd);
            prop_assert!(control.cwnd <= Bytes::new(MSS.get() << 20), "{} after {event:?}", control.cwnd);
            let Pacing::Rate(rate) = control.pacing else { panic!("models set a rate") };
            prop_assert!(rate > Rate::ZERO, "after {event:?}");
            let mut finite = true;
            flow.cc.probe(&mut |_, value| finite &= !value.is_infinite());
            prop_assert!(finite);
            prop_assert_eq!(&probed_names(&*flow.cc), &names);
        }
    }

    /// Every controller that is not made of the three families reports the same numbers in the same order, none of them
    /// infinite, and keeps a window between a segment and what a sender can hold.
    #[test]
    fn every_controller_stays_finite(
        params in select([every().controllers, variants()].concat()),
        hears in any::<bool>(),
        seed in any::<u64>(),
        iw in 2..100_u64,
        events in vec(event(), 1..400),
    ) {
        let mut cc = params.build(FlowInit { seed, ..init(MSS * iw) });
        if hears {
            let feedback = cc.needs().feedback;
            cc.on_negotiated(feedback);
        }
        let mut flow = Driver::of(cc, Duration::from_millis(20));
        let names = probed_names(&*flow.cc);
        // No sender lowers the window of a controller with a window of its own.
        for event in events.into_iter().filter(|event| !matches!(event, Event::Validation { .. })) {
            happen(&mut flow, event);
            let cwnd = flow.cwnd();
            prop_assert!((MSS..Bytes::new(1 << 62)).contains(&cwnd), "{cwnd} after {event:?}");
            let mut finite = true;
            flow.cc.probe(&mut |_, value| finite &= !value.is_infinite());
            prop_assert!(finite);
            prop_assert_eq!(&probed_names(&*flow.cc), &names);
        }
    }

    /// Linux counts windows in whole segments at all times, for a flow that does not respond to SCE.
    #[test]
    fn linux_windows_are_whole_segments(
        avoidance in prop_oneof![
            Just(plain_reno()),
            ((1..1000_u32).prop_map(f64::from), fraction())
                .prop_map(|(a, b)| Arc::new(AimdParams { a, b, growth: None }) as _),
            Just(Arc::new(CubicParams::default()) as _),
            Just(Arc::new(ScalableParams::default()) as _),
            loss_based().prop_filter("binomial decreases are in bytes", |params| {
                ["highspeed", "htcp", "bic", "hybla", "westwood"].contains(&params.name())
            }),
            delay().prop_filter("LEDBAT's window is in bytes", |params| params.name() != "ledbat")
        ],
        iw in 2..100_u64,
        events in vec(event(), 1..400),
    ) {
        let slow_start = avoidance.usual_slow_start(Style::Linux);
        let mut config = WindowedConfig { avoidance, slow_start, ..Default::default() };
        config.resolve(Style::Linux);
        let mut flow = Driver::new(&config, MSS * iw, Duration::from_millis(20));
        for event in events {
            happen(&mut flow, event.without_sce());
            let control = flow.cc.control();
            prop_assert_eq!(control.cwnd % MSS.get(), Bytes::ZERO, "after {:?}", event);
            let is_set = control.ssthresh != Bytes::MAX;
            prop_assert!(!is_set || control.ssthresh % MSS.get() == Bytes::ZERO, "after {event:?}");
        }
    }

    /// spec/mds section 3: at most tau SCE responses within any srtt, however the marks arrive.
    #[test]
    fn at_most_tau_sce_responses_per_srtt(
        tau in tau(),
        gaps in vec(prop_oneof![0..100_000_u64, 0..5_000_000_u64, 0..50_000_000_u64], 1..1000),
    ) {
        let response = Arc::new(MdsParams { tau, ..MdsParams::default() });
        let config = WindowedConfig { slow_start: none(), response, ..Default::default() };
        let srtt = Duration::from_millis(20);
        // Large enough that a response always shows.
        let mut flow = Driver::new(&config, Bytes::new(1 << 50), srtt);
        let mut responses: Vec<Time> = Vec::new();
        for gap in gaps {
            if flow.cwnd() < Bytes::new(1 << 30) {
                break;
            }
            let before = flow.cwnd();
            flow.ack(Duration::from_nanos(gap), 1, Marks { ce: 0, sce: 1 });
            let within = responses.iter().filter(|time| flow.now.since(**time) <= srtt).count();
            let responded = flow.cwnd() < before;
            prop_assert_eq!(responded, within < tau.get() as usize, "{} within srtt", within);
            if responded {
                responses.push(flow.now);
            }
        }
    }

    /// A configuration that is written out reads back unchanged.
    #[test]
    fn configurations_survive_serialisation(config in config()) {
        let mut read = Read { params: &*config.avoidance, again: None };
        windtunnel_cc::visit(&mut read);
        prop_assert!(read.again.is_some_and(|again| *again == *config.avoidance));
        let whole = config.to_map();
        for (key, value) in config.response.to_map() {
            prop_assert_eq!(&whole[&key], &value);
        }
        // What an avoidance fixes cannot be chosen: it is not listed, or a printed scenario could not be read.
        let chosen = config.avoidance.fixes_slow_start().is_none().then(|| config.slow_start.name());
        prop_assert_eq!(whole.get("slow_start").and_then(|table| table["kind"].as_str()), chosen);
    }
}

/// Reads an avoidance from its own map of parameters.
struct Read<'p> {
    params: &'p dyn AvoidanceParams,
    again: Option<Box<dyn AvoidanceParams>>,
}

impl Kinds for Read<'_> {
    fn avoidance<P: Params + AvoidanceParams>(&mut self) {
        if P::NAME == self.params.name() {
            let map = Value::Object(self.params.to_map());
            self.again = Some(Box::new(serde_json::from_value::<P>(map).expect("readable")));
        }
    }

    fn slow_start<P: Params + SlowStartParams>(&mut self) {}

    fn response<P: Params + ResponseParams>(&mut self) {}

    fn controller<P: Params + ControllerParams>(&mut self) {}
}
