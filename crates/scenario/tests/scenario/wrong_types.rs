//! Values of the wrong type, at every place that the schema describes: a list where a table belongs is not read by the
//! position of its values, and each message is about the scenario, not about the program that reads it.

use std::collections::BTreeSet;
use std::iter;

use serde_json::{Map, Value, json};
use windtunnel_scenario::{Registry, Scenario, ScenarioError};

/// Words of the program that reads scenarios, which mean nothing to those who write them.
const OF_THE_PROGRAM: [&str; 18] = [
    "struct ",
    "enum",
    "variant",
    "expected",
    "invalid",
    "tuple",
    "sequence",
    "newtype",
    "identifier",
    "Option",
    "String",
    "u16",
    "u32",
    "u64",
    "i64",
    "f64",
    "usize",
    "nothing is not allowed",
];

/// A place in a scenario: its key, its schema, and the scenario around any value there.
struct Place<'p> {
    key: String,
    schema: &'p Value,
    around: &'p dyn Fn(Value) -> Value,
}

/// Counts what the walk has seen, so that it cannot pass by seeing nothing.
#[derive(Default)]
struct Seen {
    definitions: BTreeSet<String>,
    tables: usize,
    values: usize,
    lists_refused: usize,
    faults: Vec<String>,
}

#[test]
fn at_every_place_of_the_schema() {
    let root: Value = serde_json::from_str(&windtunnel_scenario::schema(&Registry::default())).expect("JSON");
    let mut seen = Seen::default();
    for (key, schema) in root["properties"].as_object().expect("keys") {
        let base = if ["node", "link"].contains(&key.as_str()) { graph() } else { dumbbell() };
        let around = |value: Value| with(&base, key, value);
        walk(&root, &Place { key: key.clone(), schema, around: &around }, &mut seen);
    }
    let Seen { tables, values, lists_refused, mut faults, .. } = seen;
    faults.dedup();
    assert!(
        faults.is_empty(),
        "{} faults, the first:\n{}",
        faults.len(),
        faults[..faults.len().min(10)].join("\n\n")
    );
    assert!(tables > 80 && values > 5000 && lists_refused > 5000, "{tables} {values} {lists_refused}");
}

fn walk(root: &Value, place: &Place<'_>, seen: &mut Seen) {
    let alternatives = alternatives(root, place.schema);
    let tables: Vec<&Value> =
        alternatives.iter().copied().filter(|one| one["properties"].is_object()).collect();
    for value in wrong_values() {
        check(place, &alternatives, &value, seen);
    }
    // All links have the same queues and elements: they are walked once.
    if place.schema["$ref"].as_str().is_some_and(|definition| !seen.definitions.insert(definition.to_owned()))
    {
        return;
    }
    for table in tables {
        seen.tables += 1;
        let properties = table["properties"].as_object().expect("a table");
        let sample = sample_table(root, table);
        for some in [properties.len(), 1, 2] {
            let by_position: Value = properties.values().take(some).map(|one| sample_of(root, one)).collect();
            check(place, &alternatives, &by_position, seen);
            check(place, &alternatives, &json!([by_position]), seen);
        }
        for (key, schema) in properties.iter().filter(|(key, _)| *key != "kind") {
            let around = |value: Value| {
                let base = match place.key.as_str() {
                    "flow[0]" => dumbbell()["flow"][0].clone(),
                    "link[0]" => graph()["link"][0].clone(),
                    "reverse" => dumbbell()["bottleneck"].clone(),
                    _ => sample.clone(),
                };
                (place.around)(with(&base, key, value))
            };
            walk(root, &Place { key: format!("{}.{key}", place.key), schema, around: &around }, seen);
        }
    }
    for list in alternatives.iter().filter(|one| one["items"].is_object()) {
        let around = |value: Value| (place.around)(json!([value]));
        walk(
            root,
            &Place { key: format!("{}[0]", place.key), schema: &list["items"], around: &around },
            seen,
        );
    }
}

