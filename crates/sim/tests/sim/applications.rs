//! Applications over TCP: when they write, and what they observe, computed by hand.

use windtunnel_sim::application::*;
use windtunnel_sim::{
    Action, CdfPoint, Network, RunResult, Simulation, SizeDistribution, TimeDistribution, TransferSummary,
};
use windtunnel_units::{Bytes, Duration, Probability, Rate, Time};

use crate::fixtures::{fixed, path, reno, run};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn transfers(result: &RunResult) -> TransferSummary {
    result.summary.flows[0].transfers.clone().expect("it has transfers")
}

fn one(application: ApplicationConfig, seconds: u64) -> Network {
    path(vec![(reno(), application)], 20, vec![], vec![], seconds)
}

fn responses(segments: u64, think: Duration, count: Option<u64>) -> ApplicationConfig {
    ApplicationConfig::RequestResponse(RequestResponseParams {
        size: SizeDistribution::Fixed { value: Bytes::new(segments * 1448) },
        think: TimeDistribution::Fixed { value: think },
        count,
        close: true,
    })
}

/// Ten responses of 4 segments, 100 ms apart: each takes 20 ms and the 4.8 ms of its segments; the first one also the
/// handshake, 20.048 ms, and its ACK, 41.6 us. The last one is therefore complete at 10 * 24.8 + 20.0896 + 9 * 100 ms.
#[test]
fn responses_follow_each_other() {
    let mut network = one(responses(4, ms(100), Some(10)), 5);
    // The run is some ns longer, because a run ends before the events at its end.
    let end = Duration::from_micros(10 * 24_800 + 20_090 + 900_000);
    network.duration = end;
    assert_eq!(transfers(&run(network)).completed, 10);
    let mut network = one(responses(4, ms(100), Some(10)), 5);
    network.duration = end.saturating_sub(Duration::from_micros(2));
    let before = transfers(&run(network));
    assert_eq!((before.arrived, before.completed), (10, 9), "the tenth has been written");
    let all = transfers(&run(one(responses(4, ms(100), Some(10)), 5)));
    assert_eq!((all.arrived, all.completed, all.completed_bytes), (10, 10, 40 * 1448));
    let time = all.time_ms.expect("completed");
    assert!((time.min - 24.8).abs() < 1e-3 && (time.max - 44.8896).abs() < 1e-3, "{time:?}");
}

/// A message counts in the window in which it is written, and again in that in which it is complete: responses are
/// written every 124.8 ms from 0 s on, the second at 44.848 + 100 ms. A flow whose first message is still under way has
/// transfers, too.
#[test]
fn messages_count_where_they_are_written() {
    let mut network = one(responses(4, ms(100), Some(10)), 5);
    let edges = [(0, 40), (40, 144), (144, 145), (145, 5000)];
    network.windows = edges
        .map(|(a, b)| windtunnel_sim::Window {
            name: format!("{a}"),
            from: Time::ZERO + ms(a),
            to: Time::ZERO + ms(b),
        })
        .into();
    let result = run(network);
    let counts = result.summary.windows.iter().map(|window| {
        let transfers = window.flows[0].transfers.as_ref().expect("it has transfers");
        (transfers.arrived, transfers.completed)
    });
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 0), (0, 1), (1, 0), (8, 9)]);
}

/// Without a count they go on; with no think time the next one leaves with the ACK of the last.
#[test]
fn responses_without_end() {
    let result = run(one(responses(4, Duration::ZERO, None), 5));
    // (5000 - 20.0416) / 24.8
    assert_eq!(transfers(&result).completed, 200);
}

fn on_off(on: u64, off: u64, rate: Option<Rate>) -> ApplicationConfig {
    ApplicationConfig::OnOff(OnOffParams {
        on: TimeDistribution::Fixed { value: ms(on) },
        off: TimeDistribution::Fixed { value: ms(off) },
        rate,
        changes: Vec::new(),
    })
}

