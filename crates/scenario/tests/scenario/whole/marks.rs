//! A queue's marks and drops, in its summary and in the single events, are those that its flows see.

use windtunnel_sim::RunResult;
use windtunnel_sim::recorder::columns::Column;

use super::run;

/// Four flows that PIE controls, in a short queue that is full at first.
const PIE: &str = "duration = \"60 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
    queue = { kind = \"pie\", ecn = true, limit = \"200 packets\" }\n\
    [[flow]]\ncc = \"reno\"\nrtt = \"40 ms\"\ncount = 4\necn = true\n";

/// The number of single events of this kind (0 SCE, 1 CE, 2 drop).
fn points(result: &RunResult, kind: u8) -> u64 {
    let table = result.tables.iter().find(|table| table.name == "mark_points").expect("points are recorded");
    match table.columns.iter().find(|(column, _)| *column == "kind") {
        Some((_, Column::U8(kinds))) => kinds.iter().map(|k| u64::from(*k == kind)).sum(),
        other => panic!("{other:?}"),
    }
}

/// The number of dequeues with this mark.
fn dequeues(result: &RunResult, mark: u8) -> u64 {
    let table = result.tables.iter().find(|table| table.name == "dequeue_events").expect("events are kept");
    match table.columns.iter().find(|(column, _)| *column == "mark") {
        Some((_, Column::U8(marks))) => marks.iter().map(|m| u64::from(*m == mark)).sum(),
        other => panic!("{other:?}"),
    }
}

/// PIE decides when a packet arrives (RFC 8033 section 4.1): every CE that a receiver sees was set by PIE, and at the
/// end at most one window of marked packets is in flight.
#[test]
fn marks_on_arrival_are_counted_at_the_queue() {
    let result = run(PIE, &[]);
    let summary = &result.summary;
    let set = summary.queues[0].ce;
    let seen: u64 = summary.flows.iter().map(|flow| flow.ce_marks).sum();
    assert!(seen > 100, "{seen} marks");
    assert!((seen..=seen + 200).contains(&set), "{set} set, {seen} seen");
    assert!((1..=set).contains(&points(&result, 1)));
}

/// Each dequeue says whether the packet leaves marked by this queue, also where the AQM decides on its arrival: the
/// marks of dequeues equal those that the queue has set, except for packets that it still holds, and those that the
/// receivers have seen, except for packets in flight. Loss-free endpoints get packets that would have been dropped:
/// their mark is a drop (3).
#[test]
fn dequeues_show_marks_on_arrival() {
    let red = "bottleneck.queue={ kind = \"red\", ecn = true, min = \"30 kB\", max = \"90 kB\", limit = \"300 kB\", bandwidth = \"20 Mbit/s\" }";
    for settings in [
        &["record.events=true"][..],
        &["record.events=true", "record.packets=true"],
        &["record.events=true", red],
    ] {
        let result = run(PIE, &[settings, &["duration=20 s"]].concat());
        let set = result.summary.queues[0].ce;
        let seen: u64 = result.summary.flows.iter().map(|flow| flow.ce_marks).sum();
        let left = dequeues(&result, 2);
        assert!(set > 50, "{settings:?}: {set} marks");
        assert!((seen..=seen + 100).contains(&left), "{settings:?}: {left} left, {seen} seen");
        assert!((left..=left + 200).contains(&set), "{settings:?}: {left} left, {set} set");
    }
    let ideal = "duration = \"5 s\"\nendpoints = \"ideal\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
        queue = { kind = \"pie\", limit = \"200 packets\" }\n[record]\nevents = true\n\
        [[flow]]\ncc = \"reno\"\nrtt = \"40 ms\"\ncount = 4\necn = true\n";
    let result = run(ideal, &[]);
    let drops = result.summary.queues[0].drops;
    assert!(drops.aqm + drops.full > 10, "{drops:?}");
    assert_eq!(dequeues(&result, 3), drops.aqm + drops.full, "{drops:?}");
}

/// Each loss is a single event, whether the queue was full or the AQM dropped it, as long as losses are far apart.
#[test]
fn drops_are_single_events_whoever_drops() {
    let result = run(PIE, &["bottleneck.queue.ecn=false"]);
    let drops = result.summary.queues[0].drops;
    assert!(drops.aqm > 100, "{drops:?}");
    let seen = points(&result, 2);
    assert!((drops.aqm / 2..=drops.aqm + drops.full).contains(&seen), "{seen} of {drops:?}");
}
