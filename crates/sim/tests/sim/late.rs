//! Flows that start late or end early: their halves exist while something can happen to them, and results do not show it.

use windtunnel_sim::application::{ApplicationConfig, TransferParams};
use windtunnel_sim::{Action, ControllerFactory, Network, Simulation, Transport};
use windtunnel_units::{Bytes, Duration, Time};

use crate::fixtures::{path, reno, run};

/// Five flows that each transfer 30 kB, one every 200 ms. Their controllers come from one factory. `alike` says whether
/// they are known to start alike.
fn network(alike: bool) -> Network {
    let Transport::Tcp { cc, params, ack } = reno() else { panic!("a TCP") };
    let cc = if alike { cc.starting_alike() } else { cc };
    let transport =
        |seed| Transport::Tcp { cc: ControllerFactory::with_seed(&cc, seed), params: params.clone(), ack };
    let transfer = TransferParams { size: Bytes::new(30_000), close: true };
    let traffic =
        (0..5).map(|seed| (transport(seed), ApplicationConfig::Transfer(transfer.clone()))).collect();
    let mut network = path(traffic, 20, vec![], vec![], 3);
    network.plan = (0..5)
        .map(|flow| (Time::ZERO + Duration::from_millis(200) * flow as u64, Action::Start(flow)))
        .collect();
    network
}

/// Whether halves are there from the start of the run or of the flow makes no difference to any table or summary.
#[test]
fn waiting_does_not_show() {
    let [waiting, there] = [true, false].map(|alike| run(network(alike)));
    assert_eq!(format!("{:?}", waiting.summary), format!("{:?}", there.summary));
    assert_eq!(
        format!("{:?}", waiting.tables),
        format!("{:?}", there.tables),
        "NaN is printed, so that it equals itself"
    );
}

/// A flow that is represented by another one has no stream before its start. Once nothing can happen to a flow any
/// more, its stream stays as it was last.
#[test]
fn streams_appear_and_stay() {
    let streams_at = |ms| {
        let mut simulation = Simulation::new(network(true));
        simulation.run_until(Time::ZERO + Duration::from_millis(ms));
        simulation.streams().collect::<Vec<_>>()
    };
    assert_eq!([0, 201, 401, 801].map(|ms| streams_at(ms).len()), [1, 2, 3, 5]);
    for stream in streams_at(3000) {
        assert!(stream.drained && stream.ended && stream.timer == Time::NEVER, "{stream:?}");
        assert_eq!(stream.delivered, Bytes::new(30_000), "{stream:?}");
    }
}
