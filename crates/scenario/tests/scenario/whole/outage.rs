//! The record of a path's outage.

use windtunnel_sim::RunResult;
use windtunnel_sim::recorder::columns::Column;

use super::{MSS, assert_near, run};

/// A flow and a probe; the bottleneck is out from 2 s to 4 s.
const OUT: &str = "duration = \"5 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"1 bdp\" }\n\
    impair = { kind = \"outage\", times = [{ from = \"2 s\", to = \"4 s\" }] }\n\
    [[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\n\
    [[flow]]\napp = \"probe\"\nrtt = \"20 ms\"\n";

fn numbers(result: &RunResult, table: &str, column: &str) -> Vec<f64> {
    let table = result.tables.iter().find(|t| t.name == table).expect("the table");
    match table.columns.iter().find(|(name, _)| *name == column).map(|(_, column)| column) {
        Some(Column::F64(values)) => values.clone(),
        Some(Column::U32(values)) => values.iter().map(|n| f64::from(*n)).collect(),
        Some(Column::I32(values)) => values.iter().map(|n| f64::from(*n)).collect(),
        other => panic!("{column}: {other:?}"),
    }
}

/// A timeout leaves a window of one segment (RFC 5681 section 3.1); the record shows it at once, not with the next ACK,
/// which comes two seconds later.
#[test]
fn the_window_after_a_timeout_shows() {
    let result = run(OUT, &[]);
    assert!(result.summary.flows[0].sender.rtos > Some(0));
    for (table, column) in [("flows", "cwnd_bytes"), ("cwnd_points", "bytes")] {
        let [times, flows, windows] = ["time_s", "flow", column].map(|name| numbers(&result, table, name));
        let at = (0..times.len()).rfind(|&i| flows[i] == 0.0 && times[i] < 3.0).expect("a row");
        assert_near(table, windows[at], MSS, 0.0);
    }
}

/// If nothing of a probe arrives, all of it is lost.
#[test]
fn a_silent_probe_has_lost_everything() {
    let result = run(OUT, &["bottleneck.impair.times=[{ from = \"0 s\", to = \"5 s\" }]"]);
    let probe = result.summary.flows[1].datagrams.as_ref().expect("a probe");
    assert_eq!((probe.sent, probe.received, probe.lost), (500, 0, 500));
    assert_near("loss", probe.loss_ratio, 1.0, 0.0);
}

/// The total throughput is also recorded while the flow with the longest round trip is silent.
#[test]
fn the_total_does_not_wait_for_a_silent_flow() {
    let second = "[[flow]]\ncc = \"reno\"\nrtt = \"40 ms\"\nstop = \"1 s\"\n";
    let result = run(&format!("{OUT}{second}"), &["bottleneck.impair.times=[]"]);
    let [times, flows, rates] =
        ["time_s", "flow", "mbps"].map(|name| numbers(&result, "throughput_points", name));
    let total: Vec<f64> =
        (0..times.len()).filter(|&i| flows[i] < 0.0 && times[i] > 2.0).map(|i| rates[i]).collect();
    assert!(total.len() > 30, "{} points", total.len());
    for rate in total {
        assert_near("total", rate, 10.0, 0.05);
    }
}
