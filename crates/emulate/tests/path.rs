//! Real packets through a path, without a clock: the times at which they arrive are chosen here.

use etherparse::PacketBuilder;
use windtunnel_emulate::{Emulation, EmulationError, Hosts, Side, Traffic};
use windtunnel_scenario::{Registry, Scenario, compile};
use windtunnel_sim::recorder::columns::Column;
use windtunnel_sim::{RunResult, Simulation};
use windtunnel_units::{Duration, Time};

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, None, &[], &Registry::default()).expect("a scenario")
}

fn path(text: &str) -> Emulation {
    Emulation::new(&scenario(text), &Traffic::default()).expect("a path")
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_micros(us)
}

/// A datagram of `size` bytes in all from one host to the other.
fn datagram(from: u8, to: u8, port: u16, ecn: u8, size: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(
        etherparse::Ipv4Header {
            ecn: etherparse::IpEcn::try_new(ecn).expect("two bits"),
            ..etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::UDP, [10, 0, 0, from], [10, 0, 0, to])
                .expect("a header")
        },
        etherparse::Ipv4Extensions::default(),
    ));
    builder.udp(port, 9).write(&mut packet, &vec![7; size - 28]).expect("a packet");
    packet
}

/// All packets that leave until `until`, with the time and the side of each.
fn departures(path: &mut Emulation, until: Time) -> Vec<(Side, Time, Vec<u8>)> {
    path.advance(until);
    let (mut all, mut packet) = (Vec::new(), Vec::new());
    while let Some((side, due)) = path.leave(&mut packet) {
        all.push((side, due, packet.clone()));
    }
    all
}

const PLAIN: &str = r#"
    duration = "1 s"
    [bottleneck]
    rate = "12 Mbit/s"
    queue = { kind = "fifo", limit = "3 packets" }
    [[flow]]
    name = "way"
    cc = "cubic"
    rtt = "20 ms"
"#;

/// 1500 bytes at 12 Mbit/s take 1 ms each, one after the other, and a packet and its answer take a round trip: by the
/// scenario's words alone.
#[test]
fn packets_take_the_time_of_the_way() {
    let mut path = path(PLAIN);
    for _ in 0..3 {
        assert!(path.arrive(Side::Near, &datagram(1, 2, 5, 0, 1500), at(1000)));
    }
    let there = departures(&mut path, at(100_000));
    let times: Vec<Time> = there.iter().map(|(_, due, _)| *due).collect();
    assert_eq!([times[1].since(times[0]), times[2].since(times[1])], [Duration::from_millis(1); 2]);
    assert!(
        there.iter().all(|(side, _, packet)| *side == Side::Far && *packet == datagram(1, 2, 5, 0, 1500))
    );
    let answer = datagram(2, 1, 9, 0, 100);
    path.arrive(Side::Far, &answer, at(200_000));
    let back = departures(&mut path, at(300_000));
    assert_eq!(back.len(), 1);
    assert_eq!((back[0].0, &back[0].2), (Side::Near, &answer));
    let round_trip = times[0].since(at(1000)) + back[0].1.since(at(200_000));
    assert_eq!(round_trip, Duration::from_millis(1 + 20));
}

/// A full queue drops: three wait, one is on the wire, and the fifth is lost.
#[test]
fn a_full_queue_drops() {
    let mut path = path(PLAIN);
    for _ in 0..5 {
        path.arrive(Side::Near, &datagram(1, 2, 5, 0, 1500), at(0));
    }
    assert_eq!(departures(&mut path, at(100_000)).len(), 4);
    assert_eq!(path.links()[0].dropped, 1);
}

