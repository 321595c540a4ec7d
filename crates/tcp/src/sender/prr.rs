//! Proportional rate reduction: cwnd while congestion is answered.
//!
//! On every ACK the sender may send in proportion to the amount delivered, so that the window reaches its target
//! after one round trip without a pause and without a burst, whatever was lost. RFC 9937 (obsoletes RFC 6937); Linux
//! `net/ipv4/tcp_input.c`, `tcp_cwnd_reduction`; spec/congestion-control section 1.10. All amounts are segments: a
//! sender that may send half a segment sends none, so the proportion is rounded up to whole segments.
//!
//! As in Linux the proportion is `target / cwnd before`; RFC 9937 divides by the amount in flight at the start
//! (`RecoverFS`). The two are equal if cwnd was the limit. Every ACK passes the target anew, because a controller may
//! lower it meanwhile.

use crate::params::Reduction;

/// One reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    variant: Reduction,
    /// cwnd before the reduction.
    prior_cwnd: u64,
    /// Delivered since the start.
    delivered: u64,
    /// Sent since the start.
    out: u64,
    /// Rate halving: the window, and the delivered segment that has no partner yet.
    halving: u64,
    odd: bool,
}

/// What an ACK tells the reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Segments newly delivered.
    pub(crate) delivered: u64,
    /// Segments in flight, without the lost ones.
    pub(crate) in_flight: u64,
    /// The cumulative ACK advanced and no further loss was found: even the slow-start bound is safe.
    pub(crate) safe: bool,
}

impl Prr {
    /// The start of a reduction from `prior_cwnd`.
    pub(crate) fn new(variant: Reduction, prior_cwnd: u64) -> Prr {
        let prior_cwnd = prior_cwnd.max(1);
        Prr { variant, prior_cwnd, delivered: 0, out: 0, halving: prior_cwnd, odd: false }
    }

    /// A segment was sent.
    #[inline]
    pub(crate) fn on_sent(&mut self) {
        self.out += 1;
    }

    /// The window after an ACK, on the way to `target`.
    pub(crate) fn on_ack(&mut self, ack: Progress, target: u64) -> u64 {
        match self.variant {
            Reduction::None => target,
            Reduction::RateHalving => self.halve(ack, target),
            // Nothing in flight and nothing allowed would block the sender: one segment may always leave.
            Reduction::Prr | Reduction::PrrCrb | Reduction::PrrSsrb => {
                (ack.in_flight + self.allowance(ack, target)).max(1)
            }
        }
    }

    /// How much may be sent now.
    fn allowance(&mut self, ack: Progress, target: u64) -> u64 {
        self.delivered += ack.delivered;
        let allowed = if ack.in_flight > target {
            (self.delivered * target).div_ceil(self.prior_cwnd).saturating_sub(self.out)
        } else {
            let conservative = self.delivered.saturating_sub(self.out);
            let bound = match self.variant {
                Reduction::PrrCrb => conservative,
                Reduction::PrrSsrb => conservative.max(ack.delivered) + 1,
                _ => conservative.max(ack.delivered) + u64::from(ack.safe),
            };
            bound.min(target - ack.in_flight)
        };
        // The first retransmission always goes.
        if self.out == 0 { allowed.max(1) } else { allowed }
    }

    /// Linux before 3.2: one segment less for every two delivered, but never more than one above the amount in
    /// flight.
    fn halve(&mut self, ack: Progress, target: u64) -> u64 {
        let pairs = ack.delivered + u64::from(self.odd);
        self.odd = pairs % 2 == 1;
        self.halving = self.halving.saturating_sub(pairs / 2).max(target).min(ack.in_flight + 1);
        self.halving
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The segments that may be sent in total after D delivered segments, if the sender sends all that it may; the
    /// first delivered segment shows the loss of one segment. `prior` segments were in flight.
    fn sent_after(variant: Reduction, prior: u64, target: u64, delivered: u64) -> Vec<u64> {
        let mut prr = Prr::new(variant, prior);
        let mut in_flight = prior - 1;
        (0..delivered)
            .map(|_| {
                in_flight -= 1;
                let window = prr.on_ack(Progress { delivered: 1, in_flight, safe: false }, target);
                while in_flight < window {
                    in_flight += 1;
                    prr.on_sent();
                }
                prr.out
            })
            .collect()
    }

    /// spec/congestion-control section 1.10: from 20 to 10, ceil(D/2). At D = 17 only 19 - 17 + 8 = 10 are in flight,
    /// the target: the second branch then keeps them at 10, and ends with the same 10 segments at D = 19.
    #[test]
    fn one_for_two_delivered() {
        let mut expected: Vec<u64> = (1..=16_u64).map(|d| d.div_ceil(2)).collect();
        expected.extend([8, 9, 10]);
        assert_eq!(sent_after(Reduction::Prr, 20, 10, 19), expected);
    }

    /// The same with a factor of 0.7: ceil(0.7 D).
    #[test]
    fn seven_for_ten_delivered() {
        assert_eq!(sent_after(Reduction::Prr, 20, 14, 10), [1, 2, 3, 3, 4, 5, 5, 6, 7, 7]);
    }

    /// After a burst loss that leaves less than the target (RFC 9937 section 6): the conservative bound repairs one for
    /// one, the slow-start bound one more on each ACK, RFC 9937 one more only where the ACK is safe.
    #[test]
    fn bounds_below_the_target() {
        let once =
            |variant, safe| Prr::new(variant, 20).on_ack(Progress { delivered: 2, in_flight: 3, safe }, 10);
        assert_eq!(once(Reduction::PrrCrb, true), 5);
        assert_eq!(once(Reduction::PrrSsrb, false), 6);
        assert_eq!(once(Reduction::Prr, false), 5);
        assert_eq!(once(Reduction::Prr, true), 6);
        assert_eq!(
            Prr::new(Reduction::Prr, 20).on_ack(Progress { delivered: 9, in_flight: 8, safe: true }, 10),
            10
        );
    }

    /// Rate halving sends one for two delivered and ends at the target.
    #[test]
    fn rate_halving() {
        let mut prr = Prr::new(Reduction::RateHalving, 20);
        let windows: Vec<u64> =
            (0..24).map(|_| prr.on_ack(Progress { delivered: 1, in_flight: 19, safe: false }, 10)).collect();
        assert_eq!(&windows[..6], [20, 19, 19, 18, 18, 17]);
        assert_eq!(windows[23], 10);
    }

    /// Without a reduction the window is at the target at once (RFC 6675 section 5).
    #[test]
    fn none_jumps() {
        assert_eq!(
            Prr::new(Reduction::None, 20).on_ack(Progress { delivered: 1, in_flight: 18, safe: false }, 10),
            10
        );
    }

    /// The conservative bound allows nothing while less was delivered than sent; with nothing in flight a segment is left.
    #[test]
    fn the_window_never_closes() {
        let mut prr = Prr::new(Reduction::PrrCrb, 4);
        (0..3).for_each(|_| prr.on_sent());
        let progress = |in_flight| Progress { delivered: 1, in_flight, safe: true };
        assert_eq!([prr.on_ack(progress(1), 2), prr.on_ack(progress(0), 2)], [1, 1]);
    }
}
