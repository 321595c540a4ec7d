//! Applications over streams.

use crate::runs::{first, flow, run, text};

const BOTTLENECK: &str = "rate = \"100 Mbps\"\nqueue = \"fifo\"";

/// A transfer of one packet is complete two round trips after its start: one for the handshake, whose last flight of the
/// client goes with the data, and one for the data; the ACK of a single packet may wait for 25 ms. 100 kB take three more rounds of the initial window of 10 packets
/// (10, 20, 40), all within an RTT more than that of a TCP with the same window.
#[test]
fn a_transfer_takes_its_round_trips() {
    for stack in ["quinn", "noq"] {
        let time = |size: &str| {
            let app = format!(
                "{}\napp = {{ kind = \"transfer\", size = \"{size}\" }}",
                flow(stack, "\"cubic\"", 50)
            );
            let result = run(&text(3, BOTTLENECK, &[&app]));
            let transfers = first(&result).transfers.clone().expect("a transfer");
            assert_eq!((transfers.arrived, transfers.completed), (1, 1), "{stack} {size}");
            transfers.time_ms.expect("it is complete").mean
        };
        let [short, long] = ["1 kB", "100 kB"].map(time);
        assert!((100.0..128.0).contains(&short), "{stack}: {short} ms");
        assert!((200.0..310.0).contains(&long), "{stack}: {long} ms");
    }
}

/// Each response has a stream of its own, and the next one waits for its end and the think time: 50 ms of round trip and
/// 50 ms of thinking are ten responses a second, or eight if the ACK of a single packet waits for 25 ms.
#[test]
fn responses_follow_each_other() {
    for stack in ["quinn", "noq"] {
        let app = "app = { kind = \"request-response\", size = { kind = \"fixed\", value = \"1 kB\" }, think = { kind = \"fixed\", value = \"50 ms\" } }";
        let result = run(&text(5, BOTTLENECK, &[&format!("{}\n{app}", flow(stack, "\"cubic\"", 50))]));
        let completed = first(&result).transfers.as_ref().expect("responses").completed;
        assert!((38..=50).contains(&completed), "{stack}: {completed}");
    }
}

/// A flow that stops and starts again sends in both spans, and not in between.
#[test]
fn a_flow_stops_and_starts_again() {
    for stack in ["quinn", "noq"] {
        let active = "active = [{ from = \"0 s\", to = \"2 s\" }, { from = \"4 s\", to = \"6 s\" }]";
        let windows = "[[window]]\nname = \"between\"\nfrom = \"2.5 s\"\nto = \"3.9 s\"\n[[window]]\nname = \"again\"\nfrom = \"4.5 s\"\nto = \"6 s\"";
        let text = text(8, BOTTLENECK, &[&format!("{}\n{active}", flow(stack, "\"cubic\"", 20))]);
        let result = run(&format!("{text}{windows}\n"));
        let [between, again] = [0, 1].map(|window| result.summary.windows[window].flows[0].goodput_mbps);
        assert!(between < 0.01 && again > 80.0, "{stack}: {between} and {again} Mbit/s");
    }
}

/// Frames of media go over streams, each of its own, at their rate.
#[test]
fn media_go_over_streams() {
    for stack in ["quinn", "noq"] {
        let app = "app = { kind = \"media\", protocol = \"tcp\" }";
        let result = run(&text(10, BOTTLENECK, &[&format!("{}\n{app}", flow(stack, "\"cubic\"", 20))]));
        let frames = first(&result).transfers.as_ref().expect("frames").clone();
        assert!(frames.completed + 3 >= frames.arrived && frames.arrived > 100, "{stack}: {frames:?}");
    }
}
