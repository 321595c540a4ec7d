//! What a registry accepts and refuses, and which of its names a scenario can use.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_cc::{
    AvoidanceParams, Composition, CongestionControl, ControllerParams, FlowInit, RenoParams, WindowedConfig,
};
use windtunnel_qdisc::{AqmInit, BuildAqm, NoAqm};
use windtunnel_scenario::{
    ForeignAlgorithm, ForeignParameter, ForeignValue, Registry, RegistryError, Scenario, listing,
};
use windtunnel_units::Duration;

use crate::names::NAMES;

macro_rules! params {
    ($type:ident { $($field:ident: $of:ty),* }, $name:literal, $aliases:expr) => {
        /// The parameters of a controller in these tests.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        struct $type {
            $(
                /// A parameter.
                $field: $of,
            )*
        }

        impl Params for $type {
            const NAME: &'static str = $name;
            const ALIASES: &'static [&'static str] = $aliases;
            const SUMMARY: &'static str = "For a test";
        }
    };
}

params!(Reno2 {}, "reno2", &["reno-two"]);
params!(Renamed {}, "cubic", &[]);
params!(Alias {}, "mine", &["reno-mds"]);
params!(Spaced {}, "my own", &[]);
params!(Reserved { response: u32 }, "with-response", &[]);
params!(Fifo {}, "fifo", &[]);
params!(Limited { limit: u32 }, "with-limit", &[]);

macro_rules! reno {
    ($($type:ident),*) => {$(
        impl AvoidanceParams for $type {
            fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
                RenoParams::default().build(composition)
            }
        }

        impl ControllerParams for $type {
            fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
                WindowedConfig::default().build(init)
            }
        }
    )*};
}

macro_rules! no_aqm {
    ($($type:ident),*) => {$(
        impl BuildAqm for $type {
            type Aqm = NoAqm;

            fn aqm(&self, _init: &AqmInit) -> NoAqm {
                NoAqm
            }
        }
    )*};
}

reno!(Reno2, Renamed, Alias, Spaced, Reserved);
no_aqm!(Fifo, Limited);

fn taken(what: &'static str, name: &str) -> Result<(), RegistryError> {
    Err(RegistryError::Taken { what, name: name.to_owned() })
}

fn with_cc(cc: &str, registry: &Registry) -> Result<Scenario, String> {
    let text = format!(
        "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\n[[flow]]\nrtt = \"10 ms\"\ncc = {cc}\n"
    );
    Scenario::parse(&text, Some("s.toml"), &[], registry).map_err(|error| error.to_string())
}

/// Names are unique among controllers of all families, with and without `-mds`, and aliases count.
#[test]
fn names_of_controllers_differ() {
    let mut registry = Registry::default();
    assert_eq!(registry.register_avoidance::<Renamed>(), taken("a controller", "cubic"));
    assert_eq!(registry.register_controller::<Renamed>(), taken("a controller", "cubic"));
    assert_eq!(registry.register_controller::<Alias>(), taken("a controller", "reno-mds"));
    assert_eq!(registry.register_avoidance::<Reno2>(), Ok(()));
    assert_eq!(registry.register_avoidance::<Reno2>(), taken("a controller", "reno2"));
    assert_eq!(registry.register_controller::<Reno2>(), taken("a controller", "reno2"));
    for name in ["reno2", "reno-two", "reno2-mds"] {
        let scenario = with_cc(&format!("\"{name}\""), &registry).expect("registered");
        assert_eq!(scenario.flows[0].transport.controller().unwrap().name(), "reno2");
    }
    let error = with_cc("\"reno3\"", &registry).unwrap_err();
    let avoidances = NAMES.avoidances.join(", ");
    assert!(error.contains(&format!("a controller is one of {avoidances}, reno2, each")), "{error}");
    assert!(with_cc("\"reno2\"", &Registry::default()).is_err(), "one registry does not know of another");
}

/// An AQM is also a queue: it is in both families or in neither.
#[test]
fn names_of_queues_differ() {
    let mut registry = Registry::default();
    assert_eq!(registry.register_aqm::<Fifo>(), taken("a queue", "fifo"));
    let text = "duration = \"1 s\"\n[bottleneck]\nrate = \"1 Mbit/s\"\nqueue = { kind = \"fifo\", headdrop = true }\n[[flow]]\nrtt = \"10 ms\"\ncc = \"reno\"\n";
    Scenario::parse(text, None, &[], &registry).expect("the one of windtunnel");
}

