//! What changes during a run: delays, limits, elements, applications, at times and by the state of a controller.

use std::sync::Arc;

use proptest::prelude::*;
use windtunnel_sim::application::{ApplicationConfig, CbrParams, MediaParams, RateChange};
use windtunnel_sim::element::{Affects, ElementParams, JitterParams, JitterShape, LossParams};
use windtunnel_sim::{
    Action, Change, ChangeSummary, During, FlowSummary, Network, RunResult, Transport, When, Window,
};
use windtunnel_units::{Bytes, Duration, Probability, Rate, Time};

use crate::fixtures::{Traffic, dumbbell, fixed, path, reno, run};

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Datagrams of 1200 bytes, one in a millisecond.
fn cbr() -> Traffic {
    let params = CbrParams { rate: Rate::from_bits_per_sec(9_600_000), ..CbrParams::default() };
    (Transport::Udp, ApplicationConfig::Cbr(params))
}

fn window(name: &str, from: u64, to: u64) -> Window {
    Window { name: name.to_owned(), from: at(from), to: at(to) }
}

fn in_window(result: &RunResult, window: usize) -> &FlowSummary {
    &result.summary.windows[window].flows[0]
}

/// A link's delay grows by 5 ms, falls by 5 ms, and so on: the round trip of a lone segment follows. 20.12 ms is
/// [`crate::paths`]' round trip without it.
#[test]
fn a_delay_changes_and_returns() {
    let mut spec = dumbbell(&[1], 1000, 0, Duration::from_secs(4));
    let longer = Change { at: Some(at(1000)), delay: Some(Duration::from_millis(5)), ..Change::default() };
    let back = Change { at: Some(at(2000)), delay: Some(Duration::ZERO), ..Change::default() };
    spec.links[0].params.changes = vec![longer, back];
    spec.windows = vec![window("a", 100, 1000), window("b", 1100, 2000), window("c", 2100, 4000)];
    let result = run(spec);
    for (index, expected) in [20.12, 25.12, 20.12].into_iter().enumerate() {
        let rtt = in_window(&result, index).rtt_ms.expect("samples");
        assert!((rtt.max - expected).abs() < 1e-9 && (rtt.min - expected).abs() < 1e-9, "{index}: {rtt:?}");
    }
    let what: Vec<_> =
        result.summary.changes.iter().map(|change| (change.t_s, change.what.as_str())).collect();
    let name = &result.summary.queues[0].name;
    let [longer, back] = ["5 ms", "0 s"].map(|delay| format!("{name}: delay {delay}"));
    assert_eq!(what, [(Some(1.0), longer.as_str()), (Some(2.0), back.as_str())]);
}

/// A delay that falls from 20 ms to 1 ms: datagrams keep their order, and those sent meanwhile wait for the ones before
/// them; with `reorder` they overtake. Either way none is lost or counted twice.
#[test]
fn a_shorter_delay_reorders_only_if_asked() {
    for reorder in [false, true] {
        let mut spec = path(vec![cbr()], 2, Vec::new(), Vec::new(), 1);
        spec.links[0].params.delay = Duration::from_millis(20);
        let shorter =
            Change { at: Some(at(500)), delay: Some(Duration::from_millis(1)), reorder, ..Change::default() };
        spec.links[0].params.changes = vec![shorter];
        let datagrams = run(spec).summary.flows[0].datagrams.expect("datagrams");
        assert_eq!((datagrams.lost, datagrams.duplicates), (0, 0));
        let jitter = datagrams.jitter_ms.expect("variation");
        // In order the delay falls by the gaps between datagrams; overtaking, once by 19 ms and back for each one.
        assert_eq!(reorder, jitter * datagrams.received as f64 > 2.0 * 19.0, "{jitter}");
    }
}

