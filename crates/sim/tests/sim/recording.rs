//! Recorded data are consistent: rows with summaries, windows with the whole, points with rows.

use windtunnel_sim::application::{ApplicationConfig, PoissonParams, ProbeParams, TransferParams};
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::{LinkRate, RunResult, Simulation, SizeDistribution, StateRecording, Transport, Window};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::fixtures::{dumbbell, fixed, path, reno};

pub(crate) fn table<'a>(result: &'a RunResult, name: &str) -> &'a Table {
    result.tables.iter().find(|t| t.name == name).expect(name)
}

pub(crate) fn f64s<'a>(result: &'a RunResult, name: &str, column: &str) -> &'a [f64] {
    let (_, column) = table(result, name).columns.iter().find(|(n, _)| *n == column).expect("column");
    let Column::F64(values) = column else { panic!("not a column of f64") };
    values
}

pub(crate) fn u64s<'a>(result: &'a RunResult, name: &str, column: &str) -> &'a [u64] {
    let (_, column) = table(result, name).columns.iter().find(|(n, _)| *n == column).expect("column");
    let Column::U64(values) = column else { panic!("not a column of u64") };
    values
}

fn run() -> RunResult {
    let mut spec = dumbbell(&[120, 60], 10_000, 10, Duration::from_millis(1_995));
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    // Edges off the recording interval of 10 ms, overlapping, and the whole run.
    spec.windows = vec![
        Window { name: "odd".into(), from: at(333), to: at(1_777) },
        Window { name: "rest".into(), from: at(1_777), to: at(1_995) },
        Window { name: "first".into(), from: at(0), to: at(333) },
        Window { name: "all".into(), from: at(0), to: at(1_995) },
    ];
    Simulation::new(spec).finish()
}

/// All columns of a table have the same length; every interval has a row for every flow (no flow starves the recorder).
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
        let cwnd = summary.cwnd_bytes.expect("a window");
        assert_eq!(cwnd.min, cwnd.max, "the window is fixed");
        assert!((cwnd.mean - cwnd.min as f64).abs() < 1e-3);
    }
}

/// A mean does not depend on how its run is divided into intervals, to the last bit, although the integral of this window
/// (of 1.4 GB, which a short transfer does not use) is more than 2^53 bytes times nanoseconds.
#[test]
fn the_mean_window_does_not_depend_on_the_interval() {
    let mean = |micros: u64| {
        let transfer = ApplicationConfig::Transfer(TransferParams { size: Bytes::new(10_000), close: false });
        let mut network = path(vec![(fixed(1_000_001), transfer)], 20, vec![], vec![], 7);
        network.record.interval = Duration::from_micros(micros);
        let summary = Simulation::new(network).finish().summary;
        summary.flows[0].cwnd_bytes.expect("a window").mean.to_bits()
    };
    let means = [7_000_000, 1_000_000, 10_000, 3_333].map(mean);
    assert_eq!(means, [means[0]; 4]);
}

/// Points are thinned to the spacing (100 us here), per series, apart from extremes; the mark frequency corresponds to every
/// tenth packet of a saturated link: 833.3 Hz.
#[test]
fn points_are_thinned() {
    let result = run();
    let times = f64s(&result, "sojourn_points", "time_s");
    let extreme = table(&result, "sojourn_points").columns.iter().find(|(name, _)| *name == "extreme");
    let Some((_, Column::Bool(extreme))) = extreme else { panic!() };
    let busy: Vec<f64> =
        times.iter().zip(extreme).filter(|(t, extreme)| **t > 0.1 && !**extreme).map(|(t, _)| *t).collect();
    assert!(busy.windows(2).all(|w| w[1] - w[0] >= 99e-6));
    let hz = f64s(&result, "mark_points", "hz");
    let typical = hz.iter().filter(|h| (**h - 8333.33 / 10.0).abs() < 1.0).count();
    assert!(typical as f64 > 0.9 * hz.len() as f64, "{typical} of {}", hz.len());
}

