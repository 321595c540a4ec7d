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
        matches!(self.class, Class::Conventional | Class::Sce)
    }
}

/// The gate of a discipline. Its AQMs belong to the bands.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    ecn: EcnPolicy,
}

impl Gate {
    /// A gate that reads the ECN field like this.
    pub const fn new(ecn: EcnPolicy) -> Gate {
        Gate { ecn }
    }

    /// A packet arrives. A discipline calls this first.
    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    pub fn arrive(&self, packet: Packet, cx: &mut QueueCx<'_>) -> Arrival {
        cx.arrived();
        let class = self.ecn.classify(&packet);
        Arrival { packet, class, overflows: false }
    }

    /// There is no room for a packet: it is lost before its band's AQM sees it. With loss-free endpoints it is
    /// returned, to be admitted.
    #[inline(never)]
    pub fn refuse<A: Aqm>(&self, aqm: &mut A, mut arrival: Arrival, cx: &mut QueueCx<'_>) -> Option<Arrival> {
        if cx.deliver_drops {
            self.ecn.apply(Verdict::Drop, arrival.class, &mut arrival.packet, true);
            cx.count_drop(&arrival.packet, DropReason::Full);
            arrival.overflows = true;
            Some(arrival)
        } else {
            aqm.on_full(cx.now);
            cx.drop(arrival.packet, DropReason::Full);
            None
        }
    }

    /// A packet enters a band, if its AQM lets it pass; `queue` is the band without it. It is stamped with the time.
    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    pub fn admit<A: Aqm>(
        &self,
        aqm: &mut A,
        arrival: Arrival,
        queue: &QueueView,
        cx: &mut QueueCx<'_>,
    ) -> Option<Packet> {
        let Arrival { mut packet, class, overflows } = arrival;
        let mut verdict = aqm.on_enqueue(&view(&packet, class, Duration::ZERO, false), queue);
        if overflows {
            // A packet is dropped once.
            aqm.on_full(cx.now);
            verdict = Verdict::Pass;
        }
        match self.ecn.apply(verdict, class, &mut packet, cx.deliver_drops) {
            Outcome::Passed => {}
            Outcome::Marked(signal) => cx.marked(&packet, signal),
            Outcome::Drop if cx.deliver_drops => cx.count_drop(&packet, DropReason::Aqm),
            Outcome::Drop => {
                cx.drop(packet, DropReason::Aqm);
                return None;
            }
        }
        packet.enqueued_at = cx.now;
        Some(packet)
    }

    /// A verdict strikes a packet in the queue. Returns whether that is to be dropped.
    #[must_use]
    pub(crate) fn strike(self, verdict: Verdict, packet: &mut Packet, cx: &mut QueueCx<'_>) -> bool {
        let class = self.ecn.classify(packet);
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
        cx: &mut QueueCx<'_>,
    ) -> Option<Packet> {
        let class = self.ecn.classify(&packet);
        let sojourn = cx.now.since(packet.enqueued_at);
        let verdict = aqm.on_dequeue(&view(&packet, class, sojourn, replaces), queue);
        let outcome = self.ecn.apply(verdict, class, &mut packet, cx.deliver_drops);
        if outcome == Outcome::Drop && !cx.deliver_drops {
            cx.drop(packet, DropReason::Aqm);
            return None;
        }
        cx.departed(&packet, outcome, sojourn);
        Some(packet)
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
