//! What makes parameters readable from a scenario: the derives of serde and schemars. Without the feature `schema`, the
//! derives write nothing, and algorithms need neither crate.

#[cfg(feature = "schema")]
pub use schemars::JsonSchema;
#[cfg(feature = "schema")]
pub use serde::{Deserialize, Serialize};
#[cfg(not(feature = "schema"))]
pub use windtunnel_no_schema::{Deserialize, JsonSchema, Serialize};

/// Parameters that are written, read and described by name.
#[cfg(feature = "schema")]
pub trait Described: Serialize + serde::de::DeserializeOwned + JsonSchema {}

#[cfg(feature = "schema")]
impl<P: Serialize + serde::de::DeserializeOwned + JsonSchema> Described for P {}

/// Any parameters: without the feature `schema` they have no names.
#[cfg(not(feature = "schema"))]
pub trait Described {}

#[cfg(not(feature = "schema"))]
impl<P> Described for P {}
