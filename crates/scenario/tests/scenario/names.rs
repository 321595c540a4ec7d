//! The names of the built-in kinds, by family.

use std::sync::LazyLock;

use windtunnel_algorithm::Params;
use windtunnel_cc::{AvoidanceParams, ControllerParams, ResponseParams, SlowStartParams};
use windtunnel_qdisc::{BuildAqm, QueueParams};
use windtunnel_sim::element::{self, ElementParams, Stage};

/// The names, in the order of messages.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) avoidances: Vec<&'static str>,
    /// Those of them whose slow start cannot be chosen.
    pub(crate) with_own_slow_start: Vec<&'static str>,
    pub(crate) slow_starts: Vec<&'static str>,
    pub(crate) responses: Vec<&'static str>,
    pub(crate) controllers: Vec<&'static str>,
    pub(crate) aqms: Vec<&'static str>,
    /// Queues of all kinds.
    pub(crate) queues: Vec<&'static str>,
    /// Those of them that take other queues.
    pub(crate) classful: Vec<&'static str>,
    /// Elements before the node at the end of the link: what the medium does.
    pub(crate) media: Vec<&'static str>,
}

pub(crate) static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut names = Names::default();
    windtunnel_cc::visit(&mut names);
    windtunnel_qdisc::visit(&mut names);
    element::visit(&mut names);
    names
});

impl windtunnel_cc::Kinds for Names {
    fn avoidance<P: Params + AvoidanceParams>(&mut self) {
        self.avoidances.push(P::NAME);
        if P::default().fixes_slow_start().is_some() {
            self.with_own_slow_start.push(P::NAME);
        }
    }

    fn slow_start<P: Params + SlowStartParams>(&mut self) {
        self.slow_starts.push(P::NAME);
    }

    fn response<P: Params + ResponseParams>(&mut self) {
        self.responses.push(P::NAME);
    }

    fn controller<P: Params + ControllerParams>(&mut self) {
        self.controllers.push(P::NAME);
    }
}

impl windtunnel_qdisc::Kinds for Names {
    fn aqm<P: BuildAqm>(&mut self) {
        self.aqms.push(P::NAME);
        self.queues.push(P::NAME);
    }

    fn queue<P: Params + QueueParams>(&mut self) {
        self.queues.push(P::NAME);
        if !P::default().children().is_empty() {
            self.classful.push(P::NAME);
        }
    }
}

impl element::Kinds for Names {
    fn element<P: Params + ElementParams>(&mut self) {
        if P::default().stage() < Stage::Node {
            self.media.push(P::NAME);
        }
    }
}
