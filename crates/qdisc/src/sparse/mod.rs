//! Sparse flows before bulk: what CNQ and the sparse-flow dual queue have in common.
//!
//! A rule says for each arriving packet whether its flow is sparse. [`SparsePair`] is the queue: packets of sparse
//! flows wait in a band of their own, which has strict priority and no AQM, and all others in the bulk band behind an
//! AQM.

mod buckets;
mod deficits;
mod instances;
mod pair;
mod presence;
mod scan;

use std::fmt::Debug;
use std::sync::Arc;

use windtunnel_units::{Bytes, OutOfRange};
use windtunnel_wire::{FlowId, Packet};

use crate::accounts::QueueCx;
use crate::aqm::CobaltParams;
use crate::limit::Limit;
use crate::params::{AqmParams, AqmSlot};
use crate::spec::Parts;

pub(crate) use buckets::{DscpRule, Policed, RateRule, Share};
pub(crate) use deficits::{DeficitRule, Deficits};
pub(crate) use instances::{BulkAqms, LastOfFlow};
pub(crate) use pair::{Rooms, SparsePair};
pub(crate) use presence::Presence;
pub(crate) use scan::ScanBand;

/// The band of sparse flows, and that of all others.
pub(crate) const SPARSE: usize = 0;
pub(crate) const BULK: usize = 1;

/// The default limit of CNQ and LFQ: the reference's 10240 packets bound memory, not delay.
pub(crate) const DEFAULT_LIMIT: Limit = Limit::Packets(10_240);

/// Their place for an AQM.
pub(crate) const BULK_SLOT: AqmSlot = AqmSlot {
    key: "aqm",
    summary: "The AQM of the bulk band: by default CoDel, which marks; \"brickwall\" without thresholds is none.",
};

/// How many flows a hash can tell apart.
pub(crate) fn check_flows(flows: u32) -> Result<(), OutOfRange> {
    if (1..=65_536).contains(&flows) {
        Ok(())
    } else {
        Err(OutOfRange::new("flows", flows, "from 1 to 65536"))
    }
}

/// The AQM of the bulk band of CNQ and LFQ, unless another is given: theirs has no schedule of SCE.
pub(crate) fn bulk_aqm(parts: &Parts) -> Arc<dyn AqmParams> {
    let aqm = parts.aqm().map(Arc::clone);
    aqm.unwrap_or_else(|| Arc::new(CobaltParams { sce: Some(0), ..CobaltParams::default() }))
}

/// A packet that has left its band.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone {
    pub(crate) flow: FlowId,
    pub(crate) size: Bytes,
    /// Its band.
    pub(crate) band: usize,
    /// It had its turn, even if the AQM then dropped it; otherwise it was lost to make room.
    pub(crate) served: bool,
}

/// What says which packets go to the sparse band.
pub(crate) trait SparseRule: Debug + Send {
    /// Whether an arriving packet goes to the sparse band.
    fn is_sparse(&mut self, packet: &Packet, cx: &QueueCx) -> bool;

    /// A packet of a flow has been stored in `band`.
    fn stored(&mut self, _flow: FlowId, _band: usize) {}

    /// A packet has left its band.
    fn left(&mut self, _gone: Gone) {}

    /// The bulk band is asked for its first packet, because no packet of a sparse flow waits.
    fn bulk_turn(&mut self) {}

    /// Named internal numbers, as [`crate::QueueDiscipline::probe`] has them.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

impl SparseRule for Box<dyn SparseRule> {
    fn is_sparse(&mut self, packet: &Packet, cx: &QueueCx) -> bool {
        (**self).is_sparse(packet, cx)
    }

    fn stored(&mut self, flow: FlowId, band: usize) {
        (**self).stored(flow, band);
    }

    fn left(&mut self, gone: Gone) {
        (**self).left(gone);
    }

    fn bulk_turn(&mut self) {
        (**self).bulk_turn();
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        (**self).probe(out);
    }
}
