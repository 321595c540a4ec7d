//! rLEDBAT (RFC 9840) over 10 Mbit/s and 40 ms: senders with CUBIC, Reno or BBR whose receivers run LEDBAT++ or LEDBAT.

use windtunnel_sim::recorder::columns::Column;

use super::{ACKS, assert_near, run};

/// `flows` in the last 60 of 120 s.
fn late(queue: &str, flows: &[&str]) -> (Vec<f64>, f64) {
    let flow = |keys: &&str| format!("[[flow]]\nrtt = \"40 ms\"\n{keys}\n");
    let text = format!(
        "duration = \"120 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {{ kind = \"fifo\", limit = {queue} }}\n\
         [[window]]\nname = \"late\"\nfrom = \"60 s\"\nto = \"120 s\"\n{}",
        flows.iter().map(flow).collect::<String>()
    );
    let result = run(&text, &[]);
    let window = &result.summary.windows[0];
    let queued = window.queues[0].sojourn_ms.as_ref().expect("packets").mean;
    (window.flows.iter().map(|flow| flow.throughput_mbps).collect(), queued)
}

const DEEP: &str = "\"1000 packets\"";
