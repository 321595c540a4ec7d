//! Scenarios in which hardly anything can get through: they end soon, and their summary says what happened.

use windtunnel_scenario::{Registry, Scenario};
use windtunnel_sim::{FlowSummary, Summary};

use crate::invariants;

/// Enough events for each of these runs.
const MOST_EVENTS: u64 = 200_000;

/// One CUBIC flow over 10 Mbit/s and 20 ms for 100 s, except where `settings` say otherwise.
fn run(settings: &[&str]) -> Summary {
    let text = "duration = \"100 s\"\nrecord = { interval = \"1 s\" }\n[bottleneck]\nrate = \"10 Mbit/s\"\n\
                [[flow]]\ncc = \"cubic\"\nrtt = \"20 ms\"\n";
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    let scenario = Scenario::parse(text, None, &settings, &Registry::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let summary = invariants::check(&scenario, MOST_EVENTS);
    summary.unwrap_or_else(|| panic!("{settings:?}: more than {MOST_EVENTS} events"))
}

/// The only flow.
fn flow(settings: &[&str]) -> FlowSummary {
    run(settings).flows.remove(0)
}

/// The number of timeouts within a number of seconds. Back-off doubles the timeout of data each time (RFC 6298 section
/// 5.5), from 200 ms plus a round trip up to 120 s.
fn timeouts(first_s: f64, within_s: f64) -> u64 {
    let (mut at, mut timeout, mut count) = (first_s, first_s, 0);
    while at < within_s {
        count += 1;
        timeout = (timeout * 2.0).min(120.0);
        at += timeout;
    }
    count
}

/// A SYN with its options: IPv4 20, TCP 20, MSS 4, SACK permitted 2, timestamps 10, padding 1, window scale 3 bytes.
const SYN: u64 = 60;

/// The ACK of its answer.
const ACK: u64 = 52;

/// SYNs in 100 s: after 0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67 s (Linux, whose first five timeouts are 1 s).
const SYNS: u64 = 11;

/// Nothing passes: the handshake goes on until the end, and each SYN is lost.
#[test]
fn everything_is_lost() {
    let flow = flow(&["bottleneck.impair={ kind = \"loss\", probability = \"100 %\" }"]);
    assert_eq!((flow.received_bytes, flow.sender.sent, flow.drops.wire), (0, Some(0), SYNS));
    assert_eq!(flow.limited.map(|limited| limited.handshake), Some(1.0));
}

/// The same if only the answers are lost: the receiver sees the SYNs, but no data.
#[test]
fn every_ack_is_lost() {
    let flow = flow(&["reverse={ impair = { kind = \"loss\", probability = \"100 %\" } }"]);
    assert_eq!((flow.received_bytes, flow.sender.sent), (SYNS * SYN, Some(0)));
    assert_eq!((flow.goodput_mbps, flow.limited.map(|l| l.handshake)), (0.0, Some(1.0)));
}

/// The handshake passes, data do not: the initial window, a tail loss probe, and the timeouts.
#[test]
fn all_data_are_lost() {
    let flow = flow(&["bottleneck.impair={ kind = \"loss\", probability = \"100 %\", affects = \"data\" }"]);
    assert_eq!((flow.received_bytes, flow.goodput_mbps), (SYN + ACK, 0.0));
    let rtos = flow.sender.rtos.expect("counted");
    assert_eq!((flow.sender.tlps, flow.sender.sent), (Some(1), Some(10 + 1 + rtos)));
    assert_eq!((Some(flow.drops.wire), flow.sender.delivered_bytes), (flow.sender.sent, Some(0)));
    assert!(rtos.abs_diff(timeouts(0.22, 100.0)) <= 1, "{rtos} timeouts");
}

/// The path fails after 1 s: nothing arrives after that.
#[test]
fn an_outage_to_the_end() {
    let outage = "bottleneck.impair={ kind = \"outage\", times = [{ from = \"1 s\", to = \"1000 s\" }] }";
    let flow = flow(&[outage]);
    assert!(flow.last_packet_s.is_some_and(|last| (0.9..1.02).contains(&last)), "{:?}", flow.last_packet_s);
    let rtos = flow.sender.rtos.expect("counted");
    assert!((8..=11).contains(&rtos), "{rtos} timeouts in 99 s");
}

/// The same with packets that wait for the outage to end: none are lost, and none arrive.
#[test]
fn an_outage_that_holds_to_the_end() {
    let outage =
        "bottleneck.impair={ kind = \"outage\", hold = true, times = [{ from = \"0 s\", to = \"1000 s\" }] }";
    let summary = run(&[outage]);
    assert_eq!((summary.flows[0].received_bytes, summary.flows[0].drops.wire), (0, 0));
    assert_eq!(summary.elements[0].held, SYNS, "the SYNs");
}

/// The whole window is offered from the start.
const FIXED: [&str; 2] = ["tcp.window_growth=false", "tcp.autotuning=false"];

/// A byte of fixed window is one unit of the scaled field, 128 bytes in a round trip, which is 20 ms and the
/// transmission of 180 bytes (0.14 ms).
#[test]
fn a_window_of_one_byte() {
    let flow = flow(&[&FIXED[..], &["tcp.receive_window=1 B", "flow[0].ack=immediate"]].concat());
    let expected = 128.0 * 8.0 / 0.020_144 / 1e6;
    assert!((0.99 * expected..=expected).contains(&flow.goodput_mbps), "{} of {expected}", flow.goodput_mbps);
    assert!(flow.limited.is_some_and(|limited| limited.receiver > 0.9), "{:?}", flow.limited);
}

/// A window of a quarter of a segment: data that fit into it leave (RFC 9293 section 3.8.6.2.1), 16 KiB in a round trip
/// of 20 ms and the transmission (13.1 ms).
#[test]
fn a_window_below_a_segment() {
    let flow =
        flow(&[&FIXED[..], &["mtu=65535 B", "tcp.receive_window=16 KiB", "flow[0].ack=immediate"]].concat());
    let expected = 16_384.0 * 8.0 / 0.0331 / 1e6;
    assert!(
        (0.98 * expected..1.01 * expected).contains(&flow.goodput_mbps),
        "{} of {expected}",
        flow.goodput_mbps
    );
}

/// Each burst of two packets loses one, and still something arrives.
#[test]
fn a_queue_of_one_packet() {
    let flow = flow(&["bottleneck.queue={ kind = \"fifo\", limit = \"1 packet\" }"]);
    assert!(flow.drops.full > 0 && flow.goodput_mbps > 0.1, "{flow:?}");
}

/// A packet takes 12 s: the link is busy to the end, with few packets, most of them retransmissions.
#[test]
fn a_thousand_bits_per_second() {
    let summary = run(&["bottleneck.rate=1 kbit/s"]);
    let (flow, queue) = (&summary.flows[0], &summary.queues[0]);
    assert!(queue.dequeued <= 10 && queue.utilization > 0.95, "{queue:?}");
    assert!(flow.goodput_mbps > 0.0 && flow.sender.rtos > Some(0), "{flow:?}");
}

/// The smallest packets allowed, 8 bytes of data each, and the shortest round trip.
#[test]
fn the_least_of_everything() {
    let flow = flow(&["mtu=60 B", "flow[0].rtt=1 ns", "bottleneck.rate=100 kbit/s"]);
    let share = 8.0 / 60.0;
    assert!((0.9 * share * 0.1..=share * 0.1).contains(&flow.goodput_mbps), "{} Mbit/s", flow.goodput_mbps);
}

/// A rate whose packets would leave at once is refused.
#[test]
fn an_application_without_a_pace() {
    let text = "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\n[[flow]]\nrtt = \"1 ms\"\n\
                app = { kind = \"cbr\", rate = \"1 Tbit/s\", packet_size = \"44 B\" }\n";
    let error = Scenario::parse(text, None, &[], &Registry::default())
        .expect_err("two datagrams in a nanosecond")
        .to_string();
    assert!(error.contains("app.rate") && error.contains("1 ns apart"), "{error}");
}
