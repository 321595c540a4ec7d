//! Timers of AQMs, wherever they are: each is called when it is due, and the queue always names the first.

use windtunnel_qdisc::{
    AqmInstances, CodelParams, DrrParams, FifoParams, FqCodelParams, FqParams, FqPieParams, LfqParams, Limit,
    PieParams, PoliceParams, PrioParams, QueueSpec, SfbParams, SfqParams, TbfParams, VqPoliceParams,
};
use windtunnel_units::{Duration, Time};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

fn pie(ms: u64) -> PieParams {
    PieParams { tupdate: Duration::from_millis(ms), ..PieParams::default() }
}

fn fair(ms: u64) -> QueueSpec {
    QueueSpec::new(FqCodelParams::default()).with("aqm", pie(ms))
}

/// Runs the queue's timers up to `until_ms`, and returns their times in ms.
fn times(bench: &mut Bench, until_ms: u64) -> Vec<u64> {
    let mut times = Vec::new();
    while let Some(at) = bench.next_timer().map(Time::as_nanos).filter(|at| *at <= until_ms * MS) {
        assert_eq!(at % MS, 0);
        times.push(at / MS);
        bench.run_timers(at);
    }
    times
}

/// Linux's PIE is called half a second after it was created, and then every `tupdate`; with ticks of 1 ms, its timer makes
/// that 504, and 21 for 20 ms. Queues with several PIEs call each at its own times.
#[test]
fn each_is_called_when_it_is_due() {
    let fifo = || QueueSpec::new(FifoParams::default());
    let two = PrioParams { bands: 2, default_band: 0, ..PrioParams::default() };
    let virtual_queue = || QueueSpec::new(VqPoliceParams::default());
    for (spec, expected) in [
        (QueueSpec::new(pie(20)), vec![504, 525, 546]),
        (QueueSpec::new(FqParams::default()).with("aqm", pie(20)), vec![504, 525, 546]),
        (fair(20), vec![504, 525, 546]),
        (QueueSpec::new(SfqParams::default()).with("aqm", pie(20)), vec![504, 525, 546]),
        (QueueSpec::new(SfbParams::default()).with("aqm", pie(20)), vec![504, 525, 546]),
        (QueueSpec::new(two).around("children", [fifo(), fair(20)]), vec![504, 525, 546]),
        (QueueSpec::new(DrrParams::default()).around("children", [fair(20), fifo()]), vec![504, 525, 546]),
        (QueueSpec::new(TbfParams::default()).around("child", [fair(20)]), vec![504, 525, 546]),
        (QueueSpec::new(PoliceParams::default()).around("child", [fair(20)]), vec![504, 525, 546]),
        (virtual_queue().with("aqm", pie(20)), vec![504, 525, 546]),
        (
            virtual_queue().with("aqm", CodelParams::default()).around("child", [fair(20)]),
            vec![504, 525, 546],
        ),
        (virtual_queue().with("aqm", pie(20)).around("child", [fair(30)]), vec![504, 525, 535, 546]),
        (virtual_queue().with("aqm", pie(30)).around("child", [fair(20)]), vec![504, 525, 535, 546]),
    ] {
        let mut bench = Bench::new(&spec, Limit::Unlimited);
        assert_eq!(times(&mut bench, 550), expected, "{spec:?}");
    }
}

/// The PIE of a flow that is met later is as old as the queue: all are called at once (`fq_pie_timer`), from 504 ms
/// on every 16 ms.
#[test]
fn flows_share_the_times() {
    let per_flow = LfqParams { aqm_instances: AqmInstances::Flow, ..LfqParams::default() };
    for spec in
        [QueueSpec::new(FqPieParams::default()), fair(15), QueueSpec::new(per_flow).with("aqm", pie(15))]
    {
        let mut bench = Bench::new(&spec, Limit::Unlimited);
        for (flow, ms) in [(0, 7), (1, 702), (2, 1_201)] {
            let packet = bench.packet(flow, 1_500, Kind::NotEct);
            bench.enqueue(ms * MS, packet);
        }
        let all = times(&mut bench, 2_500);
        assert_eq!(all.len(), 81, "from 1208 to 2488 ms: {spec:?}");
        assert!(all.iter().all(|ms| (ms - 504) % 16 == 0), "{spec:?}: {all:?}");
    }
}
