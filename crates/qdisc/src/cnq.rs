//! CNQ, Cheap Nasty Queueing: flows without a packet in the queue go before all others.
//!
//! Source: draft-morton-tsvwg-cheap-nasty-queueing-01; the reference implementation `sch_cnq_cobalt`; the authors'
//! simulation *lfqsim*; spec/queues-and-signalling section 11. A packet of a flow without packets or dummies in the
//! queue goes to the sparse band, and a dummy keeps its place in the bulk band ([`crate::sparse`]). A flow is therefore
//! sparse while its packets are further apart than the bulk band's delay; it is not made fair to anyone. No packet
//! overtakes another of its flow: nothing of the flow is queued when one goes to the sparse band.
//!
//! A full queue loses packets at the head of the bulk band, then of the sparse band, where the signal is earliest. The
//! reference has a table of 65536 flows by their hash: collisions let a sparse flow share the fate of a bulk flow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::OutOfRange;

use crate::discipline::QueueDiscipline;
use crate::flows::{Buckets, Classifier, FlowHash};
use crate::limit::{Limit, Room};
use crate::params::{AqmSlot, QueueInit, QueueParams};
use crate::sparse::{self, Presence, Rooms, SparsePair};
use crate::spec::Parts;

/// CNQ's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-morton-tsvwg-cheap-nasty-queueing-01",
    "x-title" = "CNQ",
    "x-traits" = ["marks", "fair"]
))]
pub struct CnqParams {
    /// How flows are told apart: for certain, or by a hash as on a real queue.
    pub hash: FlowHash,
    /// Flows that a hash has to choose from; 1 makes all flows collide.
    pub flows: u32,
}

impl Default for CnqParams {
    fn default() -> CnqParams {
        CnqParams { hash: FlowHash::default(), flows: 65_536 }
    }
}

impl Params for CnqParams {
    const NAME: &'static str = "cnq";
    const SUMMARY: &'static str =
        "Cheap Nasty Queueing: a packet goes first if its flow has no other in the queue";

    fn check(&self) -> Result<(), OutOfRange> {
        sparse::check_flows(self.flows)
    }
}

impl QueueParams for CnqParams {
    fn default_limit(&self) -> Limit {
        sparse::DEFAULT_LIMIT
    }

    fn slots(&self) -> &'static [AqmSlot] {
        &[sparse::BULK_SLOT]
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let classifier = Classifier::new(self.hash, Buckets::Scaled(self.flows), init.seed);
        let aqm = sparse::bulk_aqm(parts).build(&init.aqm());
        let rooms = Rooms::Shared(Room::new(init.limit));
        Box::new(SparsePair::new(Presence::new(classifier), aqm, rooms, ["sparse", "bulk"], init))
    }
}
