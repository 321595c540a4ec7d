//! LIA, linked increases (RFC 6356 section 3): together as fast as one TCP on the best path, and nowhere faster than one.
//!
//! For each ACK cwnd grows by the lesser of `alpha * bytes_acked * MSS / cwnd_total` and Reno's `bytes_acked * MSS / cwnd`,
//! with `alpha = cwnd_total * max(cwnd_i / rtt_i²) / (sum of cwnd_i / rtt_i)²` (equations 1 and 2). Here that is a share of
//! Reno's increase, `cwnd * max(cwnd_i / rtt_i²) / (sum of cwnd_i / rtt_i)²`, at most 1: `cwnd_total` cancels out. alpha is
//! computed with each ACK, which the RFC allows and need not be (section 4.1). ssthresh is two segments at least, as in TCP.

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};

use super::{Coupled, Law, total_rate};
use crate::controller::CongestionControl;
use crate::subflow::SubflowState;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// LIA has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 6356", "x-title" = "LIA"))]
pub struct LiaParams {}

impl Params for LiaParams {
    const NAME: &'static str = "lia";
    const SUMMARY: &'static str =
        "LIA: subflows of a connection are together as fast as one Reno on the best path";
}

impl AvoidanceParams for LiaParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(Coupled::<Lia>::new())
    }
}

/// LIA.
#[derive(Clone, Debug)]
pub(super) struct Lia;

impl Law for Lia {
    const ONE_SEGMENT: bool = false;

    fn share(subflows: &[SubflowState], own: usize) -> f64 {
        let total = total_rate(subflows);
        let rtt = subflows[own].rtt();
        let established = subflows.iter().filter(|subflow| subflow.is_established());
        let best = established.map(|path| path.rate() / total * (rtt / path.rtt())).fold(0.0, f64::max);
        (subflows[own].rate() / total * best).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_shares;
    use super::*;

    /// Equations 1 and 2, by hand. 10 segments in 100 ms and 30 in 200 ms: 100 and 150 segments per second. The first path
    /// has the larger cwnd / rtt², 1000 against 750. alpha = 40 * 1000 / 250² = 0.64, and each segment acknowledged adds
    /// 0.64 / 40 of a segment: 0.16 of Reno's 1/10, and 0.48 of its 1/30.
    #[test]
    fn the_increase_is_that_of_the_equations() {
        assert_shares::<Lia>(&[(10, 100, 0), (30, 200, 0)], &[0.16, 0.48]);
    }

    /// The minimum of equation 1: 40 segments in 400 ms and 2 in 10 ms are 100 and 200 per second; alpha = 42 * 20 000 / 300²
    /// = 9.33, which would add 0.222 of a segment to each window. Reno adds 1/40 to the first, and that is all it gets.
    #[test]
    fn no_subflow_is_faster_than_reno() {
        assert_shares::<Lia>(&[(40, 400, 0), (2, 10, 0)], &[1.0, 4.0 / 9.0]);
    }
}
