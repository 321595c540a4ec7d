//! A receiver that hides marks.
//!
//! It tells its sender of fewer marks than have arrived, to get more than its share: a misbehaviour that ECN alone cannot
//! exclude (RFC 3168 section 7, RFC 3540). It treats a hidden mark as if the packet had arrived unmarked.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::Probability;
use windtunnel_wire::Ecn;

use crate::ack_policy::AckParams;

/// What decides which marks are hidden.
#[derive(Debug)]
pub(crate) struct Hiding {
    probability: Probability,
    random: RandomStream,
}

impl Hiding {
    /// None for an honest receiver.
    pub(crate) fn new(params: &AckParams) -> Option<Box<Hiding>> {
        (params.hide_marks > Probability::ZERO).then(|| {
            Box::new(Hiding { probability: params.hide_marks, random: RandomStream::new(params.hiding_seed) })
        })
    }

    /// The code point that the receiver claims for a packet sent as `sent`.
    pub(crate) fn claim(&mut self, ecn: Ecn, sent: Ecn) -> Ecn {
        let marked = ecn != Ecn::NotEct && ecn != sent;
        if marked && self.random.chance(self.probability) { sent } else { ecn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hiding(probability: f64) -> Hiding {
        let hide_marks = Probability::clamped(probability);
        *Hiding::new(&AckParams { hide_marks, ..AckParams::default() }).expect("a cheat")
    }

    /// A mark is what a queue wrote over the sender's code point. A packet that was Not-ECT, or bleached, stays so.
    #[test]
    fn only_marks_are_hidden() {
        let mut hiding = hiding(1.0);
        let (not, ect0, ect1, ce) = (Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce);
        for (arrived, sent, claimed) in [
            (ce, ect0, ect0),
            (ect1, ect0, ect0),
            (ect0, ect0, ect0),
            (not, ect0, not),
            (ce, ect1, ect1),
            (ect1, ect1, ect1),
        ] {
            assert_eq!(hiding.claim(arrived, sent), claimed, "{arrived:?} of {sent:?}");
        }
    }

    /// With probability 1/4, of 10,000 marks 2500 are hidden, within five standard deviations (43).
    #[test]
    fn a_share_of_marks() {
        let mut hiding = hiding(0.25);
        let hidden = (0..10_000).filter(|_| hiding.claim(Ecn::Ce, Ecn::Ect0) == Ecn::Ect0).count();
        assert!(hidden.abs_diff(2500) < 5 * 43, "{hidden}");
    }
}
