//! The conventional response: MD on a loss or CE, at most once per round (RFC 3168 section 6.1.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

use super::{Kept, Moment, Response, ResponseParams};
use crate::check;

/// The conventional response: MD on a loss or CE, at most once per round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 3168 section 6.1.2, RFC 8511 (ce_md)"))]
pub struct ConventionalParams {
    /// The factor of cwnd that CE leaves, if it differs from that of a loss (alternative backoff with ECN).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ce_md: Option<f64>,
}

impl Params for ConventionalParams {
    const NAME: &'static str = "conventional";
    const SUMMARY: &'static str = "Multiplicative decrease on a loss or CE, once per round trip";

    fn check(&self) -> Result<(), OutOfRange> {
        self.ce_md.map_or(Ok(()), |md| check::kept_fraction("ce_md", md))
    }
}

impl ResponseParams for ConventionalParams {
    fn build(&self, md: f64) -> Box<dyn Response> {
        Box::new(Conventional { loss: md, ce: self.ce_md.unwrap_or(md) })
    }
}

/// The factors of a flow that answers only losses and CE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conventional {
    pub(super) loss: f64,
    pub(super) ce: f64,
}

impl Response for Conventional {
    fn loss(&self) -> f64 {
        self.loss
    }

    fn ce(&self, _at: &Moment) -> Kept {
        Kept::Factor(self.ce)
    }
}
