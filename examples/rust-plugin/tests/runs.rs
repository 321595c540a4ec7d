//! Each algorithm of this crate behaves in a run as its source describes.

use windtunnel_rust_plugin::registry;
use windtunnel_scenario::{RegistryError, Scenario, compile, listing};
use windtunnel_sim::{RunResult, Simulation};

const SCENARIO: &str = include_str!("../rust-plugin.toml");

fn run(text: &str, overrides: &[&str]) -> RunResult {
    let overrides: Vec<String> = overrides.iter().map(|&setting| setting.to_owned()).collect();
    let registry = registry().expect("names differ");
    let scenario =
        Scenario::parse(text, None, &overrides, &registry).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(
        Scenario::parse(&scenario.to_toml(), None, &[], &registry).as_ref(),
        Ok(&scenario),
        "what is printed reads back"
    );
    Simulation::new(compile(&scenario)).finish()
}

/// A flow alone on 20 Mbit/s with a base RTT of 40 ms: 67 packets are one bandwidth-delay product.
fn alone(cc: &str, queue: &str) -> RunResult {
    run(
        &format!(
            "duration = \"30 s\"\n[bottleneck]\nrate = \"20 Mbps\"\nqueue = {queue}\n[[flow]]\ncc = {cc}\nrtt = \"40 ms\"\necn = true\n[[window]]\nname = \"steady\"\nfrom = \"10 s\"\nto = \"30 s\"\n"
        ),
        &[],
    )
}

/// The mean delay of the queue from 10 s on, in milliseconds.
fn delay_ms(result: &RunResult) -> f64 {
    result.summary.windows[0].queues[0].sojourn_ms.as_ref().expect("packets").mean
}

#[test]
fn the_scenario_runs_and_is_reproducible() {
    let (first, again) = (run(SCENARIO, &[]), run(SCENARIO, &[]));
    assert_eq!(first.summary.digest, again.summary.digest);
    let [sqrt, ledbat, _] = &first.summary.flows[..] else { panic!("three flows") };
    assert!(sqrt.throughput_mbps > 4.0 * ledbat.throughput_mbps, "LEDBAT yields");
    assert!(first.summary.queues[0].ce > 0, "the step marks");
}

/// RFC 6817: alone, the queueing delay is near the target, whatever that is, and nothing is lost.
#[test]
fn ledbat_holds_its_target() {
    for target in [10.0, 30.0] {
        let result = alone(&format!("{{ kind = \"my-ledbat\", target = \"{target} ms\" }}"), "\"fifo\"");
        assert!((delay_ms(&result) - target).abs() < 0.15 * target, "{}", delay_ms(&result));
        assert_eq!(result.summary.queues[0].drops.full, 0);
    }
}

/// With k = 0 and l = 1 it is AIMD(1, 0.5): the window of the same shape, to the growth of a few segments.
#[test]
fn binomial_is_a_superset_of_aimd() {
    let queue = "{ kind = \"fifo\", limit = \"60 packets\" }";
    let sqrt = alone("{ kind = \"my-binomial\", slow_start = \"standard\" }", queue);
    let binomial = alone("{ kind = \"my-binomial\", k = 0.0, l = 1.0, slow_start = \"standard\" }", queue);
    let aimd = alone("{ kind = \"aimd\", a = 1.0, b = 0.5, slow_start = \"standard\" }", queue);
    let least =
        |result: &RunResult| result.summary.windows[0].flows[0].cwnd_bytes.as_ref().expect("TCP").min as f64;
    assert!(
        (delay_ms(&binomial) - delay_ms(&aimd)).abs() < 0.1 * delay_ms(&aimd),
        "{} {}",
        delay_ms(&binomial),
        delay_ms(&aimd)
    );
    assert!(least(&sqrt) > 1.3 * least(&aimd), "SQRT gives up less: {} {}", least(&sqrt), least(&aimd));
}

