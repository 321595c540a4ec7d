//! Queues: disciplines and AQMs. Each AQM is also a queue of its own.

use std::sync::Arc;

use windtunnel_algorithm::Params;
use windtunnel_qdisc::{
    AqmParams, BrickWallParams, BuildAqm, CakeParams, ChokeParams, CnqParams, CobaltParams, CodelAfParams,
    CodelMdsParams, CodelParams, DelticMdsParams, DelticParams, Deltim2Params, DeltimParams, DrrParams,
    DualPi2Params, DualSparseParams, FifoParams, FqCodelParams, FqParams, FqPieParams, LfqParams, NthParams,
    Pi2Params, PieMdsParams, PieParams, PoliceParams, PrioParams, QueueParams, RampParams, RampPoliceParams,
    Ramped, RedMdsParams, RedParams, SceRampParams, SfbParams, SfqParams, StepParams, TbfParams,
    TwinAfParams, VqPoliceParams, WrrParams,
};

use super::family::{Entry, Reader};
use super::{Registry, RegistryError};
use crate::parse::cursor::Cursor;
use crate::parse::deserialize::fields;

impl Registry {
    /// Adds an AQM: as a queue that is first in, first out, and for the keys under which disciplines take AQMs.
    ///
    /// # Errors
    /// If one of its names is taken, or a scenario cannot write it.
    pub fn register_aqm<P: BuildAqm>(&mut self) -> Result<(), RegistryError> {
        // Registers the queue first: queues include the names of all AQMs, so a name that is free there is free among
        // AQMs too.
        self.queues
            .register(aqm_entry::<P, Arc<dyn QueueParams>>(|aqm| Arc::new(aqm), |aqm| Arc::new(aqm)))?;
        self.aqms.register(aqm_entry::<P, Arc<dyn AqmParams>>(|aqm| Arc::new(aqm), |aqm| Arc::new(aqm)))
    }

    /// Adds a discipline.
    ///
    /// # Errors
    /// If one of its names is taken, or a scenario cannot write it.
    pub fn register_queue<P: Params + QueueParams>(&mut self) -> Result<(), RegistryError> {
        let entry = Entry::of::<P>(|params| Arc::new(params) as Arc<dyn QueueParams>);
        self.queues.register(entry.with_parts(P::default().slots(), P::default().children()))
    }

    /// True if some discipline takes an AQM or a queue under `key`.
    pub(crate) fn takes_part(&self, key: &str) -> bool {
        self.queues.iter().any(|entry| {
            entry.slots.iter().any(|slot| slot.key == key)
                || entry.children.iter().any(|slot| slot.key == key)
        })
    }

    /// Those of windtunnel.
    pub(super) fn register_queues(&mut self) -> Result<(), RegistryError> {
        self.register_queue::<FifoParams>()?;
        // AQMs, each in a queue of its own.
        self.register_aqm::<BrickWallParams>()?;
        self.register_aqm::<StepParams>()?;
        self.register_aqm::<NthParams>()?;
        self.register_aqm::<RampParams>()?;
        self.register_aqm::<RedParams>()?;
        self.register_aqm::<CodelParams>()?;
        self.register_aqm::<CobaltParams>()?;
        self.register_aqm::<CodelAfParams>()?;
        self.register_aqm::<PieParams>()?;
        self.register_aqm::<Pi2Params>()?;
        self.register_aqm::<DelticParams>()?;
        self.register_aqm::<DelticMdsParams>()?;
        self.register_aqm::<DeltimParams>()?;
        self.register_aqm::<Deltim2Params>()?;
        self.register_aqm::<PieMdsParams>()?;
        self.register_aqm::<RedMdsParams>()?;
        self.register_aqm::<CodelMdsParams>()?;
        // Disciplines that look at flows.
        self.register_queue::<FqCodelParams>()?;
        self.register_queue::<FqPieParams>()?;
        self.register_queue::<FqParams>()?;
        self.register_queue::<SfqParams>()?;
        self.register_queue::<CakeParams>()?;
        self.register_queue::<CnqParams>()?;
        self.register_queue::<LfqParams>()?;
        self.register_queue::<TwinAfParams>()?;
        self.register_queue::<DualSparseParams>()?;
        self.register_queue::<SfbParams>()?;
        self.register_queue::<ChokeParams>()?;
        // At code points.
        self.register_queue::<DualPi2Params>()?;
        // Queues around others: schedulers, shapers, policers.
        self.register_queue::<PrioParams>()?;
        self.register_queue::<DrrParams>()?;
        self.register_queue::<WrrParams>()?;
        self.register_queue::<TbfParams>()?;
        self.register_queue::<PoliceParams>()?;
        self.register_queue::<VqPoliceParams>()?;
        self.register_queue::<RampPoliceParams>()
    }
}

/// An AQM, alone or with an SCE ramp, which `sce` describes.
fn aqm_entry<P: BuildAqm, C: 'static>(alone: fn(P) -> C, ramped: fn(Ramped<P>) -> C) -> Entry<C> {
    let entry = Entry::of::<P>(alone);
    if !P::SCE_RAMP {
        return entry;
    }
    let read = Arc::clone(&entry.read);
    let with_ramp: Reader<C> = Arc::new(move |table: &Cursor<'_>| {
        let at = table.get(Ramped::<P>::KEY);
        if !at.is_given() {
            return read(table);
        }
        at.expect_table()?;
        at.expect_keys(fields::<SceRampParams>())?;
        let (aqm, sce): (P, SceRampParams) = (table.read_own_fields()?, at.read_own_fields()?);
        Params::check(&aqm).map_err(|error| table.out_of_range(error))?;
        sce.ramp(aqm.target()).map_err(|error| at.out_of_range(error))?;
        Ok(ramped(Ramped::new(aqm, sce)))
    });
    entry.with_table::<SceRampParams>(Ramped::<P>::KEY, with_ramp)
}
