//! A receiver that hides marks.
//!
//! It tells its sender of fewer marks than have arrived, to get more than its share: a misbehaviour that ECN alone cannot
//! exclude (RFC 3168 section 7, RFC 3540). What it hides, it treats as if it had arrived unmarked.

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
