//! ECN: the stacks send ECT(0), count CE and answer it, unless their sockets cannot set the field. Their hosts count for
//! controllers that hear each mark.

use crate::runs::{first, flow, run, text};

const BOTTLENECK: &str =
    "rate = \"20 Mbps\"\nqueue = { kind = \"codel\", ecn = true, limit = \"1000 packets\" }";

/// CoDel marks ECT(0) packets, and the sender reduces for CE without a loss (RFC 9002 section 7.1).
#[test]
fn marks_are_answered_without_losses() {
    for stack in ["quinn", "noq"] {
        for cc in ["\"cubic\"", "{ windtunnel = \"cubic\" }"] {
            let result = run(&text(20, BOTTLENECK, &[&flow(stack, cc, 40)]));
            let flow = first(&result);
            assert!(flow.ce_marks > 3, "{stack} {cc}: {} marks", flow.ce_marks);
            assert!(flow.sender.ecn_reductions > Some(3), "{stack} {cc}: {:?}", flow.sender);
            assert_eq!(flow.drops.aqm, 0, "{stack} {cc}");
        }
    }
}

/// Without ECN nothing is marked: CoDel drops, and the sender hears of losses.
#[test]
fn sockets_without_ecn_are_not_marked() {
    for stack in ["quinn", "noq"] {
        let flow = format!("{}\necn = false", flow(stack, "\"cubic\"", 40));
        let result = run(&text(20, BOTTLENECK, &[&flow]));
        let flow = first(&result);
        assert_eq!((flow.ce_marks, flow.sender.ecn_reductions), (0, Some(0)), "{stack}");
        assert!(flow.drops.aqm > 3 && flow.sender.loss_episodes > Some(3), "{stack}: {flow:?}");
    }
}

const MDS: &str = "rate = \"100 Mbps\"\nqueue = { kind = \"deltim\", burst = \"5 ms\", tau = 64 }";

/// The hosts of a flow with MDS count ECT(1), and its controller hears each mark: over the queue of the document's figure 3
/// there are as many SCE as for TCP, which hears them by echoes, and neither CE nor losses.
#[test]
fn sce_are_counted_by_the_hosts() {
    let marks = |stack: &str, cc: &str| {
        let result = run(&text(20, MDS, &[&flow(stack, cc, 40)]));
        let flow = first(&result);
        assert_eq!((flow.ce_marks, flow.drops.aqm), (0, 0), "{stack} {cc}");
        assert_eq!(flow.slow_start_exit.map(|exit| exit.reason), Some("SCE"), "{stack} {cc}");
        flow.sce_marks as f64
    };
    let in_tcp = marks("linux", "\"reno-mds\"");
    for stack in ["quinn", "noq"] {
        let sce = marks(stack, "{ windtunnel = \"reno-mds\" }");
        assert!((0.9..1.1).contains(&(sce / in_tcp)), "{stack}: {sce} SCE, {in_tcp} with TCP");
    }
}

/// RFC 9000 section 13.4.2.1: counts of a code point that was not sent fail the validation. The queue marks SCE on every
/// ECN-capable packet; a stack that sees ECT(1) sends Not-ECT from then on, and the queue drops in place of CE. Hosts that
/// count show it ECT(0).
#[test]
fn a_stack_that_sees_ect1_gives_up_ecn() {
    let queue =
        "rate = \"20 Mbps\"\nqueue = { kind = \"deltic\", ecn_mode = \"sce\", limit = \"1000 packets\" }";
    for stack in ["quinn", "noq"] {
        let marks = |cc: &str| {
            let result = run(&text(20, queue, &[&flow(stack, cc, 40)]));
            (result.summary.queues[0].sce, first(&result).drops.aqm)
        };
        let (sce, drops) = marks("\"newreno\"");
        assert!((1..100).contains(&sce) && drops > 3, "{stack} alone: {sce} SCE, {drops} drops");
        let (sce, drops) = marks("{ windtunnel = \"reno-mds\" }");
        assert!(sce > 100 && drops == 0, "{stack} with counts: {sce} SCE, {drops} drops");
    }
}

/// Prague inside a stack hears each CE and sends ECT(1): over DualPI2 it is in the queue of L4S, keeps the link as busy as
/// Prague in TCP does, with as low a queue, and does not lose a packet. No SCE are counted.
#[test]
fn prague_hears_counts_of_ce() {
    let queue = "rate = \"40 Mbps\"\nqueue = \"dualpi2\"";
    let alone = |stack: &str, cc: &str| {
        let result = run(&text(20, queue, &[&flow(stack, cc, 20)]));
        let link = &result.summary.queues[0];
        let flow = first(&result);
        assert_eq!((flow.drops.aqm + flow.drops.full, flow.sce_marks), (0, 0), "{stack} {cc}");
        let sojourn = link.sojourn_ms.map_or(f64::NAN, |sojourn| sojourn.mean);
        (flow.goodput_mbps, sojourn, flow.ce_marks as f64)
    };
    for variant in ["linux", "udp"] {
        let params = format!("{{ kind = \"prague\", variant = \"{variant}\" }}");
        let in_tcp = alone("linux", &params);
        for stack in ["quinn", "noq"] {
            let inside = alone(stack, &format!("{{ windtunnel = {params} }}"));
            assert!(inside.0 > 0.97 * in_tcp.0, "{stack} {variant}: {inside:?}, {in_tcp:?} in TCP");
            assert!(inside.1 < 1.0, "{stack} {variant}: the step is at 1 ms: {inside:?}");
            assert!((0.5..2.0).contains(&(inside.2 / in_tcp.2)), "{stack} {variant}: {inside:?}, {in_tcp:?}");
        }
    }
}

/// Without ECN no counts come back, and Prague is Reno (rule 9 of its module).
#[test]
fn sockets_without_ecn_make_prague_reno() {
    let queue = "rate = \"20 Mbps\"\nqueue = { kind = \"fifo\", limit = \"100 packets\" }";
    for stack in ["quinn", "noq"] {
        let mean = |cc: &str| {
            let result = run(&text(30, queue, &[&format!("{}\necn = false", flow(stack, cc, 40))]));
            first(&result).goodput_mbps
        };
        let (prague, reno) = (mean("{ windtunnel = \"prague\" }"), mean("{ windtunnel = \"reno\" }"));
        assert!((0.98..1.02).contains(&(prague / reno)), "{stack}: {prague}, Reno {reno}");
    }
}
