//! The JSON Schema: what it allows is what the parser reads.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_scenario::Registry;

use crate::good_input::{DESIGN, EVERYTHING, PARKING_LOT, parse};

fn schema() -> Value {
    serde_json::from_str(&windtunnel_scenario::schema(&Registry::default())).expect("JSON")
}

/// Follows a reference.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    match schema["$ref"].as_str() {
        Some(path) => root.pointer(path.trim_start_matches('#')).expect("a definition"),
        None => schema,
    }
}

/// Whether `schema` allows `value`: a small validator for the keywords that the schema uses, so that no other one is
/// needed.
fn allows(root: &Value, schema: &Value, value: &Value) -> bool {
    let schema = resolved(root, schema);
    let each = |key: &str| schema[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let type_matches = |name: &&str| match *name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => value.is_null(),
    };
    let alternatives = |key: &str| each(key).iter().filter(|option| allows(root, option, value)).count();
    (types.is_empty() || types.iter().any(type_matches))
        && (schema.get("enum").is_none() || each("enum").contains(value))
        && schema.get("const").is_none_or(|only| only == value)
        && (schema.get("anyOf").is_none() || alternatives("anyOf") >= 1)
        && each("allOf").iter().all(|part| allows(root, part, value))
        && (schema.get("oneOf").is_none() || alternatives("oneOf") == 1)
        && each("required").iter().filter_map(Value::as_str).all(|key| value.get(key).is_some())
        && value.as_array().is_none_or(|items| items.iter().all(|item| allows(root, &schema["items"], item)))
        && value.as_object().is_none_or(|table| {
            table.iter().all(|(key, value)| match schema["properties"].get(key) {
                Some(property) => allows(root, property, value),
                None => schema["additionalProperties"] != false,
            })
        })
}

/// The schema allows the examples, with all their defaults.
#[test]
fn it_allows_what_is_valid() {
    let schema = schema();
    for text in [DESIGN, PARKING_LOT, EVERYTHING] {
        let json: Value = serde_json::from_str(&parse(text).to_json()).expect("JSON");
        assert!(allows(&schema, &schema, &json), "{json:#}");
    }
}

/// It does not allow unknown keys and names, wrong types and missing keys, at any place.
#[test]
fn it_refuses_what_is_not() {
    let schema = schema();
    let valid: Value = serde_json::from_str(&parse(DESIGN).to_json()).expect("JSON");
    let edits: [(&str, &str, Value); 9] = [
        ("", "durration", "60 s".into()),
        ("", "duration", 60.into()),
        ("", "link", serde_json::json!([])),
        ("/bottleneck", "rat", "1 Mbit/s".into()),
        ("/bottleneck/queue", "kind", "deltimm".into()),
        ("/bottleneck/queue", "ce_threshold", "1 ms".into()),
        ("/flow/0/cc", "kind", "renno".into()),
        ("/flow/0/cc/slow_start", "kind", "fast".into()),
        ("/flow/0", "pacing", "yes".into()),
    ];
    for (table, key, value) in edits {
        let mut edited = valid.clone();
        edited.pointer_mut(table).expect("a table")[key] = value;
        assert!(!allows(&schema, &schema, &edited), "{table}/{key}");
    }
}

/// Every key of the file is described.
#[test]
fn every_key_is_described() {
    fn visit(schema: &Value, path: &str, undescribed: &mut BTreeSet<String>) {
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            if property.get("description").is_none()
                && property.get("enum").is_none()
                && property.get("const").is_none()
                && property.get("properties").is_none()
                && property.get("$ref").is_none()
            {
                undescribed.insert(format!("{path}.{key}"));
            }
        }
        for (key, child) in schema.as_object().into_iter().flatten() {
            visit(child, &format!("{path}/{key}"), undescribed);
        }
        for child in schema.as_array().into_iter().flatten() {
            visit(child, path, undescribed);
        }
    }
    let mut undescribed = BTreeSet::new();
    visit(&schema(), "", &mut undescribed);
    assert_eq!(undescribed, BTreeSet::new());
}
