//! How far a window grows that is not used up: `limit()` of draft-ietf-ccwg-ratelimited-increase section 3, for each
//! algorithm (docs/spec/ccwg-2026 section C).

use std::sync::Arc;

use windtunnel_cc::{
    CubicParams, CubicVariant, EsspParams, FlowInit, HighspeedParams, HystartParams, HystartPpParams,
    LimitedParams, RapidParams, RenoParams, ScalableParams, ScalableVariant, SearchParams, SlowStartGrowth,
    SlowStartParams, StandardParams, Style, WindowedConfig, catalogue,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{CLEAN, Driver, MSS, init};
use crate::parts::none;

const RTT: Duration = Duration::from_millis(100);
const MS: Duration = Duration::from_millis(1);

fn acks(flow: &mut Driver, number: u64) {
    (0..number).for_each(|_| {
        flow.ack(MS, 1, CLEAN);
    });
}

/// The third vector of the specification: in avoidance at W = 20, with at most 8 segments in flight since the reduction, no
/// ACK grows W. The text would lower it to 9; here the limit bars growth alone. LEDBAT++ has a slow start of its own, from
/// two segments to twice the largest flight. Controllers with a model of the path have rules of their own for data that the
/// application limits.
#[test]
fn avoidance_stops_at_the_limit() {
    let mut seen = 0;
    for params in catalogue(Style::Linux).into_iter().chain(catalogue(Style::Document)) {
        let ssthresh = Some(MSS * 20);
        let mut flow = Driver::of(params.build(FlowInit { ssthresh, ..init(MSS * 20) }), RTT);
        if params.name() != "prague" && flow.cc.needs().own_window {
            continue;
        }
        acks(&mut flow, 1);
        let limit = flow.cwnd().max(MSS * if flow.avoids() { 9 } else { 16 });
        flow.max_flight = Some(MSS * 8);
        acks(&mut flow, 200);
        assert!(flow.cwnd() <= limit, "{}: {} segments", params.name(), flow.segments());
        // A flight of less than a segment is that of an application that sends a few bytes.
        flow.max_flight = Some(Bytes::new(1));
        acks(&mut flow, 5);
        assert!(flow.cwnd() <= limit, "{}: {} segments", params.name(), flow.segments());
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}

/// Avoidance with 100 segments in flight: Reno adds one, Scalable and `HighSpeed` what one window of theirs adds (Linux's
/// table: 2 up to 118 segments). The clock of RFC 9438 stands while W does not grow (section 4.2), those of Linux and of the
/// MDS document go on, and growth per round trip is at most half of the window.
#[test]
fn limits_of_avoidance() {
    let cubic = |variant| CubicParams { variant: Some(variant), ..CubicParams::default() };
    let scalable = |variant| ScalableParams { variant: Some(variant), ..ScalableParams::default() };
    let limits: [(Arc<dyn windtunnel_cc::AvoidanceParams>, f64); 8] = [
        (Arc::new(RenoParams::default()), 101.0),
        (Arc::new(HighspeedParams {}), 102.0),
        (Arc::new(scalable(ScalableVariant::Linux)), 101.0),
        (Arc::new(scalable(ScalableVariant::Paper)), 101.0),
        (Arc::new(cubic(CubicVariant::Rfc9438)), 101.0),
        (Arc::new(cubic(CubicVariant::Linux)), 150.0),
        (Arc::new(cubic(CubicVariant::Document)), 150.0),
        (Arc::new(cubic(CubicVariant::Paper)), 150.0),
    ];
    for (avoidance, limit) in limits {
        let mut config = WindowedConfig {
            avoidance: Arc::clone(&avoidance),
            slow_start: none(),
            ..WindowedConfig::default()
        };
        config.resolve(Style::Linux);
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.max_flight = Some(MSS * 100);
        acks(&mut flow, 30_000);
        assert!((flow.segments() - limit).abs() < 0.51, "{avoidance:?}: {} segments", flow.segments());
    }
}

/// Slow start with 10 segments in flight: 2x, 1.5x where half of what is acknowledged counts, 1.25x in conservative slow start
/// (RFC 9406), and `x (1 + 1/K)` above the threshold of limited slow start (RFC 3742; K = 4) and in ESSP's first stage, 3x in Rapid Start without a
/// queue.
#[test]
fn limits_of_slow_start() {
    let half = StandardParams { growth: Some(SlowStartGrowth::HalfAcked), ..StandardParams::default() };
    let limited = LimitedParams { max_ssthresh: 5, ..LimitedParams::default() };
    let limits: [(Arc<dyn SlowStartParams>, f64); 8] = [
        (Arc::new(StandardParams::default()), 20.0),
        (Arc::new(half), 15.0),
        (Arc::new(HystartParams::default()), 20.0),
        (Arc::new(HystartPpParams::default()), 20.0),
        (Arc::new(limited), 12.5),
        (Arc::new(EsspParams::default()), 20.0),
        (Arc::new(SearchParams::default()), 20.0),
        (Arc::new(RapidParams::default()), 30.0),
    ];
    for (slow_start, limit) in limits {
        let config = WindowedConfig { slow_start: Arc::clone(&slow_start), ..WindowedConfig::default() };
        let mut flow = Driver::new(&config, MSS * 10, RTT);
        flow.max_flight = Some(MSS * 10);
        acks(&mut flow, 60);
        assert!((flow.segments() - limit).abs() < 0.01, "{slow_start:?}: {} segments", flow.segments());
        assert!(!flow.avoids(), "{slow_start:?}");
    }
}