/// The limit bounds the queue: 60 packets of 1228 bytes take 59 ms at 10 Mbit/s, and 10 take 10 ms.
#[test]
fn a_limit_changes() {
    let fast = CbrParams { rate: Rate::from_mbps(20), packet_size: Bytes::new(1250), ..CbrParams::default() };
    let mut spec = path(vec![(Transport::Udp, ApplicationConfig::Cbr(fast))], 2, Vec::new(), Vec::new(), 2);
    spec.links[0].params.changes = vec![Change {
        at: Some(at(1000)),
        limit: Some("10 packets".parse().expect("a length")),
        ..Change::default()
    }];
    spec.windows = vec![window("before", 500, 1000), window("after", 1200, 2000)];
    let result = run(spec);
    let [before, after] =
        [0, 1].map(|window| result.summary.windows[window].queues[0].sojourn_ms.expect("samples").max);
    assert!((59.0..=60.0).contains(&before) && (9.0..=10.0).contains(&after), "{before} and {after} ms");
}

fn with_during(element: impl ElementParams, during: During) -> Network {
    let mut spec = path(vec![cbr()], 2, vec![Arc::new(element)], Vec::new(), 2);
    spec.elements[0].during = Some(during);
    spec
}

fn held_for(mean: Duration) -> JitterParams {
    JitterParams {
        distribution: JitterShape::Fixed.into(),
        mean: Some(mean),
        deviation: None,
        reorder: false,
    }
}

fn loss() -> LossParams {
    LossParams { probability: Probability::ONE, affects: Affects::All }
}

/// An element that loses all works from 300 to 400 ms of each half second: one packet in five is lost.
#[test]
fn an_element_works_during_its_spans() {
    let during =
        During { from: at(300).into(), to: Some(at(400).into()), every: Some(Duration::from_millis(500)) };
    let datagrams = run(with_during(loss(), during)).summary.flows[0].datagrams.expect("datagrams");
    assert_eq!(datagrams.lost, 4 * 100, "{datagrams:?}");
}

/// What a jitter holds at its end leaves before what comes after it.
#[test]
fn an_element_that_ends_lets_nothing_overtake() {
    let jitter = held_for(Duration::from_millis(40));
    let during = During { from: at(500).into(), to: Some(at(1000).into()), every: None };
    let result = run(with_during(jitter, during));
    let datagrams = result.summary.flows[0].datagrams.expect("datagrams");
    assert_eq!((datagrams.lost, datagrams.duplicates), (0, 0));
    // The delay falls by 1 ms per datagram, and is never that of a packet that overtook: its variations sum to 80 ms.
    let sum = datagrams.jitter_ms.expect("variation") * (datagrams.received - 1) as f64;
    assert!((79.0..=82.0).contains(&sum), "{sum}");
}

/// 300 datagrams in the first 300 ms, 700 more at twice the rate; media double, too.
#[test]
fn an_application_changes_its_rate() {
    let change = |rate| vec![RateChange { at: Some(at(1000)), when: None, rate }];
    let params = CbrParams {
        rate: Rate::from_bits_per_sec(2_400_000),
        changes: change(Rate::from_bits_per_sec(4_800_000)),
        ..CbrParams::default()
    };
    let cbr = (Transport::Udp, ApplicationConfig::Cbr(params));
    let params = MediaParams {
        rate: Rate::from_mbps(1),
        changes: change(Rate::from_mbps(2)),
        ..MediaParams::default()
    };
    let media = (Transport::Udp, ApplicationConfig::Media(params));
    let result = run(path(vec![cbr, media], 2, Vec::new(), Vec::new(), 3));
    let sent = result.summary.flows[0].datagrams.expect("datagrams").sent;
    assert!((250 + 2 * 500 - 1..=250 + 2 * 500 + 1).contains(&sent), "{sent}");
    let goodput = result.summary.flows[1].goodput_mbps;
    assert!((goodput - (1.0 + 2.0 + 2.0) / 3.0).abs() < 0.03, "{goodput}");
}

