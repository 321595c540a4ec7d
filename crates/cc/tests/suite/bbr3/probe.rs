//! The cycle: when a probe is due, what comes before and after it, and the bandwidth that it leaves.

use super::*;

/// A probe is due after as many rounds as the product has segments, 63 at most, less one in half of the flows.
#[test]
fn rounds_between_probes() {
    for (product, most) in [(16, 16.0), (40, 40.0), (100, 63.0)] {
        let mut flow = Flow::cruise(&*draft(), product);
        let mut rounds = flow.number("rounds_since_probe");
        assert!(rounds <= 1.0, "{rounds}");
        while flow.mode() == CRUISE {
            flow.ack(Ack { after: ms(10), ..round(product) });
            rounds += 1.0;
        }
        assert_eq!((flow.mode(), rounds), (REFILL, most), "{product} segments");
    }
}

/// A probe is due two to three seconds after the start of the cycle, uniformly: of 64 flows none within two, all
/// after three, and in between, and of the rounds that are spared, half within five standard errors.
#[test]
fn time_between_probes() {
    let (mut soon, mut spared) = (0, 0);
    for seed in 0..64 {
        let mut flow = Flow::seeded(&*draft(), seed);
        flow.acks(4, round(100));
        spared += u32::from(flow.number("rounds_since_probe") > 0.5);
        flow.ack(Ack { after: ms(2000), ..within(100) });
        assert_eq!(flow.mode(), CRUISE, "two seconds");
        flow.ack(Ack { after: ms(500), ..within(100) });
        soon += u32::from(flow.mode() == REFILL);
        flow.ack(Ack { after: ms(500), ..within(100) });
        assert_eq!(flow.mode(), REFILL, "three seconds");
    }
    assert!((12..=52).contains(&soon) && (12..=52).contains(&spared), "{soon} {spared}");
}

/// DOWN leads to CRUISE when no more is in flight than the product of 100, and than what the headroom of 15 % leaves
/// of the long-term bound, which limits the window. Otherwise it lasts until the next probe.
#[test]
fn down_ends_when_the_queue_is_gone() {
    for (bound, stays, cruises) in [(100, 86, 85), (200, 101, 100)] {
        let mut flow = Flow::bounded(&*draft(), 100, bound);
        let calm = Ack { after: ms(10), ..within(80) };
        flow.ack(Ack { in_flight: stays, ..calm });
        assert_eq!((flow.mode(), flow.number("pacing_gain")), (DOWN, 0.9), "{stays} of {bound}");
        assert_near(flow.cwnd(), bound as f64, "the window in DOWN");
        flow.ack(Ack { in_flight: cruises, ..calm });
        assert_eq!((flow.mode(), flow.number("pacing_gain")), (CRUISE, 1.0), "{cruises} of {bound}");
        assert_near(flow.cwnd(), 0.85 * bound as f64, "the window in CRUISE");
    }
    let mut flow = Flow::bounded(&*draft(), 100, 200);
    flow.ack(Ack { after: ms(3000), in_flight: 101, ..within(80) });
    assert_eq!(flow.mode(), REFILL);
}

/// REFILL lasts until what left after its start is delivered.
#[test]
fn refill_lasts_a_round() {
    let mut flow = Flow::cruise(&*draft(), 100);
    flow.ack(Ack { after: ms(3000), ..within(100) });
    assert_eq!(flow.mode(), REFILL);
    let start = flow.delivered;
    for (left, mode) in [(0, REFILL), (start - 1, REFILL), (start, UP)] {
        flow.ack(Ack { after: ms(10), left: Some(left), ..round(100) });
        assert_eq!(flow.mode(), mode);
    }
}

/// The bandwidth is the largest of this cycle and the last. A sample that the application limits does not count
/// unless it is larger; the cycle ends with the first round after a probe, if its sample is not such a one.
#[test]
fn two_cycles_of_bandwidth() {
    for (limited_end, max_bw) in [(false, 60.0), (true, 100.0)] {
        let mut flow = Flow::cruise(&*draft(), 100);
        let slow = Ack { after: ms(10), in_flight: 100, ..round(60) };
        let limited = Ack { app_limited: true, sample: 80, ..slow };
        flow.ack(limited);
        flow.probe(slow);
        flow.acks(3, slow);
        assert_eq!(flow.mode(), DOWN, "a plateau at 60");
        assert_bound(flow.bandwidth("max_bw"), Some(100.0), "the probe's last round is still to come");
        flow.ack(Ack { app_limited: limited_end, ..slow });
        assert_bound(flow.bandwidth("max_bw"), Some(max_bw), &format!("{limited_end}"));
        flow.ack(Ack { app_limited: true, sample: 120, ..slow });
        assert_bound(flow.bandwidth("max_bw"), Some(120.0), "larger than any");
    }
}
