//! OLIA, opportunistic linked increases (draft-khalili-mptcp-congestion-control-05): LIA that leaves congested paths.
//!
//! For each ACK on path r, the window of `w` segments grows by `MSS * bytes_acked` times
//! `(w / rtt²) / (sum of w_p / rtt_p)² + alpha / w`. The first term balances congestion. alpha moves window to paths that
//! seem better than their windows are: with n paths, those that are best but do not have the largest window get
//! `1 / (n * their number)`; if there are any, those with the largest window get `-1 / (n * their number)`. All others, and
//! all if there are none, get 0. A window may thus shrink, but not below the flow's least.
//!
//! The best paths are those with the greatest `l² / rtt`, where l is the number of bytes delivered between the last two
//! losses or since the last one, whichever is more. (Linux's module compares `l / rtt²`, by which TCP's rate at a loss in l
//! bytes ranks.) Where several paths are established, ssthresh may be one segment.

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::Bytes;

use super::{Coupled, Law, total_rate};
use crate::controller::CongestionControl;
use crate::subflow::SubflowState;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// OLIA has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-khalili-mptcp-congestion-control-05", "x-title" = "OLIA"))]
pub struct OliaParams {}

impl Params for OliaParams {
    const NAME: &'static str = "olia";
    const SUMMARY: &'static str = "OLIA: subflows of a connection move their windows to the best paths";
}

impl AvoidanceParams for OliaParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(Coupled::<Olia>::new())
    }
}

/// OLIA.
#[derive(Clone, Debug)]
pub(super) struct Olia;

/// How good a path seems to be.
fn quality(path: &SubflowState) -> f64 {
    let between_losses = path.between_losses.as_f64();
    between_losses * between_losses / path.rtt()
}

/// alpha of the path `own`.
fn alpha(subflows: &[SubflowState], own: usize) -> f64 {
    let paths = || subflows.iter().filter(|subflow| subflow.is_established());
    let best = paths().map(quality).fold(0.0, f64::max);
    let largest = paths().map(|path| path.cwnd).max().unwrap_or(Bytes::ZERO);
    let has_largest = |path: &SubflowState| path.cwnd == largest;
    let collected = |path: &SubflowState| quality(path) >= best && !has_largest(path);
    let count = |of: &dyn Fn(&SubflowState) -> bool| paths().filter(|path| of(path)).count() as f64;
    let (all, best_but_small) = (count(&|_| true), count(&collected));
    if best_but_small == 0.0 {
        0.0
    } else if collected(&subflows[own]) {
        1.0 / (all * best_but_small)
    } else if has_largest(&subflows[own]) {
        -1.0 / (all * count(&has_largest))
    } else {
        0.0
    }
}

impl Law for Olia {
    const ONE_SEGMENT: bool = true;

    fn share(subflows: &[SubflowState], own: usize) -> f64 {
        let of_rate = subflows[own].rate() / total_rate(subflows);
        of_rate * of_rate + alpha(subflows, own)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_shares;
    use super::*;

    /// By hand: 100 and 150 segments per second, whose squares are 0.16 and 0.36 of that of the sum. If the path with the
    /// larger window is the best, alpha is 0; if the other is, it gets 1/2, and the larger gives 1/2.
    #[test]
    fn window_moves_to_the_best_path() {
        assert_shares::<Olia>(&[(10, 100, 1000), (30, 200, 2000)], &[0.16, 0.36]);
        assert_shares::<Olia>(&[(10, 100, 1500), (30, 200, 2000)], &[0.66, -0.14]);
    }

    /// l² / rtt, not l / rtt: 1000² / 0.1 s is less than 1500² / 0.2 s.
    #[test]
    fn bytes_between_losses_count_squared() {
        assert_shares::<Olia>(&[(30, 100, 1000), (15, 200, 1500)], &[0.64 - 0.5, 0.04 + 0.5]);
    }

    /// Four paths at 100 segments per second each: a sixteenth for each. Two have the largest window and give 1/8 each;
    /// the best one without it gets 1/4; the fourth nothing. Two best get 1/8 each.
    #[test]
    fn alpha_is_divided_by_the_sizes_of_the_sets() {
        let even = 1.0 / 16.0;
        assert_shares::<Olia>(
            &[(20, 200, 10), (20, 200, 10), (10, 100, 100), (10, 100, 10)],
            &[even - 0.125, even - 0.125, even + 0.25, even],
        );
        assert_shares::<Olia>(
            &[(20, 200, 10), (20, 200, 10), (10, 100, 100), (10, 100, 100)],
            &[even - 0.125, even - 0.125, even + 0.125, even + 0.125],
        );
    }
}
