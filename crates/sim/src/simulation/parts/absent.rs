//! What stands in a part of a run for links and elements of other parts. No packet meets it.

use windtunnel_qdisc::{Backlog, QueueCx, QueueDiscipline};
use windtunnel_units::{Bytes, Rate, Time};
use windtunnel_wire::Packet;

use crate::element::{Element, Passage, PlacedElement, Tally};
use crate::link::{Link, LinkParams, LinkRate};
use crate::network::LinkSpec;

/// The queue of a link, or an element, that is elsewhere.
#[derive(Debug)]
struct Absent;

impl QueueDiscipline for Absent {
    fn enqueue(&mut self, _packet: Packet, _cx: &mut QueueCx) {
        unreachable!("a packet in front of a link of another part");
    }

    fn choose(&mut self, _cx: &mut QueueCx) -> Option<Bytes> {
        None
    }

    fn serve(&mut self, _cx: &mut QueueCx) -> Option<Packet> {
        None
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: 0, bytes: Bytes::ZERO }
    }
}

impl Element for Absent {
    fn enter(&mut self, _packet: Packet, _now: Time, _tally: &mut Tally) -> Passage {
        unreachable!("a packet in front of an element of another part");
    }
}

/// A link of another part.
pub(super) fn link() -> Link {
    let spec = LinkSpec {
        name: String::new(),
        rate: LinkRate::Fixed(Rate::from_mbps(1)),
        params: LinkParams::default(),
        queue: Box::new(Absent),
    };
    Link::new(spec, false)
}

/// An element of another part.
pub(super) fn element() -> PlacedElement {
    PlacedElement::around(Box::new(Absent))
}
