//! MDS around any AQM that has a probability: MDS packets are signalled tau times as often, with SCE.
//!
//! Source: spec/queues-and-signalling section 16.2, on "Multiplicative Decrease Scaling". The control law is the AQM's, as
//! are the packets that it spares. The last step differs: [`MdsVerdicts`] takes the place of the AQM's own draws.
//!
//! An AQM that has a frequency instead of a probability needs a schedule of its own (section 16.3):
//! [`super::codel_mds`], [`super::deltic_mds`].

use std::num::NonZeroU32;

use windtunnel_algorithm::tau;
use windtunnel_units::{OutOfRange, Time};
use windtunnel_wire::FlowId;

use super::likelihood::Likelihood;
use super::mds_verdict::{Accumulate, MdsVerdicts};
use crate::aqm::{Aqm, PacketView, QueueView, Verdict};

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
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let (p, ce) = self.aqm.arrived(packet, queue);
        self.verdicts.decide(p, packet.class, ce)
    }

    fn on_full(&mut self, now: Time) {
        self.aqm.on_full(now);
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        self.aqm.on_dequeue(packet, queue)
    }

    fn on_empty(&mut self, now: Time) {
        self.aqm.on_empty(now);
    }

    fn on_shed(&mut self, packets: u32, now: Time) {
        self.aqm.on_shed(packets, now);
    }

    fn on_lost(&mut self, flow: FlowId) {
        self.aqm.on_lost(flow);
    }

    fn on_sparse(&mut self, flow: FlowId, now: Time) {
        self.aqm.on_sparse(flow, now);
    }

    fn is_on_arrival(&self) -> bool {
        self.aqm.is_on_arrival()
    }

    fn over_target(&self) -> Option<bool> {
        self.aqm.over_target()
    }

    fn next_timer(&self) -> Option<Time> {
        self.aqm.next_timer()
    }

    fn on_timer(&mut self, queue: &QueueView) {
        self.aqm.on_timer(queue);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.probe_law(out);
        self.verdicts.probe(out);
    }
}