/// However coarse the points are, they contain the extremes that the queue and the flows have counted.
#[test]
fn points_keep_the_extremes() {
    let mut spec = dumbbell(&[40; 60], 900, 7, Duration::from_secs(2));
    spec.record.points = Some(Duration::from_millis(300));
    let result = Simulation::new(spec).finish();
    let sojourn = &result.summary.queues[0].sojourn_ms.as_ref().expect("packets left");
    let points = f64s(&result, "sojourn_points", "ms");
    let least = points.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = points.iter().copied().fold(0.0, f64::max);
    assert_eq!((least, greatest), (sojourn.min, sojourn.max));
    assert!(points.len() <= 2 * 3 * 7, "{} rows of 2 s", points.len());
}

/// Marks come in bursts, shorter than the spacing: the thinned rows add up to what the queues have counted.
#[test]
fn thinned_marks_add_up() {
    // Each of 60 flows sends its window in a burst, into a queue that has not room for all.
    let mut spec = dumbbell(&[40; 60], 900, 7, Duration::from_secs(2));
    spec.record.points = Some(Duration::from_millis(5));
    let result = Simulation::new(spec).finish();
    let summary = &result.summary.queues[0];
    let (kinds, counts) = (table(&result, "mark_points"), u64s(&result, "mark_points", "count"));
    let Some((_, Column::U8(kinds))) = kinds.columns.iter().find(|(name, _)| *name == "kind") else {
        panic!()
    };
    let sum = |kind: u8| kinds.iter().zip(counts).filter(|(k, _)| **k == kind).map(|(_, n)| n).sum::<u64>();
    assert_eq!((sum(0), sum(1), sum(2)), (summary.sce, summary.ce, summary.drops.full));
    assert!(summary.sce > 1_000 && summary.drops.full > 1_000, "{summary:?}");
    assert!(counts.len() as f64 <= 2.0 * 2.0 / 0.005, "two kinds, one row each in 5 ms");
}

/// More packets do not cause more rows: the recorder's resolution bounds the memory.
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

/// Reno with short connections and datagrams, and with losses.
pub(crate) fn mixed(state: StateRecording) -> RunResult {
    let size = SizeDistribution::Exponential { mean: Bytes::new(40_000) };
    let load = Some(Rate::from_mbps(1));
    let web = PoissonParams { load, size, ..PoissonParams::default() };
    let traffic = vec![
        (reno(), ApplicationConfig::Bulk),
        (reno(), ApplicationConfig::Poisson(web)),
        (Transport::Udp, ApplicationConfig::Probe(ProbeParams::default())),
    ];
    let at = |secs| Time::ZERO + Duration::from_secs(secs);
    let mut network = path(traffic, 40, vec![], vec![], 20);
    network.windows = vec![Window { name: "late".into(), from: at(10), to: at(20) }];
    network.record.packets = true;
    network.record.state = state;
    crate::fixtures::run(network)
}

/// The rows of one flow.
fn of_flow(result: &RunResult, column: &str, flow: usize) -> Vec<f64> {
    f64s(result, "flows", column).iter().copied().skip(flow).step_by(3).collect()
}

