//! Everything that a scenario can name, with its parameters, as `windtunnel list` prints it.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use windtunnel_qdisc::Takes;
use windtunnel_sim::SizeDistribution;
use windtunnel_tcp::bsd42::Bsd42Params;
use windtunnel_tcp::{AckParams, AckPolicy, TcpParams};

use crate::parse::preset::{Preset, presets};
use crate::registry::{BSD42, CLASSICS, Classic, Entry, Family, Registry, SHORT_NAMES, SUFFIXES};
use crate::schema::properties;

/// What a kind can be, beyond its name, for those who explain what it does: the `x-traits` of its parameters' schema.
///
/// Two more properties may be next to them: `x-title`, the name in a sentence (the capitalised name where it is not
/// stated), and `x-kept`, the part of a large window that a controller keeps after a loss, where that is not half of it.
pub const TRAITS: [(&str, &str); 15] = [
    ("delay", "a controller that keeps out of queues: a full buffer is not what stops it"),
    ("model", "a controller that holds a share by a model of the path"),
    ("fixed", "a controller that keeps one window, whatever happens"),
    ("scalable", "a controller that needs marks of every queue, and answers losses as Reno without them"),
    ("media", "a controller that sets the rate of media over RTP"),
    ("greedy", "an application that writes as much as the network takes"),
    ("elastic", "an application that, while it sends, takes what the network gives"),
    ("paced", "an application that writes at its `rate` all the time"),
    (
        "marks",
        "an AQM or queue that marks all that is ECN-capable; others have a parameter `ecn`, or never mark",
    ),
    ("fair", "a queue that gives each flow a band of its own"),
    ("passive", "a queue that holds what arrives, and decides nothing before it is full"),
    ("holds", "a queue that marks nothing itself: it schedules, shapes or polices others"),
    ("target", "an AQM that acts on a delay above its target"),
    ("red", "RED, and what came of it: it averages its length, and needs the link's rate for that"),
    ("codel", "CoDel, and what came of it: one packet must not count as a standing queue"),
];

/// Every algorithm of the registry, every ACK policy and the mechanisms of TCP, each with its summary, source and
/// parameters, as JSON.
pub fn listing(registry: &Registry) -> String {
    // Parameters are described inline, without references to definitions.
    let generator = &mut SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true).into_generator();
    let aqms = registry.aqms.names().replace(", ", " | ");
    let listing = json!({
        "controllers": controllers(registry, generator),
        "slow_starts": entries(&registry.slow_starts, "", generator),
        "responses": entries(&registry.responses, "", generator),
        "queues": entries(&registry.queues, &aqms, generator),
        "applications": entries(&registry.applications, "", generator),
        "distributions": distributions(generator),
        "stacks": entries(&registry.stacks, "", generator),
        "impairments": entries(&registry.elements, "", generator),
        "presets": link_presets(),
        "tcp": [table::<TcpParams>("tcp", "The mechanisms of a TCP connection", generator)],
        "acks": acks(generator),
    });
    format!("{listing:#}")
}

/// Lists the controllers, including those from before SACK.
fn controllers(registry: &Registry, generator: &mut SchemaGenerator) -> Vec<Value> {
    let family = registry.avoidances.iter();
    let suffixes: Vec<&str> = SUFFIXES.iter().map(|(suffix, _)| *suffix).collect();
    let mut all: Vec<Value> = family.map(|kind| of_family(kind, &suffixes, "", generator)).collect();
    let reno = registry.avoidances.named(Classic::AVOIDANCE).map(|reno| reno.schema(generator));
    let growth = reno.map(|reno| parameters(&reno)).unwrap_or_default();
    all.extend(CLASSICS.iter().map(|classic| {
        let about = json_schema!({ "x-title": classic.title, "x-source": classic.source });
        entry(classic.name, classic.summary, &about, &growth, &[])
    }));
    all.extend(SHORT_NAMES.iter().map(|short| {
        let response = registry.responses.named(short.response);
        let schema = response.map(|response| response.schema(generator)).unwrap_or_default();
        entry(short.name, short.summary, &schema, &[growth.as_slice(), &parameters(&schema)].concat(), &[])
    }));
    let summary =
        "No congestion control: a fixed window, sent again as a whole when a timer expires (4.2BSD)";
    all.push(table::<Bsd42Params>(BSD42, summary, generator));
    all.extend(entries(&registry.controllers, "", generator));
    all
}

/// The algorithms of a family.
fn entries<C>(family: &Family<C>, aqms: &str, generator: &mut SchemaGenerator) -> Vec<Value> {
    family.iter().map(|kind| of_family(kind, &[], aqms, generator)).collect()
}

/// One algorithm; its name with each of `suffixes` is an alias. `aqms` are the names that a key for an AQM takes.
fn of_family<C>(kind: &Entry<C>, suffixes: &[&str], aqms: &str, generator: &mut SchemaGenerator) -> Value {
    let suffixed = suffixes.iter().map(|suffix| format!("{}{suffix}", kind.name));
    let aliases: Vec<String> = kind.aliases.iter().map(|&alias| alias.to_owned()).chain(suffixed).collect();
    let schema = kind.schema(generator);
    let mut parameters = parameters(&schema);
    parameters.extend(kind.slots.iter().map(|slot| {
        json!({
            "name": slot.key,
            "type": aqms,
            "default": null,
            "unit": null,
            "description": slot.summary,
        })
    }));
    parameters.extend(kind.children.iter().map(|slot| {
        json!({
            "name": slot.key,
            "type": match slot.takes {
                Takes::One => "queue",
                Takes::List(_) => "list of queues",
            },
            "default": null,
            "unit": null,
            "description": slot.summary,
        })
    }));
    entry(&kind.name, &kind.summary, &schema, &parameters, &aliases)
}

