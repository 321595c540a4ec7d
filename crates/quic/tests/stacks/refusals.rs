//! What a flow over a stack cannot be, and the messages about it.

use crate::runs::{parse, text};

const BOTTLENECK: &str = "rate = \"10 Mbps\"\nqueue = \"fifo\"";

fn message(flow: &str) -> String {
    parse(&text(1, BOTTLENECK, &[&format!("{flow}\nrtt = \"10 ms\"")])).err().unwrap_or_default()
}

/// Each message names file, line, key, value and what is allowed.
#[test]
fn messages() {
    for (flow, expected) in [
        (
            "stack = \"quin\"",
            "s.toml:6: flow[0].stack: \"quin\" is not allowed: a stack is one of linux, ideal, quinn, noq, library\n  did you mean `quinn`?",
        ),
        (
            "stack = \"ideal\"\ncc = \"reno\"",
            "s.toml:6: flow[0].stack: is the stack of all flows of a scenario, or of none: give the scenario endpoints = \"ideal\"",
        ),
        (
            "stack = \"quinn\"\ncc = \"bbr3\"",
            "s.toml:7: flow[0].cc: \"bbr3\" is not allowed: a controller of `quinn` is one of cubic, newreno, bbr; one of windtunnel's inside it is cc = { windtunnel = \"cubic\" }",
        ),
        (
            "stack = \"quinn\"\ncc = { kind = \"cubic\", shadow = \"prague\" }",
            "s.toml:7: flow[0].cc.shadow: \"prague\" is not allowed: a controller that does not hear each mark: a shadow hears what the stack tells of marks",
        ),
        (
            "stack = \"quinn\"\ncc = { windtunnel = { kind = \"bbr3\", ack_frequency = true } }",
            "s.toml:7: flow[0].cc.windtunnel.ack_frequency: true is not allowed: false: `quinn` asks for ACKs by the key `ack_frequency` of the table `stack`",
        ),
        (
            "stack = \"quinn\"\ncc = { windtunnel = \"reno-mds\" }\necn = false",
            "s.toml:8: flow[0].ecn: false is not allowed: true: the response to SCE needs ECN",
        ),
        (
            "stack = \"quinn\"\ntcp = { sack = false }",
            "s.toml:7: flow[0].tcp: does not go with stack = \"quinn\", whose keys are in the table `stack`",
        ),
        (
            "stack = \"noq\"\napp = \"cbr\"",
            "s.toml:7: flow[0].app: \"cbr\" is not allowed: an application that `noq` can carry: it has DATAGRAM frames for media alone",
        ),
        (
            "stack = { kind = \"noq\", packet_threshold = 0 }",
            "s.toml:6: flow[0].stack.packet_threshold: 0 is not allowed: at least 1",
        ),
        (
            "stack = { kind = \"noq\", window = 2 }",
            "s.toml:6: flow[0].stack.window: is not a key here; the keys are kind, initial_window, ack_frequency, packet_threshold, time_threshold, initial_rtt, send_window, receive_window, datagram_buffer, null_crypto, fault",
        ),
        (
            "cc = { windtunnel = \"reno\" }",
            "s.toml:6: flow[0].cc.windtunnel: belongs to a flow over a real stack, such as stack = \"quinn\"",
        ),
        (
            "stack = \"noq\"\necn = \"accecn\"",
            "s.toml:7: flow[0].ecn: \"accecn\" is not allowed: true or false: feedback schemes belong to TCP",
        ),
    ] {
        assert_eq!(message(flow), expected, "{flow}");
    }
}

/// A scenario in which packets are never lost is no place for a real stack.
#[test]
fn ideal_endpoints_have_no_stacks() {
    let text =
        format!("endpoints = \"ideal\"\n{}", text(1, BOTTLENECK, &["stack = \"quinn\"\nrtt = \"10 ms\""]));
    let message = parse(&text).err().unwrap_or_default();
    assert!(message.contains("flow[0].stack: needs endpoints = \"linux\""), "{message}");
}

/// A resolved scenario reads back as the same one, with every key of the stack that was set.
#[test]
fn a_resolved_scenario_reads_back() {
    for flow in [
        "stack = \"quinn\"",
        "stack = { kind = \"noq\", initial_window = \"20 kB\", time_threshold = 1.25 }\ncc = \"bbr3\"",
        "stack = \"noq\"\ncc = { windtunnel = { kind = \"cubic\", slow_start = \"hystart\" } }\necn = false",
        "stack = { kind = \"quinn\", fault = \"late-probes\" }\n\
         cc = { kind = \"cubic\", shadow = { kind = \"cubic\", variant = \"rfc9438\", slow_start = \"standard\" } }",
        "stack = \"noq\"\ncc = { windtunnel = \"bbr3\", shadow = \"bbr3\" }",
    ] {
        let scenario = parse(&text(1, BOTTLENECK, &[&format!("{flow}\nrtt = \"10 ms\"")])).expect(flow);
        let again = parse(&scenario.to_toml()).unwrap_or_else(|message| panic!("{flow}: {message}"));
        assert_eq!(again, scenario, "{flow}");
    }
}
