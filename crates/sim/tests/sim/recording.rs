//! What is recorded agrees with itself: rows with summaries, windows with the whole, points with rows.

use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::{LinkRate, RunResult, Simulation, Window};
use windtunnel_units::{Duration, Time};

use crate::fixtures::dumbbell;

fn table<'a>(result: &'a RunResult, name: &str) -> &'a Table {
    result.tables.iter().find(|t| t.name == name).expect(name)
}

fn f64s<'a>(result: &'a RunResult, name: &str, column: &str) -> &'a [f64] {
    let (_, column) = table(result, name).columns.iter().find(|(n, _)| *n == column).expect("column");
    let Column::F64(values) = column else { panic!("not a column of f64") };
    values
}

fn u64s<'a>(result: &'a RunResult, name: &str, column: &str) -> &'a [u64] {
    let (_, column) = table(result, name).columns.iter().find(|(n, _)| *n == column).expect("column");
    let Column::U64(values) = column else { panic!("not a column of u64") };
    values
}

fn run() -> RunResult {
    let mut spec = dumbbell(&[120, 60], 10_000, 10, Duration::from_millis(1_995));
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    // Edges off the recording interval of 10 ms, overlapping, and the whole run.
    spec.record.windows = vec![
        Window { name: "odd".into(), from: at(333), to: at(1_777) },
        Window { name: "rest".into(), from: at(1_777), to: at(1_995) },
        Window { name: "first".into(), from: at(0), to: at(333) },
        Window { name: "all".into(), from: at(0), to: at(1_995) },
    ];
    Simulation::new(spec).finish()
}

/// All columns of a table have one length; every interval has a row of every flow (no flow starves the recorder).
#[test]
fn tables_are_rectangular_and_complete() {
    let result = run();
    for table in &result.tables {
        let rows = table.columns[0].1.len();
        assert!(table.columns.iter().all(|(_, c)| c.len() == rows), "{}", table.name);
    }
    // 199 multiples of 10 ms, three edges off them: 333, 1777 and the end at 1995 ms.
    assert_eq!(f64s(&result, "queues", "time_s").len(), 199 + 3);
    assert_eq!(f64s(&result, "flows", "time_s").len(), 2 * (199 + 3));
    assert!(f64s(&result, "queues", "time_s").is_sorted());
}

/// Windows that partition the run add up to it, in bytes, marks and dequeues.
#[test]
fn windows_add_up() {
    let result = run();
    let summary = &result.summary;
    let part = |w: &str| summary.windows.iter().find(|x| x.name == w).expect(w);
    let parts = ["first", "odd", "rest"].map(part);
    for flow in 0..2 {
        let sum: u64 = parts.iter().map(|w| w.flows[flow].received_bytes).sum();
        assert_eq!(sum, summary.flows[flow].received_bytes);
        assert_eq!(part("all").flows[flow].received_bytes, sum);
        let marks: u64 = parts.iter().map(|w| w.flows[flow].sce_marks).sum();
        assert_eq!(marks, summary.flows[flow].sce_marks);
    }
    let dequeued: u64 = parts.iter().map(|w| w.queues[0].dequeued).sum();
    assert_eq!(dequeued, summary.queues[0].dequeued);
    assert_eq!(dequeued, u64s(&result, "queues", "dequeued").iter().sum::<u64>());
    assert_eq!(summary.queues[0].sce, dequeued / 10, "every tenth packet is marked");
    assert_eq!(u64s(&result, "queues", "sce").iter().sum::<u64>(), summary.queues[0].sce);
}

/// Rates of rows, weighted by the rows' lengths, give the summary's throughput; goodput is 1448/1500 of it.
#[test]
fn rows_agree_with_the_summary() {
    let result = run();
    let times = f64s(&result, "flows", "time_s");
    let rates = f64s(&result, "flows", "throughput_mbps");
    let mut before = 0.0;
    let mut megabits = [0.0; 2];
    for (row, (t, rate)) in times.iter().zip(rates).enumerate() {
        megabits[row % 2] += rate * (t - before);
        if row % 2 == 1 {
            before = *t;
        }
    }
    for (flow, sum) in megabits.iter().enumerate() {
        let summary = &result.summary.flows[flow];
        assert!((sum / 1.995 - summary.throughput_mbps).abs() < 1e-6);
        assert!((summary.goodput_mbps / summary.throughput_mbps - 1448.0 / 1500.0).abs() < 1e-3);
        assert_eq!(summary.cwnd_bytes.min, summary.cwnd_bytes.max, "the window is fixed");
        assert!((summary.cwnd_bytes.mean - summary.cwnd_bytes.min as f64).abs() < 1e-3);
    }
}

/// Points are thinned to the spacing (100 us here), per series; the mark frequency is that of every tenth packet of a
/// saturated link: 833.3 Hz.
#[test]
fn points_are_thinned() {
    let result = run();
    let times = f64s(&result, "sojourn_points", "time_s");
    let busy: Vec<f64> = times.iter().copied().filter(|t| *t > 0.1).collect();
    assert!(busy.windows(2).all(|w| w[1] - w[0] >= 99e-6));
    let hz = f64s(&result, "mark_points", "hz");
    let typical = hz.iter().filter(|h| (**h - 8333.33 / 10.0).abs() < 1.0).count();
    assert!(typical as f64 > 0.9 * hz.len() as f64, "{typical} of {}", hz.len());
}

/// More packets do not mean more rows: memory is bounded by the recorder's resolution.
#[test]
fn rows_do_not_grow_with_traffic() {
    let rows = |window: u64| {
        let mut spec = dumbbell(&[window], 100_000, 0, Duration::from_secs(1));
        spec.links[0].rate = LinkRate::Fixed(windtunnel_units::Rate::from_mbps(10_000));
        spec.record.points = Some(Duration::from_millis(1));
        let result = Simulation::new(spec).finish();
        (result.summary.packets, result.tables.iter().map(|t| t.columns[0].1.len()).sum::<usize>())
    };
    let ((few, small), (many, large)) = (rows(10), rows(1000));
    assert!(many > 50 * few);
    assert!(large < 4 * small, "{large} rows against {small}");
}
