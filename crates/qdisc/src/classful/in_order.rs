//! Queues served in their order: the first that has a packet goes first.

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use super::Children;
use crate::accounts::QueueCx;

/// Queues by band: the first one that has a packet is served.
#[derive(Debug)]
pub(crate) struct InOrder {
    pub(crate) children: Children,
    /// A queue that holds its packets back, as a shaper does, holds back those behind it as well.
    waits: bool,
    /// The band that is served next.
    chosen: Option<usize>,
}

impl InOrder {
    /// Queues behind one that holds its packets back are served meanwhile.
    pub(crate) fn new(children: Children) -> InOrder {
        InOrder { children, waits: false, chosen: None }
    }

    /// Queues behind one that holds its packets back wait for it.
    pub(crate) fn waiting(children: Children) -> InOrder {
        InOrder { waits: true, ..InOrder::new(children) }
    }

    pub(crate) fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        if let Some(band) = self.chosen {
            return self.children.choose(band, cx);
        }
        for band in 0..self.children.bands() {
            if let Some(size) = self.children.choose(band, cx) {
                self.chosen = Some(band);
                return Some(size);
            }
            if self.holds(band) {
                return None;
            }
        }
        None
    }

    pub(crate) fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        self.children.serve(self.chosen.take()?, cx)
    }

    pub(crate) fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        for band in self.chosen.take().into_iter().chain(0..self.children.bands()) {
            let packet = self.children.dequeue(band, cx);
            if packet.is_some() || self.holds(band) {
                return packet;
            }
        }
        None
    }

    pub(crate) fn next_ready(&self, now: Time) -> Option<Time> {
        match (0..self.children.bands()).find(|band| self.holds(*band)) {
            Some(band) => self.children.next_ready_of(band, now),
            None => self.children.next_ready(now),
        }
    }

    /// Whether the queues behind this one have to wait for it.
    fn holds(&self, band: usize) -> bool {
        self.waits && self.children.band_backlog(band).packets > 0
    }
}
