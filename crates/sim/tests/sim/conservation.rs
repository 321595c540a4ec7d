//! Packets are conserved, time is monotone, and runs repeat.

use proptest::prelude::*;
use windtunnel_sim::{DequeuePoint, PathHop, Simulation};
use windtunnel_units::{Duration, Time};

use crate::fixtures::{PlainQueue, dumbbell, flow, link, network};

proptest! {
    /// At any moment: packets sent = arrived + lost + in the network, over random chains of links, both ways, with
    /// queues that overflow; and the clock never runs backwards.
    #[test]
    fn packets_are_conserved(
        rates in prop::collection::vec(1_u64..50, 1..4),
        limits in prop::collection::vec(2_usize..30, 4),
        windows in prop::collection::vec(1_u64..40, 1..6),
        delays in prop::collection::vec(0_u64..5, 4),
        start in any::<bool>(),
        paced in any::<bool>(),
    ) {
        let point = if start { DequeuePoint::Start } else { DequeuePoint::End };
        let mut links: Vec<_> = rates.iter().enumerate().map(|(i, r)| link(*r, delays[i], PlainQueue::new(limits[i], 7), point)).collect();
        links.push(link(5, 1, PlainQueue::new(limits[3], 0), point));
        let back = links.len() - 1;
        let forward: Vec<PathHop> = (0..back).map(PathHop::Link).collect();
        let rtt = Duration::from_millis(3);
        let flows = windows.iter().enumerate().map(|(i, w)| {
            let mut forward = forward.clone();
            forward.push(PathHop::Delay(rtt));
            flow(i as u32, *w, paced, forward, vec![PathHop::Link(back)], rtt)
        }).collect();
        let mut simulation = Simulation::new(network(links, flows, Duration::from_millis(500)));
        let mut before = Time::ZERO;
        for ms in (0..=500).step_by(7) {
            simulation.run_until(Time::from_nanos(ms * 1_000_000));
            prop_assert!(simulation.now() >= before);
            before = simulation.now();
            prop_assert_eq!(simulation.sent(), simulation.arrived() + simulation.lost() + simulation.in_network());
        }
        prop_assert!(simulation.arrived() > 0);
    }
}

/// Equal networks give equal digests, and a different network a different one (the digest covers every dequeue and
/// every ACK).
#[test]
fn equal_runs_have_equal_digests() {
    let run = |windows: &[u64]| {
        Simulation::new(dumbbell(windows, 1000, 50, Duration::from_secs(2))).finish().summary.digest
    };
    assert_eq!(run(&[100, 120]), run(&[100, 120]));
    assert_ne!(run(&[100, 120]), run(&[100, 121]));
}

/// Pausing a run between events changes nothing.
#[test]
fn runs_in_pieces_are_equal() {
    let whole = Simulation::new(dumbbell(&[100, 120], 1000, 50, Duration::from_secs(1))).finish();
    let mut pieces = Simulation::new(dumbbell(&[100, 120], 1000, 50, Duration::from_secs(1)));
    for us in 0..1000 {
        pieces.run_until(Time::from_nanos(us * 1_000_000));
    }
    let pieces = pieces.finish();
    assert_eq!(whole.summary.digest, pieces.summary.digest);
    assert_eq!(whole.summary.events, pieces.summary.events);
    assert_eq!(format!("{:?}", whole.tables), format!("{:?}", pieces.tables));
}