/// Samples of a sender agree with its packets: the last packet sent before a tick has the same ssthresh and state,
/// unless an ACK arrived in between; the window changes with each ACK.
#[test]
fn hidden_state_is_that_of_the_captures() {
    let result = mixed(StateRecording::Interval);
    let packets =
        |name| table(&result, "packets").columns.iter().find(|(n, _)| *n == name).expect(name).1.clone();
    let Column::U64(t) = packets("t_ns") else { panic!() };
    let Column::U64(ssthresh) = packets("ssthresh") else { panic!() };
    let Column::U64(cwnd) = packets("cwnd") else { panic!() };
    let (Column::U8(tap), Column::U8(dir), Column::U8(state)) =
        (packets("tap"), packets("dir"), packets("state"))
    else {
        panic!()
    };
    let Column::U32(flow) = packets("flow") else { panic!() };
    let sent: Vec<usize> = (0..t.len()).filter(|i| (tap[*i], dir[*i], flow[*i]) == (0, 0, 0)).collect();
    let columns = ["time_s", "ssthresh_bytes", "state", "cwnd_bytes"].map(|name| of_flow(&result, name, 0));
    let [times, thresholds, states, windows] = &columns;
    let mut seen = [0_u32; 5];
    let mut differing = 0;
    for row in 0..times.len() {
        let now = (times[row] * 1e9).round() as u64;
        let Some(last) = sent[..sent.partition_point(|i| t[*i] < now)].last() else { continue };
        if windows[row] as u64 == cwnd[*last] {
            let threshold = if thresholds[row].is_nan() { u64::MAX } else { thresholds[row] as u64 };
            assert_eq!(threshold, ssthresh[*last], "row {row}");
            // An ACK that changes nothing but the state may have come since.
            let same = states[row] as u8 == state[*last];
            seen[states[row] as usize] += u32::from(same);
            differing += u32::from(!same);
        }
    }
    assert!(seen[0] > 500 && seen[3] > 10, "{seen:?}: open, and recovery");
    assert!(differing * 20 < seen.iter().sum(), "{differing} besides {seen:?}");
}

/// Linux's sender: RTO = srtt + the variance term, which is at least 200 ms; in Recovery something is or was lost;
/// retransmissions are a part of the losses, and data above a hole are SACKed; the delivery rate is that of the link.
#[test]
fn hidden_state_is_plausible() {
    let result = mixed(StateRecording::Interval);
    let of = |name| of_flow(&result, name, 0);
    let [srtt, rto, rttvar, backoff] = ["srtt_ms", "rto_ms", "rttvar_ms", "backoff"].map(of);
    let [state, unacked, sacked, lost, again] =
        ["state", "unacked_bytes", "sacked_bytes", "lost_bytes", "retrans_out_bytes"].map(of);
    let mut repaired = 0;
    for row in (0..srtt.len()).filter(|row| srtt[*row].is_finite()) {
        assert!(rttvar[row].is_finite() && backoff[row] == 0.0);
        assert!((199.999..400.0).contains(&(rto[row] - srtt[row])), "{} {}", rto[row], srtt[row]);
        assert!(sacked[row] + lost[row] <= unacked[row] && unacked[row] > 0.0, "row {row}");
        assert!(again[row] <= lost[row], "row {row}: {} of {}", again[row], lost[row]);
        assert!(lost[row] == 0.0 || (state[row] >= 3.0 && sacked[row] > 0.0), "row {row}");
        repaired += u32::from(again[row] > 0.0);
    }
    assert!(repaired > 10);
    assert!(of("pacing_rate_mbps").iter().all(|rate| rate.is_nan()), "it is not paced");
    assert!(of("reordering").iter().all(|degree| *degree as u64 == 3));
    let rates = of("delivery_rate_mbps");
    let late = &rates[rates.len() / 2..];
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    assert!((8.0..10.0).contains(&mean), "10 Mbit/s minus headers and the rates of the others: {mean}");
}

/// A paced sender shows its rate: 1.2 cwnd per srtt in congestion avoidance (Linux).
#[test]
fn pacing_rate_is_shown() {
    let mut network = path(vec![(fixed(10), ApplicationConfig::Bulk)], 40, vec![], vec![], 2);
    network.flows[0].endpoint.paced = true;
    let result = crate::fixtures::run(network);
    let rate = f64s(&result, "flows", "pacing_rate_mbps").last().copied().expect("a row");
    let srtt = f64s(&result, "flows", "srtt_ms").last().copied().expect("a row");
    // ssthresh of a fixed window is infinite, so that it is far below it: 2.0.
    let expected = 2.0 * 10.0 * 1448.0 * 8.0 / srtt / 1e3;
    assert!((rate / expected - 1.0).abs() < 0.01, "{rate} Mbit/s, {expected} expected");
}

