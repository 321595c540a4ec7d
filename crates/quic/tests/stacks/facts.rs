//! What the stacks do, as measured with a throw-away port before this crate (the numbers are in docs/packs/quic-stacks):
//! each test fails when a new version of a stack does otherwise, and is then to be changed with the page.

use windtunnel_sim::RunResult;
use windtunnel_sim::recorder::columns::Column;

use crate::runs::{first, flow, run, text};

/// The times in seconds from each reduction by more than a tenth until the window grows beyond what was left.
fn waits(result: &RunResult) -> Vec<f64> {
    let flows = result.tables.iter().find(|table| table.name == "flows").expect("a table of flows");
    let column = |name: &str| match flows.columns.iter().find(|(own, _)| *own == name) {
        Some((_, Column::F64(values))) => values,
        other => panic!("{name}: {other:?}"),
    };
    let (times, windows) = (column("time_s"), column("cwnd_bytes"));
    let mut waits = Vec::new();
    let mut left: Option<(f64, f64)> = None;
    for (time, pair) in times[1..].iter().zip(windows.windows(2)) {
        let [before, now] = *pair else { unreachable!("pairs") };
        if now < 0.9 * before {
            left = Some((*time, now));
        } else if let Some((at, window)) = left
            && now > window
        {
            waits.push(time - at);
            left = None;
        }
    }
    waits
}

/// The longest of them with a round trip of 100 ms over `link`.
pub(crate) fn longest_wait(link: &str, stack: &str, cc: &str) -> f64 {
    let text = format!("record = {{ interval = \"10 ms\" }}\n{}", text(60, link, &[&flow(stack, cc, 100)]));
    let waits = waits(&run(&text));
    assert!(waits.len() >= 4, "{stack} {cc}: {waits:?}");
    waits.into_iter().fold(0.0, f64::max)
}

/// The CUBIC of quinn and noq computes RFC 8312's K from a `W_max` that fast convergence has lowered, and holds its window
/// until the curve reaches it: about 1.1 s after every second loss at 50 Mbit/s and 100 ms. RFC 9438 section 4.2 takes the
/// window at the start of the epoch for K, so that ours grows from the first round trips on.
#[test]
fn cubic_of_quinn_and_noq_freezes_after_fast_convergence() {
    let link = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }\n";
    let longest = |stack: &str, cc: &str| longest_wait(link, stack, cc);
    for stack in ["quinn", "noq"] {
        let (own, ours) = (longest(stack, "\"cubic\""), longest(stack, "{ windtunnel = \"cubic\" }"));
        assert!((0.9..1.4).contains(&own), "{stack}: {own} s");
        assert!(ours < 0.5, "ours in {stack}: {ours} s");
    }
}

/// With 1 % of packets late by 5 ms, quinn's CUBIC takes each for a loss: it neither undoes nor adapts its packet
/// threshold. noq does both.
#[test]
fn reordering_costs_quinn_nearly_everything() {
    let link = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }\n\
                impair = { kind = \"reordering\", probability = \"1 %\", delay = \"5 ms\" }";
    let goodput = |stack: &str| first(&run(&text(30, link, &[&flow(stack, "\"cubic\"", 40)]))).goodput_mbps;
    let [quinn, noq] = ["quinn", "noq"].map(goodput);
    assert!(quinn < 10.0, "quinn: {quinn} Mbit/s");
    assert!(noq > 45.0, "noq: {noq} Mbit/s");
}

/// quinn's pacer takes window and round-trip time alone, so that a controller that sets its rate fills the buffer with
/// its window; noq's paces at the rate. One controller, two stacks: the median round trip tells.
#[test]
fn quinn_ignores_the_pacing_rate() {
    let link = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }";
    let median = |stack: &str| {
        let result = run(&text(20, link, &[&flow(stack, "{ windtunnel = \"bbr3\" }", 40)]));
        first(&result).rtt_ms.expect("ACKs came").p50
    };
    let [quinn, noq] = ["quinn", "noq"].map(median);
    assert!(quinn > 70.0, "quinn: {quinn} ms");
    assert!(noq < 45.0, "noq: {noq} ms");
}

/// One source, two transports: `BBRv3` gets the same rate inside noq as it gets in TCP, to 5 %.
#[test]
fn one_controller_gets_one_rate_in_tcp_and_in_noq() {
    let link = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }";
    let rate = |flow: &str| first(&run(&text(30, link, &[flow]))).throughput_mbps;
    let tcp = rate("cc = \"bbr3\"\nrtt = \"40 ms\"");
    let noq = rate(&flow("noq", "{ windtunnel = \"bbr3\" }", 40));
    assert!((tcp - noq).abs() < 0.05 * tcp, "TCP {tcp}, noq {noq} Mbit/s");
}

/// Next to TCP's CUBIC over a buffer of 1.25 BDP quinn's BBR leaves nearly nothing, and noq's `BBRv3` most of the link.
/// Both draw without a seed, so that the bounds are wide.
#[test]
fn bbr_of_quinn_and_of_noq_next_to_cubic() {
    let link = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"312.5 kB\" }";
    let left = |stack: &str, cc: &str| {
        let tcp = "cc = \"cubic\"\nrtt = \"40 ms\"";
        let result = run(&text(60, link, &[tcp, &format!("{}\nstart = \"1 s\"", flow(stack, cc, 40))]));
        first(&result).goodput_mbps
    };
    let quinn = left("quinn", "\"bbr\"");
    let noq = left("noq", "\"bbr3\"");
    assert!(quinn < 6.0, "next to quinn's BBR: {quinn} Mbit/s");
    assert!(noq > 25.0, "next to noq's BBRv3: {noq} Mbit/s");
}
