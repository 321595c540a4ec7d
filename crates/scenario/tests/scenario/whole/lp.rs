//! TCP-LP next to Reno, 20 Mbit/s and 40 ms, a buffer of 100 packets.

use windtunnel_sim::RunResult;

use super::run;

fn next_to_reno(cc: &str) -> RunResult {
    let text = format!(
        "duration = \"20 s\"\nendpoints = \"linux\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
         queue = {{ kind = \"fifo\", limit = \"100 packets\" }}\n\
         [[flow]]\ncc = {cc}\nrtt = \"40 ms\"\n[[flow]]\ncc = \"reno\"\nrtt = \"40 ms\"\n"
    );
    run(&text, &[])
}

/// With Linux endpoints TCP-LP is Linux's. Where the receiver's timestamps start at 2^29 ms or later, as for seven connections of eight,
/// it is Reno to the byte (as in 13 of 14 captures of a 7.3 kernel); where they start earlier, it acts. The paper's gives way:
/// Reno has nearly all.
#[test]
fn timestamps_decide_what_linux_does() {
    let delivered = |cc: &str| {
        let flows = next_to_reno(cc).summary.flows;
        [flows[0].sender.delivered_bytes.expect("a TCP"), flows[1].sender.delivered_bytes.expect("a TCP")]
    };
    let reno = delivered("\"reno\"");
    for offset in [1_u32 << 29, 3_000_000_000] {
        let cc = format!("{{ kind = \"lp\", timestamp_offset = {offset} }}");
        assert_eq!(delivered(&cc), reno, "{offset}");
    }
    assert_ne!(delivered("{ kind = \"lp\", timestamp_offset = 100000000 }"), reno);
    let [ours, others] = delivered("{ kind = \"lp\", variant = \"paper\" }");
    assert!(ours * 10 < others, "{ours} of {others}");
}
