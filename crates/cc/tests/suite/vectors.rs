//! Numbers that the specification gives, and rules that one example can show.

use std::sync::Arc;

use std::num::NonZeroU32;

use windtunnel_cc::{
    AimdParams, AnyParams, AvoidanceParams, ConventionalParams, CubicParams, EsspParams, MdsParams,
    RenoParams, ScalableParams, StandardParams, WindowedConfig, scaled_md,
};
use windtunnel_units::{Bytes, Duration, Time};

use crate::driver::{CE, CLEAN, Driver, MSS, Marks, SCE};
use crate::parts::{none, plain_reno};

const RTT: Duration = Duration::from_millis(100);
const NS: Duration = Duration::from_nanos(1);

fn tau(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("a test's tau")
}

/// No slow start, `avoidance`, and the MDS response.
fn mds(avoidance: Arc<dyn AvoidanceParams>, params: MdsParams) -> WindowedConfig {
    let response = Arc::new(params);
    WindowedConfig { avoidance, slow_start: none(), response }
}

fn reno_mds(n: u32) -> WindowedConfig {
    mds(plain_reno(), MdsParams { tau: tau(n), ..MdsParams::default() })
}

/// spec/mds section 1 and figure 1: 2.14 % at tau = 32 and 1.08 % at tau = 64 for beta = 0.5.
#[test]
fn one_sce_takes_the_root_of_the_decrease() {
    for (n, reduction) in [(32, 0.0214), (64, 0.0108)] {
        let factor = scaled_md(0.5, tau(n));
        assert!((1.0 - factor - reduction).abs() < 5e-5, "tau = {n}: {factor}");
        let all = (0..n).fold(1.0, |product, _| product * factor);
        assert!((all - 0.5).abs() < 1e-12, "tau SCE are one CE: {all}");
    }
}

/// spec/mds section 8: `now - last_growth > srtt` is strict, and Reno's last growth starts at 0.
#[test]
fn reno_grows_after_more_than_one_srtt() {
    let config = WindowedConfig { slow_start: none(), ..Default::default() };
    let mut reno = Driver::new(&config, MSS * 10, RTT);
    assert_eq!(reno.now, Time::ZERO + RTT);
    reno.ack(Duration::ZERO, 1, CLEAN);
    assert_eq!(reno.cwnd(), MSS * 10, "one srtt since 0 is not more than one srtt");
    reno.ack(NS, 1, CLEAN);
    assert_eq!(reno.cwnd(), MSS * 11);
    reno.ack(RTT, 1, CLEAN);
    assert_eq!(reno.cwnd(), MSS * 11);
    reno.ack(NS, 1, CLEAN);
    assert_eq!(reno.cwnd(), MSS * 12);
}

/// spec/mds section 3: an ACK with ECE or ESCE grows nothing in Reno, and does not count as growth.
#[test]
fn marked_acks_do_not_grow_reno() {
    let config = WindowedConfig { slow_start: none(), ..Default::default() };
    let mut reno = Driver::new(&config, MSS * 100, RTT);
    reno.ack(RTT, 1, CE);
    assert_eq!(reno.cwnd(), MSS * 50);
    reno.ack(NS, 1, CLEAN);
    assert_eq!(reno.cwnd(), MSS * 51);
}

/// spec/mds section 2: after a CE response there is no other until an ACK exceeds what had been sent by then.
#[test]
fn ce_is_answered_once_per_round() {
    let config = WindowedConfig { slow_start: none(), ..Default::default() };
    let mut reno = Driver::new(&config, MSS * 100, RTT);
    // 100 segments are in flight; the ACK of the first is marked, and 99 stay in flight.
    assert_eq!(reno.ack(NS, 1, CE), Some(true));
    let answers: Vec<bool> = (0..100).filter_map(|_| reno.ack(NS, 1, CE)).collect();
    assert_eq!(answers.iter().position(|responded| *responded), Some(99), "the first ACK beyond");
    assert_eq!(reno.cwnd(), MSS * 25);
}

/// spec/mds section 3: after a CE response, SCE are refused in the same round; after an SCE response they are not.
#[test]
fn sce_waits_for_ce_but_not_for_sce() {
    let factor = scaled_md(0.5, tau(64));
    let mut flow = Driver::new(&reno_mds(64), MSS * 100, RTT);
    flow.ack(NS, 1, SCE);
    let once = (MSS * 100).scale(factor);
    assert_eq!(flow.cwnd(), once);
    flow.ack(NS, 1, SCE);
    let twice = once.scale(factor);
    assert_eq!(flow.cwnd(), twice);
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cwnd(), twice.scale(0.5));
    flow.ack(NS, 1, SCE);
    assert_eq!(flow.cwnd(), twice.scale(0.5), "held off");
}

