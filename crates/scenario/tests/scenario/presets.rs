//! Presets of links: what they stand for, and what takes precedence over it.

use serde_json::Value;
use windtunnel_scenario::{LinkRate, Registry, Scenario, ScenarioError};
use windtunnel_units::{Duration, Rate};

const FLOW: &str = "[[flow]]\ncc = \"cubic\"\nrtt = \"700 ms\"\n";

fn read(link: &str, overrides: &[&str]) -> Result<Scenario, ScenarioError> {
    let text = format!("duration = \"10 s\"\n[bottleneck]\n{link}\n{FLOW}");
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::parse(&text, None, &overrides, &Registry::default())
}

fn with(link: &str, overrides: &[&str]) -> Scenario {
    read(link, overrides).unwrap_or_else(|error| panic!("{link}, {overrides:?}: {error}"))
}

/// The names of the presets, and the keys that they stand for.
fn listed() -> Vec<(String, String)> {
    let listing: Value =
        serde_json::from_str(&windtunnel_scenario::listing(&Registry::default())).expect("JSON");
    let text = |entry: &Value, key: &str| entry[key].as_str().expect("a text").to_owned();
    let presets = listing["presets"].as_array().expect("a list");
    presets.iter().map(|entry| (text(entry, "name"), text(entry, "keys"))).collect()
}

/// A preset is its keys, written out: the scenario is the same, and once it is resolved nothing is left of the name.
#[test]
fn a_preset_is_its_keys() {
    let presets = listed();
    assert!(!presets.is_empty());
    for (name, keys) in presets {
        let short = with(&format!("preset = \"{name}\""), &[]);
        assert_eq!(short, with(&keys, &[]), "{name}");
        let resolved = short.to_toml();
        assert!(!resolved.contains("preset"), "{resolved}");
        assert_eq!(
            Scenario::parse(&resolved, None, &[], &Registry::default()).expect("valid"),
            short,
            "{name}"
        );
    }
}

/// C4's tests: 250 Mbit/s and 600 ms have a bandwidth-delay product of 18,750,000 bytes, which is the buffer, and the window
/// that its careful resume remembers.
#[test]
fn the_buffer_of_the_satellite() {
    let scenario = with("preset = \"geo\"", &[]);
    let link = &scenario.links[0];
    let Some(LinkRate::Fixed(rate)) = link.rate else { panic!("no rate") };
    let round_trip = link.params.delay + link.params.delay;
    assert_eq!((rate, round_trip), (Rate::from_mbps(250), Duration::from_millis(600)));
    let buffer = round_trip.as_nanos() / 1_000_000 * rate.bits_per_sec() / 8000;
    assert_eq!(buffer, 18_750_000);
    assert!(scenario.to_toml().contains("limit = \"600 ms\""), "{}", scenario.to_toml());
}

/// A key of the link itself takes precedence, as a whole, wherever it stands; and so does an override, in part.
#[test]
fn other_keys_take_precedence() {
    let geo = listed().into_iter().find(|(name, _)| name == "geo").expect("one").1;
    let rate = |rate: &str| geo.replace("250 Mbit/s", rate);
    for link in ["preset = \"geo\"\nrate = \"50 Mbit/s\"", "rate = \"50 Mbit/s\"\npreset = \"geo\""] {
        assert_eq!(with(link, &[]), with(&rate("50 Mbit/s"), &[]), "{link}");
    }
    assert_eq!(with("preset = \"geo\"", &["bottleneck.rate=50 Mbit/s"]), with(&rate("50 Mbit/s"), &[]));
    let whole = with("preset = \"geo\"\nqueue = \"codel\"", &[]);
    assert_eq!(whole, with("preset = \"geo\"", &["bottleneck.queue=codel"]));
    assert!(!whole.to_toml().contains("limit = \"600 ms\""));
    let part = with("preset = \"geo\"", &["bottleneck.queue.limit=20 ms"]);
    assert_eq!(part, with(&geo.replace("\"600 ms\"", "\"20 ms\""), &[]));
}

/// An override may name a preset, before or after overrides of its keys; the last one counts, and where the link has a rate
/// of its own, that stays.
#[test]
fn overrides_name_presets() {
    let geo = |overrides: &[&str]| with("preset = \"geo\"", overrides);
    assert_eq!(with("", &["bottleneck.preset=geo"]), geo(&[]));
    assert_eq!(with("preset = \"wifi-bad\"", &["bottleneck.preset=geo"]), geo(&[]));
    assert_eq!(with("", &["bottleneck.preset=wifi-bad", "bottleneck.preset=geo"]), geo(&[]));
    let slow = geo(&["bottleneck.rate=1 Mbit/s"]);
    assert_eq!(with("", &["bottleneck.rate=1 Mbit/s", "bottleneck.preset=geo"]), slow);
    assert_eq!(with("rate = \"1 Mbit/s\"", &["bottleneck.preset=geo"]), slow);
    assert_eq!(with("rate = \"1 Mbit/s\"", &["bottleneck={preset=\"geo\"}"]), geo(&[]), "a new table");
    let limit = ["bottleneck.queue.limit=10 packets", "bottleneck.preset=geo"];
    assert_eq!(with("", &limit), geo(&["bottleneck.queue.limit=10 packets"]));
}

/// The return path and the links of a graph take presets, too.
#[test]
fn every_link_takes_a_preset() {
    let text = format!(
        "duration = \"10 s\"\n[bottleneck]\nrate = \"1 Gbit/s\"\n[reverse]\npreset = \"wifi-bad\"\n{FLOW}"
    );
    let scenario = Scenario::parse(&text, None, &[], &Registry::default()).expect("valid");
    assert_eq!(scenario.links[1].rate, Some(LinkRate::Fixed(Rate::from_mbps(10))));
    assert_eq!(scenario.links[1].elements.len(), 1);
    let node = |name: &str| format!("[[node]]\nname = \"{name}\"\n");
    let link = |name: &str, ends: &str, preset: &str| {
        format!("[[link]]\nname = \"{name}\"\n{ends}\npreset = \"{preset}\"\n")
    };
    let text = [
        "duration = \"10 s\"\n".to_owned(),
        ["a", "b"].map(node).concat(),
        link("up", "from = \"a\"\nto = \"b\"", "wifi-bad"),
        link("down", "from = \"b\"\nto = \"a\"", "geo"),
        "[[flow]]\ncc = \"cubic\"\nfrom = \"a\"\nto = \"b\"\n".to_owned(),
    ];
    let scenario = Scenario::parse(&text.concat(), None, &[], &Registry::default()).expect("valid");
    let rates = scenario.links.iter().map(|link| link.rate.clone()).collect::<Vec<_>>();
    assert_eq!(rates, [10, 250].map(|mbps| Some(LinkRate::Fixed(Rate::from_mbps(mbps)))));
}

/// A message about a key of a preset names the line of the preset.
#[test]
fn messages_point_at_the_preset() {
    let error = read("preset = \"geo\"", &["flow[0].rtt=1 ms"]).expect_err("a round trip that is too short");
    assert!(error.to_string().contains("rtt"), "{error}");
    let error = read("\npreset = \"wifi-fade\"", &["duration=2 s"]).expect_err("a run that is too short");
    assert_eq!((error.line, error.key.as_deref()), (Some(4), Some("bottleneck.impair[2].during.from")));
}
