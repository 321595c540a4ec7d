//! The JSON Schema of a scenario file, for editors.
//!
//! The tables come from the types that the parser reads ([`crate::file`]), the algorithms from the registry.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use windtunnel_cc::RenoParams;
use windtunnel_qdisc::ecn::EcnMode;
use windtunnel_qdisc::{ChildSlot, QueueInit, Selector, Takes};
use windtunnel_sim::During;
use windtunnel_tcp::bsd42::Bsd42Params;
use windtunnel_tcp::{AckParams, AckPolicy, FeedbackScheme};
use windtunnel_wire::Dscp;

use crate::file::File;
use crate::parse::preset::{Preset, presets};
use crate::parse::{OURS, SHADOW};
use crate::registry::{BSD42, CLASSICS, Family, RLEDBAT, Registry, SHORT_NAMES, SUFFIXES};

/// The JSON Schema of a scenario file that names algorithms of `registry`.
pub fn schema(registry: &Registry) -> String {
    let generator = &mut SchemaSettings::draft2020_12().into_generator();
    let algorithms = [
        (ControllerValue::NAME, controller(registry, generator)),
        (SLOW_START_VALUE, name_or_table(&registry.slow_starts, &[""], &Map::new(), None, generator)),
        (QueueValue::NAME, queue(registry, generator)),
        (ApplicationValue::NAME, name_or_table(&registry.applications, &[""], &Map::new(), None, generator)),
        (ElementValue::NAME, element(registry, generator)),
        (ReceiverControllerValue::NAME, receiver_controller(registry, generator)),
        (StackValue::NAME, name_or_table(&registry.stacks, &[""], &Map::new(), None, generator)),
    ];
    let mut schema = generator.root_schema_for::<File>().to_value();
    for (name, algorithm) in algorithms {
        schema["$defs"][name] = algorithm.into();
    }
    counts_may_have_units(&mut schema);
    format!("{schema:#}")
}

/// A number of packets may be written as such: `55` or `"55 packets"`, as `windtunnel_units::count` reads it.
fn counts_may_have_units(schema: &mut Value) {
    let unit = schema.get("x-unit").and_then(Value::as_str).and_then(|unit| unit.strip_suffix('s'));
    if let Some(unit @ ("packet" | "segment" | "frame")) = unit {
        let pattern = json!(format!("^[0-9]+ {unit}s?$"));
        let value = if schema["type"] == "array" { &mut schema["items"] } else { &mut *schema };
        let types: Vec<Value> = match &value["type"] {
            Value::Array(types) => types.clone(),
            one => vec![one.clone()],
        };
        if types.contains(&json!("integer")) {
            value["type"] = types.into_iter().chain([json!("string")]).collect();
            value["pattern"] = pattern;
        }
    }
    match schema {
        Value::Object(entries) => entries.values_mut().for_each(counts_may_have_units),
        Value::Array(items) => items.iter_mut().for_each(counts_may_have_units),
        _ => {}
    }
}

/// Types of values that are algorithms: each is a reference to a definition that [`schema`] builds from the registry.
macro_rules! from_registry {
    ($($(#[$doc:meta])* $type:ident = $name:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $type;

        impl $type {
            const NAME: &'static str = $name;
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $type::NAME.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                Schema::default()
            }
        }
    )*};
}

from_registry! {
    /// The value of `cc`.
    ControllerValue = "Controller";
    /// The value of `app`.
    ApplicationValue = "Application";
    /// One value of `impair`.
    ElementValue = "Impairment";
    /// The value of `queue`.
    QueueValue = "Queue";
    /// The value of `rledbat`.
    ReceiverControllerValue = "ReceiverController";
    /// The value of `stack`.
    StackValue = "Stack";
}

/// The value of `preset`.
#[derive(Debug)]
pub(crate) struct PresetValue;

/// The definition of the value of `slow_start`.
const SLOW_START_VALUE: &str = "SlowStart";

/// One value, or a list of values.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its schema is all that is needed of it")]
pub(crate) enum OneOrMany<T> {
    /// One.
    One(T),
    /// A list.
    Many(Vec<T>),
}

