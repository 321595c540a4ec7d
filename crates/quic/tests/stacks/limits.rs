//! What keeps a connection from sending more, as the table of controllers has it at the end of each interval.

use windtunnel_sim::recorder::columns::Column;
use windtunnel_tcp::Limited;

use crate::runs::{flow, run, text};

const LINK: &str = "rate = \"20 Mbps\"\nqueue = { kind = \"fifo\", limit = \"1 bdp\" }";

/// The part of the intervals of 10 ms that a limit has after the first second.
fn share(limit: Limited, flow: &str) -> f64 {
    let result = run(&format!("record = {{ interval = \"10 ms\" }}\n{}", text(10, LINK, &[flow])));
    let cc = result.tables.iter().find(|table| table.name == "cc").expect("a table of controllers");
    let column = |name: &str| match cc.columns.iter().find(|(own, _)| *own == name) {
        Some((_, Column::F64(values))) => values,
        other => panic!("{name}: {other:?}"),
    };
    let limits: Vec<f64> = column("time_s")
        .iter()
        .zip(column("limit"))
        .filter(|(time, _)| **time > 1.0)
        .map(|(_, limit)| *limit)
        .collect();
    let number = f64::from(limit as u8);
    limits.iter().filter(|limit| (**limit - number).abs() < 0.5).count() as f64 / limits.len() as f64
}

/// Data without end fill the window, and the pacer spreads what an ACK allows; an application that has less sets the limit
/// itself; and a receiver that takes 20 kB at once keeps the sender below its window (RFC 9000 section 4.1).
#[test]
fn what_keeps_a_sender_from_sending_more() {
    for stack in ["quinn", "noq"] {
        let bulk = flow(stack, "\"cubic\"", 40);
        let by_window = share(Limited::Cwnd, &bulk) + share(Limited::Pacing, &bulk);
        assert!(by_window > 0.99, "{stack}: {by_window} by window or pacer");
        let media =
            format!("{bulk}\napp = {{ kind = \"media\", protocol = \"tcp\", rate = \"300 kbit/s\" }}");
        let by_application = share(Limited::Application, &media);
        assert!(by_application > 0.9, "{stack}: {by_application} by the application");
        let narrow = format!("stack = {{ kind = \"{stack}\", receive_window = \"20 kB\" }}\nrtt = \"40 ms\"");
        let by_receiver = share(Limited::Receiver, &narrow);
        assert!(by_receiver > 0.8, "{stack}: {by_receiver} by the receiver");
    }
}