/// spec/mds section 6: a delayed ACK answers each marked segment that it acknowledges, within the
/// limit of tau per srtt.
#[test]
fn every_marked_segment_of_an_ack_is_answered() {
    let factor = scaled_md(0.5, tau(4));
    let mut flow = Driver::new(&reno_mds(4), MSS * 1000, RTT);
    flow.ack(NS, 3, Marks { ce: 0, sce: 3 });
    let three = (MSS * 1000).scale(factor).scale(factor).scale(factor);
    assert_eq!(flow.cwnd(), three);
    flow.ack(NS, 3, Marks { ce: 0, sce: 3 });
    assert_eq!(flow.cwnd(), three.scale(factor), "the fourth of four");
    assert_eq!(flow.probe("sce_in_window"), Some(4.0));
}

/// spec/mds section 3: a response of exactly one srtt ago is within the last srtt.
#[test]
fn a_place_is_free_after_more_than_one_srtt() {
    let mut flow = Driver::new(&reno_mds(1), MSS * 100, RTT);
    flow.ack(NS, 1, SCE);
    assert_eq!(flow.cwnd(), MSS * 50);
    flow.ack(RTT, 1, SCE);
    assert_eq!(flow.cwnd(), MSS * 50);
    flow.ack(NS, 1, SCE);
    assert_eq!(flow.cwnd(), MSS * 25);
}

/// spec/mds section 8: an SCE that the limiter accepts but the hold-off refuses uses a place.
#[test]
fn refused_sce_use_places() {
    let mut flow = Driver::new(&reno_mds(2), MSS * 100, RTT);
    flow.ack(NS, 1, CE);
    let held = flow.cwnd();
    flow.ack(NS, 1, SCE);
    flow.ack(NS, 1, SCE);
    flow.ack(NS, 100, CLEAN);
    let free = flow.cwnd();
    assert!(free >= held, "no response while held off");
    flow.ack(NS, 1, SCE);
    assert_eq!(flow.cwnd(), free, "the limiter's two places are taken");
    flow.ack(RTT + NS, 1, SCE);
    assert!(flow.cwnd() < free, "they are free one srtt later");
}

/// spec/mds section 8: a CE response of 0.7 for Scalable, whose SCE still scale from 0.5.
#[test]
fn the_ce_response_can_be_set_apart() {
    let scalable = Arc::new(ScalableParams::default());
    let config = mds(scalable.clone(), MdsParams { ce_md: Some(0.7), ..MdsParams::default() });
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.ack(NS, 1, SCE);
    assert_eq!(flow.cwnd(), (MSS * 100).scale(scaled_md(0.5, tau(64))));
    let before = flow.cwnd();
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cwnd(), before.scale(0.7));

    let response = Arc::new(ConventionalParams { ce_md: Some(0.7) });
    let config = WindowedConfig { avoidance: scalable, slow_start: none(), response };
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cwnd(), (MSS * 100).scale(0.7));
    flow.ack(RTT, 101, CLEAN);
    let before = flow.cwnd();
    flow.lose();
    assert_eq!(flow.cwnd(), before / 2, "a loss is not a CE");
}

/// spec/mds section 3: Scalable carries the remainder of acked/200; 1448/200 = 7.24.
#[test]
fn scalable_carries_the_remainder() {
    let params = ScalableParams { lwnd: Some(Bytes::ZERO), ..ScalableParams::default() };
    let config = WindowedConfig { avoidance: Arc::new(params), slow_start: none(), ..Default::default() };
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    (0..25).for_each(|_| {
        flow.ack(NS, 1, CLEAN);
    });
    assert_eq!(flow.cwnd(), MSS * 100 + Bytes::new(25 * 1448 / 200));
}

/// spec/mds section 3: below lwnd Scalable grows as Reno does.
#[test]
fn scalable_is_reno_below_lwnd() {
    let lwnd = MSS * 101;
    let params = ScalableParams { lwnd: Some(lwnd), ..ScalableParams::default() };
    let config = WindowedConfig { avoidance: Arc::new(params), slow_start: none(), ..Default::default() };
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), lwnd);
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), lwnd + Bytes::new(7));
}

/// spec/mds section 3: with fast convergence a response below the last `W_max` gives up more of it.
#[test]
fn cubic_converges_fast() {
    for (fast_convergence, w_max) in [(true, MSS * 70 * 17 / 20), (false, MSS * 70)] {
        let params = CubicParams { fast_convergence, grow_on_marked: false, ..CubicParams::default() };
        let config = WindowedConfig { avoidance: Arc::new(params), slow_start: none(), ..Default::default() };
        let mut cubic = Driver::new(&config, MSS * 100, RTT);
        // Avoidance starts with this ACK, at a W_max that the response then equals.
        cubic.ack(NS, 1, CE);
        assert_eq!(cubic.probe("w_max_bytes"), Some((MSS * 100).as_f64()), "not below the last");
        assert_eq!(cubic.cwnd(), MSS * 70);
        cubic.lose();
        assert_eq!(cubic.probe("w_max_bytes"), Some(w_max.as_f64()));
    }
}

