//! BALIA, balanced linked adaptation (draft-walid-mptcp-congestion-control-04): between friendliness and responsiveness.
//!
//! With rates `x = w / rtt` and `alpha = max(x_k) / x`, the window of `w` segments on a path grows for each ACK by
//! `MSS * bytes_acked` times `(x / rtt) / (sum of x_k)² * (1 + alpha) / 2 * (4 + alpha) / 5`, and congestion takes
//! `w / 2 * min(alpha, 1.5)`: half of the window on the fastest path, up to three quarters on others. Where several paths are
//! established, ssthresh may be one segment.

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};

use super::{Coupled, Law, total_rate};
use crate::controller::CongestionControl;
use crate::subflow::SubflowState;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// The largest alpha that counts in the decrease.
const MOST_ALPHA: f64 = 1.5;

/// BALIA has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-walid-mptcp-congestion-control-04", "x-title" = "BALIA"))]
pub struct BaliaParams {}

impl Params for BaliaParams {
    const NAME: &'static str = "balia";
    const SUMMARY: &'static str =
        "BALIA: subflows of a connection grow more and give way more where they are slower";
}

impl AvoidanceParams for BaliaParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(Coupled::<Balia>::new())
    }
}

/// BALIA.
#[derive(Clone, Debug)]
pub(super) struct Balia;

fn alpha(subflows: &[SubflowState], own: usize) -> f64 {
    subflows.iter().map(SubflowState::rate).fold(0.0, f64::max) / subflows[own].rate()
}

impl Law for Balia {
    const ONE_SEGMENT: bool = true;

    fn share(subflows: &[SubflowState], own: usize) -> f64 {
        let of_rate = subflows[own].rate() / total_rate(subflows);
        let alpha = alpha(subflows, own);
        of_rate * of_rate * f64::midpoint(1.0, alpha) * ((4.0 + alpha) / 5.0)
    }

    fn md(subflows: &[SubflowState], own: usize) -> f64 {
        1.0 - alpha(subflows, own).min(MOST_ALPHA) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_shares, subflows};
    use super::*;

    /// By hand: 100 and 150 segments per second. The fast path has 0.36, and keeps half on a loss. On the slow one alpha is
    /// 1.5: 0.16 * 1.25 * 1.1, and a quarter is kept. At 100 and 120, alpha is 1.2 and 0.4 are kept.
    #[test]
    fn the_slower_path_has_a_larger_share_and_gives_more() {
        assert_shares::<Balia>(&[(10, 100, 0), (30, 200, 0)], &[0.22, 0.36]);
        for (states, left) in [
            ([(10, 100, 0), (30, 200, 0)], [0.25, 0.5]),
            ([(10, 100, 0), (24, 200, 0)], [0.4, 0.5]),
            ([(10, 100, 0), (300, 200, 0)], [0.25, 0.5]),
        ] {
            for (own, left) in left.iter().enumerate() {
                assert!((Balia::md(&subflows(&states), own) - left).abs() < 1e-12, "{own} of {states:?}");
            }
        }
    }
}
