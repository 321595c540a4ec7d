//! MDS around any AQM that has a probability: MDS packets are signalled tau times as often, with SCE.
//!
//! Source: spec/queues-and-signalling section 16.2, on "Multiplicative Decrease Scaling". The control law is the AQM's, as
//! are the packets that it spares. The last step differs: [`MdsVerdicts`] takes the place of the AQM's own draws.
//!
//! An AQM that has a frequency instead of a probability needs a schedule of its own (section 16.3):
//! [`super::codel_mds`], [`super::deltic_mds`].

use std::num::NonZeroU32;

use windtunnel_algorithm::tau;
use windtunnel_units::OutOfRange;

use super::likelihood::Likelihood;
use super::mds_verdict::{Accumulate, MdsVerdicts};
use crate::aqm::{Aqm, PacketView, QueueView, Verdict};
use crate::hand_on::hand_on_aqm;

/// An AQM that signals with a probability.
pub(crate) trait Probable: Aqm {
    /// A packet arrives: updates the law as [`Aqm::on_enqueue`] does, and draws nothing. Returns the probability of a signal
    /// to a conventional packet, which is 0 where the packet is spared, and what takes the place of a CE: a CE, or above
    /// the AQM's ECN limit a drop.
    fn arrived(&mut self, packet: &PacketView, queue: &QueueView) -> (f64, Verdict);

    /// The numbers of the control law, without those of the draws.
    fn probe_law(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.probe(out);
    }
}

/// How the probability becomes signals: keys of each such AQM.
#[derive(Clone, Copy, Debug)]
pub(super) struct MdsSignals {
    pub(super) tau: NonZeroU32,
    pub(super) random: Likelihood,
    pub(super) accumulate: Accumulate,
}

impl Default for MdsSignals {
    fn default() -> MdsSignals {
        MdsSignals { tau: tau::DEFAULT, random: Likelihood::Recur, accumulate: Accumulate::default() }
    }
}

impl MdsSignals {
    pub(super) fn check(self) -> Result<(), OutOfRange> {
        tau::check("tau", self.tau)?;
        self.accumulate.check(self.random)
    }

    /// The AQM with these signals; `seed` is that of their own random stream.
    pub(super) fn around<A>(self, aqm: A, seed: u64) -> WithMds<A> {
        WithMds { aqm, verdicts: MdsVerdicts::new(self.tau, self.random, self.accumulate, seed) }
    }
}

/// An AQM with MDS.
#[derive(Clone, Debug)]
pub struct WithMds<A> {
    aqm: A,
    verdicts: MdsVerdicts,
}

impl<A: Probable> Aqm for WithMds<A> {
    hand_on_aqm! {
        self => self.aqm;
        on_full on_dequeue on_empty on_shed on_lost on_sparse is_on_arrival over_target next_timer on_timer
    }

    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let (p, ce) = self.aqm.arrived(packet, queue);
        self.verdicts.decide(p, packet.class, ce)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.probe_law(out);
        self.verdicts.probe(out);
    }
}