/// The value of `iw`.
#[derive(Debug)]
pub(crate) struct InitialWindowValue;

/// The value of `ack`.
#[derive(Debug)]
pub(crate) struct AckValue;

/// The value of `ecn`.
#[derive(Debug)]
pub(crate) struct EcnValue;

fn controller(registry: &Registry, generator: &mut SchemaGenerator) -> Schema {
    let responses: Vec<&str> = registry.responses.iter().map(|entry| &*entry.name).collect();
    let mut more = Map::new();
    for response in registry.responses.iter() {
        more.extend(properties(&response.schema(generator)));
    }
    more.insert("slow_start".into(), json!({ "$ref": format!("#/$defs/{SLOW_START_VALUE}") }));
    more.insert("response".into(), json!({ "enum": responses }));
    let suffixes: Vec<&str> = std::iter::once("").chain(SUFFIXES.iter().map(|(suffix, _)| *suffix)).collect();
    let modern = name_or_table(&registry.avoidances, &suffixes, &more, None, generator);
    let shorts = SHORT_NAMES.iter().map(|short| short.name);
    let names: Vec<&str> = CLASSICS.iter().map(|classic| classic.name).chain(shorts).collect();
    let mut table = properties(&RenoParams::json_schema(generator));
    table.extend(more);
    table.insert("kind".into(), json!({ "enum": names }));
    let mut bsd42 = properties(&Bsd42Params::json_schema(generator));
    bsd42.insert("kind".into(), json!({ "enum": [BSD42] }));
    let alone = [names.as_slice(), &[BSD42]].concat();
    let old = [table, bsd42].map(|properties| {
        json!({
            "type": "object",
            "properties": properties,
            "required": ["kind"],
            "additionalProperties": false,
        })
    });
    let registered = name_or_table(&registry.controllers, &[""], &Map::new(), None, generator);
    let of_stacks = &registry.stack_controllers;
    let ours = json!({ "$ref": format!("#/$defs/{}", ControllerValue::NAME) });
    let over_stacks =
        [("kind", json!({ "enum": of_stacks })), (OURS, ours.clone())].map(|(decides, value)| {
            json!({
                "type": "object",
                "properties": { decides: value, SHADOW: ours },
                "required": [decides],
                "additionalProperties": false,
            })
        });
    let mut any_of = vec![modern.to_value(), json!({ "enum": alone })];
    any_of.extend(old);
    any_of.push(registered.to_value());
    if !of_stacks.is_empty() {
        any_of.push(json!({ "enum": of_stacks }));
        any_of.extend(over_stacks);
    }
    json_schema!({ "anyOf": any_of })
}

fn receiver_controller(registry: &Registry, generator: &mut SchemaGenerator) -> Schema {
    let family = registry.avoidances.only(RLEDBAT);
    name_or_table(&family, &[""], &Map::new(), None, generator)
}

fn queue(registry: &Registry, generator: &mut SchemaGenerator) -> Schema {
    let mut more = Map::new();
    let limit = json!({
        "type": "string",
        "description": "How much it holds: packets, bytes, time, or, in [bottleneck], a multiple of the bandwidth-delay product at the longest round-trip time of the flows (`bdp`), or of that product over the square root of their number (`bdp/sqrt(n)`; each flow counts once, whatever it sends).",
        "default": "unlimited",
        "examples": ["100 packets", "150 kB", "12 ms", "1.5 bdp", "bdp/sqrt(n)", "unlimited"],
    });
    more.insert("limit".into(), limit);
    more.insert("ecn_mode".into(), generator.subschema_for::<EcnMode>().into());
    let mds_dscp = json!({
        "type": "integer",
        "description": "The DSCP of the packets that the link's queue takes for those of MDS, where it reads any: the `mds_dscp` of the flows.",
        "default": Dscp::MDS.get(),
        "minimum": 1,
        "maximum": 63,
    });
    more.insert("mds_dscp".into(), mds_dscp);
    let age = json!({
        "type": "string",
        "description": "How long the queue has existed, without traffic, before the run starts: its periodic control laws have settled.",
        "default": QueueInit::AGE,
    });
    more.insert("age".into(), age);
    let aqm = name_or_table(&registry.aqms, &[""], &Map::new(), None, generator);
    name_or_table(&registry.queues, &[""], &more, Some(&aqm), generator)
}

