//! What the page asks, and what it gets: JSON, and columns of numbers behind it.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windtunnel_scenario::{Registry, ScenarioError};
use windtunnel_units::Time;

use crate::edit::Edit;
use crate::feed::Rows;
use crate::run::Lab;

/// Columns start at multiples of this many bytes, so that JavaScript can look at them where they are.
const ALIGNMENT: usize = 8;

/// A question. Times are in nanoseconds.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
enum Question {
    /// A run of this text, at its start.
    Open {
        text: String,
        #[serde(default)]
        files: BTreeMap<String, String>,
        #[serde(default)]
        packets: bool,
    },
    /// Up to this time, but at most this many events.
    Advance { until: u64, events: u64 },
    /// Up to the next acknowledgement.
    Step,
    /// The text with a change.
    Edit { at: u64, edit: Edit },
    /// The summary of a run that has ended, its digest among it.
    Summary,
    /// The text with every default.
    Resolve,
    /// The kinds of controllers, queues and so on.
    Kinds,
}

/// An answer: its JSON, which says where columns are, and the columns.
#[derive(Debug, Default)]
pub struct Answer {
    json: Value,
    columns: Vec<u8>,
}

impl Answer {
    fn of(json: Value) -> Answer {
        Answer { json, columns: Vec::new() }
    }

    /// The length of the JSON (four bytes, little-endian), the JSON, and the columns, which start at a multiple of eight.
    pub fn bytes(&self) -> Vec<u8> {
        let json = self.json.to_string();
        let mut bytes = (json.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(json.as_bytes());
        if !self.columns.is_empty() {
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
            bytes.extend_from_slice(&self.columns);
        }
        bytes
    }

    /// The JSON alone.
    pub fn json(&self) -> &Value {
        &self.json
    }
}

/// One page's side of the lab.
#[derive(Debug, Default)]
pub struct Desk {
    registry: Registry,
    text: String,
    lab: Option<Lab>,
}

impl Desk {
    /// Answers a question in JSON. A fault is an answer, too: `{"fault": {...}}` with its `message`, and of a scenario with
    /// `line`, `column` and `key`.
    pub fn answer(&mut self, question: &str) -> Answer {
        let question = match serde_json::from_str(question) {
            Ok(question) => question,
            Err(error) => return fault(&error),
        };
        self.handle(question).unwrap_or_else(|fault| fault)
    }

    fn handle(&mut self, question: Question) -> Result<Answer, Answer> {
        match question {
            Question::Open { text, files, packets } => {
                // A text that is refused leaves the run before as it is.
                let lab = Lab::new(&text, &files, packets, &self.registry).map_err(|e| scenario_fault(&e))?;
                let about = about(&lab);
                (self.text, self.lab) = (text, Some(lab));
                Ok(about)
            }
            Question::Advance { until, events } => {
                let lab = self.lab()?;
                let reached = lab.advance(Time::from_nanos(until), events).map_err(|e| fault(&e))?;
                Ok(rows(lab, reached))
            }
            Question::Step => {
                let lab = self.lab()?;
                lab.step().map_err(|e| fault(&e))?;
                Ok(rows(lab, true))
            }
            Question::Edit { at, edit } => {
                let text = std::mem::take(&mut self.text);
                let lab = self.lab()?;
                let edited = edit.apply(&text, lab.scenario(), Time::from_nanos(at));
                self.text = text;
                Ok(Answer::of(json!({ "text": edited.map_err(|e| fault(&e))? })))
            }
            Question::Summary => {
                let lab = self.lab()?;
                let result = lab.result().ok_or_else(|| fault(&"the run has not ended"))?;
                Ok(Answer::of(json!({ "summary": json(&result.summary) })))
            }
            Question::Resolve => Ok(Answer::of(json!({ "text": self.lab()?.scenario().to_toml() }))),
            Question::Kinds => Ok(Answer::of(parsed(&windtunnel_scenario::listing(&self.registry)))),
        }
    }

    fn lab(&mut self) -> Result<&mut Lab, Answer> {
        self.lab.as_mut().ok_or_else(|| fault(&"no scenario is open"))
    }
}

fn fault(message: &dyn Display) -> Answer {
    Answer::of(json!({ "fault": { "message": message.to_string() } }))
}

fn scenario_fault(error: &ScenarioError) -> Answer {
    let ScenarioError { line, column, key, .. } = error;
    Answer::of(
        json!({ "fault": { "message": error.to_string(), "line": line, "column": column, "key": key } }),
    )
}

/// What a page shows of a scenario before it runs.
fn about(lab: &Lab) -> Answer {
    let flows: Vec<Value> = lab.flows().iter().map(|(name, cc)| json!({ "name": name, "cc": cc })).collect();
    let (queues, classes): (Vec<_>, Vec<_>) = lab.queues().iter().cloned().unzip();
    Answer::of(json!({
        "scenario": parsed(&lab.scenario().to_json()),
        "flows": flows,
        "queues": queues,
        "classes": classes,
        "duration_ns": lab.scenario().duration.as_nanos(),
    }))
}

/// The rows since the last answer, where the run is, and whether it has reached the time that was asked for.
fn rows(lab: &Lab, reached: bool) -> Answer {
    let mut columns = Vec::new();
    let tables: serde_json::Map<String, Value> = lab
        .take_rows()
        .into_iter()
        .map(|(name, Rows { count, columns: of_table })| {
            let places: serde_json::Map<String, Value> = of_table
                .iter()
                .map(|(name, values)| {
                    let at = columns.len();
                    columns.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                    ((*name).to_owned(), json!(at))
                })
                .collect();
            (name.to_owned(), json!({ "rows": count, "columns": places }))
        })
        .collect();
    let json = json!({
        "now_ns": lab.now().as_nanos(),
        "reached": reached,
        "ended": lab.has_ended(),
        "tables": tables,
    });
    Answer { json, columns }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
