//! A controller alone on a path with a constant round trip, round by round: the growth functions
//! against the models that the specification gives for them.

use std::sync::Arc;

use windtunnel_cc::{
    AimdGrowth, AimdParams, AvoidanceParams, CubicParams, EsspParams, ScalableParams, SlowStartGrowth,
    StandardParams, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{Driver, MSS};
use crate::parts::{none, plain_reno};

const RTT: Duration = Duration::from_millis(100);

fn avoiding(avoidance: Arc<dyn AvoidanceParams>) -> WindowedConfig {
    WindowedConfig { avoidance, slow_start: none(), ..Default::default() }
}

fn standard(growth: SlowStartGrowth) -> WindowedConfig {
    let slow_start = Arc::new(StandardParams { growth: Some(growth), ..StandardParams::default() });
    WindowedConfig { slow_start, ..Default::default() }
}

fn windows(config: &WindowedConfig, rounds: usize, per_ack: u64) -> Vec<u64> {
    let mut flow = Driver::new(config, MSS * 10, RTT);
    (0..rounds)
        .map(|_| {
            let cwnd = flow.cwnd() / MSS;
            flow.round(per_ack);
            cwnd
        })
        .collect()
}

/// spec/congestion-control section 1.4: W per round trip from IW 10, all segments acknowledged: 10,
/// 20, 40, ...; with one segment per delayed ACK: 10, 15, 22, 33.
#[test]
fn standard_slow_start_doubles() {
    assert_eq!(windows(&standard(SlowStartGrowth::Acked), 5, 1), [10, 20, 40, 80, 160]);
    assert_eq!(windows(&standard(SlowStartGrowth::Acked), 5, 2), [10, 20, 40, 80, 160]);
    assert_eq!(windows(&standard(SlowStartGrowth::PerAck), 4, 2), [10, 15, 22, 33]);
    assert_eq!(windows(&standard(SlowStartGrowth::HalfAcked), 4, 1), [10, 15, 22, 33]);
}

/// spec/mds section 5: stage 0 of ESSP, K = 1, doubles.
#[test]
fn essp_doubles_at_first() {
    let slow_start = Arc::new(EsspParams::default());
    let config = WindowedConfig { slow_start, ..Default::default() };
    assert_eq!(windows(&config, 5, 1), [10, 20, 40, 80, 160]);
}

/// RFC 3465 section 2.1: a segment per window of acknowledged bytes, delayed ACKs or not.
#[test]
fn counted_growth_is_a_segment_per_window() {
    let params = AimdParams { growth: Some(AimdGrowth::PerWindow), ..AimdParams::default() };
    let config = avoiding(Arc::new(params));
    assert_eq!(windows(&config, 5, 1), [10, 11, 12, 13, 14]);
    let delayed = windows(&config, 9, 2);
    assert!(delayed[8] >= 17, "{delayed:?}: odd windows leave a segment to the next round");
}

/// spec/mds section 3: timed growth waits for more than one srtt, so it takes one ACK longer than a
/// round trip; from 100 to 200 segments in a little more than 100 rounds.
#[test]
fn reno_recovers_in_half_a_window_of_rounds() {
    let mut flow = Driver::new(&avoiding(plain_reno()), MSS * 200, RTT);
    flow.lose();
    let mut rounds = 0;
    while flow.segments() < 200.0 {
        flow.round(1);
        rounds += 1;
    }
    assert!((100..=102).contains(&rounds), "{rounds}");
}

/// spec/mds section 7: Scalable recovers in `-ln(MD) / ln(1 + a)` round trips from any window:
/// 139 for a = 1/200 and half.
#[test]
fn scalable_recovers_in_the_same_number_of_rounds() {
    let params = ScalableParams { lwnd: Some(Bytes::ZERO), ..ScalableParams::default() };
    for segments in [200, 20_000] {
        let mut flow = Driver::new(&avoiding(Arc::new(params.clone())), MSS * segments, RTT);
        flow.lose();
        let mut rounds = 0;
        while flow.cwnd() < MSS * segments {
            flow.round(1);
            rounds += 1;
        }
        assert!((139..=141).contains(&rounds), "{segments} segments: {rounds} rounds");
    }
}

/// spec/congestion-control section 3.3: the window of a CUBIC that lost at 100 segments follows the
/// cubic (86.68, 95.64, 99.28, 100.00, 100.19, 102.27 segments at 1 to 6 s). Round trips of 400 ms keep
/// the Reno-friendly estimate below it.
#[test]
fn cubic_follows_its_curve() {
    let rtt = Duration::from_millis(400);
    let avoidance = Arc::new(CubicParams::default());
    let mut flow = Driver::new(&avoiding(avoidance), MSS * 100, rtt);
    flow.lose();
    assert_eq!(flow.cwnd(), MSS * 70);
    let k = flow.probe("k_s").expect("CUBIC has a K");
    assert!((k - 4.217_163).abs() < 1e-6);
    let start = flow.now;
    for _ in 0..20 {
        flow.round(1);
        let t = flow.now.since(start).as_secs_f64();
        // Growth aims at the curve's value one round trip later, and takes a round trip to get there.
        let curve = |t: f64| 100.0 + 0.4 * (t - k) * (t - k) * (t - k);
        let (least, most) = (curve(t - rtt.as_secs_f64()).min(curve(t)), curve(t + rtt.as_secs_f64()));
        let w = flow.segments();
        assert!(least - 0.5 <= w && w <= most, "{w} segments at {t} s, not {least} to {most}");
    }
}
