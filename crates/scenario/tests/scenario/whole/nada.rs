//! NADA's laws (RFC 8698; spec/ccwg-2026 section K.2), in whole runs.

use windtunnel_sim::{FlowSummary, QueueSummary, RunResult};

use super::run;

const RTT: f64 = 50.0;
const DEEP: &str = "{ kind = \"fifo\", limit = \"4 bdp\" }";

/// A flow of media whose encoder can do this many Mbit/s.
fn media(cc: &str, most: f64) -> String {
    format!(
        "[[flow]]\nrtt = \"{RTT} ms\"\ncc = {cc}\n\
         app = {{ kind = \"media\", protocol = \"rtp\", rate = \"{most} Mbit/s\", min_rate = \"150 kbit/s\" }}\n"
    )
}

/// Two minutes over 10 Mbit/s, measured over the last one.
fn minutes(queue: &str, link: &str, flows: &str) -> RunResult {
    let text = format!(
        "duration = \"120 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {queue}\n{link}\n{flows}\n\
         [[window]]\nname = \"steady\"\nfrom = \"60 s\"\nto = \"120 s\"\n"
    );
    run(&text, &[])
}

fn steady(result: &RunResult) -> (&[FlowSummary], &QueueSummary) {
    (&result.summary.windows[0].flows, &result.summary.windows[0].queues[0])
}

fn show(name: &str, result: &RunResult) {
    let (flows, queue) = steady(result);
    let rates: Vec<String> =
        flows.iter().map(|f| format!("{:.3} ({:?} lost)", f.throughput_mbps, f.datagrams.map(|d| d.lost))).collect();
    println!("{name}: {rates:?} util {:.3} sojourn {:?} ce {}", queue.utilization, queue.sojourn_ms, queue.ce);
}

#[test]
fn explore() {
    for most in [5.0, 12.0, 15.0, 20.0, 30.0, 50.0] {
        show(&format!("alone {most}"), &minutes(DEEP, "", &media("\"nada\"", most)));
    }
    for (rtts, prios) in [([50, 50], [1.0, 1.0]), ([20, 100], [1.0, 1.0]), ([50, 50], [1.0, 2.0]), ([50, 50], [0.5, 2.0]), ([20, 100], [1.0, 2.0])] {
        let flows: Vec<String> = (0..2)
            .map(|i| media(&format!("{{ kind = \"nada\", prio = {:?} }}", prios[i]), 15.0).replace("\"50 ms\"", &format!("\"{} ms\"", rtts[i])))
            .collect();
        show(&format!("two {rtts:?} {prios:?}"), &minutes(DEEP, "", &flows.concat()));
    }
    let later = media("\"nada\"", 15.0).replace("[[flow]]", "[[flow]]\nstart = \"20 s\"");
    show("later", &minutes(DEEP, "", &[media("\"nada\"", 15.0), later].concat()));
    let cubic = format!("[[flow]]\nrtt = \"{RTT} ms\"\ncc = \"cubic\"\n");
    for queue in ["\"codel\"", "{ kind = \"fifo\", limit = \"0.5 bdp\" }", "{ kind = \"fifo\", limit = \"1 bdp\" }", "{ kind = \"fifo\", limit = \"2 bdp\" }", DEEP] {
        for cc in ["\"nada\"", "\"scream\""] {
            show(&format!("{cc} with cubic, {queue}"), &minutes(queue, "", &[media(cc, 15.0), cubic.clone()].concat()));
        }
    }
    for kind in ["kind = \"codel\"", "kind = \"pie\"", "kind = \"red\"", "kind = \"pi2\""] {
        for most in [15.0, 30.0] {
            for ecn in [true, false] {
                let flow = media(if ecn { "\"nada\"\necn = true" } else { "\"nada\"" }, most);
                show(&format!("{kind} {ecn} {most}"), &minutes(&format!("{{ {kind}, ecn = true }}"), "", &flow));
            }
        }
    }
}
