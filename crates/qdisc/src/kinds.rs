//! The built-in kinds, for code that goes through all of them: the registry of scenarios, and tests of every kind.

use windtunnel_algorithm::Params;

use crate::params::{BuildAqm, QueueParams};

/// A visitor of the built-in kinds ([`visit`](crate::visit)).
pub trait Kinds {
    /// Visits an AQM, which is a queue of its own as well.
    fn aqm<P: BuildAqm>(&mut self);

    /// Visits a discipline.
    fn queue<P: Params + QueueParams>(&mut self);
}
