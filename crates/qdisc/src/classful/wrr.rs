//! wrr: weighted round robin by packets. The round is in [`super::round`].
//!
//! Source: spec/queues-and-signalling section 13. A class sends as many packets in a round as its weight, whatever
//! their lengths: shares of bytes depend on the sizes of packets, which is what deficit round robin mends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::OutOfRange;

use super::round::{RoundRobin, Unit};
use super::{Children, Filter, Filters, several};
use crate::discipline::QueueDiscipline;
use crate::params::{ChildSlot, QueueInit, QueueParams};
use crate::spec::{ChildSpec, Parts};

/// wrr's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Shreedhar and Varghese 1995, section 2",
    "x-title" = "WRR",
    "x-traits" = ["holds"]
))]
pub struct WrrParams {
    /// How many packets each class sends in a round, in the order of `children`; as many classes as there are weights.
    pub weights: Vec<u32>,
    /// Which packets go to which band: the first filter that selects a packet counts.
    pub filters: Vec<Filter>,
    /// The band of packets that no filter selects.
    pub default_band: u32,
}

impl Default for WrrParams {
    fn default() -> WrrParams {
        WrrParams { weights: vec![1; 2], filters: Vec::new(), default_band: 0 }
    }
}

impl Params for WrrParams {
    const NAME: &'static str = "wrr";
    const SUMMARY: &'static str = "Weighted round robin over several queues, by packets";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(2..=16).contains(&self.weights.len()) {
            let list = format!("a list of {}", self.weights.len());
            return Err(OutOfRange::new("weights", list, "from 2 to 16 weights"));
        }
        if self.weights.contains(&0) {
            return Err(OutOfRange::new("weights", 0, "each at least 1"));
        }
        Filters::check(&self.filters, self.default_band, self.weights.len())
    }
}

impl QueueParams for WrrParams {
    fn children(&self) -> Vec<ChildSlot> {
        several(self.weights.len())
    }

    fn check_children(&self, children: &[Vec<ChildSpec>]) -> Result<(), OutOfRange> {
        if children.iter().map(Vec::len).sum::<usize>() == self.weights.len() {
            return Ok(());
        }
        let list = format!("a list of {}", self.weights.len());
        Err(OutOfRange::new("weights", list, "as many as there are queues in `children`"))
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let filters = Filters::new(&self.filters, self.default_band);
        let weights: Vec<u64> = self.weights.iter().map(|weight| u64::from(*weight)).collect();
        Box::new(RoundRobin::new(Children::new(parts, init), filters, Unit::Packets, &weights))
    }
}