/// 2 Mbit/s for 300 ms in each 500 ms: 75,000 bytes per period, for any length of segments.
#[test]
fn on_off_at_a_rate() {
    let result = run(one(on_off(300, 200, Some(Rate::from_mbps(2))), 10));
    let delivered = result.summary.flows[0].goodput_mbps * 10.0 * 1e6 / 8.0;
    assert!((delivered - 20.0 * 75_000.0).abs() < 1.0, "{delivered}");
}

/// Without a rate the link is full while the source is on, and idle while it is off: the queue of a window of 20 drains
/// in a round trip, and unsent data are never sent. The link is idle from about 320 ms on in each period of a second.
#[test]
fn on_off_in_bulk() {
    let mut network = path(vec![(fixed(20), on_off(300, 700, None))], 20, vec![], vec![], 10);
    network.windows = vec![windtunnel_sim::Window {
        name: "off".into(),
        from: Time::ZERO + ms(5_400),
        to: Time::ZERO + ms(5_950),
    }];
    let result = run(network);
    assert_eq!(result.summary.windows[0].flows[0].received_bytes, 0);
    let expected = 10.0 * 0.3;
    assert!(
        (result.summary.flows[0].throughput_mbps - expected).abs() < 0.2,
        "{:?}",
        result.summary.flows[0]
    );
}

/// Over TCP a frame is complete when all of it is acknowledged: 25 frames of 4 segments per second, each 24.8 ms,
/// except those that wait for the handshake.
#[test]
fn media_over_tcp() {
    let media = MediaParams {
        rate: Rate::from_bits_per_sec(4 * 1448 * 8 * 25),
        frame_interval: ms(40),
        protocol: Protocol::Tcp,
        ..MediaParams::default()
    };
    let result = run(one(ApplicationConfig::Media(media), 10));
    let frames = transfers(&result);
    assert_eq!(frames.completed, 250);
    let time = frames.time_ms.expect("completed");
    assert!((time.p50 - 24.8).abs() < 0.1 && (time.max - 44.8896).abs() < 1e-3, "{time:?}");
}

/// A bulk flow that is stopped and started again continues where it was; in between nothing is sent.
#[test]
fn bulk_stops_and_starts() {
    let mut network = path(vec![(fixed(20), ApplicationConfig::Bulk)], 20, vec![], vec![], 3);
    let at = |millis| Time::ZERO + ms(millis);
    network.plan.extend([(at(1000), Action::Stop(0)), (at(2000), Action::Start(0))]);
    network.windows = [(500, 1000), (1100, 2000), (2100, 3000)]
        .map(|(a, b)| windtunnel_sim::Window { name: format!("{a}"), from: at(a), to: at(b) })
        .into();
    let result = run(network);
    let rate = |w: usize| result.summary.windows[w].flows[0].goodput_mbps;
    assert!(rate(0) > 9.0 && rate(1) == 0.0 && rate(2) > 9.0, "{} {} {}", rate(0), rate(1), rate(2));
}

fn poisson(load: Rate) -> ApplicationConfig {
    let size = SizeDistribution::Exponential { mean: Bytes::new(50_000) };
    ApplicationConfig::Poisson(PoissonParams { load: Some(load), size, ..PoissonParams::default() })
}

