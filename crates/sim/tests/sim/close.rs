//! Connections end: FIN, its answer, and the ACK of that (RFC 9293 section 3.6), whatever is lost.

use std::sync::Arc;

use windtunnel_sim::application::{ApplicationConfig, PoissonParams, TransferParams};
use windtunnel_sim::element::{Affects, ElementParams, LossParams, ScriptedLossParams};
use windtunnel_sim::{Network, Simulation};
use windtunnel_tcp::ConnectionState;
use windtunnel_units::{Bytes, Duration, Probability};

use crate::fixtures::{path, reno, run};

const MSS: u64 = 1448;

fn transfer(segments: u64, close: bool) -> ApplicationConfig {
    ApplicationConfig::Transfer(TransferParams { size: Bytes::new(segments * MSS), close })
}

/// One transfer over 10 Mbit/s and 20 ms, and which packets of either way are lost.
fn network(segments: u64, close: bool, lost: [Vec<u64>; 2]) -> Network {
    let [forward, reverse] = lost.map(|packets| {
        let script: Arc<dyn ElementParams> =
            Arc::new(ScriptedLossParams { packets, ..ScriptedLossParams::default() });
        vec![script]
    });
    path(vec![(reno(), transfer(segments, close))], 20, forward, reverse, 60)
}

/// The states of both ends at the end.
fn states(network: Network) -> [ConnectionState; 2] {
    let mut simulation = Simulation::new(network);
    simulation.run_until(simulation.end());
    assert_eq!(simulation.in_network(), 0);
    simulation.streams().next().expect("one connection").states
}

/// Whichever packet is lost, on the way there or back, both ends close, even if three in a row are lost.
#[test]
fn both_ends_close() {
    let closed = [ConnectionState::TimeWait, ConnectionState::Closed];
    for segments in [1, 4, 10, 11] {
        for first in 1..=segments + 4 {
            for count in [1, 3] {
                let lost: Vec<u64> = (first..first + count).collect();
                assert_eq!(
                    states(network(segments, true, [lost.clone(), vec![]])),
                    closed,
                    "{segments} {lost:?}"
                );
                assert_eq!(
                    states(network(segments, true, [vec![], lost.clone()])),
                    closed,
                    "{segments} back {lost:?}"
                );
            }
        }
    }
}

/// Without `close` the connection stays open, and its last data leave and arrive at the same times.
#[test]
fn closing_changes_no_completion_time() {
    let open = [ConnectionState::Established, ConnectionState::Established];
    assert_eq!(states(network(10, false, [vec![], vec![]])), open);
    let time = |segments, close| {
        let result = run(network(segments, close, [vec![], vec![]]));
        let transfers = result.summary.flows[0].transfers.clone().expect("a transfer");
        assert_eq!((transfers.completed, transfers.completed_bytes), (1, segments * MSS));
        assert_eq!(result.summary.flows[0].sender.retransmits, Some(0));
        (transfers.time_ms.expect("completed").max * 1e6).round() as u64
    };
    for segments in [1, 2, 10, 11, 100] {
        assert_eq!(time(segments, true), time(segments, false), "{segments}");
    }
}

/// A transfer that is stopped half-way closes too: the FIN follows what had been sent.
#[test]
fn a_stopped_transfer_closes() {
    let mut network = network(1_000, true, [vec![], vec![]]);
    let stop = Duration::from_millis(100);
    network.plan.push((windtunnel_units::Time::ZERO + stop, windtunnel_sim::Action::Stop(0)));
    assert_eq!(states(network), [ConnectionState::TimeWait, ConnectionState::Closed]);
}

/// 200 connections a second for 5 s with losses of 5 % on both ways: a minute later each is gone.
#[test]
fn every_connection_ends() {
    let poisson = PoissonParams { arrivals: Some(200.0), ..PoissonParams::default() };
    let loss = || -> Arc<dyn ElementParams> {
        Arc::new(LossParams { probability: Probability::clamped(0.05), affects: Affects::All })
    };
    let traffic = vec![(reno(), ApplicationConfig::Poisson(poisson))];
    let mut network = path(traffic, 20, vec![loss()], vec![loss()], 600);
    network.links[0].rate = windtunnel_sim::LinkRate::Fixed(windtunnel_units::Rate::from_mbps(1000));
    let stop = windtunnel_units::Time::ZERO + Duration::from_secs(5);
    network.plan.push((stop, windtunnel_sim::Action::Stop(0)));
    let mut simulation = Simulation::new(network);
    simulation.run_until(stop);
    assert!(simulation.connections() > 10);
    simulation.run_until(simulation.end());
    let open: Vec<_> = simulation.streams().map(|stream| stream.states).collect();
    assert_eq!((simulation.connections(), simulation.in_network()), (0, 0), "{open:?}");
    let transfers = simulation.finish().summary.flows[0].transfers.clone().expect("transfers");
    assert!(transfers.completed > 900, "{transfers:?}");
}