/// An entry. Its title, source and traits are those that `schema` states.
fn entry(name: &str, summary: &str, schema: &Schema, parameters: &[Value], aliases: &[String]) -> Value {
    let stated = |key: &str| schema.get(key).cloned();
    let mut entry = json!({
        "name": name,
        "title": stated("x-title").unwrap_or_else(|| capitalised(name).into()),
        "summary": summary,
        "source": stated("x-source"),
        "traits": stated("x-traits").unwrap_or_else(|| json!([])),
        "parameters": parameters,
        "aliases": aliases,
    });
    if let Some(kept) = stated("x-kept") {
        entry["kept"] = kept;
    }
    entry
}

/// The name with a capital letter: the title of a kind that states none.
fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
}

/// A table of keys that belong together.
fn table<T: JsonSchema>(name: &str, summary: &str, generator: &mut SchemaGenerator) -> Value {
    let schema = T::json_schema(generator);
    entry(name, summary, &schema, &parameters(&schema), &[])
}

/// The ACK policies: their names and summaries are those of the variants of [`AckPolicy`].
fn acks(generator: &mut SchemaGenerator) -> Vec<Value> {
    let params = AckParams::json_schema(generator);
    let shared: Vec<Value> =
        parameters(&params).into_iter().filter(|parameter| parameter["name"] != "policy").collect();
    let policies = AckPolicy::json_schema(generator);
    let variants = policies.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    let policy = |variant: &Value| {
        let name = text(&variant["const"]);
        let parameters = if name == "immediate" { &[] } else { shared.as_slice() };
        entry(name, text(&variant["description"]), &params, parameters, &[])
    };
    variants.iter().map(policy).collect()
}

/// The kinds of distributions: their names, summaries and keys are those of the variants of [`Distribution`].
///
/// [`Distribution`]: windtunnel_sim::Distribution
fn distributions(generator: &mut SchemaGenerator) -> Vec<Value> {
    let schema = SizeDistribution::json_schema(generator);
    let kinds = schema.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
    let distribution = |kind: Value| {
        let schema = Schema::try_from(kind.clone()).unwrap_or_default();
        let mut keys = parameters(&schema);
        keys.retain(|key| key["name"] != "kind");
        for key in keys.iter_mut().filter(|key| key["unit"] == "bytes") {
            key["unit"] = "bytes or time".into();
        }
        entry(text(&kind["properties"]["kind"]["const"]), text(&kind["description"]), &schema, &keys, &[])
    };
    kinds.into_iter().filter(|kind| kind["properties"].is_object()).map(distribution).collect()
}

/// The presets of links. They have no parameters: `keys` are the keys of a link that each stands for, as a scenario writes
/// them.
fn link_presets() -> Vec<Value> {
    let preset = |preset: Preset| {
        let about = json_schema!({ "x-source": preset.source });
        let mut entry = entry(&preset.name, &preset.summary, &about, &[], &[]);
        entry["keys"] = preset.link.into();
        entry
    };
    presets().into_iter().map(preset).collect()
}

/// A value of a schema that is a text.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn parameters(schema: &Schema) -> Vec<Value> {
    let parameter = |(name, property): (String, Value)| {
        json!({
            "name": name,
            "type": type_name(&property),
            "default": property.get("default"),
            "unit": property.get("x-unit"),
            "description": property.get("description"),
        })
    };
    properties(schema).into_iter().map(parameter).collect()
}

/// The type in plain words: a quantity, a number, a whole number, true or false, or the names to choose from.
fn type_name<'p>(property: &'p Value) -> String {
    // The schema of an optional value is its type or null.
    if let Some(options) = property.get("anyOf").and_then(Value::as_array)
        && let Some(option) = options.iter().find(|option| option["type"] != "null")
    {
        return type_name(option);
    }
    let choices = |key: &str| -> Option<Vec<&'p str>> {
        // A name; or a table whose `kind` is the name; or a table with one key, the name, for a choice that has parameters
        // of its own. Another way to write one of these has no name.
        let name = |variant: &'p Value| {
            let kind = || variant["properties"]["kind"]["const"].as_str();
            let table = || variant["properties"].as_object()?.keys().next().map(String::as_str);
            variant.get("const").unwrap_or(variant).as_str().or_else(kind).or_else(table)
        };
        Some(property.get(key)?.as_array()?.iter().filter_map(name).collect())
    };
    if let Some(names) = choices("oneOf").or_else(|| choices("enum"))
        && !names.is_empty()
    {
        return names.join(" | ");
    }
    let types = match property.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        Some(Value::String(name)) => Some(name.as_str()),
        _ => None,
    };
    match types.unwrap_or("string") {
        "string" => "quantity",
        "integer" => "whole number",
        "boolean" => "true or false",
        other => other,
    }
    .to_owned()
}
