//! The tables of state: `cc` of the flows' controllers, `aqm` of the queues.

use windtunnel_sim::recorder::columns::Column;
use windtunnel_sim::{RunResult, StateRecording};

use crate::recording::{f64s, mixed, table};

/// The flow or queue of each row.
fn subjects<'a>(result: &'a RunResult, name: &str, column: &str) -> &'a [u32] {
    let (_, column) = table(result, name).columns.iter().find(|(n, _)| *n == column).expect("column");
    let Column::U32(values) = column else { panic!("not a column of indices") };
    values
}

fn has(result: &RunResult, name: &str) -> bool {
    result.tables.iter().any(|t| t.name == name)
}

/// At each interval one row of each controller and each queue, at the times of the other tables. Datagrams have no controller,
/// and a flow that stands for many connections has many.
#[test]
fn there_is_a_row_for_each_interval() {
    let result = mixed(StateRecording::Interval);
    let intervals = f64s(&result, "queues", "time_s");
    assert_eq!(f64s(&result, "cc", "time_s"), intervals);
    assert!(subjects(&result, "cc", "flow").iter().all(|flow| *flow == 0));
    assert_eq!(f64s(&result, "aqm", "time_s"), intervals);
    // The queue's own numbers equal those that the recorder has counted.
    let departures = f64s(&result, "aqm", "departures");
    assert!(departures.is_sorted());
    assert_eq!(*departures.last().expect("rows") as u64, result.summary.queues[0].dequeued);
    // Slow start, and congestion avoidance after the first loss.
    let stages = f64s(&result, "cc", "stage");
    assert!(stages.contains(&0.0) && stages.contains(&3.0), "{stages:?}");
}

/// Every change has a row, and only changes have; what holds at the end of an interval is the same as where only intervals are
/// recorded. Recording changes nothing.
#[test]
fn changes_are_recorded_where_they_happen() {
    let intervals = mixed(StateRecording::Interval);
    let changes = mixed(StateRecording::Changes);
    let off = mixed(StateRecording::Off);
    assert_eq!(intervals.summary.digest, changes.summary.digest);
    assert_eq!(intervals.summary.digest, off.summary.digest);
    assert!(!has(&off, "cc") && !has(&off, "aqm"));
    for (name, column) in [("cc", "stage"), ("cc", "recover_seq"), ("aqm", "departures")] {
        let (times, values) = (f64s(&changes, name, "time_s"), f64s(&changes, name, column));
        let (ends, last) = (f64s(&intervals, name, "time_s"), f64s(&intervals, name, column));
        assert!(times.is_sorted());
        for (end, value) in ends.iter().zip(last) {
            // The last change before the end of the interval; one at the very end may belong to the next.
            let next = times.partition_point(|t| t < end);
            let near = &values[next.max(1) - 1..values.len().min(next + 1)];
            assert!(near.contains(value), "{name}.{column} at {end} s: {value}, after {near:?}");
        }
    }
    // Each departure changes the count, so that each has a row.
    let departures = f64s(&changes, "aqm", "departures");
    let expected: Vec<f64> = (1..=changes.summary.queues[0].dequeued).map(|n| n as f64).collect();
    assert_eq!(departures[departures.len() - expected.len()..], expected);
}

/// Only modulators have accumulators: the events of a queue without one have no such columns.
#[test]
fn a_plain_queue_has_no_accumulators() {
    let mut spec = crate::fixtures::dumbbell(&[20], 100, 10, windtunnel_units::Duration::from_millis(500));
    spec.record.events = true;
    let result = crate::fixtures::run(spec);
    let events = table(&result, "dequeue_events");
    let names: Vec<&str> = events.columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["t_ns", "queue", "flow", "seq", "size", "sojourn_ns", "mark"]);
}
