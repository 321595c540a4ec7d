//! LEDBAT (RFC 6817) and LEDBAT++ over 10 Mbit/s and 40 ms: what they leave to a flow of their own kind, and to others.

use super::{PACKET, assert_near, run};

const FLOW: &str = "[[flow]]\nrtt = \"40 ms\"\n";

/// What flows have in the last 30 of 120 s, in Mbit/s, and the mean delay by the queue, in milliseconds. Each flow starts
/// 20 s after the one before it.
fn late(queue: &str, settings: &[&str], controllers: &[&str]) -> (Vec<f64>, f64) {
    let flow = |(n, cc)| format!("{FLOW}cc = \"{cc}\"\nstart = \"{} s\"\n", 20 * n);
    let flows: Vec<String> = controllers.iter().enumerate().map(flow).collect();
    let text = format!(
        "duration = \"120 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {queue}\n\
         [[window]]\nname = \"late\"\nfrom = \"90 s\"\nto = \"120 s\"\n{}",
        flows.concat()
    );
    let result = run(&text, settings);
    let window = &result.summary.windows[0];
    let queued = window.queues[0].sojourn_ms.as_ref().expect("packets").mean;
    let rates = window.flows.iter().map(|flow| flow.throughput_mbps).collect();
    (rates, queued)
}

/// The second flow's share of what two have, in percent.
fn second(queue: &str, controllers: [&str; 2]) -> f64 {
    share(&late(queue, &[], &controllers).0)
}

fn share(rates: &[f64]) -> f64 {
    100.0 * rates[1] / (rates[0] + rates[1])
}

const DEEP: &str = "{ kind = \"fifo\", limit = \"1000 packets\" }";

/// Section 2.4.2: the window stands where the delay by the queue is TARGET. Alone and not paced, LEDBAT fills the path and keeps a queue
/// of 100 ms.
#[test]
fn alone_it_holds_the_target() {
    for endpoints in ["endpoints=linux", "endpoints=ideal"] {
        let (rates, queued) = late(DEEP, &[endpoints, "flow.0.pacing=false"], &["ledbat"]);
        assert_near(endpoints, rates[0], 10.0, 0.01);
        assert_near(endpoints, queued, 100.0, 0.05);
    }
}

/// `max_allowed_cwnd` is a segment more than the flight. Ideal endpoints that pace have 1448 / 1500 of their window in
/// flight: the 52 bytes of each packet are a segment at a window of 28.8. 28 packets in 41.2 ms are 8.16 Mbit/s.
#[test]
fn a_paced_sender_does_not_have_its_window_in_flight() {
    let (rates, queued) = late(DEEP, &["endpoints=ideal", "flow.0.pacing=true"], &["ledbat"]);
    assert_near("rate", rates[0], 28.0 * PACKET * 8.0 / 41_200.0, 0.01);
    assert_near("a packet's own time", queued, 1.2, 0.01);
}

/// The second flow starts while the first one keeps 100 ms. Its base includes them, it adds TARGET, and for the first one
/// there is too much delay: the second has most of the path. Slowdowns show the true base to flows of LEDBAT++, which
/// share.
#[test]
fn a_latecomer_takes_the_path_from_ledbat() {
    let taken = second(DEEP, ["ledbat", "ledbat"]);
    assert!(taken > 90.0, "{taken} %");
    let shared = second(DEEP, ["ledbat-pp", "ledbat-pp"]);
    assert!((40.0..60.0).contains(&shared), "{shared} %");
}

/// CUBIC leaves 0.7 of a full buffer of 300 packets (360 ms) and 33 in flight: its queue stays above 200 ms, and a LEDBAT
/// that knows the base keeps two segments, less than 1 % of the 230 to 330. One that starts late has a queue in its base.
#[test]
fn yields_to_cubic_over_tail_drop() {
    let fifo = "{ kind = \"fifo\", limit = \"300 packets\" }";
    for queue in [fifo, DEEP] {
        let left = 100.0 - second(queue, ["ledbat", "cubic"]);
        assert!(left < 1.0, "{left} % over {queue}");
        let late = second(queue, ["cubic", "ledbat"]);
        assert!(late < 10.0, "{late} % over {queue}");
    }
}

/// CoDel and PIE keep 5 and 15 ms, and `off_target` is 0.95 and 0.85: LEDBAT is AIMD(0.95, 0.5) and AIMD(0.85, 0.5), whose
/// windows are the square root of that next to Reno's, 49 and 48 % of the path. It does not yield.
#[test]
fn does_not_yield_over_aqms() {
    assert_near("CoDel", second("\"codel\"", ["reno", "ledbat"]), 49.3, 0.1);
    // PIE's drops are random.
    let of_seed = |seed| share(&late("\"pie\"", &[&format!("seed={seed}")], &["reno", "ledbat"]).0);
    let mean = (1..=6).map(of_seed).sum::<f64>() / 6.0;
    assert_near("PIE", mean, 48.0, 0.1);
}
