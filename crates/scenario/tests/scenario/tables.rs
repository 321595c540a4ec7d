//! Rules that connect the tables of a result with its summary.
//!
//! Rows are written at the end of each interval, and totals are kept by segment; their sums must agree. Nothing leaves
//! a queue before it came, no link is faster than its rate, and marks are for packets that can carry them.

use std::collections::BTreeMap;

use windtunnel_scenario::{Endpoints, Scenario};
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::{BandSummary, DropSummary, FlowSummary, QueueSummary, RunResult, Summary};
use windtunnel_wire::Ecn;

use crate::outcome::{bits, has_one_rate};

/// Sums of means over many intervals agree with the mean of the whole up to rounding.
const ROUNDING: f64 = 1e-6;

/// The largest IP packet, in bits.
const LARGEST_PACKET: f64 = 65_535.0 * 8.0;

/// A column, and the total of its rows in a summary.
type Total<Of, N> = (&'static str, fn(&Of) -> N);

/// # Panics
/// If a rule is violated; the message says which.
pub(crate) fn check(scenario: &Scenario, result: &RunResult) {
    let RunResult { summary, tables, .. } = result;
    for table in tables {
        check_times(table, summary.duration_s);
        match table.name {
            "flows" => check_flows(table, summary),
            "queues" => check_queues(table, summary),
            "bands" => check_bands(table, summary),
            "mark_events" => check_marks(table, summary),
            "transfers" => check_transfers(table, summary),
            "dequeue_events" => check_dequeues(table, summary),
            "packets" => check_packets(scenario, table, summary),
            _ => {}
        }
    }
    check_band_summaries(summary);
    check_capacity(scenario, summary);
}

/// The column `name`, as whole numbers.
///
/// # Panics
/// If the table has no such column, or if the column has fractions.
pub(crate) fn numbers(table: &Table, name: &str) -> Vec<u64> {
    match column(table, name) {
        Some(Column::U64(v)) => v.clone(),
        Some(Column::U32(v)) => v.iter().map(|n| u64::from(*n)).collect(),
        Some(Column::U8(v)) => v.iter().map(|n| u64::from(*n)).collect(),
        Some(Column::Bool(v)) => v.iter().map(|n| u64::from(*n)).collect(),
        // -1 stands for all.
        Some(Column::I32(v)) => v.iter().map(|n| i64::from(*n) as u64).collect(),
        other => panic!("{}.{name}: {other:?}", table.name),
    }
}

fn fractions<'t>(table: &'t Table, name: &str) -> &'t [f64] {
    match column(table, name) {
        Some(Column::F64(v)) => v,
        other => panic!("{}.{name}: {other:?}", table.name),
    }
}

fn column<'t>(table: &'t Table, name: &str) -> Option<&'t Column> {
    table.columns.iter().find(|(column, _)| *column == name).map(|(_, column)| column)
}

/// Rows come in order of time, within the run. Points are thinned separately for each series, and are in order within
/// it.
fn check_times(table: &Table, duration_s: f64) {
    let times: Vec<f64> = match (column(table, "time_s"), column(table, "t_ns")) {
        (Some(Column::F64(times)), _) => times.clone(),
        (_, Some(Column::U64(times))) => times.iter().map(|ns| *ns as f64 / 1e9).collect(),
        _ => return,
    };
    let thinned = table.name.ends_with("_points");
    let series =
        ["queue", "flow", "empty"].into_iter().filter(|name| thinned && column(table, name).is_some());
    let series: Vec<Vec<u64>> = series.map(|name| numbers(table, name)).collect();
    let mut last = BTreeMap::new();
    for (row, time) in times.iter().enumerate() {
        let of: Vec<u64> = series.iter().map(|column| column[row]).collect();
        let before = last.insert(of, *time).unwrap_or(0.0);
        assert!(before <= *time, "{}: from {before} s back to {time} s", table.name);
        assert!(*time <= duration_s * (1.0 + 1e-12), "{}: a row at {time} of {duration_s} s", table.name);
    }
}

/// The sum of a column over the rows whose `of` is `index`.
fn sum(values: &[u64], of: &[u64], index: usize) -> u64 {
    values.iter().zip(of).filter(|(_, of)| **of == index as u64).map(|(value, _)| value).sum()
}

/// The sum, in bits, of a rate in Mbit/s times the interval, over the rows whose `of` is `index`.
fn sum_of_rate(table: &Table, name: &str, of: &[u64], index: usize) -> f64 {
    let mut before = 0.0;
    let rows = fractions(table, "time_s").iter().zip(fractions(table, name)).zip(of);
    rows.filter(|(_, of)| **of == index as u64)
        .map(|((time, rate), _)| rate * 1e6 * (time - std::mem::replace(&mut before, *time)))
        .sum()
}

fn drops(drops: &DropSummary) -> u64 {
    drops.full + drops.overlimit + drops.aqm + drops.policed + drops.filtered + drops.wire
}

