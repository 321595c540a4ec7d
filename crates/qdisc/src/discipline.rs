//! Scheduling: which packet leaves next.

use std::fmt::Debug;
use std::ops::Add;

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use crate::accounts::QueueCx;
use crate::hosts::FlowHosts;
use crate::limit::Room;

/// The packets and bytes in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: Bytes,
}

impl Backlog {
    /// Nothing.
    pub(crate) const NONE: Backlog = Backlog { packets: 0, bytes: Bytes::ZERO };
}

impl Add for Backlog {
    type Output = Backlog;

    #[inline]
    fn add(self, other: Backlog) -> Backlog {
        Backlog { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// A queue discipline: schedules the packets of its bands.
///
/// A packet leaves in two steps. [`QueueDiscipline::choose`] chooses it and commits to it, whatever arrives or is
/// dropped afterwards; [`QueueDiscipline::serve`] takes it out of its band and past the AQM. A link that decides at the
/// start of a transmission takes both steps at once ([`QueueDiscipline::dequeue`]); one that decides at its end
/// (`dequeue_point = "end"`) transmits between them.
pub trait QueueDiscipline: Debug + Send {
    /// Takes a packet, or drops it or others.
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx);

    /// The same with the packet in a place of the caller's, which is empty then: what a sender asks for with every packet.
    fn enqueue_from(&mut self, place: &mut Option<Packet>, cx: &mut QueueCx) {
        if let Some(packet) = place.take() {
            self.enqueue(packet, cx);
        }
    }

    /// Chooses the packet that leaves next and commits to it: returns the same packet until it is served. Returns its
    /// length, or nothing if no packet may leave now.
    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes>;

    /// The chosen packet leaves: returns it, or nothing if the AQM dropped it or none was chosen. A packet that is dropped
    /// here had been transmitted, and nothing leaves in its place.
    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet>;

    /// The chosen packet leaves ([`QueueDiscipline::serve`]), to a place that is empty, and the next one is chosen
    /// ([`QueueDiscipline::choose`]): what a busy link asks for with every packet.
    fn serve_and_choose(&mut self, place: &mut Option<Packet>, cx: &mut QueueCx) -> Option<Bytes> {
        *place = self.serve(cx);
        self.choose(cx)
    }

    /// Gives the next packet to send, or nothing: what the AQM drops is replaced.
    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let mut packet = None;
        while packet.is_none() && self.choose(cx).is_some() {
            packet = self.serve(cx);
            cx.replaces = packet.is_none();
        }
        cx.replaces = false;
        packet
    }

    /// The same to a place that is empty.
    fn dequeue_into(&mut self, place: &mut Option<Packet>, cx: &mut QueueCx) {
        *place = self.dequeue(cx);
    }

    /// Returns when to ask again after a dequeue returned nothing. Shapers know this time; other disciplines are empty
    /// then and wait for an arrival.
    fn next_ready(&self, _now: Time) -> Option<Time> {
        None
    }

    /// Whether a shaper around it can look at its next packet and leave it there until it may go (the kernel's
    /// `qdisc_peek_head`). Otherwise the shaper takes the packet out, past the AQM, and holds it
    /// (`qdisc_peek_dequeued`).
    fn peeks(&self) -> bool {
        false
    }

    /// Tells it which flows share hosts, before the first packet.
    fn learn_hosts(&mut self, _hosts: &FlowHosts) {}

    /// The limit that it asks at every arrival, if it is one that may change.
    fn room(&mut self) -> Option<&mut Room> {
        None
    }

    /// The packets and bytes in the queue.
    fn backlog(&self) -> Backlog;

    /// When [`QueueDiscipline::on_timer`] wants to be called next. A discipline with a timer asks for it from the first
    /// moment on: a discipline that returns nothing when new is never asked again, and a discipline with a timer always
    /// names its next call.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The time asked for by [`QueueDiscipline::next_timer`] has come.
    fn on_timer(&mut self, _cx: &mut QueueCx) {}

    /// Reports named internal numbers of the whole queue to recorders through `out(name, value)`. The names and their
    /// order never change, because recorders learn them once. A number that does not exist at the moment is NaN. A name
    /// ends in its unit, if it has one.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}

    /// Returns how many bands the queue has had so far: 1 for a queue with a single band. A fair queue has one for each
    /// flow that it has met. The counters of several bands are in [`crate::Accounts`], under the same indices.
    fn bands(&self) -> usize {
        1
    }

    /// A band's name in results.
    fn band_name(&self, _band: usize) -> String {
        "queue".to_owned()
    }

    /// The names of the classes into which the queue sorts packets; ask a new queue, for they never change. None for a
    /// queue of one band, or of one band for each flow. Bands that a new queue has are classes; tins of flows are, too.
    fn classes(&self) -> Vec<String> {
        let bands = self.bands();
        if bands > 1 { (0..bands).map(|band| self.band_name(band)).collect() } else { Vec::new() }
    }

    /// The index of the class that a band belongs to.
    fn class_of(&self, band: usize) -> usize {
        band
    }

    /// The backlog of a band.
    fn band_backlog(&self, _band: usize) -> Backlog {
        self.backlog()
    }

    /// Named internal numbers of a band, those of its AQM first.
    fn probe_band(&self, _band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        self.probe(out);
    }
}
