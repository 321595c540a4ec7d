//! What `endpoints = "linux"`, the default, means: defaults, mechanisms, elements of paths, applications.

use windtunnel_scenario::{DequeuePoint, Endpoints, Registry, Scenario, Transport};
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_tcp::{AckPolicy, LossDetection, TcpParams};
use windtunnel_units::{Bytes, Duration};

use crate::good_input::parse;

fn dumbbell(top: &str, bottleneck: &str, flow: &str) -> Scenario {
    parse(&text(top, bottleneck, flow))
}

fn text(top: &str, bottleneck: &str, flow: &str) -> String {
    format!(
        "duration = \"60 s\"\n{top}\n[bottleneck]\nrate = \"100 Mbit/s\"\n{bottleneck}\n[[flow]]\nrtt = \"20 ms\"\n{flow}\n"
    )
}

fn refused(top: &str, bottleneck: &str, flow: &str) -> String {
    let error =
        Scenario::parse(&text(top, bottleneck, flow), None, &[], &Registry::default()).expect_err("wrong");
    error.to_string()
}

/// A transfer closes its connection, unless it is told not to, or the flow starts again.
#[test]
fn finite_transfers_close() {
    let closes = |keys: &str| {
        let flow = format!("cc = \"reno\"\n{keys}");
        let network = windtunnel_scenario::compile(&dumbbell("", "", &flow));
        match &network.flows[0].application {
            ApplicationConfig::Transfer(params) => params.close,
            other => panic!("{other:?}"),
        }
    };
    assert!(closes("app = { kind = \"transfer\", size = \"1 MB\" }"));
    assert!(!closes("app = { kind = \"transfer\", size = \"1 MB\", close = false }"));
    let again = "active = [{ from = \"0 s\", to = \"1 s\" }, { from = \"2 s\", to = \"3 s\" }]";
    assert!(!closes(&format!("app = {{ kind = \"transfer\", size = \"1 MB\" }}\n{again}")));
}

/// Behind Ethernet's 14 bytes of headers, which queues count, a default that is a full packet is longer by them, as Linux's
/// `psched_mtu` is (1514 B; fq's are two and ten of them), in a queue, in one inside of it, and in an AQM's slot; what is
/// given stays, and what was resolved reads back.
#[test]
fn full_packets_have_headers() {
    for (queue, key, framed, plain) in [
        ("\"fq_codel\"", "quantum", "1514 B", "1500 B"),
        ("\"fq_pie\"", "quantum", "1514 B", "1500 B"),
        ("\"sfq\"", "quantum", "1514 B", "1500 B"),
        ("\"fq\"", "quantum", "3028 B", "3 kB"),
        ("\"fq\"", "initial_quantum", "15140 B", "15 kB"),
        ("\"codel\"", "mtu", "1514 B", "1500 B"),
        ("\"pie\"", "mtu", "1514 B", "1500 B"),
        ("\"dualpi2\"", "mtu", "1514 B", "1500 B"),
        ("\"cake\"", "mtu", "1514 B", "1500 B"),
        ("{ kind = \"cake\", overhead = \"18 B\" }", "mtu", "1514 B", "1500 B"),
        ("{ kind = \"codel\", mtu = \"1 kB\" }", "mtu", "1 kB", "1 kB"),
        ("{ kind = \"tbf\", child = \"codel\", mtu = \"3 kB\" }", "mtu", "1514 B", "1500 B"),
        ("{ kind = \"sfb\", aqm = \"codel\" }", "mtu", "1514 B", "1500 B"),
    ] {
        for (overhead, expected) in [("14 B", framed), ("0 B", plain)] {
            let link = format!("overhead = \"{overhead}\"\nqueue = {queue}");
            let scenario = dumbbell("", &link, "cc = \"reno\"");
            let shown = scenario.to_toml();
            assert!(shown.contains(&format!("{key} = \"{expected}\"")), "{queue} {overhead}: {shown}");
            assert_eq!(parse(&shown), scenario);
        }
    }
}

