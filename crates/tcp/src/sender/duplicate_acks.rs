//! Duplicate ACKs, of detectors that have no SACK (RFC 5681 sections 2 and 3.2; spec/congestion-control section 1.7).

use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{Packet, TcpFlags};

/// The count of duplicate ACKs in a row.
#[derive(Clone, Copy, Debug)]
pub struct DuplicateAcks {
    dupthresh: u32,
    count: u32,
}

impl DuplicateAcks {
    /// A loss is declared at the `dupthresh`-th.
    pub const fn new(dupthresh: u32) -> DuplicateAcks {
        DuplicateAcks { dupthresh, count: 0 }
    }

    /// An ACK is a duplicate if it says nothing new (RFC 5681 section 2): data are outstanding, and it has no payload,
    /// no SYN or FIN, the same number and the same window as the one before. `window` is on the wire's scale.
    pub fn is_duplicate(packet: &Packet, una: Seq, outstanding: bool, window: u32) -> bool {
        let begins_or_ends = packet.flags.contains(TcpFlags::SYN) || packet.flags.contains(TcpFlags::FIN);
        outstanding
            && !begins_or_ends
            && packet.payload() == Bytes::ZERO
            && packet.ack == una
            && u32::from(packet.window) == window
    }

    /// A duplicate arrived. True if it is the one that declares a loss: later ones do not again.
    pub fn on_duplicate(&mut self) -> bool {
        self.count = self.count.saturating_add(1);
        self.count == self.dupthresh
    }

    /// New data were acknowledged, or the timer expired.
    pub fn reset(&mut self) {
        self.count = 0;
    }

    /// How many there were.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Limited transmit (RFC 3042): new segments that may be sent beyond cwnd, one for each of the first two
    /// duplicates.
    pub fn limited_transmit(&self) -> u32 {
        if self.count < self.dupthresh { self.count.min(2) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_wire::FlowId;

    use super::*;

    const WINDOW: u32 = 100;

    fn ack(number: u64) -> Packet {
        let mut packet = Packet::new(FlowId::new(0), Bytes::new(40), Bytes::ZERO);
        packet.ack = Seq::new(number);
        packet.window = WINDOW as u16;
        packet.flags = TcpFlags::ACK;
        packet
    }

    /// The five conditions of RFC 5681 section 2, one by one.
    #[test]
    fn definition() {
        let una = Seq::new(5);
        let is = |packet: &Packet, outstanding| DuplicateAcks::is_duplicate(packet, una, outstanding, WINDOW);
        assert!(is(&ack(5), true));
        assert!(!is(&ack(5), false), "nothing outstanding");
        assert!(!is(&ack(6), true) && !is(&ack(4), true), "another number");
        for flag in [TcpFlags::SYN, TcpFlags::FIN] {
            let mut packet = ack(5);
            packet.flags = TcpFlags::ACK | flag;
            assert!(!is(&packet, true));
        }
        let mut update = ack(5);
        update.window += 1;
        assert!(!is(&update, true), "a window update");
        let mut data = Packet::new(FlowId::new(0), Bytes::new(140), Bytes::new(100));
        (data.ack, data.window, data.flags) = (Seq::new(5), WINDOW as u16, TcpFlags::ACK);
        assert!(!is(&data, true), "data");
    }

    /// The third declares a loss, once; the first two allow limited transmit.
    #[test]
    fn third() {
        let mut duplicates = DuplicateAcks::new(3);
        let mut walk = Vec::new();
        for _ in 0..5 {
            walk.push((duplicates.on_duplicate(), duplicates.limited_transmit()));
        }
        assert_eq!(walk, [(false, 1), (false, 2), (true, 0), (false, 0), (false, 0)]);
        assert_eq!(duplicates.count(), 5);
        duplicates.reset();
        assert_eq!((duplicates.count(), duplicates.limited_transmit()), (0, 0));
        assert!(!duplicates.on_duplicate());
    }
}