/// RFC 3742: up to 40 segments as standard slow start, then at most 20 segments per round trip. From 10 segments, 120
/// are reached after 2 round trips of doubling and at least 4 more; standard slow start needs 3.6.
#[test]
fn limited_slow_start_overshoots_less() {
    let queue = "{ kind = \"fifo\", limit = \"60 packets\" }";
    let lost = |slow_start: &str| {
        let cc = format!("{{ kind = \"reno\", slow_start = {slow_start} }}");
        alone(&cc, queue).summary.queues[0].drops.full
    };
    let (limited, standard) = (lost("{ kind = \"my-limited\", max_ssthresh = 40 }"), lost("\"standard\""));
    assert!(2 * limited < standard, "{limited} {standard}");
}

/// RFC 8257: with K below the bandwidth-delay product Reno's queue stays at about K packets of 0.6 ms.
#[test]
fn the_step_bounds_the_queue() {
    let result = alone("\"reno\"", "{ kind = \"k-step\", k = 20 }");
    let queue = &result.summary.windows[0].queues[0];
    assert_eq!((queue.drops.full, queue.drops.aqm), (0, 0), "marks are enough");
    assert!(queue.ce > 0);
    assert!(delay_ms(&result) < 20.0 * 0.6, "{}", delay_ms(&result));
}

/// A probe's datagrams wait for the packet in transmission at most, 0.6 ms; in a FIFO for the whole queue.
#[test]
fn small_packets_go_first() {
    let one_way = |queue: &str| {
        let result = run(SCENARIO, &[&format!("bottleneck.queue={queue}")]);
        result.summary.flows[2]
            .datagrams
            .as_ref()
            .expect("a probe")
            .one_way_ms
            .as_ref()
            .expect("received")
            .max
    };
    // 20 ms for the path, 0.6 ms for the packet in transmission, 0.03 ms for its own transmission.
    assert!(one_way("{ kind = \"small-first\", small = \"100 B\" }") < 20.7);
    assert!(one_way("\"fifo\"") > 40.0);
}

/// A discipline accepts any AQM under `aqm`, windtunnel's or this crate's, and messages list both.
#[test]
fn an_aqm_is_named_inside_of_a_queue() {
    for aqm in ["\"k-step\"", "\"pie\"", "{ kind = \"red\" }"] {
        run(SCENARIO, &[&format!("bottleneck.queue.aqm={aqm}"), "duration=1 s"]);
    }
    // An AQM given only by name becomes a table when one of its parameters is set.
    run(SCENARIO, &["bottleneck.queue.aqm=k-step", "bottleneck.queue.aqm.k=20", "duration=1 s"]);
    let registry = registry().expect("names differ");
    let error = |setting: &str| {
        Scenario::parse(SCENARIO, Some("s.toml"), &[setting.to_owned()], &registry).unwrap_err().to_string()
    };
    let said = error("bottleneck.queue.aqm=k-setp");
    assert!(said.contains("an AQM is one of") && said.ends_with("did you mean `k-step`?"), "{said}");
    assert!(error("flow.sqrt.cc.kind=my-binomal").ends_with("did you mean `my-binomial`?"));
    assert!(error("flow.sqrt.cc.slow_start.kind=my-limitd").ends_with("did you mean `my-limited`?"));
    let said = error("flow.ledbat.cc.target=200 ms");
    assert!(
        said.ends_with("flow[1].cc.target: \"200 ms\" is not allowed: more than 0 s and at most 100 ms"),
        "{said}"
    );
    for name in ["my-ledbat", "my-binomial", "my-binomial-mds", "my-limited", "k-step", "small-first"] {
        assert!(listing(&registry).contains(&format!("\"{name}\"")), "{name}");
    }
}

#[test]
fn two_algorithms_of_one_name_are_refused() {
    let mut registry = registry().expect("names differ");
    let error = registry.register_controller::<windtunnel_rust_plugin::LedbatParams>().unwrap_err();
    assert_eq!(error, RegistryError::Taken { what: "a controller", name: "my-ledbat".to_owned() });
    assert_eq!(error.to_string(), "`my-ledbat` is already the name of a controller: names must differ");
}
