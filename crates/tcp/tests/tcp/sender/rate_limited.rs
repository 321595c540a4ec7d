//! Rate-limited increase: how far a window grows that is not used up (draft-ietf-ccwg-ratelimited-increase section 3 and its
//! appendix; docs/spec/ccwg-2026 section C), and the gates that it competes with.

use std::sync::Arc;

use windtunnel_cc::{ControllerParams, FlowInit, Style, catalogue};
use windtunnel_tcp::{GrowthGate, IdleRule, TcpParams};
use windtunnel_units::{Bytes, Duration};

use super::harness::{Lab, MSS, Script, Setup, lost};

fn controller(name: &str) -> Arc<dyn ControllerParams> {
    let mut all = catalogue(Style::Linux).into_iter();
    all.find(|params| params.name() == name).expect("a built-in controller")
}

/// A flow whose receiver acknowledges `every` segments, with a threshold in segments.
fn lab(name: &str, gate: GrowthGate, every: u32, ssthresh: Option<u64>, script: Script) -> Lab {
    let params = TcpParams { growth_gate: gate, idle: IdleRule::None, ..crate::fixed_window() };
    let ssthresh = ssthresh.map(|segments| MSS * segments);
    let cc = controller(name).build(FlowInit { ssthresh, ..FlowInit::new(MSS) });
    let setup = Setup { params, every, ..Setup::default() };
    Lab::with(cc, setup, script)
}

/// Lets the application write `segments`, which leave at once, and returns cwnd after each ACK, in segments.
fn round(lab: &mut Lab, segments: u64) -> Vec<u64> {
    lab.spacing = Duration::from_micros(400);
    let end = lab.now + Duration::from_millis(150);
    lab.write(segments);
    let (mut windows, mut in_flight) = (Vec::new(), lab.sender.in_flight());
    while lab.now < end {
        lab.run_exactly_until(lab.now + Duration::from_micros(50));
        if lab.sender.in_flight() < in_flight {
            windows.push(lab.cwnd());
        }
        in_flight = lab.sender.in_flight();
    }
    assert_eq!(in_flight, Bytes::ZERO, "the round is over");
    windows
}

fn rounds(lab: &mut Lab, flights: &[u64]) -> Vec<Vec<u64>> {
    flights.iter().map(|segments| round(lab, *segments)).collect()
}

/// Docs/spec/ccwg-2026 section C, first vector: slow start with an initial window of 10, and rounds of 4, 8, 4 and 20
/// segments. The window stops at twice the largest flight, and the text's example with an ACK for two segments agrees.
#[test]
fn slow_start_ends_at_twice_the_largest_flight() {
    let flights = [4, 8, 4, 20];
    let mut each = lab("reno", GrowthGate::MaxFlight, 1, None, Script::default());
    let expected = [
        vec![11, 12, 13, 14],
        vec![15, 16, 17, 18, 19, 20, 20, 20],
        vec![20; 4],
        (21..=40).collect::<Vec<u64>>(),
    ];
    assert_eq!(rounds(&mut each, &flights), expected);

    let mut second = lab("reno", GrowthGate::MaxFlight, 2, None, Script::default());
    let expected =
        [vec![12, 14], vec![16, 18, 20, 20], vec![20, 20], (22..=40).step_by(2).collect::<Vec<u64>>()];
    assert_eq!(rounds(&mut second, &flights), expected);
}

/// The text's section 3.1 (second vector): 10 segments, a pause, 4 segments. Without the rule W becomes 24. Linux permits
/// twice of what was out within the last window. RFC 9002 section 7.8 permits the first ACK alone: it finds the window full,
/// and after it nothing waits to be sent.
#[test]
fn gates_compared() {
    for (gate, expected) in [
        (GrowthGate::MaxFlight, [20, 20]),
        (GrowthGate::None, [20, 24]),
        (GrowthGate::Linux, [20, 20]),
        (GrowthGate::Rfc9002, [11, 11]),
    ] {
        let mut lab = lab("reno", gate, 1, None, Script::default());
        let ends = rounds(&mut lab, &[10, 4]).into_iter().map(|windows| windows[windows.len() - 1]);
        assert_eq!(ends.collect::<Vec<u64>>(), expected, "{gate:?}");
    }
}

/// Fourth vector: a loss at W = 40 leaves 20, and the flight counts anew. A flight of 6 grows nothing; one of 20 fills the
/// window, which grows as ever.
#[test]
fn a_reduction_forgets_the_largest_flight() {
    let mut lab = lab("reno", GrowthGate::MaxFlight, 1, None, lost([30]));
    let slow_start = rounds(&mut lab, &[10, 20]);
    assert_eq!(slow_start.concat().last(), Some(&40));
    let recovery = round(&mut lab, 40);
    assert_eq!(recovery.last(), Some(&20));
    assert_eq!(round(&mut lab, 6), vec![20; 6]);
    assert_eq!(round(&mut lab, 20).last(), Some(&21));
}

/// "The first `FlightSize` measurement taken after the cwnd reduction" (section 3) is that of the ACK that showed the loss. The
/// lost segment was the first of 40, so that all 40 count until it is repaired: flights of 8 then grow W to 41.
#[test]
fn the_flight_at_a_loss_counts() {
    let mut lab = lab("reno", GrowthGate::MaxFlight, 1, None, lost([30]));
    rounds(&mut lab, &[10, 20, 40]);
    let windows = rounds(&mut lab, &[8; 120]).concat();
    assert_eq!(windows.iter().max(), Some(&41));
}
