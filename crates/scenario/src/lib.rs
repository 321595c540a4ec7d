//! The scenario: the content of a file, checked and resolved.
//!
//! ```text
//! text, overrides --parse--> Scenario (every default, every index) --to_toml, to_json--> text
//! ```
//!
//! [`Scenario::parse`] is the one source of truth for what a scenario may say. The tables of the file are types
//! (`file.rs`), the algorithms are those of a [`Registry`], to which other crates can add; the parser, the messages,
//! [`schema()`] and [`listing()`] are all derived from these. Nothing here runs a scenario.

mod compile;
mod error;
mod estimate;
mod file;
mod hosts;
mod listing;
mod model;
mod parse;
mod print;
mod reading;
mod registry;
mod schema;

pub use compile::compile;
pub use error::ScenarioError;
pub use estimate::{Certainty, Disk, Estimate, Packets, Part, RESIDENT, TableRows, readable};
pub use listing::{TRAITS, listing};
pub use model::{
    Active, Claim, Ect, Endpoints, FlowGroup, Hosts, Impairment, Link, Member, Queue, Route, Scenario, Shape,
    SharedController, Transport,
};
pub use parse::document::LONGEST_TEXT;
pub use reading::{Places, Reading};
pub use registry::{ForeignAlgorithm, ForeignParameter, ForeignValue, Registry, RegistryError};
pub use schema::schema;
use windtunnel_units::Bytes;

pub use windtunnel_sim::{Change, DequeuePoint, LinkParams, LinkRate, RecordParams, Window};

impl Scenario {
    /// Reads a scenario from TOML text. `file` is named in messages; `overrides` are `key=value`, applied in order on
    /// top of the text before anything is checked. Algorithms are those of `registry`.
    ///
    /// ```
    /// use windtunnel_scenario::{Registry, Scenario};
    ///
    /// let text = r#"
    ///     duration = "10 s"
    ///     [bottleneck]
    ///     rate = "100 Mbit/s"
    ///     queue = "deltim"
    ///     [[flow]]
    ///     cc = "reno-mds"
    ///     rtt = "20 ms"
    /// "#;
    /// let registry = Registry::default();
    /// let scenario = Scenario::parse(text, Some("reno.toml"), &["flow[0].rtt=40 ms".to_owned()], &registry)?;
    /// assert_eq!(scenario.flows[0].route.rtt.to_string(), "40 ms");
    ///
    /// let wrong = ["flow[0].rtt=40".to_owned()];
    /// let error = Scenario::parse(text, Some("reno.toml"), &wrong, &registry).unwrap_err();
    /// assert!(error.to_string().starts_with("--set flow[0].rtt=40: flow[0].rtt: `40` has no unit"));
    /// # Ok::<(), windtunnel_scenario::ScenarioError>(())
    /// ```
    pub fn parse(
        text: &str,
        file: Option<&str>,
        overrides: &[String],
        registry: &Registry,
    ) -> Result<Scenario, ScenarioError> {
        Scenario::read(text, &Reading { file, overrides, ..Reading::new(registry) })
    }

    /// Reads a scenario from TOML text, as [`Scenario::parse`] does, with everything that can be said about it.
    pub fn read(text: &str, reading: &Reading<'_>) -> Result<Scenario, ScenarioError> {
        parse::parse(text, reading).map_err(|fault| ScenarioError::new(reading, text, fault))
    }

    /// An error at a key of a scenario that is valid, such as `claim[0].check`: for what only the caller can know of it.
    /// Text and reading are those of [`Scenario::read`].
    pub fn error_at(key: &str, problem: String, text: &str, reading: &Reading<'_>) -> ScenarioError {
        ScenarioError::new(reading, text, parse::fault_at(key, problem, text, reading))
    }

    /// Refuses a run that may have less memory than it needs. Text and reading are those of [`Scenario::read`]: the message
    /// names the line of the key that causes most of it.
    pub fn check_memory(&self, limit: Bytes, text: &str, reading: &Reading<'_>) -> Result<(), ScenarioError> {
        let estimate = Estimate::of(self);
        let Some((key, problem)) = estimate.refusal(limit) else { return Ok(()) };
        Err(Scenario::error_at(key, problem, text, reading))
    }
}
