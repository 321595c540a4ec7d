//! The sparse-flow dual queue: sparse flows have a low-latency queue, all that seek capacity share another.
//!
//! Source: the proposal in "Multiplicative Decrease Scaling"; spec/queues-and-signalling section 12, which fixes what the
//! document leaves open. Unlike in a dual queue coupled for L4S, flows with high-fidelity signals and conventional ones
//! share the main queue and its AQM: only sparse flows use the low-latency queue, and no flow gains throughput there. A
//! classifier says which these are: `cnq` (nothing of the flow is queued), `lfq` (it has not overdrawn its account),
//! `rate` (it keeps to a rate) or `dscp` (its packets say so).
//!
//! The low-latency queue has strict priority and no AQM, so all of it together is policed: what exceeds a token bucket
//! of `ll_share` of the link, `ll_depth` deep, goes to the main queue; the bucket holds two packets of full size at
//! least. `cnq` and `lfq` never reorder a flow's packets; `rate` and `dscp` do when a flow's packets go now here, now
//! there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability, Rate};
use windtunnel_wire::Dscp;

use crate::aqm::DeltimParams;
use crate::discipline::QueueDiscipline;
use crate::flows::{Buckets, Classifier, FlowHash};
use crate::limit::{Limit, Room};
use crate::params::{AqmParams, AqmSlot, QueueInit, QueueParams};
use crate::sparse::{
    self, DeficitRule, Deficits, DscpRule, Policed, Presence, RateRule, Rooms, Share, SparsePair, SparseRule,
};
use crate::spec::Parts;

/// What makes a flow sparse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SparseClassifier {
    /// No packet of it is queued, and its last one came a main queue's delay earlier: as in CNQ.
    #[default]
    Cnq,
    /// It has sent no more than an MTU while the main queue was emptied once: as in LFQ.
    Lfq,
    /// It keeps to `sparse_rate`, but for two packets of full size.
    Rate,
    /// Its packets have the code point `dscp`.
    Dscp,
}

/// The sparse-flow dual queue's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Multiplicative Decrease Scaling",
    "x-title" = "DualSparse",
    "x-traits" = ["marks"]
))]
pub struct DualSparseParams {
    /// What makes a flow sparse.
    pub classifier: SparseClassifier,
    /// How flows are told apart: for certain, or by a hash as on a real queue.
    pub hash: FlowHash,
    /// Flows that a hash has to choose from; 1 makes all flows collide.
    pub flows: u32,
    /// With `rate`: the rate of a sparse flow; 1 % of the link's if left out.
    pub sparse_rate: Option<Rate>,
    /// With `dscp`: the code point of sparse flows; that of non-queue-building flows (NQB) by default.
    pub dscp: u8,
    /// The part of the link's rate that sparse flows may use together.
    pub ll_share: Probability,
    /// For how long they may exceed it at twice that rate.
    pub ll_depth: Duration,
    /// How much the low-latency queue holds, at the link's rate.
    pub ll_limit: Duration,
}

impl Default for DualSparseParams {
    fn default() -> DualSparseParams {
        DualSparseParams {
            classifier: SparseClassifier::default(),
            hash: FlowHash::default(),
            flows: 65_536,
            sparse_rate: None,
            dscp: 45,
            ll_share: Probability::clamped(0.1),
            ll_depth: Duration::from_millis(10),
            ll_limit: Duration::from_millis(20),
        }
    }
}

impl Params for DualSparseParams {
    const NAME: &'static str = "dualsparse";
    const SUMMARY: &'static str =
        "Sparse-flow dual queue: sparse flows in a policed low-latency queue, all others behind one AQM";

    fn check(&self) -> Result<(), OutOfRange> {
        sparse::check_flows(self.flows)?;
        if self.sparse_rate == Some(Rate::ZERO) {
            return Err(OutOfRange::new("sparse_rate", Rate::ZERO, "more than 0 bit/s"));
        }
        if self.sparse_rate.is_some() && self.classifier != SparseClassifier::Rate {
            let set = self.sparse_rate.unwrap_or(Rate::ZERO);
            return Err(OutOfRange::new("sparse_rate", set, "left out: it belongs to classifier = \"rate\""));
        }
        if self.dscp > 63 {
            return Err(OutOfRange::new("dscp", self.dscp, "from 0 to 63"));
        }
        if self.ll_share == Probability::ZERO {
            return Err(OutOfRange::new("ll_share", self.ll_share, "more than 0 %"));
        }
        for (key, span) in [("ll_depth", self.ll_depth), ("ll_limit", self.ll_limit)] {
            if span.is_zero() || span > Duration::SECOND {
                return Err(OutOfRange::new(key, span, "more than 0 s and at most 1 s"));
            }
        }
        Ok(())
    }
}

impl DualSparseParams {
    /// The part of the link that one sparse flow may use.
    const SPARSE_SHARE: f64 = 0.01;
    /// What a flow may send between two sweeps with `lfq`.
    const MTU: Bytes = Bytes::new(1_500);

    fn rule(&self, seed: u64) -> Box<dyn SparseRule> {
        let classifier = Classifier::new(self.hash, Buckets::Scaled(self.flows), seed);
        match self.classifier {
            SparseClassifier::Cnq => Box::new(Presence::new(classifier)),
            SparseClassifier::Lfq => {
                Box::new(DeficitRule::new(Deficits::new(classifier, DualSparseParams::MTU)))
            }
            SparseClassifier::Rate => {
                let share = Share::OfLink(DualSparseParams::SPARSE_SHARE);
                Box::new(RateRule::new(classifier, self.sparse_rate.map_or(share, Share::Fixed)))
            }
            SparseClassifier::Dscp => Box::new(DscpRule(Dscp::new(self.dscp))),
        }
    }
}

impl QueueParams for DualSparseParams {
    fn slots(&self) -> &'static [AqmSlot] {
        &[AqmSlot { key: "aqm", summary: "The AQM of the main queue: by default DelTiM." }]
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let aqm = match parts.aqm() {
            Some(aqm) => aqm.build(&init.aqm()),
            None => AqmParams::build(&DeltimParams::default(), &init.aqm()),
        };
        let share = Share::OfLink(self.ll_share.get());
        let rule = Policed::new(self.rule(init.seed), share, self.ll_depth);
        let rooms =
            Rooms::Apart { sparse: Room::new(Limit::Time(self.ll_limit)), all: Room::new(init.limit) };
        Box::new(SparsePair::new(rule, aqm, rooms, ["low latency", "main"], init))
    }
}
