//! The registry: from the names of a scenario to algorithms. The registry is a value, so that another crate, or Python,
//! can add its own algorithms.

mod answers;
mod classic;
mod controllers;
mod elements;
mod family;
mod foreign;
mod queues;
mod short;
mod stacks;

use std::path::PathBuf;
use std::sync::Arc;

use windtunnel_cc::{AvoidanceParams, ControllerParams, ResponseParams, SlowStartParams};
use windtunnel_qdisc::{AqmParams, QueueParams};
use windtunnel_sim::application::{
    ApplicationConfig, BulkParams, CbrParams, MediaParams, OnOffParams, PoissonParams, ProbeParams,
    RequestResponseParams, TransferParams,
};
use windtunnel_sim::element::{self, ElementParams};

pub(crate) use classic::{BSD42, CLASSICS, Classic, DEFAULT_IW};
pub(crate) use controllers::{RESPONSE, SLOW_START};
pub(crate) use family::{Described, Entry, Family};
pub use foreign::{ForeignAlgorithm, ForeignParameter, ForeignValue};
pub(crate) use short::{MDS_SUFFIX, Parsed, SHORT_NAMES, SUFFIXES, name_of};
pub(crate) use stacks::StackKind;

/// The keys of a queue's table in addition to `kind` and the parameters of the algorithm.
const QUEUE_KEYS: &[&str] = &["limit", "ecn_mode", "mds_dscp", "age"];

/// The same of an impairment.
const ELEMENT_KEYS: &[&str] = &["only", "during"];

/// The controllers that a receiver may run (rLEDBAT): those for less than best effort.
pub(crate) const RLEDBAT: &[&str] = &["ledbat-pp", "ledbat"];

/// Why registering a built-in kind cannot fail.
const DIFFER: &str = "built-in names differ";

/// All algorithms that a scenario can name. [`Registry::default`] has those of windtunnel.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Controllers that are not made of the three families of window-based ones.
    pub(crate) controllers: Family<Arc<dyn ControllerParams>>,
    pub(crate) avoidances: Family<Arc<dyn AvoidanceParams>>,
    pub(crate) slow_starts: Family<Arc<dyn SlowStartParams>>,
    pub(crate) responses: Family<Arc<dyn ResponseParams>>,
    pub(crate) queues: Family<Arc<dyn QueueParams>>,
    pub(crate) aqms: Family<Arc<dyn AqmParams>>,
    pub(crate) elements: Family<Arc<dyn ElementParams>>,
    pub(crate) applications: Family<ApplicationConfig>,
    pub(crate) stacks: Family<StackKind>,
    /// The names of the stacks' own controllers.
    pub(crate) stack_controllers: Vec<&'static str>,
    /// Stacks that are known and not built in, each with how to get it.
    pub(crate) missing_stacks: Vec<(&'static str, &'static str)>,
    /// The shared libraries that stacks may be loaded from, by their paths without links.
    pub(crate) libraries: Vec<PathBuf>,
}

/// Why an algorithm is not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Two algorithms of one name.
    #[error("`{name}` is already the name of {what}: names must differ")]
    Taken {
        /// What has the name: "a queue".
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name that a scenario cannot write.
    #[error("{name:?} cannot be a name: names are letters, digits, `+`, `-` and `_`")]
    BadName {
        /// The name.
        name: String,
    },
    /// A parameter whose key stands for something else in the same table.
    #[error(
        "`{name}`: `{key}` cannot be a parameter, because that key has a meaning of its own in the same table"
    )]
    ReservedKey {
        /// The algorithm.
        name: String,
        /// The parameter.
        key: String,
    },
}

impl Default for Registry {
    fn default() -> Registry {
        let mut registry = Registry {
            controllers: Family::new("a controller", &[]),
            avoidances: Family::new("a controller", &[SLOW_START, RESPONSE]),
            slow_starts: Family::new("a slow start", &[]),
            responses: Family::new("a response", &[SLOW_START, RESPONSE]),
            queues: Family::new("a queue", QUEUE_KEYS),
            aqms: Family::new("an AQM", &[]),
            elements: Family::new("an impairment", ELEMENT_KEYS),
            applications: Family::new("an application", &[]),
            stacks: Family::new("a stack", &[]),
            stack_controllers: Vec::new(),
            missing_stacks: Vec::new(),
            libraries: Vec::new(),
        };
        windtunnel_cc::visit(&mut registry);
        windtunnel_qdisc::visit(&mut registry);
        element::visit(&mut registry);
        registry.register_applications().expect(DIFFER);
        registry.register_built_stacks().expect(DIFFER);
        registry
    }
}

impl Registry {
    /// Applications are a closed family: what makes a flow send is part of the simulator.
    fn register_applications(&mut self) -> Result<(), RegistryError> {
        let family = &mut self.applications;
        family.register(Entry::of::<BulkParams>(|_| ApplicationConfig::Bulk))?;
        family.register(Entry::of::<TransferParams>(ApplicationConfig::Transfer))?;
        family.register(Entry::of::<OnOffParams>(ApplicationConfig::OnOff))?;
        family.register(Entry::of::<RequestResponseParams>(ApplicationConfig::RequestResponse))?;
        family.register(Entry::of::<PoissonParams>(ApplicationConfig::Poisson))?;
        family.register(Entry::of::<MediaParams>(ApplicationConfig::Media))?;
        family.register(Entry::of::<CbrParams>(ApplicationConfig::Cbr))?;
        family.register(Entry::of::<ProbeParams>(ApplicationConfig::Probe))
    }
}

impl Described for ApplicationConfig {
    fn kind(&self) -> &str {
        self.params().name()
    }

    fn parameters(&self) -> serde_json::Map<String, serde_json::Value> {
        self.params().to_map()
    }
}
