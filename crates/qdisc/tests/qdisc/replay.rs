//! The reference traces, dequeue by dequeue (`tests/data/README.md`).
//!
//! The arrivals are those of the trace: a packet arrived at its dequeue minus its sojourn time. Then the
//! mark, the accumulator and both oscillators must be those of the trace at every dequeue, as integers.
//!
//! A trace leaves one thing open: whether a packet that arrives in the nanosecond of a dequeue came before or after it.
//! This matters only if it is the next packet to leave, because then it decides whether the dequeue left the queue
//! empty. There are few such ties (seven in all traces); one order of each of them must reproduce the trace, and every
//! combination of orders is tried.
//!
//! A run ends with packets in the queue, and a trace does not have their arrivals: the state after its very
//! last dequeue, which depends on the next packet, is not compared.

use std::path::Path;

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{
    BrickWallParams, DelticMdsParams, DelticParams, Deltim2Params, DeltimParams, Limit, QueueSpec, Signal,
};
use windtunnel_units::Duration;

use crate::bench::{Bench, Kind};

/// One dequeue.
#[derive(Clone, Debug)]
struct Row {
    at_ns: u64,
    arrived_ns: u64,
    flow: u32,
    size: u64,
    state: State,
}

/// What the replay must reproduce.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    mark: String,
    acc: i64,
    mds_osc: i64,
    osc: i64,
}

/// How often each signal was decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Decided {
    sce: u64,
    ce: u64,
    drop: u64,
}

#[derive(Debug)]
struct Trace {
    config: QueueSpec,
    mds_flows: Vec<bool>,
    decided: Decided,
    rows: Vec<Row>,
}

/// The value of `key` in the first line of a trace.
fn header<'a>(line: &'a str, key: &str) -> &'a str {
    line.split(' ')
        .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
        .unwrap_or_else(|| panic!("{key} in {line}"))
}

fn config(line: &str) -> QueueSpec {
    let millis = |key: &str| Duration::from_millis(header(line, key).parse().unwrap());
    let tau = header(line, "tau").parse().unwrap();
    match header(line, "aqm") {
        "deltim" => QueueSpec::new(DeltimParams { burst: millis("burst_ms"), tau }),
        "deltic-mds" => QueueSpec::new(DelticMdsParams { target: millis("target_ms"), tau }),
        "deltic" => QueueSpec::new(DelticParams {
            sce_target: millis("sce_target_ms"),
            ce_target: millis("ce_target_ms"),
            drop_target: millis("drop_target_ms"),
        }),
        "brickwall" => QueueSpec::new(BrickWallParams {
            sce_threshold: millis("sce_threshold_ms"),
            ce_threshold: millis("ce_threshold_ms"),
            drop_threshold: millis("drop_threshold_ms"),
        }),
        other => panic!("no such queue: {other}"),
    }
}

fn read(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    assert_eq!(lines.next(), Some("flow,size,gap_ns,sojourn_ns,mark,acc,mds_osc,osc"));
    let mut fields = [""; 8];
    let mut at_ns = 0;
    let rows = lines.map(|line| {
        for (field, new) in fields.iter_mut().zip(line.split(',')) {
            if !new.is_empty() {
                *field = new;
            }
        }
        let [flow, size, gap, sojourn, mark, acc, mds_osc, osc] = fields;
        at_ns += gap.parse::<u64>().unwrap();
        Row {
            at_ns,
            arrived_ns: at_ns - sojourn.parse::<u64>().unwrap(),
            flow: flow.parse().unwrap(),
            size: size.parse().unwrap(),
            state: State {
                mark: mark.to_owned(),
                acc: acc.parse().unwrap(),
                mds_osc: mds_osc.parse().unwrap(),
                osc: osc.parse().unwrap(),
            },
        }
    });
    let rows = rows.collect();
    let count = |key| header(head, key).parse().unwrap();
    Trace {
        config: config(head),
        mds_flows: header(head, "mds").split(',').map(|flag| flag == "1").collect(),
        decided: Decided { sce: count("sce"), ce: count("ce"), drop: count("drop") },
        rows,
    }
}

/// The dequeues in whose nanosecond the next packet to leave arrives.
fn ties(rows: &[Row]) -> Vec<usize> {
    (0..rows.len() - 1).filter(|&i| rows[i + 1].arrived_ns == rows[i].at_ns).collect()
}

