//! Taking turns: how a fair queue serves the band that it has chosen.
//!
//! A discipline says which band is next and what a departure costs that band. The rest is the same for all fair queues:
//! a choice is kept until it is served, and a packet that the AQM drops is replaced from the same band while that has
//! packets, then from the next one (RFC 8290 section 4.2).

use std::fmt::Debug;

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use super::Flows;
use crate::accounts::QueueCx;
use crate::aqm::Aqm;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::limit::Room;

/// A fair queue whose bands take turns.
pub(crate) trait Turns: Debug + Send {
    /// The AQM of each band.
    type Aqm: Aqm;

    /// The bands.
    fn flows(&self) -> &Flows<Self::Aqm>;

    /// The same, to be changed.
    fn flows_mut(&mut self) -> &mut Flows<Self::Aqm>;

    /// See [`QueueDiscipline::room`].
    fn room(&mut self) -> &mut Room;

    /// See [`QueueDiscipline::enqueue`].
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx);

    /// The band whose first packet leaves next, if it has been chosen.
    fn chosen(&mut self) -> &mut Option<usize>;

    /// The band whose turn it is, and which has a packet that may leave.
    fn next_band(&mut self, now: Time) -> Option<usize>;

    /// The first packet of a band leaves, unless its AQM drops it. `replaces`: see [`Flows::release`].
    fn release(&mut self, band: usize, replaces: bool, cx: &mut QueueCx) -> Option<Packet>;

    /// See [`QueueDiscipline::next_ready`].
    fn next_ready(&self) -> Option<Time> {
        None
    }

    /// See [`QueueDiscipline::probe`].
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64));
}

/// A fair queue as a discipline.
#[derive(Debug)]
pub(crate) struct Fair<T>(pub(crate) T);

impl<T: Turns> QueueDiscipline for Fair<T> {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        self.0.enqueue(packet, cx);
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        let Fair(queue) = self;
        if queue.chosen().is_none() {
            *queue.chosen() = queue.next_band(cx.now);
        }
        let band = (*queue.chosen())?;
        queue.flows().head_size(band)
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let band = self.0.chosen().take()?;
        self.0.release(band, cx.replaces, cx)
    }

    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let Fair(queue) = self;
        loop {
            let chosen = queue.chosen().take();
            let band = chosen.or_else(|| queue.next_band(cx.now))?;
            let mut replaces = false;
            while queue.flows().band_backlog(band).packets > 0 {
                let packet = queue.release(band, replaces, cx);
                if packet.is_some() {
                    return packet;
                }
                replaces = true;
            }
        }
    }

    fn next_ready(&self, _now: Time) -> Option<Time> {
        self.0.next_ready()
    }

    fn room(&mut self) -> Option<&mut Room> {
        Some(self.0.room())
    }

    fn backlog(&self) -> Backlog {
        self.0.flows().backlog()
    }

    fn next_timer(&self) -> Option<Time> {
        self.0.flows().next_timer()
    }

    fn on_timer(&mut self, cx: &mut QueueCx) {
        self.0.flows_mut().on_timer(cx);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.0.probe(out);
    }

    fn bands(&self) -> usize {
        self.0.flows().len()
    }

    fn band_name(&self, band: usize) -> String {
        self.0.flows().band_name(band)
    }

    fn band_backlog(&self, band: usize) -> Backlog {
        self.0.flows().band_backlog(band)
    }

    fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        self.0.flows().probe_band(band, out);
    }
}
