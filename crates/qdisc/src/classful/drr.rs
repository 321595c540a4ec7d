//! drr: deficit round robin over classes, each with a queue of its own. The round is in [`super::round`].
//!
//! Source: Shreedhar and Varghese (1995); Linux `sch_drr` and its manual page `tc-drr`. Linux loses packets that no
//! filter selects; here `default_band` has them. A quantum of one full packet is the least that keeps turns cheap: with
//! less, a class waits several turns for a packet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, OutOfRange};

use super::round::{RoundRobin, Unit};
use super::{Children, Filter, Filters, several};
use crate::discipline::QueueDiscipline;
use crate::params::{ChildSlot, QueueInit, QueueParams};
use crate::spec::{ChildSpec, Parts};

/// drr's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Shreedhar and Varghese 1995; Linux sch_drr",
    "x-title" = "DRR",
    "x-traits" = ["holds"]
))]
pub struct DrrParams {
    /// What each class may send in one turn, in the order of `children`; as many classes as there are quanta.
    pub quanta: Vec<Bytes>,
    /// Which packets go to which band: the first filter that selects a packet counts.
    pub filters: Vec<Filter>,
    /// The band of packets that no filter selects.
    pub default_band: u32,
}

impl Default for DrrParams {
    fn default() -> DrrParams {
        DrrParams { quanta: vec![Bytes::new(1_500); 2], filters: Vec::new(), default_band: 0 }
    }
}

impl DrrParams {
    /// The least quantum, so that a turn or two hundred are enough for any packet.
    const LEAST: Bytes = Bytes::new(64);
}

impl Params for DrrParams {
    const NAME: &'static str = "drr";
    const SUMMARY: &'static str = "Deficit round robin over several queues, by bytes";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(2..=16).contains(&self.quanta.len()) {
            return Err(OutOfRange::new(
                "quanta",
                format!("a list of {}", self.quanta.len()),
                "from 2 to 16 quanta",
            ));
        }
        if let Some(least) = self.quanta.iter().find(|quantum| **quantum < DrrParams::LEAST) {
            return Err(OutOfRange::new("quanta", least, "each at least 64 B"));
        }
        Filters::check(&self.filters, self.default_band, self.quanta.len())
    }
}

impl QueueParams for DrrParams {
    fn children(&self) -> Vec<ChildSlot> {
        several(self.quanta.len())
    }

    fn check_children(&self, children: &[Vec<ChildSpec>]) -> Result<(), OutOfRange> {
        if children.iter().map(Vec::len).sum::<usize>() == self.quanta.len() {
            return Ok(());
        }
        let list = format!("a list of {}", self.quanta.len());
        Err(OutOfRange::new("quanta", list, "as many as there are queues in `children`"))
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let filters = Filters::new(&self.filters, self.default_band);
        let quanta: Vec<u64> = self.quanta.iter().map(|quantum| quantum.get()).collect();
        Box::new(RoundRobin::new(Children::new(parts, init), filters, Unit::Bytes, &quanta))
    }
}
