//! Values of the wrong type, at every place that the schema describes: a list where a table belongs is not read by the
//! position of its values, and each message is about the scenario, not about the program that reads it.

use std::iter;

use serde_json::{Value, json};
use windtunnel_scenario::{Registry, Scenario, ScenarioError};

use crate::fields::{Field, inline, visit};

/// Words of the program that reads scenarios, which mean nothing to those who write them.
const OF_THE_PROGRAM: [&str; 19] = [
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
    "default, nothing",
];

/// What the walk has seen, so that the test cannot pass because nothing was visited.
#[derive(Default)]
struct Seen {
    tables: usize,
    values: usize,
    lists_refused: usize,
    faults: Vec<String>,
}

#[test]
fn at_every_place_of_the_schema() {
    let mut seen = Seen::default();
    visit(&mut |field| {
        for value in wrong_values() {
            check(field, &value, &mut seen);
        }
        for list in field.by_position() {
            seen.tables += 1;
            check(field, &list, &mut seen);
            check(field, &json!([list]), &mut seen);
        }
    });
    let Seen { tables, values, lists_refused, mut faults } = seen;
    faults.dedup();
    let first = faults[..faults.len().min(10)].join("\n\n");
    assert!(faults.is_empty(), "{} faults, the first:\n{first}", faults.len());
    assert!(tables > 80 && values > 5000 && lists_refused > 5000, "{tables} {values} {lists_refused}");
}

/// Reads the scenario with a value in a field, from a file and as an override.
fn check(field: &Field<'_>, value: &Value, seen: &mut Seen) {
    seen.values += 1;
    let allowed = match value {
        Value::Array(_) => field.may_be("array"),
        Value::Object(_) => field.may_be("object"),
        Value::Bool(_) => field.may_be("boolean"),
        // A probability has no unit, so it may be a number, too.
        Value::Number(_) => {
            field.may_be("integer")
                || field.may_be("number")
                || field.types.iter().any(|one| one["x-unit"] == "probability")
        }
        _ => {
            field.may_be("string")
                || field.types.iter().any(|one| one["enum"].is_array() || one["const"].is_string())
        }
    };
    let text = field.file(value.clone());
    let setting = format!("{}={}", field.key, inline(value));
    let from_setting = value.is_array().then(|| (parse(&text, std::slice::from_ref(&setting)), &setting));
    for (result, origin) in iter::once((parse(&text, &[]), &text)).chain(from_setting) {
        let Err(error) = result else {
            if !allowed {
                seen.faults.push(format!("{}: read as if it were of the right type:\n{origin}", field.key));
            }
            continue;
        };
        let message = error.to_string();
        let leaked = OF_THE_PROGRAM.iter().find(|word| error.problem.contains(**word));
        seen.faults.extend(leaked.map(|word| format!("says {word:?}: {message}\n{origin}")));
        let about = error.key.as_deref().is_some_and(|key| key.starts_with(&field.key));
        let placed = error.line.is_some() || message.starts_with("--set ");
        if !(allowed || about && placed) {
            seen.faults.push(format!("is not about {}: {message}\n{origin}", field.key));
        }
        seen.lists_refused += usize::from(!allowed && value.is_array());
    }
}

/// One value of each type, and texts and numbers that no key allows.
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

fn parse(text: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, Some("s.toml"), overrides, &Registry::default())
}