fn element(registry: &Registry, generator: &mut SchemaGenerator) -> Schema {
    let mut only = generator.subschema_for::<Selector>();
    only.insert(
        "description".into(),
        "The packets that it concerns; all others pass it. By default, all packets.".into(),
    );
    let mut during = generator.subschema_for::<During>();
    during.insert(
        "description".into(),
        "When it works; at other times all packets pass. By default, always.".into(),
    );
    let more = Map::from_iter([("only".to_owned(), only.into()), ("during".to_owned(), during.into())]);
    name_or_table(&registry.elements, &[""], &more, None, generator)
}

impl JsonSchema for InitialWindowValue {
    fn schema_name() -> Cow<'static, str> {
        "InitialWindow".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": 1 }],
            "default": "10 packets",
        })
    }
}

impl JsonSchema for PresetValue {
    fn schema_name() -> Cow<'static, str> {
        "Preset".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let preset = |preset: Preset| json!({ "const": preset.name, "description": preset.summary });
        json_schema!({ "oneOf": presets().into_iter().map(preset).collect::<Vec<_>>() })
    }
}

impl JsonSchema for EcnValue {
    fn schema_name() -> Cow<'static, str> {
        "Ecn".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, generator.subschema_for::<FeedbackScheme>()] })
    }
}

impl JsonSchema for AckValue {
    fn schema_name() -> Cow<'static, str> {
        "Ack".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (policy, table) =
            (generator.subschema_for::<AckPolicy>(), generator.subschema_for::<AckParams>());
        json_schema!({ "anyOf": [policy, table] })
    }
}

/// A name, or a table with `kind`, the algorithm's parameters, and `more`. A name may end with each of `suffixes`.
fn name_or_table<C>(
    family: &Family<C>,
    suffixes: &[&str],
    more: &Map<String, Value>,
    aqm: Option<&Schema>,
    generator: &mut SchemaGenerator,
) -> Schema {
    let mut all_names: Vec<String> = Vec::new();
    let mut tables = Vec::new();
    for entry in family.iter() {
        let suffixed = |name| suffixes.iter().map(move |suffix| format!("{name}{suffix}"));
        let names: Vec<String> = entry.names().flat_map(suffixed).collect();
        let mut table = Map::new();
        table.insert("kind".into(), json!({ "enum": names }));
        table.extend(properties(&entry.schema(generator)));
        table.extend(more.clone());
        for (slot, aqm) in entry.slots.iter().zip(aqm) {
            table.insert(
                slot.key.to_owned(),
                json!({ "description": slot.summary, "anyOf": aqm.get("anyOf") }),
            );
        }
        for slot in &entry.children {
            table.insert(slot.key.to_owned(), children(slot));
        }
        tables.push(json!({
            "type": "object",
            "description": entry.summary,
            "properties": table,
            "required": ["kind"],
            "additionalProperties": false,
        }));
        all_names.extend(names);
    }
    tables.insert(0, json!({ "type": "string", "enum": all_names }));
    json_schema!({ "anyOf": tables })
}

/// The value of a key that takes queues, which take queues themselves.
fn children(slot: &ChildSlot) -> Value {
    let queue = json!({ "$ref": format!("#/$defs/{}", QueueValue::NAME) });
    match slot.takes {
        Takes::One => json!({ "description": slot.summary, "$ref": queue["$ref"] }),
        Takes::List(_) => {
            json!({ "description": slot.summary, "type": "array", "minItems": 1, "items": queue })
        }
    }
}

/// The properties of a struct's schema.
pub(crate) fn properties(schema: &Schema) -> Map<String, Value> {
    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}
