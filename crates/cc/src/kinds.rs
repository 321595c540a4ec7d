//! The built-in kinds, for code that goes through all of them: the registry of scenarios, and tests of every kind.

use windtunnel_algorithm::Params;

use crate::controller::ControllerParams;
use crate::windowed::{AvoidanceParams, ResponseParams, SlowStartParams};

/// A visitor of the built-in kinds ([`visit`](crate::visit)).
pub trait Kinds {
    /// Visits a growth function.
    fn avoidance<P: Params + AvoidanceParams>(&mut self);

    /// Visits a slow start.
    fn slow_start<P: Params + SlowStartParams>(&mut self);

    /// Visits a response.
    fn response<P: Params + ResponseParams>(&mut self);

    /// Visits a controller that is not made of the three.
    fn controller<P: Params + ControllerParams>(&mut self);
}
