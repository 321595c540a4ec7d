//! Rows that leave a run while it goes on.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use windtunnel_sim::application::{ApplicationConfig, CbrParams, PoissonParams};
use windtunnel_sim::element::*;
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::recorder::{GROUP, Sink};
use windtunnel_sim::{Network, RecordParams, RunResult, Simulation, StateRecording, Transport};
use windtunnel_units::{Bytes, Duration, Probability, Rate};

use crate::fixtures::{path, reno};

/// Keeps what leaves.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<Table>>>);

impl Sink for Kept {
    fn rows(&mut self, table: &Table, rows: Range<usize>) {
        let columns = table.columns.iter().map(|(name, column)| (*name, part(column, rows.clone())));
        let part = Table { name: table.name, columns: columns.collect() };
        self.0.lock().expect("one thread").push(part);
    }
}

/// A copy of some of the rows.
fn part(column: &Column, rows: Range<usize>) -> Column {
    match column {
        Column::F64(v) => Column::F64(v[rows].to_vec()),
        Column::U64(v) => Column::U64(v[rows].to_vec()),
        Column::I64(v) => Column::I64(v[rows].to_vec()),
        Column::U32(v) => Column::U32(v[rows].to_vec()),
        Column::I32(v) => Column::I32(v[rows].to_vec()),
        Column::U8(v) => Column::U8(v[rows].to_vec()),
        Column::Bool(v) => Column::Bool(v[rows].to_vec()),
        Column::Binary(v) => Column::Binary(v[rows].to_vec()),
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

/// Bulk flows, datagrams and arriving connections over media that lose, damage, double and reorder packets, both ways.
fn captured(seconds: u64, [lost, damaged, doubled, late]: [f64; 4]) -> Network {
    let p = |p| Probability::new(p).expect("a probability");
    let media = || -> Vec<Arc<dyn ElementParams>> {
        vec![
            Arc::new(LossParams { probability: p(lost), affects: Affects::All }),
            Arc::new(CorruptionParams { probability: p(damaged), affects: Affects::All }),
            Arc::new(DuplicationParams { probability: p(doubled), affects: Affects::All }),
            Arc::new(ReorderingParams { probability: p(late), ..ReorderingParams::default() }),
        ]
    };
    let web = PoissonParams { load: Some(Rate::from_mbps(2)), ..PoissonParams::default() };
    let traffic = vec![
        (reno(), ApplicationConfig::Bulk),
        (Transport::Udp, ApplicationConfig::Cbr(CbrParams::default())),
        (reno(), ApplicationConfig::Poisson(web)),
    ];
    let mut network = path(traffic, 20, media(), media(), seconds);
    network.record = RecordParams {
        packets: true,
        interval: Duration::SECOND,
        points: Some(Duration::ZERO),
        state: StateRecording::Off,
        ..RecordParams::default()
    };
    network
}

/// The result, what left before the end and in the end, and the most memory that rows took.
fn streamed(network: Network) -> (RunResult, Vec<Table>, Bytes) {
    let (result, left, most, _) = streamed_to_the_end(network);
    (result, left, most)
}

/// The same, and how many rows of packets had left before the end.
fn streamed_to_the_end(network: Network) -> (RunResult, Vec<Table>, Bytes, usize) {
    let kept = Kept::default();
    let mut simulation = Simulation::new(network);
    simulation.stream_to(Box::new(kept.clone()), Bytes::ZERO);
    let (mut most, end) = (Bytes::ZERO, simulation.end());
    while !simulation.run_slice(end, 1_000) {
        most = most.max(simulation.memory());
    }
    let packets = |left: &[Table]| left.iter().filter(|part| part.name == "packets").map(Table::rows).sum();
    let before_end = packets(&kept.0.lock().expect("one thread"));
    let result = simulation.finish();
    let left = std::mem::take(&mut *kept.0.lock().expect("one thread"));
    (result, left, most, before_end)
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

/// The same where packets are recorded.
#[test]
fn memory_of_packets_is_bounded() {
    let of = |seconds| streamed(captured(seconds, [0.002, 0.002, 0.01, 0.01])).2;
    let (short, long) = (of(30), of(120));
    assert!(long.as_f64() < 1.1 * short.as_f64(), "{short} for 30 s, {long} for 120 s");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// Packets leave in groups, with all that became of them: one after the other they are those of a run that keeps all.
    /// Those that stay until the end are no more than two groups, however packets are lost, damaged, doubled and reordered:
    /// each packet that is no longer under way was found to be so.
    #[test]
    fn packets_leave_once_they_are_settled(media in prop::array::uniform4(0.0..0.02_f64)) {
        let whole = Simulation::new(captured(30, media)).finish();
        let (result, left, _, before_end) = streamed_to_the_end(captured(30, media));
        prop_assert_eq!(&result.summary.digest, &whole.summary.digest);
        let all = whole.tables.iter().find(|table| table.name == "packets").expect("recorded");
        let parts: Vec<&Table> = left.iter().filter(|part| part.name == "packets").collect();
        prop_assert!(parts.len() > 2, "{} rows", all.rows());
        prop_assert!(parts[..parts.len() - 1].iter().all(|part| part.rows() == GROUP));
        prop_assert!(all.rows() - before_end <= 2 * GROUP, "{} of {} rows left", before_end, all.rows());
        let mut joined = parts[0].clone();
        for part in &parts[1..] {
            for ((_, to), (_, from)) in joined.columns.iter_mut().zip(&part.columns) {
                appended(to, from);
            }
        }
        prop_assert!(joined.columns == all.columns);
    }
}
