//! ABE, alternative backoff with ECN (RFC 8511): CE is answered more gently than a loss.
//!
//! A queue that marks is short, so that a smaller decrease still empties it and wastes less of the link (section 4.1). The
//! RFC gives two factors: 0.8 where a loss leaves 0.5 (Reno) and 0.85 where it leaves 0.7 (CUBIC). CUBIC's fast convergence
//! uses the factor of the response too. The response to a loss does not change.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

use super::{Kept, Moment, Response, ResponseParams};
use crate::check;

/// The factor for flows that decrease as Reno does.
const RENO: f64 = 0.8;
/// The factor for flows that decrease as CUBIC does.
const CUBIC: f64 = 0.85;
/// The decrease of CUBIC, from which on its factor applies. Linux's is 717/1024.
const CUBIC_LOSS: f64 = 0.7;

/// Alternative backoff with ECN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 8511", "x-title" = "ABE"))]
pub struct AbeParams {
    /// The factor of cwnd that CE leaves. By default 0.8 with Reno and 0.85 with CUBIC, and never less than a loss leaves.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta_ecn: Option<f64>,
}

impl Params for AbeParams {
    const NAME: &'static str = "abe";
    const SUMMARY: &'static str = "Alternative backoff with ECN: a gentler decrease on CE than on a loss";

    fn check(&self) -> Result<(), OutOfRange> {
        self.beta_ecn.map_or(Ok(()), |beta| check::kept_fraction("beta_ecn", beta))
    }
}

impl ResponseParams for AbeParams {
    fn build(&self, _md: f64) -> Box<dyn Response> {
        Box::new(self.clone())
    }
}

impl Response for AbeParams {
    fn ce(&self, at: &Moment) -> Kept {
        let usual = if at.md < CUBIC_LOSS { RENO } else { CUBIC };
        Kept::Factor(self.beta_ecn.unwrap_or(usual.max(at.md)))
    }
}
