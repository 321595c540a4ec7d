//! What queues did to packets on their arrival, kept until the packets leave: an AQM such as PIE or RED decides then, and a
//! dequeue by itself does not show it.

use std::collections::BTreeMap;

use windtunnel_wire::Packet;

/// The packets in queues that were marked on their arrival.
#[derive(Debug, Default)]
pub(super) struct ArrivalMarks {
    /// The identity given last.
    last: u64,
    /// The mark of each packet, by its identity.
    marks: BTreeMap<u64, u8>,
}

impl ArrivalMarks {
    /// Gives a packet that enters a queue an identity, where captures do not.
    pub(super) fn name(&mut self, packet: &mut Packet) {
        self.last += 1;
        packet.set_id(self.last);
    }

    /// A queue marked the packet `id`. The more severe of two marks counts.
    pub(super) fn add(&mut self, id: u64, mark: u8) {
        let worst = self.marks.entry(id).or_default();
        *worst = mark.max(*worst);
    }

    /// The packet `id` has left its queue. Returns its mark: 0 without one.
    pub(super) fn take(&mut self, id: u64) -> u8 {
        self.marks.remove(&id).unwrap_or_default()
    }
}
