//! Coupled congestion control over the subflows of one connection: LIA, OLIA, BALIA.
//!
//! Each subflow is Reno with a smaller increase, which depends on the windows and round-trip times of all: an ACK of
//! `bytes_acked` grows cwnd by `share * bytes_acked * MSS / cwnd`, where Reno's share is 1. Slow start and, but for BALIA's
//! decrease, the answer to congestion are Reno's (RFC 6356 section 3). A connection with one subflow, and a flow that has
//! no connection, has a share of 1 and half of cwnd on congestion: each of the three is Reno then.
//!
//! `lia.rs`, `olia.rs` and `balia.rs` say what the share is. Windows are real numbers of bytes, as in the documents. A subflow
//! counts from its first RTT sample on, and never leaves. A marked ACK does not grow cwnd, and an answered mark is a loss.

mod balia;
mod lia;
mod olia;

use std::marker::PhantomData;

use windtunnel_units::Bytes;

pub use balia::BaliaParams;
pub use lia::LiaParams;
pub use olia::OliaParams;

use super::{Avoidance, Unit, Window};
use crate::sample::{AckSample, PathView};
use crate::subflow::{Subflow, SubflowState};
use crate::windowed::carry::Fraction;

/// How a connection is divided among its subflows.
trait Law: Clone + std::fmt::Debug + Send + Sync {
    /// True if ssthresh may be one segment where several subflows are established.
    const ONE_SEGMENT: bool;

    /// Returns the share of Reno's increase that the subflow `own` has. It is established.
    fn share(subflows: &[SubflowState], own: usize) -> f64;

    /// Returns the factor of cwnd that congestion leaves. The subflow `own` is established.
    fn md(_subflows: &[SubflowState], _own: usize) -> f64 {
        0.5
    }
}

/// Returns the sum of the rates of all subflows.
fn total_rate(subflows: &[SubflowState]) -> f64 {
    subflows.iter().map(SubflowState::rate).sum()
}

/// The growth of a subflow.
#[derive(Clone, Debug)]
struct Coupled<L> {
    subflow: Subflow,
    fraction: Fraction,
    /// OLIA's `l_1`: bytes delivered between the last two losses.
    between_losses: Bytes,
    /// OLIA's `l_2`: bytes delivered since the last loss.
    since_loss: Bytes,
    law: PhantomData<L>,
}

impl<L: Law> Coupled<L> {
    fn new() -> Coupled<L> {
        Coupled {
            subflow: Subflow::alone(),
            fraction: Fraction::default(),
            between_losses: Bytes::ZERO,
            since_loss: Bytes::ZERO,
            law: PhantomData,
        }
    }

    /// Tells the other subflows of this one.
    fn report(&self, cwnd: Bytes, path: &PathView) {
        let between_losses = self.between_losses.max(self.since_loss);
        self.subflow.report(SubflowState { cwnd, srtt: path.srtt, between_losses });
    }

    /// Returns `value` of the connection, or `unmeasured` before this subflow has measured its path.
    fn of_connection(&self, value: impl FnOnce(&[SubflowState], usize) -> f64, unmeasured: f64) -> f64 {
        self.subflow.read(
            |subflows, own| {
                if subflows[own].rate() > 0.0 { value(subflows, own) } else { unmeasured }
            },
        )
    }
}

impl<L: Law> Avoidance for Coupled<L> {
    const STEERS: bool = true;
    const UNIT: Unit = Unit::BytesDelivered;

    fn join(&mut self, subflow: Subflow) {
        self.subflow = subflow;
    }

    fn md(&self) -> f64 {
        self.of_connection(L::md, 0.5)
    }

    fn least(&self, least: Bytes, mss: Bytes) -> Bytes {
        let several = |subflows: &[SubflowState], _| {
            subflows.iter().filter(|subflow| subflow.is_established()).count() > 1
        };
        if L::ONE_SEGMENT && self.subflow.read(several) { least.min(mss) } else { least }
    }

    fn established(&mut self, window: &mut Window, path: &PathView) {
        self.report(window.cwnd, path);
    }

    fn settled(&mut self, window: &mut Window, ack: &AckSample, path: &PathView) {
        self.since_loss += ack.newly_delivered;
        self.report(window.cwnd, path);
    }

    fn decreased(&mut self, _before: Bytes, after: Bytes, _factor: f64, path: &PathView) {
        self.fraction = Fraction::default();
        // Losses without a delivery between them are one.
        if self.since_loss > Bytes::ZERO {
            self.between_losses = std::mem::take(&mut self.since_loss);
        }
        self.report(after, path);
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        self.report(cwnd, path);
        let segments = self.of_connection(L::share, 1.0) * path.mss.as_f64() / cwnd.as_f64();
        self.fraction.change(cwnd, amount.as_f64() * segments)
    }

    fn timed_out(&mut self, window: &mut Window, _new_episode: bool, path: &PathView) {
        self.fraction = Fraction::default();
        self.report(window.cwnd, path);
    }

    /// What was delivered in the meantime counts as if there had been no loss.
    fn undone(&mut self, before: Coupled<L>) {
        let since_loss = before.since_loss + self.since_loss;
        *self = Coupled { since_loss, ..before };
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("share", self.of_connection(L::share, f64::NAN));
        out("between_losses_bytes", self.between_losses.max(self.since_loss).as_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windtunnel_units::Duration;

    /// Subflows with these windows in segments, round-trip times in ms, and bytes between losses.
    pub(super) fn subflows(states: &[(u64, u64, u64)]) -> Vec<SubflowState> {
        let state = |&(segments, ms, between_losses): &(u64, u64, u64)| SubflowState {
            cwnd: Bytes::new(1448 * segments),
            srtt: Duration::from_millis(ms),
            between_losses: Bytes::new(between_losses),
        };
        states.iter().map(state).collect()
    }

    pub(super) fn assert_shares<L: Law>(states: &[(u64, u64, u64)], shares: &[f64]) {
        let subflows = subflows(states);
        for (own, share) in shares.iter().enumerate() {
            let measured = L::share(&subflows, own);
            assert!((measured - share).abs() < 1e-12, "{own} of {states:?}: {measured}");
        }
    }

    /// A subflow that is alone, or whose peer is not established yet, is exactly Reno.
    #[test]
    fn one_subflow_is_reno() {
        fn is_reno<L: Law>() {
            for states in [&[(7, 33, 5)][..], &[(7, 33, 5), (10, 0, 0)]] {
                let subflows = subflows(states);
                assert_eq!(L::share(&subflows, 0).to_bits(), 1.0_f64.to_bits(), "{states:?}");
                assert_eq!(L::md(&subflows, 0).to_bits(), 0.5_f64.to_bits(), "{states:?}");
            }
        }
        is_reno::<lia::Lia>();
        is_reno::<olia::Olia>();
        is_reno::<balia::Balia>();
    }

    /// With equal windows and round-trip times each of n subflows has a share of 1/n²: at a loss rate p its window is
    /// sqrt(2 share / p) segments, and all n together are as large as one Reno's. OLIA's l are equal, so that no path is better.
    #[test]
    fn equal_subflows_are_one_flow() {
        for count in [2, 3, 8] {
            let states = vec![(20, 50, 1000); count];
            let shares = vec![1.0 / (count * count) as f64; count];
            assert_shares::<olia::Olia>(&states, &shares);
            assert_shares::<balia::Balia>(&states, &shares);
            assert_shares::<lia::Lia>(&states, &shares);
        }
    }
}
