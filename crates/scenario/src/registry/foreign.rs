//! Parameters that are known at run time only: those of algorithms that are not written in Rust.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};
use windtunnel_units::{Bytes, Duration, Rate};

use super::family::Entry;
use crate::parse::cursor::Cursor;
use crate::parse::fault::Fault;

/// An algorithm that is not written in Rust. What is built from its parameters is a `C`.
pub struct ForeignAlgorithm<C> {
    /// Its name in scenarios and results.
    pub name: String,
    /// What it does, in one line without a full stop.
    pub summary: String,
    /// Where its code is.
    pub source: String,
    /// What can be set.
    pub parameters: Vec<ForeignParameter>,
    /// Takes one value for each of `parameters`, in their order, and gives the algorithm, or says what is wrong with
    /// them.
    pub read: Box<dyn Fn(Vec<ForeignValue>) -> Result<C, String> + Send + Sync>,
}

/// One parameter of such an algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignParameter {
    /// Its key in a scenario.
    pub name: String,
    /// Its default, which also determines the type of its values.
    pub default: ForeignValue,
    /// What it is.
    pub description: String,
}

/// The value of such a parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ForeignValue {
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// A time, with its unit.
    Time(Duration),
    /// An amount of data, with its unit.
    Bytes(Bytes),
    /// A rate, with its unit.
    Rate(Rate),
}

impl ForeignValue {
    /// The quantity that a text with a unit stands for, if it does.
    pub fn quantity(text: &str) -> Option<ForeignValue> {
        let time = text.parse().map(ForeignValue::Time);
        time.or_else(|_| text.parse().map(ForeignValue::Bytes))
            .or_else(|_| text.parse().map(ForeignValue::Rate))
            .ok()
    }

    /// Reads a value of the same type.
    fn read_like(&self, at: &Cursor<'_>) -> Result<ForeignValue, Fault> {
        match self {
            ForeignValue::Boolean(_) => at.read().map(ForeignValue::Boolean),
            ForeignValue::Integer(_) => at.read().map(ForeignValue::Integer),
            ForeignValue::Number(_) => at.read().map(ForeignValue::Number),
            ForeignValue::Text(_) => at.read().map(ForeignValue::Text),
            ForeignValue::Time(_) => at.read().map(ForeignValue::Time),
            ForeignValue::Bytes(_) => at.read().map(ForeignValue::Bytes),
            ForeignValue::Rate(_) => at.read().map(ForeignValue::Rate),
        }
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        match self {
            ForeignValue::Boolean(_) => bool::json_schema(generator),
            ForeignValue::Integer(_) => i64::json_schema(generator),
            ForeignValue::Number(_) => f64::json_schema(generator),
            ForeignValue::Text(_) => String::json_schema(generator),
            ForeignValue::Time(_) => Duration::json_schema(generator),
            ForeignValue::Bytes(_) => Bytes::json_schema(generator),
            ForeignValue::Rate(_) => Rate::json_schema(generator),
        }
    }
}

impl ForeignParameter {
    fn schema(&self, generator: &mut SchemaGenerator) -> Value {
        let mut schema = self.default.schema(generator);
        schema.insert("description".into(), json!(self.description));
        schema.insert("default".into(), json!(self.default));
        schema.into()
    }
}

impl<C: 'static> ForeignAlgorithm<C> {
    /// Its line in a family.
    pub(super) fn entry(self) -> Entry<C> {
        let ForeignAlgorithm { name, summary, source, parameters, read } = self;
        let keys = parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let parameters: Arc<[ForeignParameter]> = parameters.into();
        let described = Arc::clone(&parameters);
        let reader = move |table: &Cursor<'_>| {
            let value = |parameter: &ForeignParameter| {
                let at = table.get(&parameter.name);
                if at.is_given() { parameter.default.read_like(&at) } else { Ok(parameter.default.clone()) }
            };
            let values = parameters.iter().map(value).collect::<Result<Vec<_>, _>>()?;
            read(values).map_err(|problem| table.fault(problem))
        };
        let schema = move |generator: &mut SchemaGenerator| {
            let properties: Map<String, Value> = described
                .iter()
                .map(|parameter| (parameter.name.clone(), parameter.schema(generator)))
                .collect();
            schemars::json_schema!({ "type": "object", "properties": properties, "x-source": source })
        };
        Entry::foreign(name, summary, keys, Arc::new(reader), Arc::new(schema))
    }
}

impl<C> std::fmt::Debug for ForeignAlgorithm<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForeignAlgorithm").field("name", &self.name).finish_non_exhaustive()
    }
}
