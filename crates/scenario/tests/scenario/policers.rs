//! Policers in whole runs: spec/queues-and-signalling section 14.3.

use crate::queues::run;

/// A conventional and an MDS Reno of equal RTT, policed at 20 Mbit/s with a burst of 20 ms, share the rate: the ratio of
/// their mean windows is from 0.8 to 1.25 over 300 s, and together they have at least 80 % of it.
#[test]
fn reno_and_reno_mds_share_a_policed_rate() {
    for kind in ["vqpolice", "ramppolice"] {
        let result = run(&format!(
            "duration = \"300 s\"\n[bottleneck]\nrate = \"100 Mbit/s\"\n\
             queue = {{ kind = \"{kind}\", rate = \"20 Mbit/s\", burst = \"20 ms\" }}\n\
             [[flow]]\nname = \"reno\"\ncc = \"reno\"\nrtt = \"20 ms\"\necn = true\n\
             [[flow]]\nname = \"mds\"\ncc = \"reno-mds\"\nrtt = \"20 ms\"\n"
        ));
        let flows = &result.summary.flows;
        let window = |flow: usize| flows[flow].cwnd_bytes.as_ref().expect("a window").mean;
        let (ratio, total) = (window(1) / window(0), flows[0].throughput_mbps + flows[1].throughput_mbps);
        assert!((0.8..=1.25).contains(&ratio), "{kind}: {ratio}");
        assert!(total >= 16.0, "{kind}: {total} Mbit/s");
    }
}