/// A queue's mark is in the packet that leaves, with the checksum that it needs; a packet that is not ECN-capable is
/// dropped instead. The threshold is 2 ms: the first packet that has waited longer is the fourth.
#[test]
fn a_mark_is_in_the_packet_that_leaves() {
    let marking = PLAIN
        .replace(r#"{ kind = "fifo", limit = "3 packets" }"#, r#"{ kind = "codel", ce_threshold = "2 ms" }"#);
    let scenario = Scenario::parse(&marking, None, &[], &Registry::default());
    let Ok(scenario) = scenario else { panic!("{}", scenario.expect_err("a message")) };
    let mut path = Emulation::new(&scenario, &Traffic::default()).expect("a path");
    for _ in 0..6 {
        path.arrive(Side::Near, &datagram(1, 2, 5, 0b10, 1500), at(0));
    }
    let marked: Vec<bool> =
        departures(&mut path, at(100_000)).iter().map(|(_, _, packet)| packet[1] & 3 == 3).collect();
    assert_eq!(marked, [false, false, false, true, true, true]);
}

/// The same datagrams, once from a simulated application and once from outside, meet the same queue: sojourn times,
/// drops and throughput are equal to the last bit.
#[test]
fn the_queue_does_not_know_where_packets_come_from() {
    let simulated = scenario(
        r#"
        duration = "3 s"
        [bottleneck]
        rate = "8 Mbit/s"
        queue = { kind = "pie", limit = "100 packets" }
        [[flow]]
        app = { kind = "cbr", rate = "10 Mbit/s", packet_size = "1000 B" }
        rtt = "20 ms"
        "#,
    );
    let run = Simulation::new(compile(&simulated)).finish();
    let mut path = Emulation::new(&simulated, &Traffic::default()).expect("a path");
    let sent = run.summary.flows[0].datagrams.expect("datagrams").sent;
    for n in 0..sent {
        path.arrive(Side::Near, &datagram(1, 2, 5, 0, 1000), at(800 * n));
    }
    let (emulated, _) = path.finish(at(3_000_000)).expect("memory");
    let (ours, theirs): (&RunResult, &RunResult) = (&run, &emulated);
    let told = |result: &RunResult| {
        let queue = &result.summary.queues[0];
        let sojourn = queue.sojourn_ms.expect("packets");
        (queue.dequeued, queue.throughput_mbps, sojourn.mean, sojourn.p99, queue.drops.aqm, queue.drops.full)
    };
    assert_eq!(told(ours), told(theirs));
    assert!(ours.summary.queues[0].drops.aqm > 0, "PIE has something to do");
}

/// Each connection is a flow of its own: a fair queue serves both, and the result says so.
#[test]
fn connections_are_flows() {
    let mut path =
        path(&PLAIN.replace(r#"{ kind = "fifo", limit = "3 packets" }"#, r#"{ kind = "fq_codel" }"#));
    for _ in 0..10 {
        path.arrive(Side::Near, &datagram(1, 2, 5, 0, 1500), at(0));
    }
    path.arrive(Side::Near, &datagram(1, 2, 6, 0, 1500), at(100));
    let ports: Vec<u8> = departures(&mut path, at(100_000)).iter().map(|(_, _, packet)| packet[21]).collect();
    assert_eq!(
        ports.iter().position(|port| *port == 6),
        Some(1),
        "new queues go first (RFC 8290 section 3.1)"
    );
    let names: Vec<String> =
        path.connections().into_iter().map(|(name, tuple)| format!("{name}: {tuple}")).collect();
    assert_eq!(
        names,
        ["connection-1: 10.0.0.1:5 > 10.0.0.2:9 UDP", "connection-2: 10.0.0.1:6 > 10.0.0.2:9 UDP"]
    );
    let (result, scenario) = path.finish(at(200_000)).expect("memory");
    assert_eq!(result.summary.flows.len(), 2);
    assert_eq!(result.summary.duration_s.to_bits(), 0.2_f64.to_bits());
    assert_eq!(
        scenario.flows.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(),
        ["connection-1", "connection-2"]
    );
    let received: Vec<u64> = result.summary.flows.iter().map(|flow| flow.received_bytes).collect();
    assert_eq!(received, [15_000, 1500]);
    let flows = result.tables.iter().find(|table| table.name == "flows").expect("a table of flows");
    let Some((_, Column::U32(rows))) = flows.columns.iter().find(|(name, _)| *name == "flow") else {
        panic!("rows have numbers of flows");
    };
    let most = rows.iter().max();
    assert_eq!(most, Some(&1), "flows that have not begun have no rows");
}

/// The scenario's own flows run next to real traffic if they are kept: the link carries both.
#[test]
fn simulated_flows_run_next_to_real_ones() {
    let traffic = Traffic { keep: true, ..Traffic::default() };
    let mut path = Emulation::new(&scenario(PLAIN), &traffic).expect("a path");
    for n in 0..200 {
        path.arrive(Side::Near, &datagram(1, 2, 5, 0, 1500), at(5000 * n));
    }
    let (result, scenario) = path.finish(at(1_000_000)).expect("memory");
    let names: Vec<&str> = result.summary.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["way", "connection-1"]);
    assert!(result.summary.flows.iter().all(|flow| flow.received_bytes > 100_000));
    assert_eq!(scenario.flows.len(), 2);
}

/// Flows over the kernel's stack have their ends at their hosts, each with its own round trip; other packets stay outside,
/// and the scenario's other flows run.
#[test]
fn flows_of_a_kernel_have_hosts() {
    let text = r#"
    duration = "1 s"
    [bottleneck]
    rate = "12 Mbit/s"
    queue = "fifo"
    [[flow]]
    name = "kernel"
    cc = "bbr"
    stack = "linux-kernel"
    rtt = "20 ms"
    count = 2
    [[flow]]
    name = "ours"
    cc = "reno"
    rtt = "40 ms"
    "#;
    let mut registry = Registry::default();
    windtunnel_emulate::visit(&mut registry);
    let scenario = Scenario::parse(text, None, &[], &registry).expect("a scenario");
    assert_eq!(scenario.outside(), Some((0, "windtunnel twin")));
    let hosts = |flow: &str, net| {
        let [near, far] = [1, 2].map(|host| [10, 0, net, host].into());
        Hosts { flow: flow.to_owned(), near, far }
    };
    let missing = Emulation::between(&scenario, &[hosts("kernel-1", 0)]).err();
    assert_eq!(missing, Some(EmulationError::Ends("kernel-2".to_owned())));
    let ours =
        Emulation::between(&scenario, &["kernel-1", "kernel-2", "ours"].map(|flow| hosts(flow, 0))).err();
    assert_eq!(ours, Some(EmulationError::Ends("ours".to_owned())));
    let mut path =
        Emulation::between(&scenario, &[hosts("kernel-1", 0), hosts("kernel-2", 9)]).expect("a path");
    assert!(path.arrive(Side::Near, &datagram(1, 2, 5, 0, 1500), at(10)));
    assert!(!path.arrive(Side::Near, &datagram(1, 3, 5, 0, 1500), at(20)), "not one of the hosts");
    assert_eq!(path.not_carried(), 1);
    let (result, scenario) = path.finish(at(1_000_000)).expect("memory");
    let flows: Vec<(&str, bool)> =
        result.summary.flows.iter().map(|flow| (flow.name.as_str(), flow.received_bytes > 0)).collect();
    assert_eq!(flows, [("kernel-1", true), ("kernel-2", false), ("ours", true)]);
    assert_eq!(scenario.duration, Duration::from_millis(1000));
}

#[test]
fn what_cannot_be_emulated_is_refused() {
    let of = |text: &str, traffic: &Traffic| Emulation::new(&scenario(text), traffic).err();
    let elsewhere = Traffic { way: Some("elsewhere".to_owned()), ..Traffic::default() };
    assert_eq!(
        of(PLAIN, &elsewhere),
        Some(EmulationError::NoWay("elsewhere".to_owned(), vec!["way".to_owned()]))
    );
    let ideal = format!("endpoints = \"ideal\"\n{}", PLAIN.replace("cubic", "reno"));
    assert_eq!(of(&ideal, &Traffic::default()), None);
    assert_eq!(of(&ideal, &Traffic { keep: true, ..Traffic::default() }), Some(EmulationError::LossFree));
}
