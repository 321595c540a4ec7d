//! Counts of marks that hosts keep outside of their stacks (RFC 9000 sections 13.4.1 and 19.3.2).
//!
//! quinn and noq count what arrives by code point, and validate the counts that come back (section 13.4.2). They send
//! ECT(0) and nothing else: one packet that is counted as ECT(1) is corruption to them, and ECN is off (`detect_ecn` in
//! `connection/spaces.rs` of both; line 196 of quinn-proto 0.11.19, 429 of noq-proto 1.4.0). Their controllers hear that
//! there was CE, and nothing of ECT(1).
//!
//! The hosts of a flow whose controller hears each mark therefore count themselves. Their packets carry the counts in the
//! option that TCP flows with `ecn = "quic"` have for them, in place of the ACK frame, which the stack fills in. Where
//! ECT(1) arrives, they show their stack ECT(0): it is SCE, or the code point of a flow that sends ECT(1) (L4S).

use windtunnel_cc::{EcnFeedback, Marked};
use windtunnel_hosted::Marks;
use windtunnel_units::Bytes;
use windtunnel_wire::{Ecn, EcnCounts, Options, Packet};

/// The counts of one host.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    mss: Bytes,
    /// The code point of packets that the stack sends as ECT(0).
    sent: Ecn,
    /// What has arrived.
    received: EcnCounts,
    /// The most that the other host has said.
    heard: EcnCounts,
    /// Where the news goes.
    marks: Marks,
    /// SCE were heard since the last call of [`Counter::take_esce`].
    esce: bool,
}

impl Counter {
    /// A host whose packets have `mss` bytes of UDP payload, and leave as `sent` where the stack says ECT(0).
    pub(crate) fn new(mss: Bytes, sent: Ecn, marks: Marks) -> Counter {
        let (received, heard) = (EcnCounts::default(), EcnCounts::default());
        Counter { mss, sent, received, heard, marks, esce: false }
    }

    /// To this flow ECT(1) is a mark.
    pub(crate) fn hears_sce(&self) -> bool {
        self.sent != Ecn::Ect1
    }

    /// The code point with which a packet leaves that the stack sends with this one.
    pub(crate) fn on_the_path(&self, stack: Ecn) -> Ecn {
        if stack == Ecn::Ect0 { self.sent } else { stack }
    }

    /// A packet leaves.
    pub(crate) fn stamp(&self, packet: &mut Packet) {
        packet.set_options(Options { ecn_counts: Some(self.received), ..Options::default() });
    }

    /// A packet arrives. Returns the code point to show to the stack.
    pub(crate) fn receive(&mut self, packet: &Packet) -> Ecn {
        if let Some(counts) = packet.options().and_then(|options| options.ecn_counts) {
            self.hear(counts);
        }
        match packet.ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.received.ect0 += 1,
            Ecn::Ect1 => self.received.ect1 += 1,
            Ecn::Ce => self.received.ce += 1,
        }
        if packet.ecn == Ecn::Ect1 { Ecn::Ect0 } else { packet.ecn }
    }

    /// Whether SCE were heard since the last call.
    pub(crate) fn take_esce(&mut self) -> bool {
        std::mem::take(&mut self.esce)
    }

    /// Counts only grow: a packet that was overtaken brings no news.
    fn hear(&mut self, counts: EcnCounts) {
        let news = |new: u32, old: u32| {
            let packets = new.saturating_sub(old);
            Marked { bytes: self.mss * u64::from(packets), packets }
        };
        let (ect1, ce) = (news(counts.ect1, self.heard.ect1), news(counts.ce, self.heard.ce));
        let none = Marked::default();
        let (sce, ect1) = if self.hears_sce() { (ect1, none) } else { (none, ect1) };
        self.marks.add(EcnFeedback { ce, sce, ect1 });
        self.esce |= sce.any();
        self.heard.ect1 = self.heard.ect1.max(counts.ect1);
        self.heard.ce = self.heard.ce.max(counts.ce);
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_wire::FlowId;

    use super::*;

    const MSS: Bytes = Bytes::new(1_472);

    fn packet(ecn: Ecn) -> Packet {
        let mut packet = Packet::new(FlowId::new(0), MSS, MSS);
        packet.ecn = ecn;
        packet
    }

    /// Each mark is heard once, whatever becomes of the packets that report it (RFC 9000 section 13.4.2.1: counts of
    /// reordered ACK frames are not to be used), and the stack sees no ECT(1).
    #[test]
    fn each_mark_is_heard_once() {
        let mut receiver = Counter::new(MSS, Ecn::Ect0, Marks::default());
        let mut reports = Vec::new();
        for (ecn, shown) in
            [(Ecn::Ect0, Ecn::Ect0), (Ecn::Ect1, Ecn::Ect0), (Ecn::Ect1, Ecn::Ect0), (Ecn::Ce, Ecn::Ce)]
        {
            assert_eq!(receiver.receive(&packet(ecn)), shown);
            let mut report = packet(Ecn::Ect0);
            receiver.stamp(&mut report);
            reports.push(report);
        }
        let marks = Marks::default();
        let mut sender = Counter::new(MSS, Ecn::Ect0, marks.clone());
        let mut heard = |report: &Packet| {
            sender.receive(report);
            let EcnFeedback { sce, ce, .. } = marks.take();
            (sce.packets, ce.packets, sender.take_esce())
        };
        assert_eq!(heard(&reports[0]), (0, 0, false));
        assert_eq!(heard(&reports[2]), (2, 0, true), "the report before it was lost");
        assert_eq!(heard(&reports[1]), (0, 0, false), "it was overtaken");
        assert_eq!(heard(&reports[3]), (0, 1, false));
    }

    /// Packets of L4S flows are ECT(1) on the path, and ECT(0) to the stacks (RFC 9331 section 4.1): what arrives so is no mark.
    #[test]
    fn ect1_is_no_mark_where_it_is_sent() {
        let marks = Marks::default();
        let mut sender = Counter::new(MSS, Ecn::Ect1, marks.clone());
        let mut receiver = Counter::new(MSS, Ecn::Ect1, Marks::default());
        for (stack, mark) in [(Ecn::Ect0, false), (Ecn::Ect0, true), (Ecn::NotEct, false)] {
            let sent = sender.on_the_path(stack);
            assert_eq!(sent == Ecn::Ect1, stack == Ecn::Ect0, "{stack:?}");
            let (arrives, shown) = if mark { (Ecn::Ce, Ecn::Ce) } else { (sent, stack) };
            assert_eq!(receiver.receive(&packet(arrives)), shown);
        }
        let mut report = packet(Ecn::NotEct);
        receiver.stamp(&mut report);
        sender.receive(&report);
        let heard = marks.take();
        assert_eq!((heard.ect1.packets, heard.sce.packets, heard.ce.packets), (1, 0, 1));
        assert!(!sender.take_esce());
    }
}
