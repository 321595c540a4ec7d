//! Signals end to end: counts of marks from a queue to a controller, and how middleboxes on the path change them.

use std::sync::Mutex;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, ControllerParams, EcnFeedback, FlowInit, Needs,
    Params, PathView,
};
use windtunnel_scenario::{Registry, Scenario, compile};
use windtunnel_sim::{RunResult, Simulation};
use windtunnel_units::Bytes;

use super::run;

/// The sum of what the controller was told during the run.
static TOLD: Mutex<Option<EcnFeedback>> = Mutex::new(None);

/// A controller that adds one segment per round trip, halves its window on congestion, and sums up what it is told of
/// marks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct CountingParams {}

impl Params for CountingParams {
    const NAME: &'static str = "counting";
    const SUMMARY: &'static str = "Sums up marks";
}

impl ControllerParams for CountingParams {
    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        *TOLD.lock().expect("no panic before") = Some(EcnFeedback::default());
        Box::new(Counting { mss: init.mss, cwnd: init.iw })
    }
}

#[derive(Debug)]
struct Counting {
    mss: Bytes,
    cwnd: Bytes,
}

impl CongestionControl for Counting {
    fn on_ack(&mut self, ack: &AckSample, _: &PathView) {
        if !ack.growth_barred {
            self.cwnd += Bytes::new(ack.newly_delivered.get() * self.mss.get() / self.cwnd.get());
        }
        if let Some(told) = TOLD.lock().expect("no panic before").as_mut() {
            told.ce.packets += ack.ecn.ce.packets;
            told.ce.bytes += ack.ecn.ce.bytes;
            told.ect1.bytes += ack.ecn.ect1.bytes;
        }
    }

    fn on_congestion(&mut self, _: &CongestionEvent, _: &PathView) -> bool {
        self.cwnd = (self.cwnd / 2).max(self.mss * 2);
        true
    }

    fn on_rto(&mut self, _: bool, _: &PathView) {
        self.cwnd = self.mss * 2;
    }

    fn control(&self) -> Control {
        Control::window(self.cwnd)
    }
}