/// 5 Mbit/s of 50 kB transfers are 12.5 arrivals per second: over 200 s 2500, with a standard deviation of 50. All but
/// the last complete; their goodput is the load; there are as many places for connections as were ever active at once.
#[test]
fn arrivals_are_bounded_in_memory() {
    let mut simulation = Simulation::new(one(poisson(Rate::from_mbps(5)), 200));
    let mut most = 0;
    for second in 1..=200 {
        simulation.run_until(Time::ZERO + Duration::from_secs(second));
        most = most.max(simulation.connections());
    }
    assert!((1..30).contains(&most), "{most} connections at once");
    let result = simulation.finish();
    let group = transfers(&result);
    assert!((group.arrived as f64 - 2500.0).abs() < 4.0 * 50.0, "{}", group.arrived);
    assert_eq!(group.rejected, 0);
    assert!(group.arrived - group.completed < 10, "{group:?}");
    let flow = &result.summary.flows[0];
    assert!((flow.goodput_mbps - 5.0).abs() < 0.5, "{}", flow.goodput_mbps);
    let sent = flow.sender.sent.expect("counted");
    assert!(sent * 1448 >= group.completed_bytes, "{sent} segments");
    let time = group.time_ms.expect("completed");
    assert!(time.min > 40.0 && time.p99 < 2000.0, "{time:?}");
    // The time series are those of the single flow that stands for all connections.
    assert_eq!(result.summary.flows.len(), 1);
}

/// The load is more than the link carries: arrivals are refused while `max_active` connections are active, so that
/// there are no more places than that.
#[test]
fn overload_is_turned_away() {
    let application = match poisson(Rate::from_mbps(30)) {
        ApplicationConfig::Poisson(params) => {
            ApplicationConfig::Poisson(PoissonParams { max_active: 8, ..params })
        }
        other => other,
    };
    let mut simulation = Simulation::new(one(application, 20));
    simulation.run_until(Time::ZERO + Duration::from_secs(19));
    assert!(simulation.connections() <= 8);
    let group = transfers(&simulation.finish());
    assert!(group.rejected > 100 && group.completed > 50, "{group:?}");
}

/// The arrival time and size of a transfer depend neither on other flows nor on its own fate: next to another flow, or
/// over a slower link, the same number arrive; with other sizes they arrive at the same times.
#[test]
fn draws_are_a_flows_own() {
    let arrived = |network| transfers(&run(network)).arrived;
    let load = poisson(Rate::from_mbps(2));
    let alone = arrived(path(vec![(reno(), load.clone())], 20, vec![], vec![], 20));
    let loaded =
        path(vec![(reno(), load.clone()), (reno(), poisson(Rate::from_mbps(1)))], 20, vec![], vec![], 20);
    assert_eq!(arrived(loaded), alone);
    let slow = path(vec![(reno(), load)], 200, vec![], vec![], 20);
    assert_eq!(arrived(slow), alone);
    let point = |value, p| CdfPoint { value: Bytes::new(value), probability: Probability::clamped(p) };
    let size = SizeDistribution::Empirical { points: vec![point(25_000, 0.0), point(75_000, 1.0)] };
    let other = PoissonParams { load: Some(Rate::from_mbps(2)), size, ..PoissonParams::default() };
    assert_eq!(arrived(one(ApplicationConfig::Poisson(other), 20)), alone, "50 kB on average, as before");
}

/// Equal networks give equal digests, with connections that come and go and losses on the path.
#[test]
fn arrivals_repeat() {
    let digest = || run(one(poisson(Rate::from_mbps(9)), 20)).summary.digest;
    assert_eq!(digest(), digest());
}

/// A queue full of traffic of all kinds for some time: nothing hangs, every flow gets something.
#[test]
fn all_applications_together() {
    use windtunnel_sim::Transport;
    let traffic = vec![
        (reno(), ApplicationConfig::Bulk),
        (reno(), poisson(Rate::from_mbps(2))),
        (reno(), on_off(300, 200, None)),
        (reno(), responses(20, ms(50), None)),
        (reno(), ApplicationConfig::Media(MediaParams { protocol: Protocol::Tcp, ..MediaParams::default() })),
        (Transport::Udp, ApplicationConfig::Cbr(CbrParams::default())),
        (Transport::Udp, ApplicationConfig::Probe(ProbeParams::default())),
    ];
    let result = run(path(traffic, 20, vec![], vec![], 20));
    assert!(result.summary.stalled.is_none());
    for flow in &result.summary.flows {
        assert!(flow.goodput_mbps > 0.01, "{flow:?}");
    }
    assert!(result.summary.queues[0].utilization > 0.95);
}
