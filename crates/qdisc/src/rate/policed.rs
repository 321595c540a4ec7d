//! A policer in front of a queue: it judges each packet on its arrival and stores none.
//!
//! What it refuses never arrives at the queue behind it and counts as policed, for the whole and for no band.

use std::fmt::Debug;

use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::probe_around;
use crate::accounts::{DropReason, QueueCx};
use crate::aqm::Verdict;
use crate::discipline::QueueDiscipline;
use crate::ecn::{Class, EcnPolicy, Outcome};
use crate::hand_on::hand_on_queue;

/// A policer's decision about a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ruling {
    pub(super) verdict: Verdict,
    /// The packet counts for the rate, if it is not lost.
    pub(super) is_charged: bool,
}

/// What judges packets.
pub(super) trait Policer: Debug + Send {
    /// A packet of this class arrives.
    fn judge(&mut self, packet: &Packet, class: Class, cx: &QueueCx) -> Ruling;

    /// A packet passes that counts for the rate.
    fn charge(&mut self, packet: &Packet, cx: &QueueCx);

    /// See [`QueueDiscipline::next_timer`].
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// See [`QueueDiscipline::on_timer`].
    fn on_timer(&mut self, _cx: &QueueCx) {}

    /// Its numbers.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// A policer and the queue behind it.
#[derive(Debug)]
pub(super) struct Policed<P> {
    policer: P,
    ecn: EcnPolicy,
    child: Box<dyn QueueDiscipline>,
    /// The queue behind has bands with numbers of their own.
    has_bands: bool,
}

impl<P: Policer> Policed<P> {
    pub(super) fn new(policer: P, ecn: EcnPolicy, child: Box<dyn QueueDiscipline>) -> Policed<P> {
        Policed { policer, ecn, has_bands: child.bands() != 1, child }
    }
}

impl<P: Policer> QueueDiscipline for Policed<P> {
    hand_on_queue! {
        self => self.child;
        choose serve dequeue next_ready peeks backlog room learn_hosts bands band_name classes class_of band_backlog
    }

    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx) {
        let class = self.ecn.classify(&packet);
        let Ruling { verdict, is_charged } = self.policer.judge(&packet, class, cx);
        match self.ecn.apply(verdict, class, &mut packet, cx.deliver_drops) {
            Outcome::Drop if cx.deliver_drops => cx.count_drop(&packet, DropReason::Policed),
            Outcome::Drop => {
                cx.arrived();
                return cx.drop(packet, DropReason::Policed);
            }
            outcome => {
                if let Outcome::Marked(signal) = outcome {
                    cx.marked(&packet, signal);
                }
                if is_charged {
                    self.policer.charge(&packet, cx);
                }
            }
        }
        self.child.enqueue(packet, cx);
    }

    fn next_timer(&self) -> Option<Time> {
        [self.policer.next_timer(), self.child.next_timer()].into_iter().flatten().min()
    }

    fn on_timer(&mut self, cx: &mut QueueCx) {
        let is_due = |next: Option<Time>| next.is_some_and(|next| next <= cx.now);
        if is_due(self.policer.next_timer()) {
            self.policer.on_timer(cx);
        }
        if is_due(self.child.next_timer()) {
            self.child.on_timer(cx);
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        probe_around(self.child.as_ref(), &|out| self.policer.probe(out), out);
    }

    fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        if self.has_bands { self.child.probe_band(band, out) } else { self.probe(out) }
    }
}
