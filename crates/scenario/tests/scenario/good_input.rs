//! What valid scenarios mean.

use std::sync::Arc;

use windtunnel_cc::{AnyParams, EsspParams, MdsParams};
use windtunnel_qdisc::ecn::EcnMode;
use windtunnel_qdisc::{DeltimParams, FifoParams, Limit, QueueSpec};
use windtunnel_scenario::{Active, Change, DequeuePoint, LinkRate, Registry, Scenario, Shape, Transport};
use windtunnel_tcp::{AckParams, GrowthGate};
use windtunnel_units::{Bytes, Duration, Rate, Time};

pub(crate) const DESIGN: &str = include_str!("good/design.toml");
pub(crate) const PARKING_LOT: &str = include_str!("good/parking-lot.toml");
pub(crate) const EVERYTHING: &str = include_str!("good/everything.toml");

pub(crate) fn parse(text: &str) -> Scenario {
    Scenario::parse(text, None, &[], &Registry::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Duration::from_secs(seconds)
}

fn names(scenario: &Scenario) -> Vec<String> {
    scenario.flows().map(|(_, member)| member.name).collect()
}

/// A dumbbell with one flow.
fn one_flow(queue: &str, flow: &str) -> Scenario {
    parse(&format!(
        "duration = \"60 s\"\nendpoints = \"ideal\"\n[bottleneck]\nrate = \"100 Mbit/s\"\nqueue = {queue}\n[[flow]]\nrtt = \"20 ms\"\n{flow}\n"
    ))
}

/// The example of the design document, with the defaults of the format.
#[test]
fn the_example_of_the_design() {
    let scenario = parse(DESIGN);
    assert_eq!(
        (scenario.duration, scenario.seed, scenario.mtu),
        (Duration::from_secs(60), 1, Bytes::new(1500))
    );
    assert_eq!(scenario.shape, Shape::Dumbbell);
    let [link] = &scenario.links[..] else { panic!("one link") };
    assert_eq!(
        (link.name.as_str(), &link.rate, link.params.delay),
        ("bottleneck", &Some(LinkRate::Fixed(Rate::from_mbps(100))), Duration::ZERO)
    );
    assert_eq!(
        link.params.changes,
        [Change { at: Some(at(30)), rate: Some(Rate::from_mbps(20)), ..Change::default() }]
    );
    assert_eq!(link.params.dequeue_point, Some(DequeuePoint::End));
    assert_eq!(link.queue.spec, QueueSpec::new(DeltimParams::default()));
    assert_eq!((link.queue.limit, link.queue.ecn_mode), (Limit::Unlimited, EcnMode::Mds));

    let [reno, mds] = &scenario.flows[..] else { panic!("two groups") };
    assert_eq!(names(&scenario), ["reno", "reno-mds-1", "reno-mds-2", "reno-mds-3"]);
    assert_eq!((&*reno.cc_name, &*mds.cc_name), ("reno", "reno-mds"));
    assert_eq!(reno.active, [Active { from: Time::ZERO.into(), to: None }]);
    assert_eq!((&reno.route.forward[..], &reno.route.reverse[..]), (&[0][..], &[][..]));
    assert_eq!(mds.route.rtt, Duration::from_millis(80));
    let endpoint = reno.endpoint;
    assert_eq!((endpoint.feedback.is_mds(), mds.endpoint.feedback.is_mds()), (false, true));
    let cc = mds.transport.controller().unwrap().to_map();
    assert_eq!((&cc["response"], &cc["slow_start"]["kind"]), (&"mds".into(), &"essp".into()));
    assert!(EsspParams::default().to_map().iter().all(|(key, value)| cc["slow_start"][key] == *value));
    assert!(MdsParams::default().to_map().iter().all(|(key, value)| cc[key] == *value));
    assert_eq!(
        (endpoint.paced, endpoint.feedback.uses_ecn(), endpoint.iw, reno.transport.ack()),
        (true, true, endpoint.mss() * 10, Some(AckParams::default()))
    );
    assert_eq!(scenario.record.interval, Duration::from_millis(10));
    assert_eq!(scenario.record.points, Some(Duration::from_millis(3)), "60 s / 20,000");
}

/// A short name is the table with the same meaning.
#[test]
fn short_names_are_tables() {
    let tables = [
        ("reno-mds", r#"{ kind = "reno", response = "mds" }"#),
        ("cubic", r#"{ kind = "cubic", response = "conventional", slow_start = "essp" }"#),
        ("scalable-mds", r#"{ kind = "scalable-mds", tau = 64 }"#),
        ("aimd", r#"{ kind = "aimd", a = 1.0, beta = 0.5, slow_start = { kind = "essp" } }"#),
    ];
    for (short, table) in tables {
        let (short, table) = (
            one_flow("\"fifo\"", &format!("cc = \"{short}\"")),
            one_flow("\"fifo\"", &format!("cc = {table}")),
        );
        assert_eq!(short, table);
    }
    let aimd = one_flow("\"fifo\"", "cc = { kind = \"aimd\", beta = 0.875 }");
    let cc = aimd.flows[0].transport.controller().unwrap();
    assert_eq!((cc.name(), &cc.to_map()["b"]), ("aimd", &0.875.into()));
}

/// The forms of a queue's limit; the bandwidth-delay product is that of the longest round trip.
#[test]
fn limits() {
    let limits = [
        ("100 packets", Limit::Packets(100)),
        ("1packet", Limit::Packets(1)),
        ("150 kB", Limit::Bytes(Bytes::new(150_000))),
        ("12 ms", Limit::Time(Duration::from_millis(12))),
        ("1.5 bdp", Limit::Bytes(Bytes::new(375_000))), // 1.5 * 100 Mbit/s * 20 ms
        ("unlimited", Limit::Unlimited),
    ];
    for (text, limit) in limits {
        let scenario = one_flow(&format!("{{ kind = \"fifo\", limit = \"{text}\" }}"), "cc = \"reno\"");
        assert_eq!(scenario.links[0].queue.limit, limit, "{text}");
        assert_eq!(scenario.links[0].queue.spec, QueueSpec::new(FifoParams::default()));
    }
    let text = "[[flow]]\ncc = \"reno\"\nrtt = \"80 ms\"";
    let two = one_flow("{ kind = \"fifo\", limit = \"1 bdp\" }", &format!("cc = \"reno\"\n{text}"));
    assert_eq!(two.links[0].queue.limit, Limit::Bytes(Bytes::new(1_000_000)));
}

/// `bdp/sqrt(n)` is the product at the longest round trip over the square root of the number of flows, members of
/// groups included (Appenzeller and others 2004). 100 Mbit/s * 80 ms = 1 MB; 9 + 16 flows make a fifth of it.
#[test]
fn limits_of_many_flows() {
    let more = "count = 9\n[[flow]]\ncc = \"cubic\"\nrtt = \"80 ms\"\ncount = 16";
    let limit = |text: &str| {
        let queue = format!("{{ kind = \"fifo\", limit = \"{text}\" }}");
        one_flow(&queue, &format!("cc = \"reno\"\n{more}")).links[0].queue.limit
    };
    for (text, bytes) in [
        ("bdp/sqrt(n)", 200_000),
        ("1 bdp/sqrt(n)", 200_000),
        ("2 BDP/sqrt(n)", 400_000),
        ("0.5bdp/sqrt(n)", 100_000),
        ("1 bdp", 1_000_000),
    ] {
        assert_eq!(limit(text), Limit::Bytes(Bytes::new(bytes)), "{text}");
    }
    let one = one_flow("{ kind = \"fifo\", limit = \"bdp/sqrt(n)\" }", "cc = \"reno\"");
    assert_eq!(one.links[0].queue.limit, Limit::Bytes(Bytes::new(250_000)), "100 Mbit/s * 20 ms, one flow");
    assert_eq!(parse(&one.to_toml()), one, "printed as bytes, which read back");
}

/// Members of a group start `stagger` apart; spans of activity are kept.
#[test]
fn schedules() {
    let scenario =
        one_flow("\"fifo\"", "cc = \"reno\"\ncount = 3\nstart = \"1 s\"\nstagger = \"2 s\"\nstop = \"9 s\"");
    let active: Vec<Active> = scenario.flows().flat_map(|(_, member)| member.active).collect();
    assert_eq!(active, [1, 3, 5].map(|from| Active { from: at(from).into(), to: Some(at(9).into()) }));

    let spans = one_flow(
        "\"fifo\"",
        "cc = \"reno\"\nactive = [{ from = \"0 s\", to = \"1 s\" }, { from = \"2 s\" }]",
    );
    let expected =
        [Active { from: at(0).into(), to: Some(at(1).into()) }, Active { from: at(2).into(), to: None }];
    assert_eq!(spans.flows[0].active, expected);
}

/// Groups without a name get that of their controller, with a number where it is taken.
#[test]
fn default_names_differ() {
    let more =
        "[[flow]]\ncc = \"reno\"\nrtt = \"1 ms\"\n[[flow]]\ncc = \"reno\"\nname = \"reno-2\"\nrtt = \"1 ms\"";
    let scenario = one_flow("\"fifo\"", &format!("cc = \"reno\"\n{more}"));
    assert_eq!(names(&scenario), ["reno", "reno-3", "reno-2"]);
}

/// Routes through a parking lot: found, given, and in the reverse direction.
#[test]
fn routes() {
    let scenario = parse(PARKING_LOT);
    let [long, first, second] = &scenario.flows[..] else { panic!("three flows") };
    assert_eq!((&long.route.forward[..], &long.route.reverse[..]), (&[0, 1][..], &[2][..]));
    assert_eq!(long.route.rtt, Duration::from_millis(16), "the sum of the delays of its links");
    assert_eq!(long.route.own_delay, Duration::ZERO);
    // The way back from b leads through c: it exists, so it is used.
    assert_eq!((&first.route.forward[..], &first.route.reverse[..]), (&[0][..], &[1, 2][..]));
    assert_eq!(first.route.own_delay, Duration::from_millis(30 - 16));
    assert_eq!((&second.route.forward[..], &second.route.reverse[..]), (&[1][..], &[][..]));
    assert_eq!(second.route.own_delay, Duration::from_millis(10));
    assert_eq!(scenario.links[1].ends, Some((1, 2)));
}

/// Among equally short routes the first in the order of the file is chosen; a longer one declared before is not.
#[test]
fn ties_of_routes_go_by_the_order_of_the_file() {
    let link = |name: &str, from: &str, to: &str| {
        format!("[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Gbit/s\"\n")
    };
    let links = [
        link("a-x", "a", "x"),
        link("x-y", "x", "y"),
        link("y-b", "y", "b"),
        link("a-y", "a", "y"),
        link("x-b", "x", "b"),
    ];
    let text = format!(
        "duration = \"1 s\"\nnode = [{{ name = \"b\" }}, {{ name = \"y\" }}, {{ name = \"x\" }}, {{ name = \"a\" }}]\n{}\n\
         [[flow]]\ncc = \"reno\"\nrtt = \"1 ms\"\nfrom = \"a\"\nto = \"b\"\n",
        links.concat()
    );
    assert_eq!(parse(&text).flows[0].route.forward, [0, 4], "a-x-b, not a-y-b or a-x-y-b");
}

/// In a dumbbell with a way of the ACKs, link delays are part of the round trip.
#[test]
fn the_reverse_path_of_a_dumbbell() {
    let scenario = parse(EVERYTHING);
    let route = &scenario.flows[0].route;
    assert_eq!((&route.forward[..], &route.reverse[..]), (&[0][..], &[1][..]));
    assert_eq!(scenario.links[1].name, "reverse");
    assert_eq!(route.own_delay, Duration::from_millis(40 - 2), "minus 1.5 ms and 0.5 ms of the links");
    assert_eq!(names(&scenario)[5..], ["scalable-mds", "scalable-mds-2"]);
}

/// A thousand flows in one group stay one group.
#[test]
fn many_flows() {
    let scenario = one_flow("\"fifo\"", "cc = \"reno\"\ncount = 1000\nstagger = \"1 ms\"");
    assert_eq!((scenario.flows.len(), scenario.flows().count()), (1, 1000));
}

/// A gate of growth has a name; `true` and `false`, which it had before, stay Linux's gate and none. QUIC's receiver waits for 25
/// ms unless the scenario says otherwise, others for 40 ms (RFC 9000 section 18.2; Linux).
#[test]
fn gates_and_delays() {
    let config = |flow: &str| {
        let text = format!(
            "duration = \"1 s\"\nbottleneck = {{ rate = \"10 Mbit/s\" }}\n[[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\n{flow}\n"
        );
        let scenario = parse(&text);
        match &scenario.flows[0].transport {
            Transport::Tcp { params, ack, .. } => (Arc::clone(params), *ack),
            other => panic!("{other:?}"),
        }
    };
    for (gate, expected) in [
        ("\"linux\"", GrowthGate::Linux),
        ("true", GrowthGate::Linux),
        ("false", GrowthGate::None),
        ("\"none\"", GrowthGate::None),
        ("\"max-flight\"", GrowthGate::MaxFlight),
        ("\"rfc9002\"", GrowthGate::Rfc9002),
    ] {
        assert_eq!(config(&format!("tcp = {{ growth_gate = {gate} }}")).0.growth_gate, expected, "{gate}");
    }
    for (ack, delay) in [
        ("\"quic\"", 25),
        ("\"every\"", 40),
        ("{ policy = \"quic\", count = 10 }", 25),
        ("{ policy = \"quic\", delay = \"5 ms\" }", 5),
    ] {
        assert_eq!(config(&format!("ack = {ack}")).1.delay, Duration::from_millis(delay), "{ack}");
    }
}
