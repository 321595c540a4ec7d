//! What is compared of a run: its digest, its summary, its tables, and every packet at every place.

use serde_json::Value;
use windtunnel_scenario::{Scenario, compile};
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::{RunResult, Simulation};

use crate::tables::numbers;

/// Floating-point numbers that depend on the order of additions must agree within this.
const ROUNDING: f64 = 1e-9;

pub(super) struct Run {
    pub(super) digest: String,
    pub(super) stalled: bool,
    summary: Value,
    pub(super) tables: Vec<Table>,
    /// In the order of the run.
    pub(super) packets: Vec<Captured>,
}

/// A packet at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Captured {
    pub(super) ns: u64,
    pub(super) flow: u64,
    /// Tap, queue, direction, size, payload, sequence numbers, flags, code points.
    pub(super) header: [u64; 10],
    /// What the sender knew: window, ssthresh, state, in flight.
    pub(super) sender: [u64; 4],
    /// Its smoothed round-trip time.
    pub(super) srtt_ns: u64,
}

impl Run {
    pub(super) fn of(scenario: &Scenario) -> Run {
        Run::from(Simulation::new(compile(scenario)).finish())
    }

    /// # Panics
    /// If the runs are not the same. The number of events, and the list of changes, may differ.
    pub(super) fn assert_same(&self, other: &Run, how: &str) {
        assert_eq!(self.digest, other.digest, "{how}: another digest");
        // A run in which nothing moves ends at a tick of the recorder.
        if !self.stalled && !other.stalled {
            assert_alike(&self.summary, &other.summary, how);
        }
    }

    /// The table called `name`.
    pub(super) fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

impl From<RunResult> for Run {
    fn from(result: RunResult) -> Run {
        let mut summary = serde_json::to_value(&result.summary).expect("a summary is JSON");
        if let Value::Object(fields) = &mut summary {
            // A change to the same is one in the list of changes alone.
            fields.remove("changes");
            fields.remove("events");
        }
        let packets = result.tables.iter().find(|table| table.name == "packets");
        Run {
            digest: result.summary.digest.clone(),
            stalled: result.summary.stalled.is_some(),
            summary,
            packets: packets.map(captured).unwrap_or_default(),
            tables: result.tables,
        }
    }
}

fn captured(table: &Table) -> Vec<Captured> {
    let [ns, flow, srtt] = ["t_ns", "flow", "srtt_ns"].map(|name| numbers(table, name));
    let header = ["tap", "queue", "dir", "size", "payload", "seq", "ack", "flags", "ecn", "dscp"]
        .map(|name| numbers(table, name));
    let sender = ["cwnd", "ssthresh", "state", "in_flight"].map(|name| numbers(table, name));
    let row = |row: usize| Captured {
        ns: ns[row],
        flow: flow[row],
        header: header.each_ref().map(|column| column[row]),
        sender: sender.each_ref().map(|column| column[row]),
        srtt_ns: srtt[row],
    };
    (0..ns.len()).map(row).collect()
}

/// Equal, except for the rounding of fractions.
fn assert_alike(a: &Value, b: &Value, how: &str) {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(n, (a, b))| assert_alike(a, b, &format!("{how}: {n}")));
        }
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            for (key, value) in a {
                assert_alike(value, b.get(key).unwrap_or(&Value::Null), &format!("{how}: {key}"));
            }
        }
        (Value::Number(x), Value::Number(y)) if x.is_f64() => {
            let (x, y) = (x.as_f64().unwrap_or(f64::NAN), y.as_f64().unwrap_or(f64::NAN));
            assert!((x - y).abs() <= ROUNDING * x.abs().max(y.abs()), "{how}: {x} and {y}");
        }
        _ => assert_eq!(a, b, "{how}"),
    }
}

/// Row `row` of a column, as bits, so that NaN equals itself.
pub(super) fn bits(column: &Column, row: usize) -> u64 {
    match column {
        Column::F64(v) => v[row].to_bits(),
        Column::U64(v) => v[row],
        Column::I64(v) => v[row].cast_unsigned(),
        Column::U32(v) => u64::from(v[row]),
        Column::I32(v) => u64::from(v[row].cast_unsigned()),
        Column::U8(v) => u64::from(v[row]),
        Column::Bool(v) => u64::from(v[row]),
        Column::Binary(_) => panic!("no number"),
    }
}
