//! LIA, OLIA and BALIA as their sender sees them: subflows with known windows and round-trip times.

use std::sync::Arc;

use windtunnel_cc::{
    AimdGrowth, AvoidanceParams, BaliaParams, ControllerParams, Ignored, LiaParams, OliaParams, RenoParams,
    Subflow, Unresponsive, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{CE, CLEAN, Driver, MSS, init};
use crate::parts::{none, standard};

const GAP: Duration = Duration::from_millis(1);
const MS: fn(u64) -> Duration = Duration::from_millis;

fn laws() -> [Arc<dyn AvoidanceParams>; 3] {
    [Arc::new(LiaParams {}), Arc::new(OliaParams {}), Arc::new(BaliaParams {})]
}

/// Segments arrive, and do not grow the window.
fn deliver(flow: &mut Driver, segments: u64) {
    flow.barred = true;
    flow.ack(GAP, segments, CLEAN);
    flow.barred = false;
}

/// Subflows of one connection in congestion avoidance, with these windows in segments and round-trip times.
fn connection(avoidance: &Arc<dyn AvoidanceParams>, paths: &[(u64, Duration)]) -> Vec<Driver> {
    let subflows = Subflow::of_connection(paths.len());
    let config =
        WindowedConfig { avoidance: Arc::clone(avoidance), slow_start: none(), ..Default::default() };
    let subflow = |(subflow, &(segments, rtt)): (Subflow, &(u64, Duration))| {
        let mut cc = config.build(init(MSS * segments));
        cc.join(subflow);
        let mut flow = Driver::of(cc, rtt);
        // No slow start is over with the first ACK, which delivers nothing here.
        deliver(&mut flow, 0);
        flow
    };
    subflows.into_iter().zip(paths).map(subflow).collect()
}

/// spec/ccwg-2026 section P: 10 segments in 100 ms and 30 in 200 ms. A segment acknowledged adds 0.016 of one to each window
/// with LIA; 0.016 and 0.012 with OLIA; 0.022 and 0.012 with BALIA; of 1448 bytes. Reno adds 0.1 and 0.0333.
#[test]
fn an_ack_grows_by_the_share() {
    for (avoidance, added) in laws().iter().zip([[23, 23], [23, 17], [31, 17]]) {
        for (own, added) in added.into_iter().enumerate() {
            let mut flows = connection(avoidance, &[(10, MS(100)), (30, MS(200))]);
            // The path with the larger window is the best one: OLIA's alpha is 0.
            deliver(&mut flows[1], 1000);
            let before = flows[own].cwnd();
            flows[own].ack(GAP, 1, CLEAN);
            assert_eq!(flows[own].cwnd() - before, Bytes::new(added), "{own} of {avoidance:?}");
            // Fractions count: a hundred more ACKs add a hundred times as much, but for what the window has grown meanwhile.
            for _ in 0..100 {
                flows[own].ack(GAP, 1, CLEAN);
            }
            let more = (flows[own].cwnd() - before).as_f64();
            let share = [[0.016, 0.016], [0.016, 0.012], [0.022, 0.012]];
            let law = laws().iter().position(|law| law == avoidance).expect("one of them");
            let once = 101.0 * 1448.0 * share[law][own];
            assert!((0.75 * once..1.35 * once).contains(&more), "{own} of {avoidance:?}: {more} for {once}");
        }
    }
}

/// RFC 6356 section 3, and both drafts: a flow without a connection, the only subflow of one, and one whose peers never
/// become established are Reno, to the byte: here RFC 5681's, whose ACKs of a segment each add MSS² / cwnd. Losses, spurious
/// ones and marks do not tell them apart. Where slow start after a timeout uses a part of an ACK, only the rest of it counts,
/// where RFC 5681 counts the ACK: less than MSS² / cwnd.
#[test]
fn a_single_path_is_reno() {
    let windows = |avoidance: Arc<dyn AvoidanceParams>, subflow: Option<Subflow>, timeouts: bool| {
        let config = WindowedConfig { avoidance, slow_start: standard(), ..Default::default() };
        let mut cc = config.build(init(MSS * 10));
        if let Some(subflow) = subflow {
            cc.join(subflow);
        }
        let mut flow = Driver::of(cc, MS(50));
        let mut windows = Vec::new();
        for step in 0..3000 {
            match step % 500 {
                100 => flow.lose(),
                200 if timeouts => flow.time_out(true),
                300 => {
                    flow.lose();
                    flow.ack(GAP, 1, CLEAN);
                    flow.undo();
                }
                400 => {
                    flow.ack(GAP, 1, CE);
                }
                _ => {
                    flow.ack(GAP, 1, CLEAN);
                }
            }
            windows.push(flow.cwnd());
        }
        windows
    };
    for timeouts in [false, true] {
        let reno = windows(Arc::new(RenoParams { growth: Some(AimdGrowth::PerAck) }), None, timeouts);
        for avoidance in laws() {
            let (only, among) = (Subflow::of_connection(1).remove(0), Subflow::of_connection(3).remove(1));
            for subflow in [None, Some(only), Some(among)] {
                let coupled = windows(Arc::clone(&avoidance), subflow, timeouts);
                let differs = |(a, b): (&Bytes, &Bytes)| a.as_f64() - b.as_f64();
                let most = coupled.iter().zip(&reno).map(differs).fold(0.0, |most: f64, d| most.max(d.abs()));
                let allowed = if timeouts { 0.1 * MSS.as_f64() } else { 0.0 };
                assert!(most <= allowed, "{avoidance:?}: {most} bytes");
            }
        }
    }
}

/// A loss leaves half with LIA and OLIA. BALIA on the slower path takes 1.5 times half, and half on the faster.
#[test]
fn what_a_loss_leaves() {
    for (avoidance, left) in laws().iter().zip([[5.0, 15.0], [5.0, 15.0], [2.5, 15.0]]) {
        for signal in 0..2 {
            for (own, left) in left.iter().enumerate() {
                let mut flows = connection(avoidance, &[(10, MS(100)), (30, MS(200))]);
                match signal {
                    0 => flows[own].lose(),
                    _ => assert_eq!(flows[own].ack(GAP, 1, CE), Some(true)),
                }
                assert!((flows[own].segments() - left).abs() < 1e-3, "{own} of {avoidance:?}");
                assert_eq!(
                    flows[1 - own].cwnd(),
                    MSS * [10, 30][1 - own],
                    "a loss is answered by its subflow"
                );
            }
        }
    }
}

/// ssthresh is one segment at least where OLIA and BALIA have several subflows, and two with one, as with LIA. One that is
/// not established does not count.
#[test]
fn the_least_ssthresh() {
    for (avoidance, least) in laws().iter().zip([2, 1, 1]) {
        for (paths, least) in [(&[(2, MS(100)), (2, MS(100))][..], least), (&[(2, MS(100))], 2)] {
            let mut flows = connection(avoidance, paths);
            flows[0].lose();
            flows[0].lose();
            let control = flows[0].cc.control();
            assert_eq!((control.cwnd, control.ssthresh), (MSS * least, MSS * least), "{avoidance:?}");
            flows[0].time_out(true);
            assert_eq!(flows[0].cc.control().ssthresh, MSS * least, "{avoidance:?}");
        }
    }
}

/// OLIA's l: 40 segments until the first loss, then 3, and 5 since the second: max(3, 5). A loss that turns out to be none
/// did not happen; two without a delivery between them are one.
#[test]
fn bytes_between_losses() {
    let mut flow = connection(&laws()[1], &[(100, MS(100))]).remove(0);
    let acks = |flow: &mut Driver, segments| {
        for _ in 0..segments {
            flow.ack(GAP, 1, CLEAN);
        }
    };
    let counted = |flow: &Driver| flow.probe("between_losses_bytes").expect("known") / MSS.as_f64();
    let mut seen = Vec::new();
    for segments in [40, 3, 5] {
        acks(&mut flow, segments);
        seen.push(counted(&flow));
        flow.lose();
    }
    assert_eq!(seen, [40.0, 40.0, 5.0]);
    acks(&mut flow, 2);
    flow.lose();
    flow.lose();
    assert_eq!(counted(&flow).to_bits(), 2.0_f64.to_bits(), "2 since the loss before, 0 since this one");
    acks(&mut flow, 10);
    flow.lose();
    acks(&mut flow, 4);
    flow.undo();
    assert_eq!(counted(&flow).to_bits(), 14.0_f64.to_bits());
}

/// OLIA moves window from the largest to the best: the smaller window delivered more since its last loss, and l² / rtt is
/// larger there. The larger one shrinks, though its share of Reno's increase is 0.36 without that; the smaller one grows
/// faster than the share 0.16 would have it.
#[test]
fn olia_moves_window() {
    let mut flows = connection(&laws()[1], &[(10, MS(100)), (30, MS(200))]);
    deliver(&mut flows[0], 8);
    deliver(&mut flows[1], 2);
    let (small, large) = (flows[0].probe("share"), flows[1].probe("share"));
    assert!(small.is_some_and(|share| (share - 0.66).abs() < 0.01), "{small:?}");
    assert!(large.is_some_and(|share| (share + 0.14).abs() < 0.01), "{large:?}");
    let before = flows[1].cwnd();
    for _ in 0..30 {
        flows[1].ack(GAP, 1, CLEAN);
        flows[0].ack(GAP, 1, CLEAN);
        flows[0].ack(GAP, 1, CLEAN);
    }
    let shrunk = (before - flows[1].cwnd()).as_f64() / MSS.as_f64();
    assert!((0.05..0.2).contains(&shrunk), "0.14 of a segment per window at first: {shrunk}");
}

/// A controller that ignores losses is a subflow of its connection all the same.
#[test]
fn an_unresponsive_subflow_joins() {
    let config =
        WindowedConfig { avoidance: Arc::new(BaliaParams {}), slow_start: none(), ..Default::default() };
    let mut flows = Vec::new();
    for subflow in Subflow::of_connection(2) {
        let mut cc = Unresponsive::new(config.build(init(MSS * 10)), Ignored::Losses);
        windtunnel_cc::CongestionControl::join(&mut cc, subflow);
        flows.push(Driver::of(Box::new(cc), MS(100)));
    }
    assert!(flows.iter().all(|flow| flow.probe("share") == Some(0.25)));
}
