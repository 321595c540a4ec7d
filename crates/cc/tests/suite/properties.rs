//! What holds for every controller, whatever the network does.

use std::num::NonZeroU32;

use proptest::collection::vec;
use proptest::prelude::*;
use windtunnel_cc::{
    AimdGrowth, AimdParams, AvoidanceConfig, ConventionalParams, CubicParams, EsspParams, ExitResponse,
    HystartPpParams, LimiterWindow, MdsParams, Pacing, RenoParams, ResponseConfig, ScalableParams,
    SlowStartConfig, SlowStartGrowth, StandardParams, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration, Time};

use crate::driver::{CLEAN, Driver, MSS, Marks};

/// Something that happens to a controller.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ack { after: u64, segments: u64, marks: Marks },
    Rtt(u64),
    Loss,
    Timeout,
    Undo,
}

fn event() -> impl Strategy<Value = Event> {
    let after = prop_oneof![0..1_000_000_u64, 0..10_000_000_000_u64];
    prop_oneof![
        40 => (after, 0..50_u64, 0..3_u32, 0..50_u32).prop_map(|(after, segments, kind, sce)| {
            let marks = match kind {
                0 => CLEAN,
                1 => Marks { ce: 1, sce: 0 },
                _ => Marks { ce: 0, sce },
            };
            Event::Ack { after, segments, marks }
        }),
        4 => (1_000..20_000_000_000_u64).prop_map(Event::Rtt),
        2 => Just(Event::Loss),
        1 => Just(Event::Timeout),
        1 => Just(Event::Undo),
    ]
}

fn exit() -> impl Strategy<Value = ExitResponse> {
    prop_oneof![Just(ExitResponse::None), Just(ExitResponse::Target), Just(ExitResponse::Half)]
}

fn limiter() -> impl Strategy<Value = LimiterWindow> {
    prop_oneof![Just(LimiterWindow::Sliding), Just(LimiterWindow::EmptiedAfterSrtt)]
}

fn growth() -> impl Strategy<Value = AimdGrowth> {
    prop_oneof![Just(AimdGrowth::PerSrtt), Just(AimdGrowth::PerWindow)]
}

/// A fraction with two digits, which are written and read without rounding.
fn fraction() -> impl Strategy<Value = f64> + Clone {
    (1..100_u32).prop_map(|percent| f64::from(percent) / 100.0)
}

fn tau() -> impl Strategy<Value = NonZeroU32> {
    (1..200_u32).prop_map(|n| NonZeroU32::new(n).expect("from 1 on"))
}

fn avoidance() -> impl Strategy<Value = AvoidanceConfig> {
    prop_oneof![
        growth().prop_map(|growth| AvoidanceConfig::Reno(RenoParams { growth })),
        ((1..1000_u32).prop_map(f64::from), fraction(), growth())
            .prop_map(|(a, b, growth)| AvoidanceConfig::Aimd(AimdParams { a, b, growth })),
        (fraction(), fraction(), any::<bool>(), any::<bool>()).prop_map(
            |(c, beta, fast_convergence, grow_on_marked)| {
                AvoidanceConfig::Cubic(CubicParams { c, beta, fast_convergence, grow_on_marked })
            }
        ),
        (1..1000_u32, fraction(), 0..1_000_000_u64, growth()).prop_map(|(inv_a, b, lwnd, growth)| {
            let inv_a = NonZeroU32::new(inv_a).expect("from 1 on");
            AvoidanceConfig::Scalable(ScalableParams { inv_a, b, lwnd: Bytes::new(lwnd), growth })
        }),
    ]
}

fn slow_start() -> impl Strategy<Value = SlowStartConfig> {
    let growth = prop_oneof![
        Just(SlowStartGrowth::Acked),
        Just(SlowStartGrowth::PerAck),
        Just(SlowStartGrowth::HalfAcked)
    ];
    prop_oneof![
        Just(SlowStartConfig::None),
        (growth, any::<bool>(), exit()).prop_map(|(growth, base_reduction, exit)| {
            let params = StandardParams { growth, base_reduction, exit, ..StandardParams::default() };
            SlowStartConfig::Standard(params)
        }),
        exit().prop_map(|exit| {
            SlowStartConfig::HystartPp(HystartPpParams { exit, ..HystartPpParams::default() })
        }),
        exit().prop_map(|exit| SlowStartConfig::Essp(EsspParams { exit, ..EsspParams::default() })),
    ]
}

fn config() -> impl Strategy<Value = WindowedConfig> {
    let ce_md = prop::option::of(fraction());
    let response = prop_oneof![
        ce_md.clone().prop_map(|ce_md| ResponseConfig::Conventional(ConventionalParams { ce_md })),
        (tau(), limiter(), ce_md).prop_map(|(tau, limiter, ce_md)| ResponseConfig::Mds(MdsParams {
            tau,
            limiter,
            ce_md
        })),
    ];
    (avoidance(), slow_start(), response).prop_map(|(avoidance, slow_start, response)| WindowedConfig {
        avoidance,
        slow_start,
        response,
    })
}

proptest! {
    /// cwnd stays finite and at or above its floor (two segments; one from a timeout on, RFC 5681
    /// section 3.1), and all that a controller says of itself is a number.
    #[test]
    fn controllers_stay_finite_and_above_their_floor(
        config in config(),
        iw in 1..100_u64,
        events in vec(event(), 1..400),
    ) {
        prop_assert_eq!(config.check(), Ok(()));
        let mut flow = Driver::new(&config, MSS * iw, Duration::from_millis(20));
        let mut floor = MSS * 2;
        for event in events {
            match event {
                Event::Ack { after, segments, marks } => {
                    flow.ack(Duration::from_nanos(after), segments, marks);
                }
                Event::Rtt(rtt) => flow.rtt = Duration::from_nanos(rtt),
                Event::Loss => flow.lose(),
                Event::Timeout => {
                    flow.time_out();
                    floor = MSS;
                }
                Event::Undo => flow.undo(),
            }
            let control = flow.cc.control();
            prop_assert!(control.cwnd >= floor, "{} after {event:?}", control.cwnd);
            prop_assert!(control.cwnd < Bytes::new(1 << 62), "{} after {event:?}", control.cwnd);
            prop_assert!(control.ssthresh >= floor);
            let Pacing::Gain(gain) = control.pacing else { panic!("windows are paced by gain") };
            prop_assert!((1.0..4.2).contains(&gain));
            let mut finite = true;
            flow.cc.probe(&mut |_, value| finite &= value.is_finite());
            prop_assert!(finite);
        }
    }

    /// spec/mds section 3: at most tau SCE responses within any srtt, however the marks arrive.
    #[test]
    fn at_most_tau_sce_responses_per_srtt(
        tau in tau(),
        gaps in vec(prop_oneof![0..100_000_u64, 0..5_000_000_u64, 0..50_000_000_u64], 1..1000),
    ) {
        let response = ResponseConfig::Mds(MdsParams { tau, ..MdsParams::default() });
        let config = WindowedConfig { slow_start: SlowStartConfig::None, response, ..Default::default() };
        let srtt = Duration::from_millis(20);
        // So large that a response always shows.
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

    /// What was written of a configuration is read back as it was.
    #[test]
    fn configurations_survive_serialisation(config in config()) {
        let text = serde_json::to_string(&config).expect("serialisable");
        let read: WindowedConfig = serde_json::from_str(&text).expect("readable");
        prop_assert_eq!(read, config);
    }
}
