//! prio: strict priority. The first band that has a packet is served; the others may starve, by design.
//!
//! Source: Linux `sch_prio` and its manual page `tc-prio`; spec/queues-and-signalling section 13. Linux maps a packet's
//! type of service to a band (`priomap`), best effort to band 1 of three; here `filters` and `default_band` do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::OutOfRange;
use windtunnel_wire::Packet;

use super::{Children, Filter, Filters, InOrder, several};
use crate::accounts::QueueCx;
use crate::discipline::QueueDiscipline;
use crate::hand_on::hand_on_queue;
use crate::params::{ChildSlot, QueueInit, QueueParams};
use crate::spec::{ChildSpec, Parts};

/// prio's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Linux sch_prio; tc-prio(8)", "x-title" = "PRIO", "x-traits" = ["holds"]))]
pub struct PrioParams {
    /// How many bands there are; band 0 goes first.
    pub bands: u32,
    /// Which packets go to which band: the first filter that selects a packet counts.
    pub filters: Vec<Filter>,
    /// The band of packets that no filter selects.
    pub default_band: u32,
}

impl Default for PrioParams {
    fn default() -> PrioParams {
        PrioParams { bands: 3, filters: Vec::new(), default_band: 1 }
    }
}

impl Params for PrioParams {
    const NAME: &'static str = "prio";
    const SUMMARY: &'static str = "Strict priority: the first of several queues that has a packet is served";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(2..=16).contains(&self.bands) {
            return Err(OutOfRange::new("bands", self.bands, "from 2 to 16"));
        }
        Filters::check(&self.filters, self.default_band, self.bands as usize)
    }
}

impl QueueParams for PrioParams {
    fn children(&self) -> Vec<ChildSlot> {
        several(self.bands as usize)
    }

    fn check_children(&self, children: &[Vec<ChildSpec>]) -> Result<(), OutOfRange> {
        if children.iter().map(Vec::len).sum::<usize>() == self.bands as usize {
            return Ok(());
        }
        Err(OutOfRange::new("bands", self.bands, "the number of queues in `children`"))
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        Box::new(Prio {
            bands: InOrder::new(Children::new(parts, init)),
            filters: Filters::new(&self.filters, self.default_band),
        })
    }
}

/// prio's variables.
#[derive(Debug)]
struct Prio {
    bands: InOrder,
    filters: Filters,
}

impl QueueDiscipline for Prio {
    // `prio_peek` looks into the bands.
    hand_on_queue! {
        self => self.bands.children;
        peeks backlog learn_hosts next_timer on_timer bands band_backlog probe_band
    }
    hand_on_queue! {
        self => self.bands;
        choose serve dequeue next_ready
    }

    fn band_name(&self, band: usize) -> String {
        format!("band {band}")
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        self.bands.children.enqueue(self.filters.band_of(&packet), packet, cx);
    }
}