/// Names that a scenario could not write, or could not tell apart from another key of the table, are refused.
#[test]
fn names_and_keys_can_be_written() {
    let mut registry = Registry::default();
    let bad = RegistryError::BadName { name: "my own".to_owned() };
    assert_eq!(registry.register_controller::<Spaced>(), Err(bad.clone()));
    assert_eq!(bad.to_string(), "\"my own\" cannot be a name: names are letters, digits, `+`, `-` and `_`");
    let reserved = |name: &str, key: &str| {
        Err(RegistryError::ReservedKey { name: name.to_owned(), key: key.to_owned() })
    };
    assert_eq!(registry.register_avoidance::<Reserved>(), reserved("with-response", "response"));
    assert_eq!(registry.register_controller::<Reserved>(), Ok(()), "it has no response next to it");
    assert_eq!(registry.register_aqm::<Limited>(), reserved("with-limit", "limit"));
}

fn foreign(name: &str) -> ForeignAlgorithm<Arc<dyn ControllerParams>> {
    let parameter = |name: &str, default: ForeignValue| ForeignParameter {
        name: name.to_owned(),
        default,
        description: format!("What {name} is."),
    };
    ForeignAlgorithm {
        name: name.to_owned(),
        summary: "For a test".to_owned(),
        source: "this file".to_owned(),
        parameters: vec![
            parameter("b", ForeignValue::Number(0.5)),
            parameter("n", ForeignValue::Integer(3)),
            parameter("delay", ForeignValue::Time(Duration::from_millis(5))),
            parameter("fast", ForeignValue::Boolean(true)),
            parameter("mode", ForeignValue::Text("a".to_owned())),
        ],
        read: Box::new(|values| match &values[..] {
            [ForeignValue::Number(b), ..] if *b >= 1.0 => Err(format!("b is {b}")),
            _ => Ok(Arc::new(WindowedConfig::default())),
        }),
    }
}

/// Keys that are known at run time have the same messages as fields of a struct.
#[test]
fn foreign_parameters_are_checked_where_they_stand() {
    let mut registry = Registry::default();
    registry.register_foreign_controller(foreign("mine"), false).expect("a free name");
    assert_eq!(registry.register_foreign_controller(foreign("reno"), true), taken("a controller", "reno"));
    assert_eq!(registry.register_foreign_controller(foreign("mine"), false), taken("a controller", "mine"));
    assert_eq!(registry.register_foreign_controller(foreign("mine"), true), Ok(()));
    let said = |keys: &str| match with_cc(&format!("{{ kind = \"mine\"{keys} }}"), &registry) {
        Ok(_) => String::new(),
        Err(error) => error.trim_start_matches("s.toml:6: flow[0].cc").to_owned(),
    };
    assert_eq!(said(""), "");
    assert_eq!(said(", b = 0, n = -1, delay = \"1 us\", fast = false, mode = \"b\""), "");
    assert_eq!(said(", b = \"x\""), ".b: \"x\" is not allowed: a number");
    assert_eq!(said(", n = 0.5"), ".n: 0.5 is not allowed: a whole number");
    assert_eq!(said(", delay = 5"), ".delay: `5` has no unit: add one of ns, us, µs, ms, s, min, h");
    assert_eq!(said(", fast = 1"), ".fast: 1 is not allowed: true or false");
    assert_eq!(said(", mode = 1"), ".mode: 1 is not allowed: a text in quotes");
    assert_eq!(
        said(", dealy = \"1 ms\""),
        ".dealy: is not a key here; the keys are kind, b, n, delay, fast, mode\n  did you mean `delay`?"
    );
    assert_eq!(said(", b = 2"), ": b is 2");
    let listing: serde_json::Value = serde_json::from_str(&listing(&registry)).expect("JSON");
    let controllers = listing["controllers"].as_array().expect("a list");
    let mine = controllers.iter().find(|entry| entry["name"] == "mine").expect("listed");
    let delay = serde_json::json!({
        "name": "delay", "type": "quantity", "default": "5 ms", "unit": "time", "description": "What delay is.",
    });
    assert_eq!((&mine["source"], &mine["parameters"][2]), (&"this file".into(), &delay));
}

/// What an answer to a name of the field says to exist does, and of the names that it calls near at least one.
#[test]
fn answers_name_what_exists() {
    let registry = Registry::default();
    let exists = |what: &str, name: &str| registry.what_is(name) == Some(what);
    for (what, name, near) in Registry::answers() {
        assert!(near.is_empty() || near.iter().any(|near| exists(what, near)), "{name}: {near:?}");
    }
    assert!(Registry::answers().count() > 80);
}

/// A registered name needs no answer, and must not be said to be missing.
#[test]
fn names_with_answers_are_no_members() {
    let registry = Registry::default();
    for (what, name, _) in Registry::answers() {
        assert_ne!(registry.what_is(name), Some(what), "{name}");
    }
}
