//! The listing, in the form that the Python package documents.

use serde_json::{Value, json};
use windtunnel_scenario::{Registry, Scenario, TRAITS};

fn registry() -> Value {
    serde_json::from_str(&windtunnel_scenario::listing(&Registry::default())).expect("JSON")
}

/// Every entry and every parameter is complete and has a description.
#[test]
fn everything_is_described() {
    let registry = registry();
    let groups = registry.as_object().expect("groups");
    assert_eq!(
        groups.keys().collect::<Vec<_>>(),
        [
            "controllers",
            "slow_starts",
            "responses",
            "queues",
            "applications",
            "distributions",
            "stacks",
            "impairments",
            "presets",
            "tcp",
            "acks"
        ]
    );
    for (group, entries) in groups {
        for entry in entries.as_array().expect("entries") {
            let keys: Vec<&String> = entry.as_object().expect("an entry").keys().collect();
            let always = ["name", "title", "summary", "source", "traits", "parameters", "aliases"];
            assert_eq!(keys[..always.len()], always);
            let more = &keys[always.len()..];
            let is_known =
                if group == "presets" { more == ["keys"] } else { more.is_empty() || more == ["kept"] };
            assert!(is_known, "{group}: {entry}");
            for trait_ in entry["traits"].as_array().expect("traits") {
                assert!(TRAITS.iter().any(|(name, _)| trait_ == name), "{group}: {entry}");
            }
            let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
            assert!(["name", "title", "summary"].iter().all(|key| is_text(&entry[key])), "{group}: {entry}");
            let plain = ["applications", "distributions", "impairments"].contains(&group.as_str());
            assert!(
                plain || is_text(&entry["source"]) || entry["parameters"] == json!([]),
                "{group}: {entry}"
            );
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

/// A title is the one that the parameters state, or the name with a capital letter.
#[test]
fn titles() {
    let registry = registry();
    let title = |group: &str, name: &str| {
        let entries = registry[group].as_array().expect("entries");
        entries.iter().find(|entry| entry["name"] == name).expect("an entry")["title"].clone()
    };
    assert_eq!(title("controllers", "cubic"), "CUBIC", "stated");
    assert_eq!(title("controllers", "dctcp"), "DCTCP", "of the response that the short name stands for");
    assert_eq!(title("controllers", "vegas"), "Vegas", "capitalised");
    assert_eq!(title("queues", "fq_codel"), "FQ-CoDel");
}

/// A controller has the trait "media" if media over RTP can have it, and no other controller has it.
#[test]
fn controllers_of_media_say_so() {
    let over_rtp = |cc: &str| {
        format!(
            "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\n[[flow]]\ncc = \"{cc}\"\nrtt = \"1 ms\"\n\
             app = {{ kind = \"media\", protocol = \"rtp\" }}\n"
        )
    };
    let registry = registry();
    let controllers = registry["controllers"].as_array().expect("entries");
    let says = |entry: &&Value| entry["traits"].as_array().is_some_and(|all| all.contains(&json!("media")));
    assert!(controllers.iter().filter(says).count() > 0);
    for entry in controllers {
        let name = entry["name"].as_str().expect("a name");
        assert_eq!(
            Scenario::parse(&over_rtp(name), None, &[], &Registry::default()).is_ok(),
            says(&entry),
            "{name}"
        );
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
    assert_eq!((&c["type"], &c["unit"]), (&json!("number"), &json!("segments/s^3")), "RFC 9438 section 5");
    let dupthresh = parameter("tcp", "tcp", "dupthresh");
    assert_eq!(
        (&dupthresh["default"], &dupthresh["unit"]),
        (&json!(3), &json!("segments")),
        "RFC 5681 section 3.2"
    );
    let every = parameter("impairments", "periodic-loss", "every");
    assert_eq!(every["unit"], "packets");
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
    assert!(growth["type"].as_str().is_some_and(|names| names.contains("per-ack")), "{growth}");
}

/// Every name and alias of the registry is one that a scenario may use.
#[test]
fn every_name_is_accepted() {
    let accepted = |queue: &str, cc: &str, ack: &str| {
        let text = format!(
            "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\nqueue = \"{queue}\"\n[[flow]]\ncc = {cc}\nrtt = \"1 ms\"\n{ack}\n"
        );
        crate::good_input::parse(&text);
    };
    for (group, entries) in registry().as_object().expect("groups") {
        for entry in entries.as_array().expect("entries") {
            let aliases = entry["aliases"].as_array().expect("aliases").iter();
            for name in std::iter::once(&entry["name"]).chain(aliases).filter_map(Value::as_str) {
                match group.as_str() {
                    "controllers" => accepted("fifo", &format!("\"{name}\""), ""),
                    "slow_starts" => {
                        accepted("fifo", &format!("{{ kind = \"reno\", slow_start = \"{name}\" }}"), "");
                    }
                    "responses" => {
                        accepted("fifo", &format!("{{ kind = \"reno\", response = \"{name}\" }}"), "");
                    }
                    "queues" => accepted(name, "\"reno\"", ""),
                    "applications" | "distributions" | "impairments" | "presets" | "tcp" => {}
                    // The other one belongs to the scenario as a whole.
                    "stacks" if name == "ideal" => {}
                    "stacks" => accepted("fifo", "\"reno\"", &format!("stack = \"{name}\"")),
                    _ => accepted("fifo", "\"reno\"", &format!("ack = \"{name}\"")),
                }
            }
        }
    }
}

/// Every application and every element of the registry is one that a scenario may use.
#[test]
fn every_application_and_element_is_accepted() {
    let registry = registry();
    let names = |group: &str| -> Vec<String> {
        let entries = registry[group].as_array().expect("entries").clone();
        entries.iter().filter_map(|entry| entry["name"].as_str().map(str::to_owned)).collect()
    };
    for impairment in names("impairments") {
        for app in names("applications") {
            // The rate of arrivals has no default.
            let more = if app == "poisson" { ", arrivals = 10.0" } else { "" };
            let cc = if ["cbr", "probe", "media"].contains(&app.as_str()) { "" } else { "cc = \"cubic\"" };
            // A tunnel needs both of its ends.
            let impair = match impairment.as_str() {
                "tunnel-entry" | "tunnel-exit" => "[\"tunnel-entry\", \"tunnel-exit\"]".to_owned(),
                other => format!("\"{other}\""),
            };
            crate::good_input::parse(&format!(
                "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\nimpair = {impair}\n[[flow]]\n{cc}\nrtt = \"1 ms\"\napp = {{ kind = \"{app}\"{more} }}\n"
            ));
        }
    }
}
