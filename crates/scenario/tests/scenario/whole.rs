//! Whole runs of end systems and media, each against the law that predicts its result.

mod attacks;
mod bbr;
mod bbr3;
mod c4;
mod chirping;
mod copa;
mod gcc;
mod host;
mod ledbat;
mod lp;
mod marks;
mod media;
mod memory;
mod misuse;
mod multipath;
mod nada;
mod offload;
mod outage;
mod rledbat;
mod scream;
mod selected;
mod signals;
mod slow_starts;
mod tfrc;
mod vivace;
mod window;

use windtunnel_scenario::{Reading, Registry, Scenario, compile};
use windtunnel_sim::recorder::columns::Column;
use windtunnel_sim::{FlowSummary, QueueSummary, RunResult, Simulation};

/// Payload of a full packet with timestamps, and its size, in bytes.
const MSS: f64 = 1448.0;
const PACKET: f64 = 1500.0;

/// Where packets are captured, and their directions: the numbers in the table.
const SENDER: u64 = 0;
const QUEUE_OUT: u64 = 2;
const DATA: u64 = 0;
const ACKS: u64 = 1;

fn run(text: &str, settings: &[&str]) -> RunResult {
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    let (registry, folders) = (Registry::default(), [std::env::temp_dir()]);
    let reading = Reading { overrides: &settings, allow_read: &folders, ..Reading::new(&registry) };
    let scenario = Scenario::read(text, &reading).unwrap_or_else(|error| panic!("{error}"));
    Simulation::new(compile(&scenario)).finish()
}

/// Columns of the packets, in order of time.
fn packet_columns<const N: usize>(result: &RunResult, names: [&str; N]) -> [Vec<u64>; N] {
    let table = result.tables.iter().find(|table| table.name == "packets").expect("packets are recorded");
    let column = |name: &str| -> Vec<u64> {
        match table.columns.iter().find(|(column, _)| *column == name).map(|(_, column)| column) {
            Some(Column::U64(values)) => values.clone(),
            Some(Column::U32(values)) => values.iter().map(|n| u64::from(*n)).collect(),
            Some(Column::U8(values)) => values.iter().map(|n| u64::from(*n)).collect(),
            other => panic!("{name}: {other:?}"),
        }
    };
    names.map(column)
}

/// A captured packet.
#[derive(Clone, Copy, Debug)]
struct Captured {
    at_ns: u64,
    size: u64,
    payload: u64,
}

/// The packets in one direction that were captured at `tap`, in order of time.
fn captured(result: &RunResult, tap: u64, way: u64) -> Vec<Captured> {
    let [at, taps, ways, sizes, payloads] = packet_columns(result, ["t_ns", "tap", "dir", "size", "payload"]);
    (0..at.len())
        .filter(|&i| (taps[i], ways[i]) == (tap, way))
        .map(|i| Captured { at_ns: at[i], size: sizes[i], payload: payloads[i] })
        .collect()
}

/// The only flow.
fn flow(result: &RunResult) -> &FlowSummary {
    &result.summary.flows[0]
}

/// The flows and the queue in the only window, in which all is steady.
fn steady(result: &RunResult) -> (&[FlowSummary], &QueueSummary) {
    (&result.summary.windows[0].flows, &result.summary.windows[0].queues[0])
}

/// The share of the first of two flows, there.
fn share(result: &RunResult) -> f64 {
    let rates: Vec<f64> = steady(result).0.iter().map(|flow| flow.throughput_mbps).collect();
    rates[0] / (rates[0] + rates[1])
}

/// A column of a table.
fn floats<'r>(result: &'r RunResult, table: &str, name: &str) -> &'r [f64] {
    let table = result.tables.iter().find(|one| one.name == table).expect("it is recorded");
    match table.columns.iter().find(|(column, _)| *column == name).map(|(_, column)| column) {
        Some(Column::F64(values)) => values,
        other => panic!("{name}: {other:?}"),
    }
}

/// Within this share of the expected value.
fn assert_near(what: &str, measured: f64, expected: f64, share: f64) {
    assert!((measured - expected).abs() <= share * expected, "{what}: {measured}, expected {expected}");
}
