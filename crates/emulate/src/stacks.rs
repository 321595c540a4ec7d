//! The stacks whose ends are outside, as scenarios name them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::endpoint::{Stack, StackControllers, StackParams};

use crate::outside::Outside;

/// Ends that are programs of any kind. It has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "windtunnel: real programs at both ends (windtunnel emulate)"))]
pub struct OutsideParams {}

/// Ends that are hosts of the unmodified Linux kernel. It has no parameters: a command chooses the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Linux, unmodified, in virtual time (windtunnel kernel)"))]
pub struct LinuxKernelParams {}

macro_rules! outside {
    ($params:ident, $name:literal, $summary:literal, $controllers:expr, $who:literal, $command:literal) => {
        impl Params for $params {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
        }

        impl StackParams for $params {
            fn controllers(&self) -> &'static [&'static str] {
                $controllers
            }

            fn carries(&self, application: &ApplicationConfig) -> Result<(), String> {
                match application {
                    ApplicationConfig::Bulk => Ok(()),
                    _ => Err(concat!("sends what ", $who, " sends, and takes no `app`").to_owned()),
                }
            }

            fn hosts(&self) -> Result<(), String> {
                Err("has controllers of its own".to_owned())
            }

            fn outside(&self) -> Option<&'static str> {
                Some($command)
            }

            // Programs and kernels ask for it, where they are told to.
            fn uses_ecn(&self) -> bool {
                false
            }

            fn stack(&self, controllers: StackControllers) -> Arc<dyn Stack> {
                Arc::new(Outside::new(self.clone(), controllers))
            }
        }
    };
}

outside!(
    OutsideParams,
    "outside",
    "Real programs at both ends, which send through two devices (windtunnel emulate)",
    // What they do is not known.
    &["unknown"],
    "the program outside",
    "windtunnel emulate"
);
outside!(
    LinuxKernelParams,
    "linux-kernel",
    "The unmodified Linux kernel at both ends, in virtual time (windtunnel kernel build)",
    &[
        "cubic",
        "reno",
        "bbr",
        "bic",
        "cdg",
        "dctcp",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "lp",
        "nv",
        "scalable",
        "vegas",
        "veno",
        "westwood",
        "yeah"
    ],
    "a bulk sender",
    "windtunnel twin"
);