/// spec/mds section 3: marked ACKs grow CUBIC unless told otherwise.
#[test]
fn marked_acks_grow_cubic_by_choice() {
    for grow_on_marked in [true, false] {
        let params = CubicParams { grow_on_marked, ..CubicParams::default() };
        let config = WindowedConfig { avoidance: Arc::new(params), slow_start: none(), ..Default::default() };
        let mut cubic = Driver::new(&config, MSS * 100, RTT);
        cubic.ack(NS, 1, CE);
        assert_eq!(cubic.cwnd() > MSS * 70, grow_on_marked);
    }
}

/// spec/congestion-control section 3.1: AIMD(a, b) adds a segments and keeps b.
#[test]
fn aimd_takes_its_parameters() {
    let params = AimdParams { a: 0.5, b: 0.8, ..AimdParams::default() };
    let config = WindowedConfig { avoidance: Arc::new(params), slow_start: none(), ..Default::default() };
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 100 + MSS / 2);
    flow.lose();
    assert_eq!(flow.cwnd(), (MSS * 100 + MSS / 2).scale(0.8));
}

/// RFC 5681 section 3.1: after a timeout one segment, then slow start up to half of the flight; a second
/// timeout in the same window leaves ssthresh.
#[test]
fn a_timeout_restarts_from_one_segment() {
    let config = WindowedConfig { slow_start: none(), ..Default::default() };
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.ack(NS, 1, CLEAN);
    let flight = flow.path().in_flight;
    flow.time_out(true);
    assert_eq!(flow.cwnd(), MSS);
    assert_eq!(flow.cc.control().ssthresh, flight / 2);
    flow.time_out(false);
    assert_eq!(flow.cc.control().ssthresh, flight / 2);
    assert!(!flow.avoids());
    while !flow.avoids() {
        let before = flow.cwnd();
        flow.ack(NS, 1, CLEAN);
        assert!(flow.cwnd() <= before + MSS);
    }
    assert_eq!(flow.cwnd(), flight / 2);
}

/// spec/congestion-control section 1.12: a spurious loss or timeout is undone; a CE is not.
#[test]
fn spurious_responses_are_undone() {
    let avoidance = Arc::new(CubicParams::default());
    let config = WindowedConfig { avoidance, slow_start: none(), ..Default::default() };
    let start = || {
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.ack(NS, 1, CE);
        flow.ack(RTT, 101, CLEAN);
        let before = (flow.cwnd(), flow.cc.control().ssthresh, flow.probe("w_max_bytes"));
        (flow, before)
    };
    for spurious in [Driver::lose, |flow: &mut Driver| flow.time_out(true)] {
        let (mut flow, before) = start();
        spurious(&mut flow);
        assert!(flow.cwnd() < before.0);
        flow.undo();
        assert_eq!((flow.cwnd(), flow.cc.control().ssthresh, flow.probe("w_max_bytes")), before);
        assert!(flow.avoids());
    }
    let (mut flow, before) = start();
    flow.ack(NS, 1, CE);
    flow.undo();
    assert!(flow.cwnd() < before.0);
}

/// The message names a parameter for which the algorithm is not defined.
#[test]
fn impossible_parameters_are_refused() {
    let refused = |config: WindowedConfig| config.check().expect_err("out of range").key;
    let avoidance = |avoidance| WindowedConfig { avoidance, ..Default::default() };
    let slow_start = |slow_start| WindowedConfig { slow_start, ..Default::default() };
    let bad = f64::NAN;
    assert_eq!(refused(avoidance(Arc::new(AimdParams { a: 0.0, ..Default::default() }))), "a");
    assert_eq!(refused(avoidance(Arc::new(AimdParams { b: 1.0, ..Default::default() }))), "b");
    assert_eq!(refused(avoidance(Arc::new(CubicParams { c: Some(bad), ..Default::default() }))), "c");
    let scalable = ScalableParams { b: Some(0.0), ..Default::default() };
    assert_eq!(refused(avoidance(Arc::new(scalable))), "b");
    let standard = StandardParams { exit_sce: Some(0), ..Default::default() };
    assert_eq!(refused(slow_start(Arc::new(standard))), "exit_sce");
    let essp = EsspParams { delay_factor: 0.9, ..Default::default() };
    assert_eq!(refused(slow_start(Arc::new(essp))), "delay_factor");
    let response = Arc::new(MdsParams { ce_md: Some(1.5), ..Default::default() });
    let error = WindowedConfig { response, ..Default::default() }.check().expect_err("out of range");
    assert_eq!(error.to_string(), "ce_md = 1.5 is out of range: more than 0 and less than 1");
    let reno = Arc::new(RenoParams::default());
    assert_eq!(avoidance(reno).check(), Ok(()));
}
