//! TCP small queues (spec/congestion-control section 1.15): the first link is the sender's own interface.

use windtunnel_sim::PathHop;
use windtunnel_tcp::ConnectionState;
use windtunnel_units::{Bytes, Duration, Time};

use super::*;

/// The memory of a full packet in the host: its payload and a record.
const TRUESIZE: u64 = 1448 + RECORD;
const RECORD: u64 = 832;

/// 10 Mbit/s and 20 ms with a queue that holds 1.2 s: the sender's own interface if small queues are on.
const HOST: &str = r#"
duration = "20 s"
window = [{ name = "late", from = "5 s", to = "20 s" }]
[bottleneck]
rate = "10 Mbit/s"
queue = { kind = "fifo", limit = "1000 packets" }
[[flow]]
cc = "cubic"
rtt = "20 ms"
"#;

const ON: &str = "tcp.small_queues=true";

/// The longest sojourn in the first queue, in packets of 1.2 ms. A sojourn counts the packet's own transmission if the
/// packet is dequeued at its end; here it is dequeued at its start.
fn longest_wait(result: &RunResult) -> f64 {
    result.summary.windows[0].queues[0].sojourn_ms.as_ref().expect("packets passed").max / 1.2
}

/// The law: a packet finds less than the limit in the host, which is two packets below 2 * 2280 bytes in 2^-10 s, that
/// is 37 Mbit/s; so it waits for less than two transmissions (queue <= limit / rate). cwnd stops where it no longer
/// limits the flow: 1.2 times, in slow start twice, what is in flight is far below that rate. Without small queues the
/// same flow fills the queue. The link is busy in both cases.
#[test]
fn a_short_queue_and_a_busy_link() {
    for (what, settings, most) in [
        ("on", &[ON][..], 2.0),
        ("paced", &[ON, "flow[0].pacing=true"], 2.0),
        ("noise", &[ON, "tcp.jitter=100 us"], 2.0),
        ("reno", &[ON, "flow[0].cc=reno"], 2.0),
        // Two bursts of at least two segments: 4 * 1448 + 2 * 832 bytes in the host.
        ("bursts", &[ON, "tcp.gso=true"], 4.0),
    ] {
        let result = run(HOST, settings);
        let late = &result.summary.windows[0].flows[0];
        assert_near(what, late.goodput_mbps, 10.0 * MSS / PACKET, 0.001);
        let longest = longest_wait(&result);
        assert!(longest <= most, "{what}: {longest} packets");
        assert_eq!(flow(&result).sender.retransmits, Some(0), "{what}");
        assert!(late.limited.expect("TCP").host > 0.5, "{what}: {:?}", late.limited);
    }
    let off = run(HOST, &[]);
    assert!(longest_wait(&off) > 900.0, "{}", longest_wait(&off));
    assert_near("off", off.summary.windows[0].flows[0].goodput_mbps, 10.0 * MSS / PACKET, 0.001);
}

/// At 1 Gbit/s a millisecond at the pacing rate is more than two packets: 2^-10 s at 1.2 times cwnd / RTT (CUBIC has left
/// slow start, and cwnd grows no more), in packets of 2280 bytes. The last packet that finds less than that in the host
/// waits for 12 us for each of them.
#[test]
fn a_millisecond_in_the_host() {
    let settings = [
        ON,
        "bottleneck.rate=1 Gbit/s",
        "flow[0].rtt=10 ms",
        "duration=6 s",
        "window[0].from=5 s",
        "window[0].to=6 s",
    ];
    let result = run(HOST, &settings);
    let late = &result.summary.windows[0];
    let flow = &late.flows[0];
    assert_near("goodput", flow.goodput_mbps, 1000.0 * MSS / PACKET, 0.001);
    let (cwnd, rtt) = (flow.cwnd_bytes.as_ref().expect("TCP"), flow.rtt_ms.as_ref().expect("ACKs"));
    let limit = 1.2 * cwnd.mean / (rtt.mean / 1e3) / 1024.0;
    let waits = late.queues[0].sojourn_ms.as_ref().expect("packets passed").p50;
    assert_near("sojourn", waits, f64::floor(limit / TRUESIZE as f64) * 0.012, 0.005);
}