/// CoDel's square root is Linux's next to Linux's endpoints (`codel_Newton_step`), wherever Linux's CoDel is; what is given
/// stays. Next to ideal endpoints the root is exact.
#[test]
fn newton_next_to_linux() {
    for (queue, newton) in [
        ("\"codel\"", true),
        ("\"fq_codel\"", true),
        ("{ kind = \"fq\", aqm = \"codel\" }", true),
        ("{ kind = \"tbf\", child = \"fq_codel\" }", true),
        ("{ kind = \"codel\", newton = false }", false),
        ("{ kind = \"fq_codel\", newton = false }", false),
        ("{ kind = \"codel\", variant = \"rfc\" }", false),
        ("{ kind = \"fq_codel\", aqm = \"pie\" }", false),
    ] {
        let scenario = dumbbell("", &format!("queue = {queue}"), "cc = \"reno\"");
        let shown = scenario.to_toml();
        assert!(shown.contains(&format!("newton = {newton}")), "{queue}: {shown}");
        assert_eq!(parse(&shown), scenario);
    }
    let ideal = dumbbell("endpoints = \"ideal\"", "queue = \"codel\"", "cc = \"reno\"");
    assert!(ideal.to_toml().contains("newton = false"));
}

/// The stack of spec/congestion-control section 0.5: CUBIC as Linux has it with `HyStart`, not paced, no ECN, Linux's
/// delayed ACKs, RACK; a link decides before it serialises.
#[test]
fn the_defaults_are_those_of_linux() {
    let scenario = dumbbell("", "", "cc = \"cubic\"");
    assert_eq!(scenario.endpoints, Endpoints::Linux);
    assert_eq!(scenario.links[0].params.dequeue_point, Some(DequeuePoint::Start));
    let flow = &scenario.flows[0];
    let controller = flow.transport.controller().unwrap();
    let cc = controller.to_map();
    assert_eq!((controller.name(), &cc["variant"]), ("cubic", &"linux".into()));
    assert_eq!(cc["slow_start"]["kind"], "hystart");
    let (paced, policy) = (flow.endpoint.paced, flow.transport.ack().unwrap().policy);
    assert_eq!((paced, flow.endpoint.feedback.uses_ecn(), policy), (false, false, AckPolicy::Linux));
    assert_eq!(flow.transport.mechanisms(), Some(&TcpParams::default()));
    assert_eq!(scenario.flows[0].application, ApplicationConfig::Bulk);
}

/// An MDS flow needs ECN, and ESSP sets its pace itself.
#[test]
fn mds_flows_have_ecn_and_essp_is_paced() {
    let scenario = dumbbell("", "", "cc = { kind = \"reno-mds\", slow_start = \"essp\" }");
    let flow = &scenario.flows[0];
    assert!(flow.endpoint.feedback.is_mds() && flow.endpoint.paced);
    assert!(
        (flow.transport.mechanisms().unwrap().pacing_ss_ratio - 1.0).abs() < 1e-9,
        "its gain is the stages' own"
    );
}

/// A flow's own mechanisms come before those of the scenario.
#[test]
fn mechanisms_are_inherited() {
    let scenario = dumbbell(
        "tcp = { tlp = false, dupthresh = 5 }",
        "",
        "cc = \"reno\"\ntcp = { dupthresh = 7, frto = false }",
    );
    let tcp = scenario.flows[0].transport.mechanisms().unwrap();
    assert_eq!((tcp.tlp, tcp.dupthresh, tcp.frto, tcp.sack), (false, 7, false, true));
}