/// Replays the trace. At the dequeues in `first`, the arrival in the same nanosecond comes first; at all others the
/// dequeue does.
fn replay(trace: &Trace, config: &QueueSpec, first: &[usize]) -> Result<Decided, String> {
    let mut bench = Bench::new(config, Limit::Unlimited);
    let mut decided = Decided::default();
    let mut arrivals = trace.rows.iter().peekable();
    for (i, row) in trace.rows.iter().enumerate() {
        let arrival_first = first.contains(&i);
        let before =
            |arrived_ns| if arrival_first { arrived_ns <= row.at_ns } else { arrived_ns < row.at_ns };
        while let Some(arrival) = arrivals.next_if(|arrival| before(arrival.arrived_ns)) {
            let kind = if trace.mds_flows[arrival.flow as usize] { Kind::Mds } else { Kind::Ect0 };
            let packet = bench.packet(arrival.flow, arrival.size, kind);
            bench.enqueue(arrival.arrived_ns, packet);
        }
        let left = bench.dequeue(row.at_ns).ok_or_else(|| format!("row {i}: nothing queued"))?;
        assert_eq!((left.seq, left.flow), (i as u64, row.flow), "row {i}");
        let mark = match left.outcome {
            Outcome::Passed => "-",
            Outcome::Marked(Signal::Sce) => "SCE",
            Outcome::Marked(Signal::Ce) | Outcome::Drop => "CE",
        };
        match left.outcome {
            Outcome::Passed => {}
            Outcome::Marked(Signal::Sce) => decided.sce += 1,
            Outcome::Marked(Signal::Ce) => decided.ce += 1,
            Outcome::Drop => decided.drop += 1,
        }
        let state = State {
            mark: mark.to_owned(),
            acc: bench.probe("acc"),
            mds_osc: bench.probe("mds_osc"),
            osc: bench.probe("osc"),
        };
        if state != row.state && i + 1 < trace.rows.len() {
            return Err(format!("row {i}: {state:?}, in the trace {:?}", row.state));
        }
    }
    Ok(decided)
}

/// Replays the trace with every combination of orders of its ties, until one reproduces it.
fn meets(trace: &Trace, config: &QueueSpec) -> Result<Decided, String> {
    let ties = ties(&trace.rows);
    assert!(ties.len() <= 4, "this many ties would prove little: {ties:?}");
    let mut last = String::new();
    for choice in 0..1_u32 << ties.len() {
        let first: Vec<usize> =
            ties.iter().copied().enumerate().filter(|(k, _)| choice >> k & 1 == 1).map(|(_, t)| t).collect();
        match replay(trace, config, &first) {
            Ok(decided) => return Ok(decided),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn check(name: &str, rows: usize) {
    let trace = read(name);
    assert_eq!(trace.rows.len(), rows);
    match meets(&trace, &trace.config) {
        Ok(decided) => assert_eq!(decided, trace.decided, "{name}"),
        Err(error) => panic!("{name}: {error}"),
    }
}

macro_rules! traces {
    ($($test:ident: $name:literal, $rows:literal;)*) => {
        $(#[test]
        fn $test() {
            check(concat!($name, ".csv"), $rows);
        })*
    };
}

traces! {
    trace01_deltim: "trace01_renosce_10M_20ms", 3305;
    trace02_deltim: "trace02_reno_renosce_20M_20ms", 4064;
    trace03_deltim: "trace03_cubic_scalsce_10M_80ms", 4643;
    trace04_deltic_mds: "trace04_cubicsce_20M_30ms_delticmds5", 4862;
    trace05_deltic: "trace05_deltic_renosce_reno_10M_20ms", 3244;
    trace06_brick_wall: "trace06_hystart_cubic_20M_100ms_brickwall20", 5774;
    trace07_deltim: "trace07_std_renosce_20M_40ms", 4614;
    trace08_deltim_drops: "trace08_reno_scalsce_1M_5ms", 1668;
    trace09_deltim: "trace09_scalsce_30M_100ms_lwnd100k", 8257;
    trace10_deltim: "trace10_late_leave_rate_20M", 4502;
    trace11_deltim: "trace11_unpaced_renosce_10M_20ms", 2469;
    trace12_brick_wall: "trace12_hystart_reno_15M_60ms_brickwall200", 5963;
}

/// The comparison can fail: a neighbouring parameter or algorithm does not reproduce a trace.
#[test]
fn another_queue_does_not_meet_the_trace() {
    let trace = read("trace08_reno_scalsce_1M_5ms.csv");
    let tau = 63.try_into().unwrap();
    let burst = Duration::from_nanos(4_900_000);
    for config in [
        QueueSpec::new(DeltimParams { tau, ..DeltimParams::default() }),
        QueueSpec::new(DeltimParams { burst, ..DeltimParams::default() }),
        QueueSpec::new(Deltim2Params::default()),
        QueueSpec::new(DelticMdsParams::default()),
    ] {
        meets(&trace, &config).expect_err("met by another queue");
    }
}