/// The link slows down 100 ms after the first ACK at which the window exceeds 100 segments, and not before 500 ms. What
/// is never true stays undone, and the summary says so.
#[test]
fn a_state_calls_for_a_change() {
    let spec = |above: f64, not_before: u64| {
        let mut spec = path(vec![(reno(), ApplicationConfig::Bulk)], 40, Vec::new(), Vec::new(), 2);
        let when = When {
            column: "cwnd_bytes".to_owned(),
            above: Some(above),
            after: Duration::from_millis(100),
            not_before: at(not_before),
            ..When::default()
        };
        spec.links[0].params.changes =
            vec![Change { when: Some(when), rate: Some(Rate::from_mbps(1)), ..Change::default() }];
        spec
    };
    let seconds = |result: RunResult| -> Option<f64> {
        let [ChangeSummary { t_s, when: Some(when), .. }] = &result.summary.changes[..] else {
            panic!("one change")
        };
        assert!(when.starts_with("flow 0, cwnd_bytes > "), "{when}");
        *t_s
    };
    let columns = run(spec(20.0 * 1448.0, 0));
    let first = seconds(columns).expect("slow start passes 20 segments");
    assert!((0.1 + 0.08..0.1 + 0.3).contains(&first), "{first}");
    let later = seconds(run(spec(20.0 * 1448.0, 500))).expect("the window is above it then");
    assert!((0.6..0.65).contains(&later), "{later}");
    assert_eq!(seconds(run(spec(1e12, 0))), None);
}

/// A flow that starts when another's window exceeds 20 segments.
#[test]
fn a_state_calls_for_a_start() {
    let flows = vec![(reno(), ApplicationConfig::Bulk), (fixed(2), ApplicationConfig::Bulk)];
    let mut spec = path(flows, 40, Vec::new(), Vec::new(), 2);
    spec.plan.retain(|(_, action)| *action == Action::Start(0));
    let when = When { column: "cwnd_bytes".to_owned(), above: Some(20.0 * 1448.0), ..When::default() };
    spec.triggers = vec![(Box::new(when), Action::Start(1))];
    let result = run(spec);
    let [ChangeSummary { t_s: Some(start), what, .. }] = &result.summary.changes[..] else {
        panic!("one change")
    };
    assert!(what.ends_with("starts") && *start > 0.08, "{what} at {start}");
    assert!(result.summary.flows[1].goodput_mbps > 0.0);
}

/// A condition on a column that the flow does not have.
#[test]
fn an_unknown_column() {
    let mut spec = path(vec![(reno(), ApplicationConfig::Bulk)], 40, Vec::new(), Vec::new(), 2);
    let when = When { column: "mode".to_owned(), equals: Some(1.0), ..When::default() };
    spec.triggers = vec![(Box::new(when), Action::Stop(0))];
    let message =
        windtunnel_sim::Simulation::try_new(spec).map(drop).expect_err("no such column").to_string();
    assert!(message.contains("has no column `mode`; it has "), "{message}");
}

proptest! {
    /// Spans and delays lose no packet and make none: all that was sent arrives or is under way.
    #[test]
    fn changes_conserve_packets(
        spans in prop::collection::vec((0_u64..1500, 1_u64..500), 1..3),
        delays in prop::collection::vec((0_u64..1500, 0_u64..80, any::<bool>()), 0..4),
        jitter_us in 0_u64..60_000,
    ) {
        let jitter = held_for(Duration::from_micros(jitter_us));
        let elements = spans.iter().map(|_| Arc::new(jitter.clone()) as Arc<dyn ElementParams>).collect();
        let mut spec = path(vec![cbr()], 2, elements, Vec::new(), 3);
        for (element, (from, length)) in spec.elements.iter_mut().zip(&spans) {
            let to = Some(at(from + length).into());
            element.during = Some(During { from: at(*from).into(), to, every: None });
        }
        spec.plan.push((at(2000), Action::Stop(0)));
        let change = |(ms, delay, reorder): (u64, u64, bool)| Change {
            at: Some(at(ms)), delay: Some(Duration::from_millis(delay)), reorder, ..Change::default()
        };
        spec.links[0].params.changes = delays.into_iter().map(change).collect();
        let datagrams = run(spec).summary.flows[0].datagrams.expect("datagrams");
        prop_assert_eq!((datagrams.received, datagrams.lost, datagrams.duplicates), (2000, 0, 0));
    }
}