/// Reads the scenario with a value at a place, from a file and as an override.
fn check(place: &Place<'_>, alternatives: &[&Value], value: &Value, seen: &mut Seen) {
    seen.values += 1;
    let may_be = |name: &str| alternatives.iter().any(|one| is_of_type(one, name));
    let allowed = match value {
        Value::Array(_) => may_be("array"),
        Value::Object(_) => may_be("object"),
        Value::Bool(_) => may_be("boolean"),
        // A probability has no unit, so it may be a number, too.
        Value::Number(_) => {
            may_be("integer")
                || may_be("number")
                || alternatives.iter().any(|one| one["x-unit"] == "probability")
        }
        _ => {
            may_be("string")
                || alternatives.iter().any(|one| one["enum"].is_array() || one["const"].is_string())
        }
    };
    let text = toml(&(place.around)(value.clone()));
    let setting = format!("{}={}", place.key, inline(value));
    let from_setting = value.is_array().then(|| (parse(&text, std::slice::from_ref(&setting)), &setting));
    for (result, origin) in iter::once((parse(&text, &[]), &text)).chain(from_setting) {
        let Err(error) = result else {
            if !allowed {
                seen.faults.push(format!("{}: read as if it were of the right type:\n{origin}", place.key));
            }
            continue;
        };
        let message = error.to_string();
        let leaked = OF_THE_PROGRAM.iter().find(|word| error.problem.contains(**word));
        seen.faults.extend(leaked.map(|word| format!("says {word:?}: {message}\n{origin}")));
        let about = error.key.as_deref().is_some_and(|key| key.starts_with(&place.key));
        let placed = error.line.is_some() || message.starts_with("--set ");
        if !(allowed || about && placed) {
            seen.faults.push(format!("is not about {}: {message}\n{origin}", place.key));
        }
        seen.lists_refused += usize::from(!allowed && value.is_array());
    }
}

/// The types that a schema can be, without references and choices.
fn alternatives<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    if let Some(path) = schema["$ref"].as_str() {
        return alternatives(root, root.pointer(path.trim_start_matches('#')).expect("a definition"));
    }
    match schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        Some(choices) if schema["properties"].is_null() => {
            choices.iter().flat_map(|one| alternatives(root, one)).collect()
        }
        _ => vec![schema],
    }
}

fn is_of_type(schema: &Value, name: &str) -> bool {
    schema["type"] == name || schema["type"].as_array().is_some_and(|types| types.contains(&json!(name)))
}

/// One value of each type, and texts and numbers that no key wants.
fn wrong_values() -> Vec<Value> {
    vec![
        json!([]),
        json!([[]]),
        json!([true, false]),
        json!(["20 ms"]),
        json!([{}]),
        json!({}),
        json!({ "kind": "no such kind" }),
        json!({ "kind": ["fixed"] }),
        json!(true),
        json!(-1),
        json!(0.5),
        json!("no such text"),
    ]
}

fn sample_table(root: &Value, table: &Value) -> Value {
    let properties = &table["properties"];
    let required = table["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |key: &Value| {
        let key = key.as_str().expect("a key");
        (key.to_owned(), sample_of(root, &properties[key]))
    };
    Value::Object(required.iter().map(entry).collect::<Map<_, _>>())
}

/// A value that the schema allows.
fn sample_of(root: &Value, schema: &Value) -> Value {
    let schema = alternatives(root, schema)[0];
    if let Some(names) = schema["enum"].as_array() {
        return names[0].clone();
    }
    if !schema["const"].is_null() {
        return schema["const"].clone();
    }
    if !schema["examples"].is_null() {
        return schema["examples"][0].clone();
    }
    match schema {
        schema if is_of_type(schema, "integer") => json!(1),
        schema if is_of_type(schema, "number") => json!(0.5),
        schema if is_of_type(schema, "boolean") => json!(true),
        schema if is_of_type(schema, "array") => json!([sample_of(root, &schema["items"])]),
        schema if is_of_type(schema, "object") => sample_table(root, schema),
        _ => json!("a"),
    }
}

fn dumbbell() -> Value {
    json!({
        "duration": "10 s",
        "endpoints": "linux",
        "bottleneck": { "rate": "10 Mbit/s" },
        "flow": [{ "cc": "reno", "rtt": "20 ms" }],
    })
}

fn graph() -> Value {
    json!({
        "duration": "10 s",
        "endpoints": "linux",
        "node": [{ "name": "a" }, { "name": "b" }],
        "link": [{ "name": "ab", "from": "a", "to": "b", "rate": "10 Mbit/s" }],
        "flow": [{ "cc": "reno", "rtt": "20 ms", "from": "a", "to": "b" }],
    })
}

fn with(table: &Value, key: &str, value: Value) -> Value {
    let mut table = table.clone();
    table[key] = value;
    table
}

fn parse(text: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, Some("s.toml"), overrides, &Registry::default())
}

/// A file with a line for each key at its top.
fn toml(top: &Value) -> String {
    let entries = top.as_object().expect("a table");
    let lines: Vec<String> =
        entries.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
    lines.join("\n")
}

/// A value as TOML writes it in one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}
