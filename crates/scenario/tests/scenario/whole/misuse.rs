//! Flows that misbehave, that are capped, or that carry the wrong code point, and what becomes of them in a queue that marks.

use windtunnel_sim::RunResult;

use super::{assert_near, flow, run};

/// Flows over a queue that marks with PIE's probability.
fn marking(flows: &str, settings: &[&str]) -> RunResult {
    let text = format!(
        "duration = \"30 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
         queue = {{ kind = \"pie\", ecn = true, ecn_mode = \"rfc3168\", limit = \"1000 packets\" }}\n{flows}"
    );
    run(&text, settings)
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.summary.flows.iter().map(|flow| flow.goodput_mbps).collect()
}

const RENO: &str = "[[flow]]\ncc = \"reno\"\nrtt = \"40 ms\"\necn = true\n";

/// A flow that ignores marks takes most of the link; one that ignores losses does so where the queue drops, and is as others
/// where it marks. Both are marked or dropped like others, and retransmit.
#[test]
fn unresponsive_flows_take_the_link() {
    let pair = format!("{RENO}{RENO}");
    let honest = goodputs(&marking(&pair, &[]));
    assert!(honest[0] / honest[1] < 1.6 && honest[1] / honest[0] < 1.6, "{honest:?}");
    let deaf = marking(&pair, &["flow[0].unresponsive=marks"]);
    assert!(goodputs(&deaf)[0] > 3.0 * goodputs(&deaf)[1], "{:?}", goodputs(&deaf));
    assert!(deaf.summary.flows[0].ce_marks > deaf.summary.flows[1].ce_marks);
    let dropped = ["bottleneck.queue.ecn=false", "flow[0].unresponsive=losses"];
    let careless = marking(&pair, &dropped);
    assert!(goodputs(&careless)[0] > 3.0 * goodputs(&careless)[1], "{:?}", goodputs(&careless));
    assert!(careless.summary.flows[0].sender.retransmits > Some(100), "its losses are repaired");
    let neither = marking(&pair, &["flow[0].unresponsive=all"]);
    assert!(goodputs(&neither)[0] > 3.0 * goodputs(&neither)[1], "{:?}", goodputs(&neither));
}

/// A receiver that hides all marks makes its sender's flow as bold as one that ignores them; one that hides half is
/// between the two.
#[test]
fn hidden_marks_are_not_answered() {
    let share = |probability: &str| {
        let hide = format!("flow[0].ack={{ hide_marks = {probability} }}");
        let rates = goodputs(&marking(&format!("{RENO}{RENO}"), &[&hide]));
        rates[0] / (rates[0] + rates[1])
    };
    let (honest, half, all) = (share("0.0"), share("0.5"), share("1.0"));
    assert!(honest < 0.62 && all > 0.75, "{honest} {all}");
    assert!(half > honest && half < all, "{honest} {half} {all}");
}

/// `SO_MAX_PACING_RATE`: CUBIC capped at 5 Mbit/s of payload sends that, with hardly a queue. Next to a flow that
/// leaves it less, it still answers congestion.
#[test]
fn a_cap_on_the_pacing_rate() {
    let capped =
        "[[flow]]\ncc = \"cubic\"\nrtt = \"40 ms\"\necn = true\ntcp = { max_pacing_rate = \"5 Mbit/s\" }\n";
    let alone = marking(capped, &[]);
    assert_near("alone", flow(&alone).goodput_mbps, 5.0, 0.02);
    assert_eq!(flow(&alone).ce_marks, 0);
    let crowded = marking(&format!("{capped}{RENO}"), &["bottleneck.rate=6 Mbit/s"]);
    assert!(
        goodputs(&crowded)[0] < 4.5 && crowded.summary.flows[0].ce_marks > 10,
        "{:?}",
        goodputs(&crowded)
    );
}

/// A sender that negotiates MDS, and so has its identifier, but does not answer: in a queue that gives MDS flows fine marks it
/// takes the link from an honest one.
#[test]
fn an_identifier_without_the_response() {
    let text = "duration = \"30 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\nqueue = { kind = \"deltim\", limit = \"500 packets\" }\n\
        [[flow]]\ncc = \"reno-mds\"\nrtt = \"40 ms\"\ncount = 1\n[[flow]]\ncc = \"reno-mds\"\nrtt = \"40 ms\"\n";
    let honest = goodputs(&run(text, &[]));
    assert!(honest[0] / honest[1] < 1.5 && honest[1] / honest[0] < 1.5, "{honest:?}");
    let cheat = run(text, &["flow[0].unresponsive=marks"]);
    assert!(goodputs(&cheat)[0] > 3.0 * goodputs(&cheat)[1], "{:?}", goodputs(&cheat));
    assert!(cheat.summary.flows[0].sce_marks > cheat.summary.flows[1].sce_marks);
}

/// The wrong code point: a step for ECT(1) alone marks a CUBIC that claims to be L4S, at every packet above 1 ms, and does not
/// see a Prague that claims not to be.
#[test]
fn the_wrong_code_point() {
    let marks = |flow: &str| {
        let text = format!(
            "duration = \"20 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
             queue = {{ kind = \"codel\", ce_threshold = \"1 ms\", ce_threshold_selector = \"0x01/0x03\", ecn = false, \
             ecn_mode = \"rfc3168\", limit = \"500 packets\" }}\n[[flow]]\n{flow}\nrtt = \"20 ms\"\n"
        );
        let result = run(&text, &[]);
        (result.summary.flows[0].ce_marks, result.summary.flows[0].goodput_mbps)
    };
    let (l4s, _) = marks("cc = \"prague\"");
    let (not_l4s, _) = marks("cc = \"prague\"\nect = \"ect0\"");
    assert!(l4s > 100 && not_l4s == 0, "{l4s} {not_l4s}");
    let (honest, before) = marks("cc = \"cubic\"\necn = true");
    let (claims, after) = marks("cc = \"cubic\"\necn = true\nect = \"ect1\"");
    assert!(honest == 0 && claims > 10, "{honest} {claims}");
    assert!(after < before, "a decrease at each mark of a shallow step: {after} of {before}");
}

/// Without AccECN, because a box clears AE, Prague is Reno and sends no ECT(1): nothing is marked.
#[test]
fn prague_falls_back_to_reno() {
    let text = "duration = \"20 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\nimpair = { kind = \"option-stripper\", options = [\"ae-flag\"] }\n\
        queue = { kind = \"codel\", ce_threshold = \"1 ms\", ecn_mode = \"rfc3168\", limit = \"100 packets\" }\n\
        [[flow]]\ncc = \"prague\"\nrtt = \"20 ms\"\n";
    let result = run(text, &[]);
    assert_eq!(flow(&result).ce_marks, 0);
    assert!(flow(&result).sender.loss_episodes > Some(3), "{:?}", flow(&result).sender.loss_episodes);
    let reno = run(text, &["flow[0].cc=reno", "flow[0].ecn=false"]);
    assert_near("goodput", flow(&result).goodput_mbps, flow(&reno).goodput_mbps, 0.03);
}

/// DCTCP over a step of 5 ms keeps the link full and the queue at the step: the amplitude of its sawtooth is `sqrt(W / 2)`
/// segments (spec/congestion-control section 3.19), with its own feedback as with AccECN. Recorded Linux: 38.26 Mbit/s and 24.7 ms.
#[test]
fn dctcp_over_a_step() {
    for feedback in ["dctcp", "accecn"] {
        let text = format!(
            "duration = \"20 s\"\n[bottleneck]\nrate = \"40 Mbit/s\"\noverhead = \"14 B\"\n\
             queue = {{ kind = \"codel\", ce_threshold = \"5 ms\", ecn = false, ecn_mode = \"rfc3168\", limit = \"10000 packets\" }}\n\
             [[flow]]\ncc = \"dctcp\"\necn = \"{feedback}\"\nrtt = \"20 ms\"\n[[window]]\nname = \"steady\"\nfrom = \"10 s\"\nto = \"20 s\"\n"
        );
        let result = run(&text, &[]);
        assert_near(feedback, result.summary.windows[0].flows[0].goodput_mbps, 38.256, 0.002);
        assert!(flow(&result).ce_marks > 1000 && flow(&result).sender.retransmits == Some(0));
    }
}
