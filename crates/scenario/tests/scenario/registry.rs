//! The registry, in the form that the Python package documents.

use serde_json::{Value, json};

fn registry() -> Value {
    serde_json::from_str(&windtunnel_scenario::registry()).expect("JSON")
}

/// Every entry and every parameter has all its parts, and nothing is left undescribed.
#[test]
fn everything_is_described() {
    let registry = registry();
    let groups = registry.as_object().expect("groups");
    assert_eq!(
        groups.keys().collect::<Vec<_>>(),
        ["controllers", "slow_starts", "responses", "queues", "acks"]
    );
    for (group, entries) in groups {
        for entry in entries.as_array().expect("entries") {
            let keys: Vec<&String> = entry.as_object().expect("an entry").keys().collect();
            assert_eq!(keys, ["name", "summary", "source", "parameters", "aliases"]);
            let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
            assert!(is_text(&entry["name"]) && is_text(&entry["summary"]), "{group}: {entry}");
            assert!(is_text(&entry["source"]) || entry["parameters"] == json!([]), "{group}: {entry}");
            for parameter in entry["parameters"].as_array().expect("parameters") {
                let keys: Vec<&String> = parameter.as_object().expect("a parameter").keys().collect();
                assert_eq!(keys, ["name", "type", "default", "unit", "description"]);
                assert!(
                    ["name", "type", "description"].iter().all(|key| is_text(&parameter[key])),
                    "{group}: {parameter}"
                );
            }
        }
    }
}

/// Names, defaults and units come from the parameters themselves.
#[test]
fn defaults_and_units() {
    let registry = registry();
    let parameter = |group: &str, name: &str, parameter: &str| {
        let find = |list: &Value, name: &str| {
            let entry = list.as_array().and_then(|list| list.iter().find(|entry| entry["name"] == name));
            entry.unwrap_or_else(|| panic!("no {name} in {group}")).clone()
        };
        find(&find(&registry[group], name)["parameters"], parameter)
    };
    let c = parameter("controllers", "cubic", "c");
    assert_eq!((&c["type"], &c["default"]), (&json!("number"), &json!(0.4)), "RFC 9438 section 5");
    let burst = parameter("queues", "deltim", "burst");
    assert_eq!(
        (&burst["type"], &burst["default"], &burst["unit"]),
        (&json!("quantity"), &json!("5 ms"), &json!("time"))
    );
    let tau = parameter("responses", "mds", "tau");
    assert_eq!((&tau["type"], &tau["default"]), (&json!("whole number"), &json!(64)), "spec/mds section 1");
    let count = parameter("acks", "state-change", "count");
    assert_eq!((&count["default"], &count["unit"]), (&json!(2), &json!("segments")));
    let growth = parameter("slow_starts", "standard", "growth");
    assert_eq!(growth["type"], "acked | per-ack | half-acked");
}

/// Every name and alias of the registry is one that a scenario may use.
#[test]
fn every_name_is_accepted() {
    let accepted = |queue: &str, cc: &str, ack: &str| {
        let text = format!(
            "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\nqueue = \"{queue}\"\n[[flow]]\ncc = {cc}\nrtt = \"1 ms\"\nack = \"{ack}\"\n"
        );
        crate::good_input::parse(&text);
    };
    for (group, entries) in registry().as_object().expect("groups") {
        for entry in entries.as_array().expect("entries") {
            let aliases = entry["aliases"].as_array().expect("aliases").iter();
            for name in std::iter::once(&entry["name"]).chain(aliases).filter_map(Value::as_str) {
                match group.as_str() {
                    "controllers" => accepted("fifo", &format!("\"{name}\""), "immediate"),
                    "slow_starts" => accepted(
                        "fifo",
                        &format!("{{ kind = \"reno\", slow_start = \"{name}\" }}"),
                        "immediate",
                    ),
                    "responses" => accepted(
                        "fifo",
                        &format!("{{ kind = \"reno\", response = \"{name}\" }}"),
                        "immediate",
                    ),
                    "queues" => accepted(name, "\"reno\"", "immediate"),
                    _ => accepted("fifo", "\"reno\"", name),
                }
            }
        }
    }
}
