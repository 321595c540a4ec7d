//! Every built-in kind with its defaults, for properties that all of them have.

use std::sync::Arc;

use windtunnel_cc::{
    AvoidanceParams, Bbr3Params, Bbr3Variant, ControllerParams, Kinds, Params, PragueParams, PragueVariant,
    ResponseParams, SlowStartParams,
};

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

/// The controllers whose rules a variant chooses, in those that are not the default.
pub(crate) fn variants() -> Vec<Arc<dyn ControllerParams>> {
    let bbr = |variant| Bbr3Params { variant, ..Bbr3Params::default() };
    let prague = |variant| PragueParams { variant, ..PragueParams::default() };
    vec![
        Arc::new(bbr(Bbr3Variant::Draft06)),
        Arc::new(bbr(Bbr3Variant::Linux)),
        Arc::new(prague(PragueVariant::Draft)),
        Arc::new(prague(PragueVariant::Udp)),
        Arc::new(prague(PragueVariant::Linux2020)),
    ]
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
