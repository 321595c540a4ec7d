//! The queues inside of a classful discipline, one for each band.

use std::ops::Add;

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use crate::accounts::QueueCx;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::hosts::FlowHosts;
use crate::params::QueueInit;
use crate::spec::Parts;

/// Queues by band. Whatever happens in one counts for its band.
#[derive(Debug)]
pub(crate) struct Children(Vec<Box<dyn QueueDiscipline>>);

impl Children {
    /// Those of a description, empty.
    pub(crate) fn new(parts: &Parts, init: &QueueInit) -> Children {
        Children(parts.build_children(init).into_iter().flatten().collect())
    }

    pub(crate) fn bands(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn enqueue(&mut self, band: usize, packet: Packet, cx: &mut QueueCx) {
        cx.within_band(band, |cx| self.0[band].enqueue(packet, cx));
    }

    pub(crate) fn choose(&mut self, band: usize, cx: &mut QueueCx) -> Option<Bytes> {
        cx.within_band(band, |cx| self.0[band].choose(cx))
    }

    pub(crate) fn serve(&mut self, band: usize, cx: &mut QueueCx) -> Option<Packet> {
        cx.within_band(band, |cx| self.0[band].serve(cx))
    }

    pub(crate) fn dequeue(&mut self, band: usize, cx: &mut QueueCx) -> Option<Packet> {
        cx.within_band(band, |cx| self.0[band].dequeue(cx))
    }

    /// When the first of them that holds its packets back wants to be asked again.
    pub(crate) fn next_ready(&self, now: Time) -> Option<Time> {
        self.0.iter().filter_map(|child| child.next_ready(now)).min()
    }

    /// When this one does.
    pub(crate) fn next_ready_of(&self, band: usize, now: Time) -> Option<Time> {
        self.0[band].next_ready(now)
    }

    /// Whether a shaper can look into all of them ([`QueueDiscipline::peeks`]).
    pub(crate) fn peeks(&self) -> bool {
        self.0.iter().all(|child| child.peeks())
    }

    pub(crate) fn learn_hosts(&mut self, hosts: &FlowHosts) {
        self.0.iter_mut().for_each(|child| child.learn_hosts(hosts));
    }

    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.0.iter().filter_map(|child| child.next_timer()).min()
    }

    /// Calls the timers that are due.
    pub(crate) fn on_timer(&mut self, cx: &mut QueueCx) {
        for (band, child) in self.0.iter_mut().enumerate() {
            if child.next_timer().is_some_and(|next| next <= cx.now) {
                cx.within_band(band, |cx| child.on_timer(cx));
            }
        }
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.0.iter().map(|child| child.backlog()).fold(Backlog::NONE, Add::add)
    }

    pub(crate) fn band_backlog(&self, band: usize) -> Backlog {
        self.0[band].backlog()
    }

    pub(crate) fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        self.0[band].probe(out);
    }
}