/// Flows share their host's interface, which drops some of their packets: on arrival (a short FIFO, RED), from the
/// middle of the queue (FQ-CoDel's overlimit) and at the head (CoDel). At any time, the senders count in the host
/// exactly what is in the queue: 2280 bytes for each packet, 832 for a SYN, 2 for the ACK of its answer. The path is the
/// link alone, so that there are no packets besides those of the link: one in transmission, the rest in the queue.
#[test]
fn what_is_counted_is_what_is_in_the_queue() {
    for queue in [
        "{ kind = \"fifo\", limit = \"20 packets\" }",
        "{ kind = \"red\", min = \"15 kB\", max = \"45 kB\", limit = \"60 kB\" }",
        "{ kind = \"fq-codel\", limit = \"20 packets\" }",
        "{ kind = \"fq-codel\" }",
    ] {
        let text = HOST.replace("{ kind = \"fifo\", limit = \"1000 packets\" }", queue);
        let settings = [ON, "flow[0].count=40"].map(str::to_owned);
        let scenario = Scenario::parse(&text, None, &settings, &Registry::default()).expect("it is valid");
        let mut network = compile(&scenario);
        for flow in &mut network.flows {
            flow.forward.retain(|hop| !matches!(hop, PathHop::Delay(_)));
            flow.reverse.clear();
        }
        let mut simulation = Simulation::new(network);
        let (mut compared, mut most) = (0, 0);
        let mut now = Time::ZERO;
        while now < simulation.end() {
            now += Duration::from_micros(1370);
            simulation.run_until(now);
            let in_host = simulation.streams().map(|stream| {
                let syn = stream.states[0] != ConnectionState::Established;
                let (memory, each) = (stream.in_host.get(), if syn { RECORD } else { TRUESIZE });
                let acks = memory % each / 2;
                assert!(acks <= 1 && memory % each == 2 * acks, "{queue} at {now}: {stream:?}");
                memory / each + acks
            });
            let packets = simulation.in_network();
            assert_eq!(in_host.sum::<u64>(), packets, "{queue} at {now}");
            compared += 1;
            most = most.max(packets);
        }
        let lost = simulation.lost();
        assert!(compared > 1000 && lost > 100, "{queue}: {compared} times, {lost} losses");
        assert!(most > 10, "{queue}: {most} packets");
    }
}

/// Connections start and end during the run, with FINs and answers to FINs, which carry no data: when all have ended,
/// nothing is left in the host.
#[test]
fn connections_leave_nothing_in_the_host() {
    let app = "flow[0].app={ kind = \"transfer\", size = \"100 kB\" }";
    for more in ["tcp.gso=true", "tcp.jitter=100 us", "flow[0].ecn=accecn"] {
        let settings =
            [ON, app, "flow[0].count=20", "bottleneck.queue.limit=20 packets", more].map(str::to_owned);
        let scenario = Scenario::parse(HOST, None, &settings, &Registry::default()).expect("it is valid");
        let mut simulation = Simulation::new(compile(&scenario));
        simulation.run_until(simulation.end());
        assert!(simulation.streams().all(|stream| stream.drained && stream.in_host == Bytes::ZERO), "{more}");
        assert_eq!(simulation.in_network(), 0, "{more}");
    }
    let arrivals =
        "flow[0].app={ kind = \"poisson\", arrivals = 20.0, size = { kind = \"fixed\", value = \"30 kB\" } }";
    let result = run(HOST, &[ON, arrivals]);
    let transfers = flow(&result).transfers.as_ref().expect("connections");
    assert!(transfers.completed > 300, "{transfers:?}");
}
