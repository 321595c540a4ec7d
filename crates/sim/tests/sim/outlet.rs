//! Rows that leave a run while it goes on.

use std::sync::{Arc, Mutex};

use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::recorder::{GROUP, Sink};
use windtunnel_sim::{Network, RecordParams, RunResult, Simulation, StateRecording};
use windtunnel_units::{Bytes, Duration};

use crate::fixtures::{path, reno};

/// Keeps what leaves.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<Table>>>);

impl Sink for Kept {
    fn rows(&mut self, table: &Table) {
        self.0.lock().expect("one thread").push(table.clone());
    }
}

/// Two flows, with so short intervals that tables have many rows.
fn network(state: StateRecording) -> Network {
    let flows = vec![(reno(), ApplicationConfig::Bulk), (reno(), ApplicationConfig::Bulk)];
    let mut network = path(flows, 20, vec![], vec![], 2);
    network.record = RecordParams {
        interval: Duration::from_micros(40),
        points: Some(Duration::from_micros(1)),
        state,
        ..RecordParams::default()
    };
    network
}

/// The result, what left before the end and in the end, and the most memory that rows took.
fn streamed(network: Network) -> (RunResult, Vec<Table>, Bytes) {
    let kept = Kept::default();
    let mut simulation = Simulation::new(network);
    simulation.stream_to(Box::new(kept.clone()), Bytes::ZERO);
    let (mut most, end) = (Bytes::ZERO, simulation.end());
    while !simulation.run_slice(end, 1_000) {
        most = most.max(simulation.memory());
    }
    let result = simulation.finish();
    let left = std::mem::take(&mut *kept.0.lock().expect("one thread"));
    (result, left, most)
}

fn appended(column: &mut Column, more: &Column) {
    match (column, more) {
        (Column::F64(to), Column::F64(from)) => to.extend_from_slice(from),
        (Column::U64(to), Column::U64(from)) => to.extend_from_slice(from),
        (Column::U32(to), Column::U32(from)) => to.extend_from_slice(from),
        (Column::I32(to), Column::I32(from)) => to.extend_from_slice(from),
        (Column::U8(to), Column::U8(from)) => to.extend_from_slice(from),
        (Column::Bool(to), Column::Bool(from)) => to.extend_from_slice(from),
        (to, from) => panic!("{to:?} and {from:?}"),
    }
}

/// NaN equals NaN.
fn same(a: &Column, b: &Column) -> bool {
    match (a, b) {
        (Column::F64(a), Column::F64(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
        }
        (a, b) => a == b,
    }
}

/// The rows that leave, one after the other, are those of a run that keeps all, whichever state is recorded; each part
/// is a whole number of intervals and not much more than a group. What is kept is less.
#[test]
fn nothing_is_lost() {
    for state in [StateRecording::Interval, StateRecording::Changes] {
        let whole = Simulation::new(network(state)).finish();
        let (result, left, _) = streamed(network(state));
        assert_eq!(result.summary.digest, whole.summary.digest);
        assert_eq!(left.iter().any(|table| table.name == "cc"), state == StateRecording::Interval);
        let mut names: Vec<&str> = left.iter().map(|table| table.name).collect();
        names.sort_unstable();
        names.dedup();
        for name in ["flows", "queues"] {
            assert!(names.contains(&name), "{name} is long enough to leave");
        }
        for table in &whole.tables {
            let mut parts = left.iter().filter(|part| part.name == table.name);
            let Some(first) = parts.next() else {
                let stayed = result.tables.iter().find(|other| other.name == table.name).expect(table.name);
                for ((name, own), (_, other)) in table.columns.iter().zip(&stayed.columns) {
                    assert!(same(own, other), "{} {name}", table.name);
                }
                continue;
            };
            let mut all = first.clone();
            let mut rows = vec![first.columns[0].1.len()];
            for part in parts {
                rows.push(part.columns[0].1.len());
                for ((_, to), (_, from)) in all.columns.iter_mut().zip(&part.columns) {
                    appended(to, from);
                }
            }
            assert!(rows[..rows.len() - 1].iter().all(|rows| *rows >= GROUP), "{} {rows:?}", table.name);
            if table.name == "flows" {
                assert!(rows.iter().all(|rows| *rows <= GROUP + 1), "{rows:?}");
            }
            for ((name, own), (_, other)) in table.columns.iter().zip(&all.columns) {
                assert!(same(own, other), "{} {name}", table.name);
            }
        }
    }
}

/// Memory does not grow with the length of the run: twice as many intervals need hardly more.
#[test]
fn memory_is_bounded() {
    let of = |seconds: u64| {
        let mut network = network(StateRecording::Interval);
        network.duration = Duration::from_secs(seconds);
        network.record.points = Some(Duration::ZERO);
        streamed(network).2
    };
    let (short, long) = (of(2), of(8));
    assert!(long.as_f64() < 1.1 * short.as_f64(), "{short} for 2 s, {long} for 8 s");
}
