//! Queues: a discipline, and the AQMs and queues inside of it, to any depth.

use std::sync::Arc;

use windtunnel_qdisc::ecn::EcnMode;
use windtunnel_qdisc::{AqmParams, ChildSlot, ChildSpec, Limit, QueueInit, QueuePlace, QueueSpec, Takes};

use super::cursor::Cursor;
use super::document::Value;
use super::fault::Fault;
use super::limit::{Bdp, limit};
use super::mds_dscp::mds_dscp;
use crate::model::Queue;
use crate::registry::Registry;

/// The queue where none is named.
pub(crate) const DEFAULT_QUEUE: &str = "fifo";

/// Reads the queue of a link at this place. `bdp` is the bandwidth-delay product of its path, if there is one.
pub(crate) fn queue(
    at: &Cursor<'_>,
    bdp: Option<Bdp>,
    place: QueuePlace,
    registry: &Registry,
) -> Result<Queue, Fault> {
    let reader = Reader { bdp, place, registry };
    let around = Surrounding { ecn_mode: None, limit: None };
    let Nested { spec, limit, ecn_mode } = reader.nested(at, &around)?;
    let age_at = at.get("age");
    let age = if age_at.is_given() { age_at.read()? } else { QueueInit::AGE };
    Ok(Queue { spec, limit, ecn_mode, mds_dscp: mds_dscp(at)?, age })
}

/// What a queue takes from what is around it.
struct Surrounding {
    /// How it reads the ECN field, if that was said.
    ecn_mode: Option<EcnMode>,
    /// The limit of a queue that does not state one.
    limit: Option<Limit>,
}

/// A queue that has been read, with every default.
struct Nested {
    spec: QueueSpec,
    limit: Limit,
    ecn_mode: EcnMode,
}

impl From<Nested> for ChildSpec {
    fn from(Nested { spec, limit, ecn_mode }: Nested) -> ChildSpec {
        ChildSpec { spec, limit: Some(limit), ecn_mode: Some(ecn_mode) }
    }
}

#[derive(Clone, Copy)]
struct Reader<'r> {
    bdp: Option<Bdp>,
    place: QueuePlace,
    registry: &'r Registry,
}

impl Reader<'_> {
    fn nested(&self, at: &Cursor<'_>, around: &Surrounding) -> Result<Nested, Fault> {
        let queues = &self.registry.queues;
        let params = if at.is_given() {
            queues.read(at, self.registry)?
        } else {
            queues.find(DEFAULT_QUEUE, at, self.registry)?.read(at)?
        };
        let placed = params.placed(&self.place, &|key| at.get(key).is_given());
        let mut spec = QueueSpec::of(placed.unwrap_or(params));
        for (slot, aqm) in spec.params.slots().iter().zip(&mut spec.parts.aqms) {
            let at = at.get(slot.key);
            *aqm = at.is_given().then(|| self.aqm(&at)).transpose()?;
        }
        let mode_at = at.get("ecn_mode");
        let chosen_mode = if mode_at.is_given() { Some(mode_at.read()?) } else { around.ecn_mode };
        let ecn_mode = chosen_mode.unwrap_or_else(|| spec.default_ecn_mode());
        spec.params.check_ecn_mode(ecn_mode).map_err(|error| at.out_of_range(error))?;
        let limit_at = at.get("limit");
        let chosen_limit = if limit_at.is_given() { Some(limit(&limit_at, self.bdp)?) } else { around.limit };
        let limit = chosen_limit.unwrap_or_else(|| spec.params.default_limit());
        for (slot, children) in spec.params.children().iter().zip(&mut spec.parts.children) {
            let at = at.get(slot.key);
            // A FIFO that was not named is as large as the queue around it requires; other queues have limits of their
            // own.
            let limit = if at.is_given() || limit == Limit::Unlimited { chosen_limit } else { Some(limit) };
            self.children(&at, slot, children, &Surrounding { ecn_mode: chosen_mode, limit })?;
        }
        spec.check().map_err(|error| at.out_of_range(error))?;
        Ok(Nested { spec, limit, ecn_mode })
    }

    fn aqm(&self, at: &Cursor<'_>) -> Result<Arc<dyn AqmParams>, Fault> {
        let params = self.registry.aqms.read(at, self.registry)?;
        let placed = params.placed(&self.place, &|key| at.get(key).is_given());
        Ok(placed.unwrap_or(params))
    }

    /// Reads the queues under the key of a discipline, in place of its FIFOs.
    fn children(
        &self,
        at: &Cursor<'_>,
        slot: &ChildSlot,
        children: &mut Vec<ChildSpec>,
        around: &Surrounding,
    ) -> Result<(), Fault> {
        let read = |at: &Cursor<'_>| {
            let (age, dscp) = (at.get("age"), at.get("mds_dscp"));
            if age.is_given() {
                return Err(age.fault("belongs to the queue of the link: those inside of it are as old"));
            }
            if dscp.is_given() {
                return Err(dscp.fault("belongs to the queue of the link: those inside of it read the same"));
            }
            self.nested(at, around).map(ChildSpec::from)
        };
        *children = match (slot.takes, at.value()) {
            (Takes::One, _) => vec![read(at)?],
            (Takes::List(_), Some(Value::List(items))) => {
                (0..items.len()).map(|index| read(&at.item(index))).collect::<Result<_, _>>()?
            }
            (Takes::List(_), Some(_)) => return Err(at.not_allowed("a list of queues")),
            (Takes::List(count), None) => (0..count).map(|_| read(at)).collect::<Result<_, _>>()?,
        };
        Ok(())
    }
}
