//! BBR's first version against the numbers and laws of spec/congestion-control section 3.22, from the state that it
//! records.

use windtunnel_sim::RunResult;
use windtunnel_sim::recorder::columns::Column;

use super::{assert_near, flow, run};

const STARTUP: u8 = 0;
const DRAIN: u8 = 1;
const PROBE_BW: u8 = 2;
const PROBE_RTT: u8 = 3;

/// The phase of the cycle outside of `ProbeBW`.
const NONE: u8 = u8::MAX;

/// One flow alone over a deep queue: 10 Mbit/s, 40 ms.
fn alone(duration_s: u64, more: &str) -> RunResult {
    let text = format!(
        "duration = \"{duration_s} s\"\n[record]\nstate = \"changes\"\n[bottleneck]\nrate = \"10 Mbit/s\"\n\
         queue = {{ kind = \"fifo\", limit = \"300 packets\" }}\n{more}\n[[flow]]\ncc = \"bbr\"\nrtt = \"40 ms\"\nack = \"immediate\"\n"
    );
    run(&text, &[])
}

/// The same path, for another controller.
const ALONE: &str = "duration = \"3 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"300 packets\" }\n\
                     [[flow]]\ncc = \"bbr\"\nrtt = \"40 ms\"\nack = \"immediate\"\n";

