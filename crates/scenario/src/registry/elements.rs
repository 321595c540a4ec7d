//! The elements that packets pass behind a link: those of windtunnel and of other crates.

use std::sync::Arc;

use windtunnel_algorithm::Params;
use windtunnel_sim::element::{ElementParams, Kinds};

use super::{DIFFER, Entry, Registry, RegistryError};

impl Registry {
    /// Adds an element: something that packets pass on a link and that delays, loses or changes them.
    ///
    /// # Errors
    /// If its name is taken, or a scenario cannot write it.
    pub fn register_element<P: Params + ElementParams>(&mut self) -> Result<(), RegistryError> {
        self.elements.register(Entry::of::<P>(|params| Arc::new(params)))
    }
}

/// The built-in kinds are registered by going through them.
impl Kinds for Registry {
    fn element<P: Params + ElementParams>(&mut self) {
        self.register_element::<P>().expect(DIFFER);
    }
}