/// A summary leaves out what a flow does not have: a flow that stands for many connections has no single window,
/// datagrams have neither window nor recovery, and loss-free endpoints do not count what they send.
#[test]
fn nothing_is_made_up() {
    let result = mixed(StateRecording::Interval);
    let [bulk, web, probe] = &result.summary.flows[..] else { panic!("three flows") };
    assert!(bulk.cwnd_bytes.is_some() && bulk.cwnd_limited.is_some());
    assert!(bulk.sender.retransmits > Some(0) && bulk.sender.sent > bulk.sender.retransmits);
    assert_eq!((web.cwnd_bytes, web.cwnd_limited), (None, None));
    assert!(
        web.sender.sent > Some(0) && web.sender.retransmits.is_some() && web.sender.delivered_bytes > Some(0)
    );
    assert_eq!((probe.cwnd_bytes, probe.cwnd_limited, probe.sender.delivered_bytes), (None, None, None));
    assert_eq!(
        (probe.sender.retransmits, probe.sender.rtos, probe.sender.ecn_reductions),
        (None, None, None)
    );
    assert_eq!(probe.sender.sent, probe.datagrams.map(|d| d.sent));
    for column in
        ["cwnd_bytes", "cwnd_mean_bytes", "in_flight_bytes", "srtt_ms", "rto_ms", "state", "lost_bytes"]
    {
        let absent = |flow| of_flow(&result, column, flow).iter().all(|value| value.is_nan());
        assert!(!absent(0) && absent(1) && absent(2), "{column}");
    }
    let ideal = run();
    let flow = &ideal.summary.flows[0];
    assert_eq!(
        (flow.sender.sent, flow.sender.delivered_bytes, flow.sender.ecn_reductions),
        (None, None, None)
    );
    assert_eq!((flow.sender.retransmits, flow.sender.rtos), (Some(0), Some(0)), "they never send again");
    assert!(f64s(&ideal, "flows", "rto_ms").iter().all(|rto| rto.is_nan()));
}

/// The table of transfers has one row for each completed one, in order; its sums agree with the summary, in windows,
/// too.
#[test]
fn transfers_add_up() {
    let result = mixed(StateRecording::Interval);
    let web = result.summary.flows[1].transfers.as_ref().expect("transfers");
    let (starts, ends) = (f64s(&result, "transfers", "start_s"), f64s(&result, "transfers", "end_s"));
    let (times, slowdowns) = (f64s(&result, "transfers", "time_ms"), f64s(&result, "transfers", "slowdown"));
    let sizes = u64s(&result, "transfers", "size_bytes");
    assert!(ends.is_sorted() && ends.len() as u64 == web.completed && ends.len() > 30);
    assert_eq!(sizes.iter().sum::<u64>(), web.completed_bytes);
    for row in 0..ends.len() {
        assert!(((ends[row] - starts[row]) * 1e3 - times[row]).abs() < 1e-6);
        // 40 ms and 10 Mbit/s; the handshake is another round trip.
        let empty = 40.0 + sizes[row] as f64 * 8.0 / 1e4;
        assert!((times[row] / empty - slowdowns[row]).abs() < 1e-6 && times[row] > empty + 40.0);
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    assert!((web.time_ms.expect("completed").mean / mean - 1.0).abs() < 1e-9);
    let late = result.summary.windows[0].flows[1].transfers.as_ref().expect("transfers");
    for transfers in [web, late] {
        assert_eq!(transfers.by_size.iter().map(|class| class.completed).sum::<u64>(), transfers.completed);
    }
    assert_eq!(late.completed, ends.iter().filter(|end| **end >= 10.0).count() as u64);
    assert!(result.summary.flows[0].transfers.is_none());
    assert!(run().tables.iter().all(|table| table.name != "transfers"), "no flow makes transfers there");
}