fn check_flows(table: &Table, summary: &Summary) {
    let of = numbers(table, "flow");
    let whole: [Total<FlowSummary, Option<u64>>; 7] = [
        ("ce", |flow| Some(flow.ce_marks)),
        ("sce", |flow| Some(flow.sce_marks)),
        ("sent", |flow| flow.sender.sent),
        ("retransmits", |flow| flow.sender.retransmits),
        ("rtos", |flow| flow.sender.rtos),
        ("lost", |flow| Some(drops(&flow.drops))),
        ("delivered_bytes", |flow| flow.sender.delivered_bytes),
    ];
    for (name, total) in whole {
        let values = numbers(table, name);
        for (index, flow) in summary.flows.iter().enumerate() {
            let (rows, total) = (sum(&values, &of, index), total(flow));
            assert!(total.is_none_or(|total| total == rows), "{}: {name}: {rows} of {total:?}", flow.name);
        }
    }
    let rates: [Total<FlowSummary, f64>; 2] =
        [("throughput_mbps", |flow| flow.throughput_mbps), ("goodput_mbps", |flow| flow.goodput_mbps)];
    for (name, rate) in rates {
        for (index, flow) in summary.flows.iter().enumerate() {
            let rows = sum_of_rate(table, name, &of, index);
            same(&flow.name, name, rows, bits(rate(flow), summary.duration_s));
        }
    }
}

fn check_queues(table: &Table, summary: &Summary) {
    let of = numbers(table, "queue");
    let whole: [Total<QueueSummary, u64>; 5] = [
        ("dequeued", |queue| queue.dequeued),
        ("emptied", |queue| queue.emptied),
        ("sce", |queue| queue.sce),
        ("ce", |queue| queue.ce),
        ("drops", |queue| drops(&queue.drops)),
    ];
    for (name, total) in whole {
        let values = numbers(table, name);
        for (index, queue) in summary.queues.iter().enumerate() {
            assert_eq!(sum(&values, &of, index), total(queue), "{}: {name}", queue.name);
        }
    }
    for (index, queue) in summary.queues.iter().enumerate() {
        let rows = sum_of_rate(table, "throughput_mbps", &of, index);
        same(&queue.name, "throughput", rows, bits(queue.throughput_mbps, summary.duration_s));
    }
    for sojourn in fractions(table, "sojourn_min_ms").iter().filter(|sojourn| !sojourn.is_nan()) {
        assert!(*sojourn >= 0.0, "a sojourn time of {sojourn} ms");
    }
}

/// Marks and drops of the rows of a queue's bands are those of its bands in the summary. A queue has no row before its second
/// band exists, and no drop in front of it belongs to a band.
fn check_bands(table: &Table, summary: &Summary) {
    let (of, band) = (numbers(table, "queue"), numbers(table, "band"));
    let totals: [Total<BandSummary, u64>; 4] = [
        ("dequeued", |band| band.dequeued),
        ("sce", |band| band.sce),
        ("ce", |band| band.ce),
        ("drops", |band| drops(&band.drops)),
    ];
    for (name, total) in totals {
        let values = numbers(table, name);
        for (index, queue) in summary.queues.iter().enumerate() {
            for (number, expected) in queue.bands.iter().enumerate() {
                let here = |row: &usize| (of[*row], band[*row]) == (index as u64, number as u64);
                let rows: u64 = (0..of.len()).filter(here).map(|row| values[row]).sum();
                assert_eq!(rows, total(expected), "{}: {name} of band {number}", queue.name);
            }
        }
    }
}

/// What is counted of a queue is what is counted of its bands, mark by mark and reason by reason.
fn check_band_summaries(summary: &Summary) {
    let of_queue: [Total<QueueSummary, u64>; 7] = [
        ("dequeued", |queue| queue.dequeued),
        ("sce", |queue| queue.sce),
        ("ce", |queue| queue.ce),
        ("full", |queue| queue.drops.full),
        ("overlimit", |queue| queue.drops.overlimit),
        ("aqm", |queue| queue.drops.aqm),
        ("filtered", |queue| queue.drops.filtered),
    ];
    let of_band: [fn(&BandSummary) -> u64; 7] = [
        |band| band.dequeued,
        |band| band.sce,
        |band| band.ce,
        |band| band.drops.full,
        |band| band.drops.overlimit,
        |band| band.drops.aqm,
        |band| band.drops.filtered,
    ];
    for queue in summary.queues.iter().filter(|queue| !queue.bands.is_empty()) {
        for ((name, whole), part) in of_queue.iter().zip(of_band) {
            let bands: u64 = queue.bands.iter().map(part).sum();
            assert_eq!(bands, whole(queue), "{}: {name} of its bands", queue.name);
        }
    }
}

