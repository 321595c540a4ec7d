//! The JSON Schema of a scenario file, for editors.
//!
//! The tables come from the types that the parser reads ([`crate::file`]), the algorithms from their tables of names
//! ([`crate::kinds`]).

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use windtunnel_cc::{MdsParams, RenoParams};
use windtunnel_qdisc::ecn::EcnMode;
use windtunnel_tcp::bsd42::Bsd42Params;
use windtunnel_tcp::{AckParams, AckPolicy};
use windtunnel_units::Rate;

use crate::file::File;
use crate::kinds::{self, Kind};
use crate::parse::BSD42;

/// The JSON Schema of a scenario file.
pub fn schema() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<File>();
    format!("{:#}", schema.as_value())
}

/// The value of `cc`.
#[derive(Debug)]
pub(crate) struct ControllerValue;

/// The value of `slow_start`.
#[derive(Debug)]
struct SlowStartValue;

/// The value of `app`.
#[derive(Debug)]
pub(crate) struct ApplicationValue;

/// One value of `impair`.
#[derive(Debug)]
pub(crate) struct ImpairmentValue;

/// The value of `rate`.
#[derive(Debug)]
pub(crate) struct RateValue;

/// The value of `queue`.
#[derive(Debug)]
pub(crate) struct QueueValue;

/// The value of `iw`.
#[derive(Debug)]
pub(crate) struct InitialWindowValue;

/// The value of `ack`.
#[derive(Debug)]
pub(crate) struct AckValue;

impl JsonSchema for ControllerValue {
    fn schema_name() -> Cow<'static, str> {
        "Controller".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let responses: Vec<&str> = kinds::RESPONSES.iter().map(|kind| kind.name).collect();
        let mut more = properties(&MdsParams::json_schema(generator));
        more.insert("slow_start".into(), generator.subschema_for::<SlowStartValue>().into());
        more.insert("response".into(), json!({ "enum": responses }));
        let modern = name_or_table(kinds::CONTROLLERS, &["", crate::parse::MDS_SUFFIX], &more, generator);
        let names: Vec<&str> = kinds::CLASSICS.iter().map(|classic| classic.name).collect();
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
        json_schema!({ "anyOf": [modern, { "enum": alone }, old[0], old[1]] })
    }
}

impl JsonSchema for SlowStartValue {
    fn schema_name() -> Cow<'static, str> {
        "SlowStart".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        name_or_table(kinds::SLOW_STARTS, &[""], &Map::new(), generator)
    }
}

impl JsonSchema for QueueValue {
    fn schema_name() -> Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut more = Map::new();
        let limit = json!({
            "type": "string",
            "description": "How much it holds: packets, bytes, time, or a multiple of the bandwidth-delay product.",
            "default": "unlimited",
            "examples": ["100 packets", "150 kB", "12 ms", "1.5 bdp", "unlimited"],
        });
        more.insert("limit".into(), limit);
        more.insert("ecn_mode".into(), generator.subschema_for::<EcnMode>().into());
        name_or_table(kinds::QUEUES, &[""], &more, generator)
    }
}

impl JsonSchema for ApplicationValue {
    fn schema_name() -> Cow<'static, str> {
        "Application".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        name_or_table(kinds::APPLICATIONS, &[""], &Map::new(), generator)
    }
}

impl JsonSchema for ImpairmentValue {
    fn schema_name() -> Cow<'static, str> {
        "Impairment".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        name_or_table(kinds::ELEMENTS, &[""], &Map::new(), generator)
    }
}

impl JsonSchema for RateValue {
    fn schema_name() -> Cow<'static, str> {
        "LinkRate".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let trace = json!({
            "type": "object",
            "properties": {
                "trace": { "type": "string", "description": "A file, beside the scenario's." },
            },
            "required": ["trace"],
            "additionalProperties": false,
        });
        json_schema!({ "anyOf": [generator.subschema_for::<Rate>(), trace] })
    }
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

/// A name, or a table with `kind`, the kind's parameters, and `more`. A name may end with each of `suffixes`.
fn name_or_table<C>(
    kinds: &[Kind<C>],
    suffixes: &[&str],
    more: &Map<String, Value>,
    generator: &mut SchemaGenerator,
) -> Schema {
    let names = |kind: &Kind<C>| -> Vec<String> {
        let names = std::iter::once(kind.name).chain(kind.aliases.iter().copied());
        names.flat_map(|name| suffixes.iter().map(move |suffix| format!("{name}{suffix}"))).collect()
    };
    let all_names: Vec<String> = kinds.iter().flat_map(names).collect();
    let mut alternatives = vec![json!({ "type": "string", "enum": all_names })];
    for kind in kinds {
        let mut table = Map::new();
        table.insert("kind".into(), json!({ "enum": names(kind) }));
        table.extend(properties(&(kind.schema)(generator)));
        table.extend(more.clone());
        alternatives.push(json!({
            "type": "object",
            "description": kind.summary,
            "properties": table,
            "required": ["kind"],
            "additionalProperties": false,
        }));
    }
    json_schema!({ "anyOf": alternatives })
}

/// The properties of a struct's schema.
pub(crate) fn properties(schema: &Schema) -> Map<String, Value> {
    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}
