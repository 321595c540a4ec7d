//! Every field of a scenario that the schema describes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use windtunnel_scenario::Registry;

/// A field of a scenario.
pub(crate) struct Field<'p> {
    /// Its key.
    pub(crate) key: String,
    /// Its key, with the kinds of the tables that lead to it.
    pub(crate) name: String,
    /// The types that its value may have, as schemas without references and choices.
    pub(crate) types: &'p [&'p Value],
    description: &'p str,
    root: &'p Value,
    around: &'p dyn Fn(Value) -> Value,
}

impl Field<'_> {
    /// A scenario with `value` in this field, as a file.
    pub(crate) fn file(&self, value: Value) -> String {
        toml(&(self.around)(value))
    }

    /// True if its value may be of this JSON type.
    pub(crate) fn may_be(&self, name: &str) -> bool {
        self.types.iter().any(|one| is_of_type(one, name))
    }

    /// True if its description says what zero means.
    pub(crate) fn explains_zero(&self) -> bool {
        self.description.split(|c: char| !c.is_alphanumeric()).any(|word| ["0", "zero"].contains(&word))
    }

    /// The tables that are allowed here, written as lists of values that are right for their keys, in the order of the
    /// keys.
    pub(crate) fn by_position(&self) -> Vec<Value> {
        let tables = self.types.iter().filter_map(|one| one["properties"].as_object());
        tables.map(|keys| keys.values().map(|one| sample_of(self.root, one)).collect()).collect()
    }
}

/// Visits every field. All links have the same queues and elements, which are visited only once.
pub(crate) fn visit(visitor: &mut dyn FnMut(&Field<'_>)) {
    let root: Value = serde_json::from_str(&windtunnel_scenario::schema(&Registry::default())).expect("JSON");
    let mut walk = Walk { root: &root, entered: BTreeSet::new(), visitor };
    for (key, schema) in root["properties"].as_object().expect("keys") {
        let base = if ["node", "link"].contains(&key.as_str()) { graph() } else { dumbbell() };
        walk.enter(key, key, schema, &|value| with(&base, key, value));
    }
}

struct Walk<'w> {
    root: &'w Value,
    entered: BTreeSet<&'w str>,
    visitor: &'w mut dyn FnMut(&Field<'_>),
}

impl<'w> Walk<'w> {
    fn enter(&mut self, key: &str, name: &str, schema: &'w Value, around: &dyn Fn(Value) -> Value) {
        let types = alternatives(self.root, schema);
        let (key, name) = (key.to_owned(), name.to_owned());
        let description = schema["description"].as_str().unwrap_or_default();
        let field = Field { key, name, types: &types, description, root: self.root, around };
        (self.visitor)(&field);
        if schema["$ref"].as_str().is_some_and(|definition| !self.entered.insert(definition)) {
            return;
        }
        for one in &types {
            for (key, schema) in one["properties"].as_object().into_iter().flatten() {
                let sample = match field.key.as_str() {
                    "flow[0]" => dumbbell()["flow"][0].clone(),
                    "link[0]" => graph()["link"][0].clone(),
                    "reverse" => dumbbell()["bottleneck"].clone(),
                    _ => sample_table(self.root, one),
                };
                let kind = sample["kind"].as_str().map(|kind| format!("({kind})")).unwrap_or_default();
                if key != "kind" {
                    let around = |value| (field.around)(with(&sample, key, value));
                    let name = format!("{}{kind}.{key}", field.name);
                    self.enter(&format!("{}.{key}", field.key), &name, schema, &around);
                }
            }
            if one["items"].is_object() {
                let around = |value| (field.around)(json!([value]));
                self.enter(
                    &format!("{}[0]", field.key),
                    &format!("{}[0]", field.name),
                    &one["items"],
                    &around,
                );
            }
        }
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

fn sample_table(root: &Value, table: &Value) -> Value {
    let properties = &table["properties"];
    // Of keys that can stand for each other, the first.
    let one_of = &table["allOf"][0]["anyOf"][0]["required"];
    let required =
        [&table["required"], one_of].into_iter().filter_map(Value::as_array).flatten().collect::<Vec<_>>();
    let entry = |key: &Value| {
        let key = key.as_str().expect("a key");
        (key.to_owned(), sample_of(root, &properties[key]))
    };
    Value::Object(required.into_iter().map(entry).collect::<Map<_, _>>())
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

/// A file with a line for each key at its top.
fn toml(top: &Value) -> String {
    let entries = top.as_object().expect("a table");
    let lines: Vec<String> =
        entries.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
    lines.join("\n")
}

/// A value as TOML writes it in one line.
pub(crate) fn inline(value: &Value) -> String {
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