/// Small queues are off, because the first link is a router's unless the scenario says otherwise; their largest limit is
/// Linux's since 6.16. Both keys are printed as they were given.
#[test]
fn small_queues() {
    let off = TcpParams::default();
    assert_eq!((off.small_queues, off.limit_output_bytes), (false, Bytes::new(4_194_304)));
    let flow = "cc = \"cubic\"\ntcp = { small_queues = true, limit_output_bytes = \"1 MiB\" }";
    let scenario = dumbbell("", "", flow);
    let tcp = scenario.flows[0].transport.mechanisms().unwrap();
    assert_eq!((tcp.small_queues, tcp.limit_output_bytes), (true, Bytes::new(1 << 20)));
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

/// The names of earlier systems stand for their growth and their recovery (spec/congestion-control section 3.2).
#[test]
fn classic_controllers_bring_their_recovery() {
    for (name, detection, iw) in [
        ("tahoe", LossDetection::Tahoe, 1),
        ("reno1990", LossDetection::Reno, 1),
        ("newreno", LossDetection::Newreno, 10),
    ] {
        let scenario = dumbbell("", "", &format!("cc = \"{name}\""));
        let flow = &scenario.flows[0];
        let mechanisms = flow.transport.mechanisms().unwrap();
        assert_eq!(
            (flow.cc_name.as_str(), mechanisms.loss_detection, mechanisms.sack),
            (name, detection, false)
        );
        assert_eq!(flow.endpoint.iw, flow.endpoint.mss() * iw, "{name}: spec/congestion-control section 1.2");
        assert_eq!(parse(&scenario.to_toml()), scenario, "it can be printed and read");
    }
}

/// Elements act in the order of their kinds, in whatever order they are written; a single one needs no list.
#[test]
fn elements_are_ordered() {
    let scenario =
        dumbbell("", "impair = [\"jitter\", { kind = \"loss\", probability = \"1 %\" }]", "cc = \"reno\"");
    let kinds: Vec<&str> = scenario.links[0].elements.iter().map(|element| element.name()).collect();
    assert_eq!(kinds, ["loss", "jitter"]);
    assert_eq!(dumbbell("", "impair = \"loss\"", "cc = \"reno\"").links[0].elements.len(), 1);
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

/// ACKs may be lost or delayed without a queue of their own.
#[test]
fn a_way_back_without_a_rate() {
    let scenario =
        dumbbell("", "[reverse]\nimpair = { kind = \"loss\", probability = \"10 %\" }", "cc = \"reno\"");
    assert_eq!(scenario.links[1].rate, None);
    let network = windtunnel_scenario::compile(&scenario);
    assert_eq!((network.links.len(), network.elements.len()), (1, 1));
    assert_eq!(network.elements[0].name, "reverse loss");
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

/// Half of the path's round trip lies before the receiver, and half after it.
#[test]
fn the_delay_is_on_both_ways() {
    let network = windtunnel_scenario::compile(&dumbbell("", "", "cc = \"reno\""));
    let half = windtunnel_sim::PathHop::Delay(Duration::from_millis(10));
    assert_eq!(
        (network.flows[0].forward.last(), network.flows[0].reverse.last()),
        (Some(&half), Some(&half))
    );
}

/// A probe has no controller.
#[test]
fn udp_applications_have_no_controller() {
    let scenario = dumbbell("", "", "app = \"probe\"");
    assert_eq!(scenario.flows[0].cc_name, "probe");
    assert_eq!(parse(&scenario.to_toml()), scenario);
    assert!(refused("", "", "app = \"probe\"\ncc = \"reno\"").contains("belongs to TCP"));
}

/// Impossible settings are refused, and the message says why.
#[test]
fn impossible_combinations() {
    let cases = [
        (refused("", "", "cc = \"reno\"\ntcp = { sack = false }"), "RACK needs SACK"),
        (refused("", "", "cc = \"tahoe\"\ntcp = { sack = true }"), "knows no SACK"),
        (
            refused("", "queue = { kind = \"fifo\", limit = \"0 packets\" }", "cc = \"reno\""),
            "more than nothing",
        ),
        (
            refused("endpoints = \"ideal\"", "impair = \"loss\"", "cc = \"reno\""),
            "needs endpoints = \"linux\"",
        ),
        (
            refused("endpoints = \"ideal\"", "", "cc = \"reno\"\ntcp = { tlp = false }"),
            "belongs to endpoints",
        ),
        (refused("endpoints = \"ideal\"", "", "cc = \"tahoe\""), "needs no loss recovery"),
        (refused("endpoints = \"ideal\"", "", "cc = \"reno\"\napp = \"transfer\""), "bulk"),
        (refused("", "", "cc = \"reno\"\napp = { kind = \"transfer\", size = \"0 B\" }"), "1 byte or more"),
        (
            refused("", "impair = { kind = \"loss\", probability = \"120 %\" }", "cc = \"reno\""),
            "0 % to 100 %",
        ),
        (
            refused("", "impair = { kind = \"periodic-loss\", every = 1 }", "cc = \"reno\""),
            "else nothing passes",
        ),
        (
            refused("", "rate = { trace = \"no-such-file\" }", "cc = \"reno\"").replace('\n', " "),
            "duplicate key",
        ),
        (
            refused("", "impair = { kind = \"scripted-reordering\", packets = [5] }", "cc = \"reno\""),
            "how many packets overtake",
        ),
        (
            refused("", "", "cc = \"bsd42\"\napp = { kind = \"poisson\", arrivals = 1.0 }"),
            "`bsd42` opens no others",
        ),
        (refused("", "overhead = \"2 kB\"", "cc = \"reno\""), "at most 1 kB"),
        (refused("tcp = { rto_max = \"1 ms\" }", "", "cc = \"reno\""), "at least rto_min"),
        (
            refused("", "", "cc = \"reno\"\ntcp = { limit_output_bytes = \"0 B\" }"),
            "flow[0].tcp.limit_output_bytes: \"0 B\" is not allowed: 1 byte or more",
        ),
        (
            refused("endpoints = \"ideal\"", "", "cc = \"reno\"\ntcp = { small_queues = true }"),
            "belongs to endpoints = \"linux\"",
        ),
        (
            refused("", "", "cc = { kind = \"bbr3\", ack_frequency = true }\ntcp = { ack_ratio = 4 }"),
            "ack_ratio: does not go with `ack_frequency`",
        ),
        (
            refused("endpoints = \"ideal\"", "", "cc = { kind = \"bbr3\", ack_frequency = true }"),
            "ideal endpoints ask for no ACKs",
        ),
        (refused("", "", "cc = \"reno\"\ntcp = { ack_ratio = 128 }"), "1 to 127 segments"),
        (refused("", "", "cc = \"bsd42\"\ntcp = { small_queues = true }"), "does not go with `bsd42`"),
        (refused("", "", "app = \"probe\"\ntcp = { small_queues = true }"), "belongs to TCP"),
        (refused("", "", "cc = \"reno\"\ntcp = { small_queue = true }"), "did you mean `small_queues`"),
        (refused("", "[reverse]\nqueue = \"fifo\"", "cc = \"reno\""), "belongs to a link with a `rate`"),
    ];
    for (message, part) in cases {
        assert!(message.contains(part), "{message} does not say {part}");
    }
}

/// The sender of spec/congestion-control section 1.18 takes the place of a controller.
#[test]
fn a_sender_without_congestion_control() {
    let scenario = dumbbell("", "", "cc = { kind = \"bsd42\", window = 8 }");
    assert!(matches!(&scenario.flows[0].transport, Transport::Bsd42(params) if params.window == 8));
    assert_eq!(parse(&scenario.to_toml()), scenario);
    assert!(refused("endpoints = \"ideal\"", "", "cc = \"bsd42\"").contains("endpoints = \"linux\""));
    // A scenario's `tcp` is for the flows that have it, and this flow does not have it.
    assert_eq!(
        dumbbell("tcp = { sack = false }\n", "", "cc = \"bsd42\"").flows,
        dumbbell("", "", "cc = \"bsd42\"").flows
    );
    assert!(refused("", "", "cc = { kind = \"bsd42\", windo = 8 }").contains("did you mean `window`"));
}
