//! RED with responsive flows: where it keeps the queue.
//!
//! Forty Reno flows over 20 Mbit/s, with 45 and 135 kB as thresholds: 18 and 54 ms of queue.

use windtunnel_sim::Summary;

use crate::good_input::parse;
use crate::invariants;

fn run(red: &str) -> Summary {
    let text = format!(
        "duration = \"60 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n\
         queue = {{ kind = \"red\", min = \"45 kB\", max = \"135 kB\", bandwidth = \"20 Mbit/s\", limit = \"500 kB\", {red} }}\n\
         [[flow]]\ncc = \"reno\"\nrtt = \"40 ms\"\ncount = 40\nstagger = \"100 ms\"\necn = true\n"
    );
    invariants::check(&parse(&text), 10_000_000).expect("few events")
}

fn sojourn_ms(summary: &Summary) -> f64 {
    summary.queues[0].sojourn_ms.as_ref().expect("packets").mean
}

/// The mean queue is between the thresholds (Floyd and Jacobson 1993, section 5), the link is busy, and the queue never
/// overflows, whether packets are dropped or marked.
#[test]
fn the_mean_queue_is_between_the_thresholds() {
    for (red, marks) in [("probability = 0.1", false), ("probability = 0.1, ecn = true", true)] {
        let summary = run(red);
        let queue = &summary.queues[0];
        assert!((18.0..54.0).contains(&sojourn_ms(&summary)), "{red}: {}", sojourn_ms(&summary));
        assert!(queue.utilization > 0.98, "{red}: {}", queue.utilization);
        assert_eq!(queue.drops.full, 0, "{red}");
        let marked: u64 = summary.flows.iter().map(|flow| flow.ce_marks).sum();
        assert_eq!(marked > 1_000, marks, "{red}: {marked}");
    }
}

/// The probability at `max` decides where in the band the queue is; if it is adapted, the queue is in the middle fifth,
/// 32.4 to 39.6 ms (Adaptive RED, section 4), from any initial value.
#[test]
fn an_adapted_queue_is_in_the_middle_of_the_band() {
    let of = |red: &str| sojourn_ms(&run(red));
    let [low, high] = ["probability = 0.5, gentle = true", "probability = 0.03, gentle = true"].map(of);
    assert!(low < 32.4 && high > 39.6, "{low} {high}");
    for red in [
        "probability = 0.5, gentle = true, adaptive = true",
        "probability = 0.03, gentle = true, adaptive = true",
    ] {
        let sojourn = of(red);
        assert!((32.4..39.6).contains(&sojourn), "{red}: {sojourn}");
    }
}
