//! The memory of a run, and its limit.

use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::{Holder, MemoryExceeded, Network, RecordParams, RunResult, Simulation};
use windtunnel_units::{Bytes, Duration};

use crate::fixtures::{dumbbell, path, reno};

/// Runs in slices, as a caller that respects the limit does. Returns the most memory that the run held, and how it
/// ended.
fn run(network: Network, limit: Bytes) -> (Bytes, Result<RunResult, MemoryExceeded>) {
    let mut simulation = Simulation::new(network);
    simulation.limit_memory(limit);
    let (mut most, end) = (Bytes::ZERO, simulation.end());
    loop {
        let done = simulation.run_slice(end, 1_000);
        most = most.max(simulation.memory());
        if let Err(exceeded) = simulation.check_memory() {
            return (most, Err(exceeded));
        }
        if done {
            return (most, simulation.finish_within());
        }
    }
}

fn bulk(seconds: u64) -> Network {
    path(vec![(reno(), ApplicationConfig::Bulk)], 20, vec![], vec![], seconds)
}

/// Each table that grows with the run stops at the limit, whatever happens in a slice: no run holds more than it may,
/// and the message says which table reached the limit, and when.
#[test]
fn tables_stop_at_the_limit() {
    let plain = RecordParams { points: Some(Duration::ZERO), ..RecordParams::default() };
    for (table, record) in [
        ("packets", RecordParams { packets: true, ..plain }),
        ("dequeue_events", RecordParams { events: true, ..plain }),
        ("flows", RecordParams { interval: Duration::from_micros(10), ..plain }),
        ("points", RecordParams { points: Some(Duration::from_nanos(1)), ..plain }),
    ] {
        let mut network = bulk(20);
        network.record = record;
        let limit = Bytes::new(400_000);
        let (most, ended) = run(network, limit);
        let exceeded = ended.expect_err(table);
        // Packets in flight come on top: 20 ms and a queue of the fixture's limit.
        assert!(most <= limit + Bytes::new(200_000), "{table}: {most}");
        assert!(exceeded.at < exceeded.end, "{table}: {exceeded}");
        let other = ["ack_events", "queues", "aqm", "cc"];
        let Holder::Table(by) = exceeded.by else { panic!("{table}: {exceeded}") };
        assert!(by == table || other.contains(&by), "{table}: {exceeded}");
        assert!(exceeded.to_string().contains(by), "{exceeded}");
    }
}

/// A window of thirty thousand packets is counted where it is in flight, 64 bytes for each packet.
#[test]
fn packets_in_flight_are_counted() {
    let many = || {
        let mut network = dumbbell(&[30_000], 100_000, 0, Duration::from_secs(2));
        network.record.points = Some(Duration::ZERO);
        network
    };
    let (most, ended) = run(many(), Bytes::MAX);
    assert!(ended.is_ok());
    assert!((30_000 * 64..30_000 * 64 + 500_000).contains(&most.get()), "{most}");
    let (_, ended) = run(many(), Bytes::new(1_500_000));
    assert_eq!(ended.expect_err("it holds more").by, Holder::Packets);
}

/// A limit that is not reached changes nothing.
#[test]
fn a_limit_changes_nothing() {
    let digest = |limit| run(bulk(5), limit).1.expect("enough").summary.digest;
    assert_eq!(digest(Bytes::MAX), digest(Bytes::new(10_000_000)));
}
