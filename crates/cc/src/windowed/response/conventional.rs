//! The conventional response: MD on a loss or CE, at most once per round (RFC 3168 section 6.1.2).

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
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
    fn build(&self, _md: f64) -> Box<dyn Response> {
        Box::new(Conventional { ce: self.ce_md })
    }
}

/// A flow that answers only losses and CE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conventional {
    /// The factor of cwnd that CE leaves, if it differs from that of a loss.
    pub(super) ce: Option<f64>,
}

impl Response for Conventional {
    fn ce(&self, at: &Moment) -> Kept {
        Kept::Factor(self.ce.unwrap_or(at.md))
    }
}