/// With AccECN or QUIC's counts the controller's sum of marks is the queue's number of CE marks, in packets and in bytes, whichever
/// code point the flow sends. The flow stops early, so that the last ACKs arrive; nothing is lost.
#[test]
fn counts_tell_every_mark_of_the_queue() {
    let mut registry = Registry::default();
    registry.register_controller::<CountingParams>().expect("a new name");
    for (ecn, ect) in [("accecn", "ect0"), ("accecn", "ect1"), ("quic", "ect0"), ("quic", "ect1")] {
        let text = format!(
            "duration = \"30 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
             queue = {{ kind = \"brickwall\", ce_threshold = \"5 ms\", ecn_mode = \"rfc3168\", limit = \"2000 packets\" }}\n\
             [[flow]]\ncc = \"counting\"\nrtt = \"40 ms\"\nstop = \"29 s\"\necn = \"{ecn}\"\nect = \"{ect}\"\n"
        );
        let scenario = Scenario::parse(&text, None, &[], &registry).unwrap_or_else(|error| panic!("{error}"));
        let summary = Simulation::new(compile(&scenario)).finish().summary;
        let told = TOLD.lock().expect("no panic before").take().expect("it ran");
        let (queue, flow) = (&summary.queues[0], &summary.flows[0]);
        assert!(
            queue.ce > 50 && flow.sender.retransmits == Some(0),
            "{} marks, {:?} lost",
            queue.ce,
            flow.sender.retransmits
        );
        assert_eq!((u64::from(told.ce.packets), flow.ce_marks), (queue.ce, queue.ce), "{ecn} {ect}");
        assert_eq!(told.ce.bytes.get(), queue.ce * 1448, "{ecn} {ect}");
        assert_eq!(told.ect1.bytes > Bytes::ZERO, (ecn, ect) == ("accecn", "ect1"));
    }
}

/// One flow over an access link and a bottleneck, with elements behind each: before the bottleneck, and behind it. It
/// pushes nothing, so that sawteeth of runs with other headers are alike.
fn over(flow: &str, before: &str, behind: &str, mode: &str) -> RunResult {
    let text = format!(
        "duration = \"20 s\"\ntcp = {{ write_size = \"0 B\" }}\n\
         [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[node]]\nname = \"c\"\n\
         [[link]]\nname = \"access\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Gbit/s\"\nimpair = {before}\n\
         [[link]]\nname = \"bottleneck\"\nfrom = \"b\"\nto = \"c\"\nrate = \"20 Mbit/s\"\nimpair = {behind}\n\
         queue = {{ kind = \"brickwall\", sce_threshold = \"2 ms\", ce_threshold = \"20 ms\", \
         ecn_mode = \"{mode}\", limit = \"150 packets\" }}\n\
         [[flow]]\nfrom = \"a\"\nto = \"c\"\nrtt = \"40 ms\"\n{flow}\n"
    );
    run(&text, &[])
}

/// SCE and CE marks and losses of the bottleneck, and SCE and CE as the flow's receiver counts them.
fn marks(result: &RunResult) -> ([u64; 3], [u64; 2]) {
    let (queue, flow) = (&result.summary.queues[1], &result.summary.flows[0]);
    ([queue.sce, queue.ce, queue.drops.full + queue.drops.aqm], [flow.sce_marks, flow.ce_marks])
}

/// "Signaling Traversal" of the MDS document (spec/queues-and-signalling section 17.6), row by row: a DSCP bleached before the
/// bottleneck makes the flow a conventional one there; behind it, it does not matter. Without the option of the handshake
/// the flow is conventional. ECN bleached before the queue leaves drops. ECT(1) rewritten to ECT(0) behind it, or a
/// cleared AE on the way of the ACKs, hides SCE.
#[test]
fn mds_through_boxes() {
    let mds = "cc = \"reno-mds\"";
    let ([sce, ce, _], [seen_sce, _]) = marks(&over(mds, "[]", "[]", "mds"));
    assert!(sce > 500 && ce < sce / 10 && sce.abs_diff(seen_sce) < 200, "{sce} {ce} {seen_sce}");

    let ([sce, ce, _], seen) = marks(&over(mds, "[\"dscp-bleacher\"]", "[]", "mds"));
    assert!(sce == 0 && ce > 10 && seen[0] == 0, "{sce} {ce}");
    let ([sce, ..], [seen_sce, _]) = marks(&over(mds, "[]", "[\"dscp-bleacher\"]", "mds"));
    assert!(sce > 500 && sce.abs_diff(seen_sce) < 200, "{sce} {seen_sce}");

    let ([sce, ce, _], _) = marks(&over(mds, "[\"option-stripper\"]", "[]", "mds"));
    assert!(sce == 0 && ce > 10, "{sce} {ce}");

    let refused = "cc = \"reno-mds\"\nack.mds_tau = 32";
    let ([sce, ce, _], _) = marks(&over(refused, "[]", "[]", "mds"));
    assert!(sce == 0 && ce > 10, "{sce} {ce}");
    let ([sce, ..], _) = marks(&over("cc = \"reno-mds\"\nack.mds_tau = 64", "[]", "[]", "mds"));
    assert!(sce > 500, "{sce}");

    let ([sce, ce, drops], seen) = marks(&over(mds, "[\"ecn-bleacher\"]", "[]", "mds"));
    assert!(sce + ce == 0 && drops > 5 && seen == [0, 0], "{sce} {ce} {drops}");

    let hides_sce = "[{ kind = \"ecn-bleacher\", from = [\"ect1\"], to = \"ect0\" }]";
    let ([sce, ce, _], [seen_sce, _]) = marks(&over(mds, "[]", hides_sce, "mds"));
    assert!(sce > 500 && ce > 10 && seen_sce == 0, "{sce} {ce} {seen_sce}");
}

/// A queue takes the packets of a flow for those of MDS if and only if they carry its `mds_dscp`: the default of both, or
/// another value of both. With different values the flow is a conventional one there, as it is behind a box that bleaches the
/// DSCP; and a box that writes the identifier of the queue makes it one of MDS again.
#[test]
fn the_identifier_of_mds_is_that_of_the_queue() {
    let over = |flow: &str, queue: &str, before: &str| {
        let flow = format!("cc = \"reno-mds\"\n{flow}");
        marks(&over(&flow, before, "[]", &format!("mds\", {queue}age = \"1 s")))
    };
    let run = |flow: Option<u8>, queue: Option<u8>, before: &str| {
        let flow = flow.map(|dscp| format!("mds_dscp = {dscp}")).unwrap_or_default();
        over(&flow, &queue.map(|dscp| format!("mds_dscp = {dscp}, ")).unwrap_or_default(), before)
    };
    let mds = run(None, None, "[]");
    assert!(mds.0[0] > 500, "{mds:?}");
    for (flow, queue) in [(Some(43), None), (None, Some(43)), (Some(3), Some(3)), (Some(63), Some(63))] {
        assert_eq!(run(flow, queue, "[]"), mds, "{flow:?} {queue:?}");
    }
    let conventional = run(None, None, "[\"dscp-bleacher\"]");
    assert!(conventional.0[0] == 0 && conventional.0[1] > 10, "{conventional:?}");
    for (flow, queue) in [(Some(3), None), (None, Some(3)), (Some(1), Some(63))] {
        assert_eq!(run(flow, queue, "[]"), conventional, "{flow:?} {queue:?}");
    }
    let remark = "[{ kind = \"dscp-bleacher\", mode = \"remark\", to = 7, affects = \"data\" }]";
    assert_eq!(run(None, Some(7), remark), mds);
}

/// RFC 9000 section 13.4.2.1: where the ECN field is bleached behind the bottleneck, packets are acknowledged and not counted. The
/// flow gives up ECN after its first ACKs, and the queue drops instead; one with RFC 3168's echo goes on, deaf to every mark. SCE
/// are counted as well.
#[test]
fn quic_counts_show_a_bleached_path() {
    let marked = |flow: &str, behind: &str, mode: &str| marks(&over(flow, "[]", behind, mode));
    let quic = "cc = \"reno\"\necn = \"quic\"";
    let ([_, ce, _], [_, seen]) = marked(quic, "[]", "rfc3168");
    assert!(ce > 10 && ce.abs_diff(seen) < 5, "{ce} marked, {seen} seen");
    let bleacher = "[\"ecn-bleacher\"]";
    let ([_, ce, drops], _) = marked(quic, bleacher, "rfc3168");
    assert!(ce == 0 && drops > 5, "{ce} marks, {drops} drops");
    let ([_, deaf, _], _) = marked("cc = \"reno\"\necn = \"rfc3168\"", bleacher, "rfc3168");
    assert!(deaf > 1000, "{deaf} marks");
    let ([sce, ce, drops], _) = marked("cc = \"reno-sce\"\necn = \"quic\"", "[]", "sce");
    assert!(sce > 500 && ce < 10 && drops == 0, "{sce} SCE keep CE ({ce}) and drops ({drops}) away");
}

/// RFC 6040: a bottleneck within a tunnel marks the outer header, and the exit brings the mark to the receiver. An exit that
/// ignores the outer header loses every mark, and compatibility mode turns marks into drops. The tunnel's 20 bytes take
/// their share of the bottleneck.
#[test]
fn marks_through_a_tunnel() {
    let classic = "cc = \"reno\"\necn = true";
    let tunnel = |entry: &str, exit: &str| over(classic, entry, exit, "rfc3168");
    let whole = tunnel("[\"tunnel-entry\"]", "[\"tunnel-exit\"]");
    let ([_, ce, _], [_, seen]) = marks(&whole);
    assert!(ce > 10 && ce.abs_diff(seen) < 20, "{ce} marked, {seen} seen");
    let plain = over(classic, "[]", "[]", "rfc3168");
    let ratio = whole.summary.flows[0].goodput_mbps / plain.summary.flows[0].goodput_mbps;
    assert!((ratio / (1500.0 / 1520.0) - 1.0).abs() < 0.01, "{ratio}");

    let ([_, ce, _], [_, seen]) =
        marks(&tunnel("[\"tunnel-entry\"]", "[{ kind = \"tunnel-exit\", ecn = \"ignore\" }]"));
    assert!(ce > 10 && seen == 0, "{ce} marked, {seen} seen");

    let compatible = "[{ kind = \"tunnel-entry\", mode = \"compatibility\" }]";
    let ([_, ce, drops], _) = marks(&tunnel(compatible, "[\"tunnel-exit\"]"));
    assert!(ce == 0 && drops > 5, "{ce} {drops}");
}

/// RFC 2018 section 2: a SYN whose "SACK permitted" was stripped forbids SACK; losses are then repaired by duplicate ACKs.
#[test]
fn without_sack_permitted() {
    let stripper = "[{ kind = \"option-stripper\", options = [\"sack-permitted\"], on = \"syn\" }]";
    let result = over("cc = \"reno\"", stripper, "[]", "rfc3168");
    let flow = &result.summary.flows[0];
    assert!(flow.sender.loss_episodes > Some(2) && flow.goodput_mbps > 15.0, "{flow:?}");
    let with_sack = over("cc = \"reno\"", "[]", "[]", "rfc3168");
    assert_ne!(result.summary.digest, with_sack.summary.digest);
}
