//! ngtcp2, compiled in, with its CUBIC, Reno and BBR.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_foreign::Library;
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::endpoint::{Counted, FlowContext, Stack, StackController, StackControllers, StackParams};

use crate::seen::Record;
use crate::{foreign, stack};

/// It has its release's defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "ngtcp2 1.25.0, github.com/ngtcp2/ngtcp2"))]
pub struct Ngtcp2Params {}

impl Params for Ngtcp2Params {
    const NAME: &'static str = "ngtcp2";
    const SUMMARY: &'static str = "ngtcp2 1.25.0 (C) with GnuTLS; its controllers are cubic, reno and bbr";
}

fn library() -> Library {
    Library::ngtcp2(foreign::IDENTITY)
}

impl StackParams for Ngtcp2Params {
    fn controllers(&self) -> &'static [&'static str] {
        library().controllers()
    }

    fn carries(&self, application: &ApplicationConfig) -> Result<(), String> {
        stack::carries(application, false)
    }

    fn hosts(&self) -> Result<(), String> {
        Err(foreign::DECIDES_ITSELF.to_owned())
    }

    fn stack(&self, controllers: StackControllers) -> Arc<dyn Stack> {
        stack::stack(self, controllers)
    }
}

impl stack::Ends for Ngtcp2Params {
    fn counts(&self) -> Counted {
        foreign::counts(&library().told())
    }

    fn ends(&self, controller: &StackController, flow: &FlowContext<'_>, record: &Record) -> stack::Pair {
        foreign::ends(library(), controller, None, flow, record)
    }
}
