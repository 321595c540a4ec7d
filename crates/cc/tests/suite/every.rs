//! Every built-in kind with its defaults, for properties that all of them have.

use std::sync::Arc;

use windtunnel_cc::{AvoidanceParams, ControllerParams, Kinds, Params, ResponseParams, SlowStartParams};

/// The defaults of all kinds, by family.
#[derive(Default)]
pub(crate) struct Every {
    pub(crate) avoidances: Vec<Arc<dyn AvoidanceParams>>,
    pub(crate) slow_starts: Vec<Arc<dyn SlowStartParams>>,
    pub(crate) responses: Vec<Arc<dyn ResponseParams>>,
    pub(crate) controllers: Vec<Arc<dyn ControllerParams>>,
}

pub(crate) fn every() -> Every {
    let mut every = Every::default();
    windtunnel_cc::visit(&mut every);
    every
}

impl Kinds for Every {
    fn avoidance<P: Params + AvoidanceParams>(&mut self) {
        self.avoidances.push(Arc::new(P::default()));
    }

    fn slow_start<P: Params + SlowStartParams>(&mut self) {
        self.slow_starts.push(Arc::new(P::default()));
    }

    fn response<P: Params + ResponseParams>(&mut self) {
        self.responses.push(Arc::new(P::default()));
    }

    fn controller<P: Params + ControllerParams>(&mut self) {
        self.controllers.push(Arc::new(P::default()));
    }
}
