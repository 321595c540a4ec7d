//! TFRC's laws (RFC 5348; Floyd, Handley, Padhye, Widmer, SIGCOMM 2000; spec/congestion-control section 3.25), in whole runs.

use windtunnel_sim::RunResult;

use super::bbr::column;
use super::{assert_near, flow, run};

/// Paths of one flow of TFRC, so wide that nothing queues: 100 ms, data acknowledged at once.
fn alone(seconds: u64, impair: &str, settings: &[&str]) -> RunResult {
    let text = format!(
        "duration = \"{seconds} s\"\n[record]\ninterval = \"10 ms\"\n[bottleneck]\nrate = \"1 Gbit/s\"\n{impair}\n\
         [[flow]]\ncc = \"tfrc\"\nrtt = \"100 ms\"\nack = \"immediate\"\n"
    );
    run(&text, settings)
}

/// The throughput equation in segments per round trip, with b = 1 and `t_RTO` = 4 R (section 3.1).
fn segments_per_round_trip(p: f64) -> f64 {
    1.0 / ((2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
}

/// The last value of a column of the controller's state.
fn last(result: &RunResult, name: &str) -> f64 {
    *column(result, name).last().expect("rows")
}

/// What was sent, and what the equation allows at the loss event rate of the whole run, both in segments per round trip.
fn sent_and_allowed(result: &RunResult, seconds: u64) -> (f64, f64) {
    let sent = flow(result).sender.sent.expect("a TCP") as f64;
    let p = last(result, "loss_events") / sent;
    (sent / (seconds as f64 * 10.0), segments_per_round_trip(p))
}

/// The rate is the equation's at the loss event rate that the flow met, with about 300 losses in each run. Periodic losses make all
/// intervals equal, so that the mean is exact. With Bernoulli losses the mean of eight intervals scatters by a third, and the rate follows
/// its root: a few percent.
#[test]
#[ignore = "long"]
fn the_mean_rate_is_the_equations() {
    for (p, seconds) in [(0.001, 800), (0.003, 500), (0.01, 300), (0.03, 170), (0.05, 150)] {
        let every = (1.0 / p) as u64;
        let periodic =
            alone(seconds, &format!("impair = {{ kind = \"periodic-loss\", every = {every} }}"), &[]);
        let (sent, allowed) = sent_and_allowed(&periodic, seconds);
        assert_near(&format!("one in {every}"), sent, allowed, 0.02);
        assert_near("p as measured", last(&periodic, "loss_event_rate"), 1.0 / every as f64, 1e-9);

        let percent = p * 100.0;
        let random = alone(
            seconds,
            &format!("impair = {{ kind = \"loss\", probability = \"{percent} %\" }}"),
            &["record.interval=100 ms"],
        );
        let (sent, allowed) = sent_and_allowed(&random, seconds);
        assert_near(&format!("{percent} %"), sent, allowed, 0.06);
    }
}

/// Section 5.1: a mark counts as a loss. Each mark of RFC 3168 is echoed until CWR arrives, which is one loss event, not several; AccECN
/// reports it once.
#[test]
fn marks_count_as_losses() {
    for ecn in ["true", "\"accecn\""] {
        let ecn = format!("flow[0].ecn={ecn}");
        let queue = "queue = { kind = \"nth\", n = 200 }";
        let result = alone(400, queue, &[&ecn, "record.interval=100 ms"]);
        assert_eq!(flow(&result).sender.retransmits, Some(0));
        let (sent, allowed) = sent_and_allowed(&result, 400);
        assert_near(&ecn, sent, allowed, 0.03);
        assert_near(&ecn, last(&result, "loss_event_rate"), 1.0 / 200.0, 1e-9);
    }
}

/// The coefficient of variation of what one flow gets in each second, after the first 30.
fn variation(cc: &str, percent: f64) -> f64 {
    let impair = format!("impair = {{ kind = \"loss\", probability = \"{percent} %\" }}");
    let result = alone(300, &impair, &[&format!("flow[0].cc={cc}"), "record.interval=1 s"]);
    let table = result.tables.iter().find(|table| table.name == "flows").expect("flows");
    let (_, rates) = table.columns.iter().find(|(name, _)| *name == "throughput_mbps").expect("rates");
    let windtunnel_sim::recorder::columns::Column::F64(rates) = rates else { panic!("{rates:?}") };
    let rates = &rates[30..];
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let variance = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / rates.len() as f64;
    variance.sqrt() / mean
}

/// What TFRC is for: at the same losses its rate varies less than Reno's within seconds (section 4 of the paper).
#[test]
fn is_smoother_than_reno() {
    for percent in [0.2, 1.0, 3.0] {
        let (tfrc, reno) = (variation("tfrc", percent), variation("reno", percent));
        assert!(tfrc < 0.75 * reno, "{percent} %: {tfrc}, Reno {reno}");
    }
}

/// Flows of TFRC and as many of Reno, with round trips from 40 to 75 ms: the mean of TFRC's goodput over that of Reno's.
fn share(pairs: usize, queue: &str, settings: &[&str]) -> f64 {
    let flows: Vec<String> = ["tfrc", "reno"]
        .iter()
        .flat_map(|cc| (0..pairs).map(move |i| (cc, 40 + 40 * i / pairs)))
        .map(|(cc, rtt)| format!("[[flow]]\ncc = \"{cc}\"\nrtt = \"{rtt} ms\"\n"))
        .collect();
    let flows = flows.concat();
    let text = format!(
        "duration = \"120 s\"\n[bottleneck]\nrate = \"{} Mbit/s\"\nqueue = {queue}\n{flows}",
        4 * pairs
    );
    let result = run(&text, settings);
    let goodput = |flows: &[windtunnel_sim::FlowSummary]| {
        flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>() / pairs as f64
    };
    let (tfrc, reno) = result.summary.flows.split_at(pairs);
    let total = pairs as f64 * (goodput(tfrc) + goodput(reno));
    assert!(total > 0.9 * 4.0 * pairs as f64, "{queue}: {total}");
    goodput(tfrc) / goodput(reno)
}

/// RFC 5348 section 1: "reasonably fair" is generally within a factor of two of a TCP under the same conditions; the paper has that for
/// RED and for drop-tail queues.
#[test]
#[ignore = "long"]
fn shares_with_reno_within_a_factor_of_two() {
    for (pairs, queue) in [
        (4, "\"red\""),
        (8, "\"red\""),
        (4, "{ kind = \"fifo\", limit = \"1 bdp\" }"),
        (8, "{ kind = \"fifo\", limit = \"1 bdp\" }"),
        (8, "{ kind = \"fifo\", limit = \"0.5 bdp\" }"),
    ] {
        let ratio = share(pairs, queue, &[]);
        assert!((0.5..=2.0).contains(&ratio), "{pairs} pairs, {queue}: {ratio}");
    }
}

/// The values that a column takes one after another, with their times.
fn steps(result: &RunResult, name: &str) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for (time, value) in column(result, "time_s").into_iter().zip(column(result, name)) {
        if !value.is_nan() && steps.last().is_none_or(|(_, last)| last.total_cmp(&value).is_ne()) {
            steps.push((time, value));
        }
    }
    steps
}

/// Section 4.2: 4380 bytes in the first round trip. Section 4.3: each round trip doubles the rate, but to no more than twice what arrived, and
/// what arrived left a round trip before; once the infinite rate of the start is forgotten, that makes a doubling in two round trips.
#[test]
fn slow_start_doubles() {
    let result = alone(2, "", &[]);
    let steps = steps(&result, "allowed_bit_per_s");
    assert_near("the initial rate", steps[0].1, 8.0 * 4380.0 / 0.1, 0.001);
    for pair in steps.windows(2) {
        let ((before, x), (after, y)) = (pair[0], pair[1]);
        assert!(y <= 2.0001 * x && after - before >= 0.09, "{pair:?}");
    }
    let rate = |seconds: f64| steps.iter().rfind(|(time, _)| *time < seconds).expect("a rate").1;
    for seconds in [0.7, 0.9, 1.1, 1.3] {
        let growth = rate(seconds + 0.4) / rate(seconds);
        assert!((3.0..5.0).contains(&growth), "from {seconds} s: {growth}, {steps:?}");
    }
    assert!(flow(&result).slow_start_exit.is_none());
}

/// Section 4.4: without feedback the rate halves after each four round trips; when the path is back, so is the flow.
#[test]
fn silence_halves_the_rate() {
    let text = "duration = \"40 s\"\n[record]\ninterval = \"10 ms\"\n[bottleneck]\nrate = \"10 Mbit/s\"\n\
        queue = { kind = \"fifo\", limit = \"1 bdp\" }\n\
        impair = { kind = \"outage\", times = [{ from = \"5 s\", to = \"7 s\" }] }\n\
        [[flow]]\ncc = \"tfrc\"\nrtt = \"100 ms\"\n";
    let result = run(text, &[]);
    let rtt = column(&result, "mean_rtt_s");
    let times = column(&result, "time_s");
    let before = times.iter().position(|time| *time > 5.3).expect("a row");
    let steps: Vec<(f64, f64)> = steps(&result, "allowed_bit_per_s")
        .into_iter()
        .filter(|(time, _)| (5.2..7.0).contains(time))
        .collect();
    assert!(steps.len() >= 4, "{steps:?}");
    for pair in steps.windows(2) {
        assert_near("half", pair[1].1, pair[0].1 / 2.0, 1e-6);
        assert!((pair[1].0 - pair[0].0 - 4.0 * rtt[before]).abs() < 0.05, "{pair:?}, R = {}", rtt[before]);
    }
    assert!(last(&result, "allowed_bit_per_s") > 8e6, "{}", last(&result, "allowed_bit_per_s"));
}

/// After an outage of ten seconds the rate is some bytes per second. A departure that waits at such a rate must not keep waiting once the
/// rate grows (section 4.6).
#[test]
fn a_long_outage_is_overcome() {
    let text = "duration = \"60 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"1 bdp\" }\n\
        impair = { kind = \"outage\", times = [{ from = \"5 s\", to = \"15 s\" }] }\n\
        [[flow]]\ncc = \"tfrc\"\nrtt = \"100 ms\"\n\
        [[window]]\nname = \"late\"\nfrom = \"50 s\"\nto = \"60 s\"\n";
    let result = run(text, &[]);
    let late = result.summary.windows[0].flows[0].goodput_mbps;
    assert!(late > 2.0, "{late}");
}

/// Section 4.3 on data-limited intervals: an application that sends 1 Mbit/s in frames of one size keeps the rate that it once tested, which is twice the
/// largest at which its data arrived, however long it sends less.
#[test]
fn an_application_keeps_what_it_tested() {
    let app = "kind = \"media\", rate = \"1 Mbit/s\", protocol = \"tcp\", keyframe_every = 0";
    let result = alone(60, "", &[&format!("flow[0].app={{ {app} }}"), "record.interval=100 ms"]);
    let rates = column(&result, "allowed_bit_per_s");
    let kept = last(&result, "allowed_bit_per_s");
    assert!(kept >= 2e6, "{kept}");
    assert_near("twice what arrived", kept, 2.0 * last(&result, "received_bit_per_s"), 1e-9);
    for rate in &rates[20..] {
        assert_near("what it keeps", *rate, kept, 0.0);
    }
    assert_near("what the application sends", flow(&result).goodput_mbps, 1.0, 0.01);
}
