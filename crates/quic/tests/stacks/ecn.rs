//! ECN: the stacks send ECT(0), count CE and answer it, unless their sockets cannot set the field.

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