/// Single marks and drops are those of the summary, mark by mark and reason by reason.
fn check_marks(table: &Table, summary: &Summary) {
    let [of, mark, drop] = ["queue", "mark", "drop"].map(|name| numbers(table, name));
    for (index, queue) in summary.queues.iter().enumerate() {
        let rows = |kind: u64, reason: u64| {
            let here = |row: &usize| (of[*row], mark[*row], drop[*row]) == (index as u64, kind, reason);
            (0..of.len()).filter(here).count() as u64
        };
        let drops = &queue.drops;
        for (what, kind, reason, total) in [
            ("SCE", 1, 0, queue.sce),
            ("CE", 2, 0, queue.ce),
            ("full", 3, 1, drops.full),
            ("aqm", 3, 2, drops.aqm),
            ("overlimit", 3, 4, drops.overlimit),
            ("policed", 3, 5, drops.policed),
            ("filtered", 3, 6, drops.filtered),
        ] {
            assert_eq!(rows(kind, reason), total, "{}: single events: {what}", queue.name);
        }
    }
}

fn same(of: &str, name: &str, rows: f64, total: f64) {
    assert!(
        (rows - total).abs() <= ROUNDING * total.max(1.0),
        "{of}: {name}: rows have {rows} bits of {total}"
    );
}

fn check_transfers(table: &Table, summary: &Summary) {
    let (of, sizes) = (numbers(table, "flow"), numbers(table, "size_bytes"));
    for (index, flow) in summary.flows.iter().enumerate() {
        let (count, bytes) =
            flow.transfers.as_ref().map_or((0, 0), |all| (all.completed, all.completed_bytes));
        let rows = of.iter().filter(|of| **of == index as u64).count() as u64;
        assert_eq!((rows, sum(&sizes, &of, index)), (count, bytes), "{}: transfers", flow.name);
    }
    let (start, end) = (fractions(table, "start_s"), fractions(table, "end_s"));
    assert!(start.iter().zip(end).all(|(start, end)| 0.0 <= *start && start < end), "a transfer in no time");
}

fn check_dequeues(table: &Table, summary: &Summary) {
    let of = numbers(table, "queue");
    for (index, queue) in summary.queues.iter().enumerate() {
        let rows = of.iter().filter(|of| **of == index as u64).count() as u64;
        assert_eq!(rows, queue.dequeued, "{}: dequeues", queue.name);
    }
    // A packet is marked CE once, before it leaves: what is more in the summary is still queued, or was lost later.
    let mark = numbers(table, "mark");
    for (index, queue) in summary.queues.iter().enumerate() {
        let left = (0..of.len()).filter(|row| (of[*row], mark[*row]) == (index as u64, 2)).count() as u64;
        assert!(left <= queue.ce, "{}: {left} packets left with CE of {}", queue.name, queue.ce);
    }
    let (times, sojourns) = (numbers(table, "t_ns"), numbers(table, "sojourn_ns"));
    assert!(
        times.iter().zip(sojourns).all(|(time, sojourn)| sojourn <= *time),
        "it waited since before the run"
    );
}

/// A packet leaves a queue after it arrived, with the same size. A packet that cannot carry a mark gets none (with
/// loss-free endpoints, CE stands for a drop).
fn check_packets(scenario: &Scenario, table: &Table, summary: &Summary) {
    let [time, tap, queue, id, size, ecn] =
        ["t_ns", "tap", "queue", "id", "size", "ecn"].map(|name| numbers(table, name));
    let mut within = BTreeMap::new();
    let mut left = vec![0_u64; summary.queues.len()];
    for row in 0..time.len() {
        match tap[row] {
            1 => {
                within.insert((queue[row], id[row]), row);
            }
            2 => {
                let came = within.remove(&(queue[row], id[row]));
                let came =
                    came.unwrap_or_else(|| panic!("packet {} left a queue that it never entered", id[row]));
                assert!(time[came] <= time[row] && size[came] == size[row], "packet {} in a queue", id[row]);
                let marked = ecn[came] == Ecn::NotEct as u64 && ecn[row] != ecn[came];
                assert!(
                    !marked || scenario.endpoints == Endpoints::Ideal,
                    "packet {} cannot be marked",
                    id[row]
                );
                left[queue[row] as usize] += 1;
            }
            _ => {}
        }
    }
    for (queue, left) in summary.queues.iter().zip(left) {
        assert_eq!(left, queue.dequeued, "{}: captured when leaving", queue.name);
    }
}

/// A link does not send or deliver more than its rate allows. A packet counts when it leaves the queue, so one packet
/// may still be in transmission; transmission times are rounded to nanoseconds.
fn check_capacity(scenario: &Scenario, summary: &Summary) {
    let duration_s = summary.duration_s;
    let queues = scenario.links.iter().filter(|link| link.rate.is_some()).zip(&summary.queues);
    for (link, queue) in queues.filter(|(link, _)| has_one_rate(link)) {
        let rounding_s = queue.dequeued as f64 * 1e-9;
        let most = queue.rate_mbps * 1e6 * (duration_s + rounding_s) + LARGEST_PACKET;
        let of = |rate: f64| bits(rate, duration_s);
        assert!(of(queue.throughput_mbps) <= most, "{}: faster than its link: {queue:?}", link.name);
        for (flow, (group, _)) in summary.flows.iter().zip(scenario.flows()) {
            let here = group.route.forward.iter().any(|index| scenario.links[*index].name == link.name);
            assert!(!here || of(flow.goodput_mbps) <= most, "{}: faster than {}", flow.name, link.name);
        }
    }
}