/// A column of the table of the controllers' state.
pub(super) fn column(result: &RunResult, name: &str) -> Vec<f64> {
    let table = result.tables.iter().find(|table| table.name == "cc").expect("the state is recorded");
    match table.columns.iter().find(|(column, _)| *column == name) {
        Some((_, Column::F64(values))) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

/// A column of small numbers.
pub(super) fn numbers(result: &RunResult, name: &str) -> Vec<u8> {
    column(result, name).into_iter().map(|n| if n.is_nan() { NONE } else { n as u8 }).collect()
}

/// Times and modes at which the mode changes, the first one included.
pub(super) fn modes(result: &RunResult) -> Vec<(f64, u8)> {
    let mut changes: Vec<(f64, u8)> = Vec::new();
    for (time, mode) in column(result, "time_s").into_iter().zip(numbers(result, "mode")) {
        if changes.last().is_none_or(|(_, last)| *last != mode) {
            changes.push((time, mode));
        }
    }
    changes
}

/// Startup doubles in each round and ends after three without growth; Drain lasts about as long as Startup's queue, and
/// then the bandwidth is the link's. 10 Mbit/s of packets of 1500 bytes that hold 1448.
#[test]
fn startup_finds_the_bandwidth() {
    let result = alone(3, "");
    let modes = modes(&result);
    assert_eq!(modes.iter().map(|(_, mode)| *mode).collect::<Vec<_>>(), [STARTUP, DRAIN, PROBE_BW]);
    // log2(33.3 / 10) rounds to fill the path, three without growth, as the queue grows to 1.9 products.
    assert!(modes[1].0 > 0.2 && modes[1].0 < 0.6, "{modes:?}");
    let bw = *column(&result, "max_bw_bit_per_s").last().expect("rows");
    assert_near("bandwidth", bw, 10e6 * 1448.0 / 1500.0, 0.01);
    assert_eq!(flow(&result).slow_start_exit.as_ref().map(|exit| exit.reason), Some("bandwidth plateau"));
    assert_eq!(flow(&result).sender.retransmits, Some(0));
}

/// The cycle has one phase of 1.25 and one of 0.75 among eight, each a round trip long; cwnd is twice the product of 34.3
/// packets (40 ms and a transmission time), and the budget for bursts. Draining leaves what the
/// budget allows, three bursts of two packets, which wait 7.2 ms; a probe adds a quarter of the product, 10 ms, for at most
/// two of the eight phases.
#[test]
fn cycles_without_a_queue() {
    let window = "[[window]]\nname = \"cycling\"\nfrom = \"2 s\"\nto = \"9 s\"";
    let result = alone(9, window);
    let (gains, modes, phases) =
        (column(&result, "pacing_gain"), numbers(&result, "mode"), numbers(&result, "cycle_phase"));
    for i in 0..gains.len() {
        let expected = match (modes[i], phases[i]) {
            (STARTUP, _) => 739.0 / 256.0,
            (DRAIN, _) => 88.0 / 256.0,
            (_, 0) => 1.25,
            (_, 1) => 0.75,
            _ => 1.0,
        };
        assert!((gains[i] - expected).abs() < 1e-9, "{} in {}, {}", gains[i], modes[i], phases[i]);
    }
    let turns = phases.windows(2).filter(|pair| **pair == [7, 0]).count() as f64;
    // Eight phases of 41.3 ms and more, in 8.5 s.
    assert!((20.0..=26.0).contains(&turns), "{turns} cycles");
    let cycling = &result.summary.windows[0].queues[0];
    let sojourn = cycling.sojourn_ms.as_ref().expect("packets passed").mean;
    assert!((3.6..9.7).contains(&sojourn), "{sojourn} ms");
    assert_near("goodput", flow(&result).goodput_mbps, 10.0 * 1448.0 / 1500.0, 0.03);
}

/// After ten seconds without a lower round trip, four packets for 200 ms and a round; then the window of before.
#[test]
fn probes_the_round_trip_every_ten_seconds() {
    let result = alone(32, "");
    let modes = modes(&result);
    let probes: Vec<usize> = (0..modes.len()).filter(|&i| modes[i].1 == PROBE_RTT).collect();
    assert_eq!(probes.len(), 3, "{modes:?}");
    for pair in probes.windows(2) {
        let apart = modes[pair[1]].0 - modes[pair[0]].0;
        assert!((10.0..10.8).contains(&apart), "{apart} s");
    }
    for &i in &probes[..2] {
        let lasted = modes[i + 1].0 - modes[i].0;
        assert!((0.2..0.45).contains(&lasted), "{lasted} s");
        assert_eq!(modes[i + 1].1, PROBE_BW);
    }
    assert_near("least round trip", *column(&result, "min_rtt_s").last().expect("rows"), 0.0413, 0.02);
}

/// With 5 % random loss, more than nine tenths of the link, since losses are no signal.
#[test]
fn losses_do_not_lower_the_rate() {
    let result = alone(20, "impair = { kind = \"loss\", probability = \"5 %\" }");
    assert!(
        flow(&result).goodput_mbps > 0.9 * 10.0 * 1448.0 / 1500.0 * 0.95,
        "{}",
        flow(&result).goodput_mbps
    );
}

/// A policer of 5 Mbit/s at a link of 20: the estimator finds its rate, and paces by it instead of losing at each probe.
#[test]
fn a_policer_is_recognised() {
    let policed = |detection: bool| {
        let text = format!(
            "duration = \"20 s\"\n[record]\nstate = \"changes\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
             queue = {{ kind = \"police\", rate = \"5 Mbit/s\", burst = \"100 kB\" }}\n\
             [[flow]]\ncc = {{ kind = \"bbr\", policer_detection = {detection} }}\nrtt = \"40 ms\"\n"
        );
        run(&text, &[])
    };
    let result = policed(true);
    let rates: Vec<f64> =
        column(&result, "policer_bw_bit_per_s").into_iter().filter(|bw| !bw.is_nan()).collect();
    assert!(!rates.is_empty(), "it is in use");
    assert_near("the policer's rate", rates[0], 5e6, 0.2);
    let lost = |result: &RunResult| {
        flow(result).sender.retransmits.expect("counted") as f64 / (flow(result).goodput_mbps * 20.0)
    };
    assert!(lost(&result) < 0.75 * lost(&policed(false)), "{} {}", lost(&result), lost(&policed(false)));
}

/// BBR's Startup as Reno's slow start: it ends by itself, without a loss, with cwnd at the product of 34.3 packets, where Reno's
/// own would fill the queue of 300 packets.
#[test]
fn startup_as_a_slow_start() {
    let ended = |slow_start: &str| {
        let cc = format!("flow[0].cc={{ kind = \"reno\", slow_start = \"{slow_start}\" }}");
        run(ALONE, &[&cc])
    };
    let result = ended("bbr-startup");
    let exit = flow(&result).slow_start_exit.as_ref().expect("it ended");
    assert_eq!((exit.reason, flow(&result).sender.retransmits), ("bandwidth plateau", Some(0)));
    assert_near("cwnd", exit.cwnd_bytes as f64 / 1448.0, 33.4, 0.06);
    assert!(exit.t_s < 0.7, "{} s", exit.t_s);
    assert_eq!(flow(&ended("standard")).slow_start_exit.as_ref().map(|exit| exit.reason), Some("loss"));
}
