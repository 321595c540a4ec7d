//! Queues: disciplines and AQMs. Each AQM is also a queue of its own.

use std::sync::Arc;

use windtunnel_algorithm::Params;
use windtunnel_qdisc::{AqmParams, BuildAqm, Kinds, QueueParams, Ramped, SceRampParams};

use super::family::{Entry, Reader};
use super::{DIFFER, Registry, RegistryError};
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
}

/// The built-in kinds are registered by going through them.
impl Kinds for Registry {
    fn aqm<P: BuildAqm>(&mut self) {
        self.register_aqm::<P>().expect(DIFFER);
    }

    fn queue<P: Params + QueueParams>(&mut self) {
        self.register_queue::<P>().expect(DIFFER);
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
