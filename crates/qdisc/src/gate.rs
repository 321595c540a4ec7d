//! The gate: what every packet passes on its way into a band and out of it.
//!
//! It classifies the packet, asks the AQM, applies the verdict and accounts for it, once for all disciplines. A packet
//! that is to be dropped does not come back from it. With loss-free endpoints ([`QueueCx::deliver_drops`]) nothing is
//! dropped: the packet is delivered with CE and counted as a drop.

use windtunnel_units::Duration;
use windtunnel_wire::Packet;

use crate::accounts::{DropReason, QueueCx};
use crate::aqm::{Aqm, PacketView, QueueView, Verdict};
use crate::ecn::{Class, EcnPolicy, Outcome};

/// A packet that has arrived and is not stored yet.
#[derive(Debug)]
pub struct Arrival {
    packet: Packet,
    class: Class,
    /// There was no room for it, and it is stored all the same.
    overflows: bool,
}

impl Arrival {
    /// The packet.
    #[inline]
    pub const fn packet(&self) -> &Packet {
        &self.packet
    }

    /// True if a CE verdict can reach the receiver as a mark; otherwise it is a drop.
    #[inline]
    pub const fn is_markable(&self) -> bool {
        self.class.is_markable()
    }
}

/// The gate of a discipline. Its AQMs belong to the bands.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    ecn: EcnPolicy,
    classes: [[Class; 4]; 2],
}

impl Gate {
    /// A gate that reads the ECN field like this.
    pub fn new(ecn: EcnPolicy) -> Gate {
        Gate { ecn, classes: ecn.classes() }
    }

    /// The signals that a packet understands.
    #[inline]
    fn class(self, packet: &Packet) -> Class {
        self.classes[usize::from(packet.dscp == self.ecn.mds)][packet.ecn as usize]
    }

    /// A packet arrives. A discipline calls this first.
    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    pub fn arrive(&self, packet: Packet, cx: &mut QueueCx) -> Arrival {
        let class = self.classify(&packet, cx);
        Arrival { packet, class, overflows: false }
    }

    /// The signals that an arriving packet understands, which is counted.
    #[inline]
    pub(crate) fn classify(self, packet: &Packet, cx: &mut QueueCx) -> Class {
        cx.arrived();
        self.class(packet)
    }

    /// There is no room for a packet: it is lost before its band's AQM sees it. With loss-free endpoints it is
    /// returned, to be admitted.
    #[inline(never)]
    pub fn refuse<A: Aqm>(&self, aqm: &mut A, mut arrival: Arrival, cx: &mut QueueCx) -> Option<Arrival> {
        if self.overflows(aqm, &mut arrival.packet, arrival.class, cx) {
            arrival.overflows = true;
            return Some(arrival);
        }
        cx.drop(arrival.packet, DropReason::Full);
        None
    }

    /// The same without moving the packet: whether it is to be admitted all the same. If not, the caller drops it.
    #[must_use]
    pub(crate) fn overflows<A: Aqm>(
        self,
        aqm: &mut A,
        packet: &mut Packet,
        class: Class,
        cx: &mut QueueCx,
    ) -> bool {
        if cx.deliver_drops {
            self.ecn.apply(Verdict::Drop, class, packet, true);
            cx.count_drop(packet, DropReason::Full);
        } else {
            aqm.on_full(cx.now);
        }
        cx.deliver_drops
    }

    /// A packet enters a band, if its AQM lets it pass; `queue` is the band without it. It is stamped with the time.
    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    pub fn admit<A: Aqm>(
        &self,
        aqm: &mut A,
        arrival: Arrival,
        queue: &QueueView,
        cx: &mut QueueCx,
    ) -> Option<Packet> {
        let Arrival { mut packet, class, overflows } = arrival;
        if self.lets_in(aqm, &mut packet, class, overflows, queue, cx) {
            return Some(packet);
        }
        cx.drop(packet, DropReason::Aqm);
        None
    }

    /// The same without moving the packet, for the disciplines that most packets pass: whether it enters. If not, the
    /// caller drops it.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    #[must_use]
    pub(crate) fn lets_in<A: Aqm>(
        self,
        aqm: &mut A,
        packet: &mut Packet,
        class: Class,
        overflows: bool,
        queue: &QueueView,
        cx: &mut QueueCx,
    ) -> bool {
        let mut verdict = aqm.on_enqueue(&view(packet, class, Duration::ZERO, false), queue);
        if overflows {
            // A packet is dropped once.
            aqm.on_full(cx.now);
            verdict = Verdict::Pass;
        }
        packet.enqueued_at = cx.now;
        verdict == Verdict::Pass || !self.strikes(verdict, class, packet, cx)
    }

    /// A verdict strikes a packet in the queue. Returns whether that is to be dropped.
    #[must_use]
    pub(crate) fn strike(self, verdict: Verdict, packet: &mut Packet, cx: &mut QueueCx) -> bool {
        self.strikes(verdict, self.class(packet), packet, cx)
    }

    fn strikes(self, verdict: Verdict, class: Class, packet: &mut Packet, cx: &mut QueueCx) -> bool {
        match self.ecn.apply(verdict, class, packet, cx.deliver_drops) {
            Outcome::Passed => {}
            Outcome::Marked(signal) => cx.marked(packet, signal),
            Outcome::Drop if cx.deliver_drops => cx.count_drop(packet, DropReason::Aqm),
            Outcome::Drop => return true,
        }
        false
    }

    /// A packet leaves a band, if its AQM lets it pass; `queue` is the band without it. `replaces`: the AQM has just
    /// dropped the packet in whose place this one leaves.
    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    pub fn release<A: Aqm>(
        &self,
        aqm: &mut A,
        mut packet: Packet,
        replaces: bool,
        queue: &QueueView,
        cx: &mut QueueCx,
    ) -> Option<Packet> {
        if self.lets_out(aqm, &mut packet, replaces, queue, cx) {
            return Some(packet);
        }
        cx.drop(packet, DropReason::Aqm);
        None
    }

    /// The same without moving the packet, for the disciplines that most packets pass: whether it leaves. If not, the
    /// caller drops it.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    #[must_use]
    pub(crate) fn lets_out<A: Aqm>(
        self,
        aqm: &mut A,
        packet: &mut Packet,
        replaces: bool,
        queue: &QueueView,
        cx: &mut QueueCx,
    ) -> bool {
        let class = self.class(packet);
        let sojourn = cx.now.since(packet.enqueued_at);
        let outcome = match aqm.on_dequeue(&view(packet, class, sojourn, replaces), queue) {
            Verdict::Pass => Outcome::Passed,
            verdict => self.ecn.apply(verdict, class, packet, cx.deliver_drops),
        };
        if outcome == Outcome::Drop && !cx.deliver_drops {
            return false;
        }
        cx.departed(packet, outcome, sojourn);
        true
    }
}

#[inline]
const fn view(packet: &Packet, class: Class, sojourn: Duration, replaces: bool) -> PacketView {
    PacketView {
        size: packet.size(),
        flow: packet.flow,
        dscp: packet.dscp,
        ecn: packet.ecn,
        class,
        sojourn,
        replaces,
    }
}
