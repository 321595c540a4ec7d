//! Captures: every packet at every point of its way, with the hidden state of its sender.
//!
//! One row per packet and point. A packet receives its number where it is sent, and keeps it up to where it arrives.
//! A copy that a medium makes has a number of its own, because its way and its end are its own, and names the packet
//! that it copies. It appears from the next point on: a copy that is lost before that leaves no row. The last bit of
//! a number is the packet's direction.
//!
//! The loss of a packet is noted where it was last seen. So a row may change while its packet is under way and was seen
//! nowhere else since; all other rows are settled. Those before the first that may change can leave memory
//! ([`super::outlet`]), and what is noted about packets before the first one under way is forgotten.

use windtunnel_tcp::WindowScale;
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{AckRate, EcnCounts, Packet, SackBlock};

use super::Recorder;
use super::budget::Budget;
use super::columns::{Rows, Table, columns};
use super::connections::ConnectionColumn;
use super::loss_cause::LossCause;
use super::outlet::Outlet;
use super::payloads::Payloads;
use crate::endpoint::Hidden;

columns! {
    pub(crate) struct PacketColumns as "packets" {
        t_ns: U64(u64),
        tap: U8(u8),
        queue: U32(u32),
        flow: U32(u32),
        proto: U8(u8),
        dir: U8(u8),
        id: U64(u64),
        copy_of: U64(u64),
        size: U32(u32),
        payload: U32(u32),
        seq: U64(u64),
        ack: U64(u64),
        flags: U32(u32),
        ecn: U8(u8),
        dscp: U8(u8),
        ts_val_ns: U64(u64),
        ts_ecr_ns: U64(u64),
        window: U64(u64),
        window_scale: U8(u8),
        sack_n: U8(u8),
        sack1_start: U64(u64),
        sack1_end: U64(u64),
        sack2_start: U64(u64),
        sack2_end: U64(u64),
        sack3_start: U64(u64),
        sack3_end: U64(u64),
        sack4_start: U64(u64),
        sack4_end: U64(u64),
        mds: U8(u8),
        ack_rate: U8(u8),
        accecn_kind: U8(u8),
        accecn_n: U8(u8),
        accecn1: U32(u32),
        accecn2: U32(u32),
        accecn3: U32(u32),
        drop: U8(u8),
        retransmission: Bool(bool),
        cwnd: U64(u64),
        ssthresh: U64(u64),
        srtt_ns: U64(u64),
        state: U8(u8),
        limit: U8(u8),
        in_flight: U64(u64),
    }
}

/// Where a packet is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tap {
    /// At its flow's sender, be it leaving (data) or arriving (ACKs).
    Sender,
    /// Where it enters a queue.
    QueueIn(u32),
    /// Where it leaves a queue.
    QueueOut(u32),
    /// At its flow's receiver, likewise.
    Receiver,
}

/// The captures of a run.
#[derive(Debug)]
pub(super) struct Captures {
    rows: PacketColumns,
    connections: ConnectionColumn,
    /// How many rows have left, and how many of those that are here are known to be settled.
    left: usize,
    settled: usize,
    /// By number, without the first ones, which are forgotten.
    packets: Vec<Captured>,
    forgotten: usize,
    payloads: Option<Payloads>,
    budget: Budget,
}

/// What is known about a packet besides itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Captured {
    /// The number of the packet that it copies; else 0.
    copy_of: u64,
    retransmission: bool,
    /// It is under way no more: it has arrived, or was lost.
    ended: bool,
    /// Where it was last seen, if anywhere; rows that have left count.
    last_row: Option<usize>,
}

/// Protocol numbers of IP.
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// What the headers of a flow's packets do not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wire {
    /// Number of its protocol.
    pub(super) protocol: u8,
    pub(super) scale: WindowScale,
}

/// Whose packet it is.
#[derive(Clone, Copy, Debug)]
struct Owner {
    /// The flow of the network.
    flow: u32,
    connection: u32,
    wire: Wire,
}

impl Captures {
    pub(super) fn new(connections: ConnectionColumn, payloads: bool, budget: &Budget) -> Captures {
        let rows = PacketColumns::within(budget);
        let payloads = payloads.then(|| Payloads::new(budget));
        Captures {
            rows,
            connections,
            left: 0,
            settled: 0,
            packets: Vec::new(),
            forgotten: 0,
            payloads,
            budget: budget.clone(),
        }
    }

    /// Gives a packet that is being sent its number.
    pub(super) fn number(
        &mut self,
        packet: &mut Packet,
        reply: bool,
        retransmission: bool,
        outlet: &mut Outlet,
    ) {
        self.add(packet, reply, Captured { copy_of: 0, retransmission, ended: false, last_row: None });
        if let Some(payloads) = &mut self.payloads {
            payloads.push(packet, outlet);
        }
    }

    /// Numbers a copy that a medium made. A copy of a copy counts as a copy of the packet that was sent.
    pub(super) fn number_copy(&mut self, copy: &mut Packet) {
        let original = copy.id();
        if let Some(captured) = self.captured(original) {
            let copy_of = if captured.copy_of == 0 { original } else { captured.copy_of };
            let captured = Captured { copy_of, ended: false, last_row: None, ..*captured };
            self.add(copy, original & 1 == 1, captured);
        }
    }

    fn add(&mut self, packet: &mut Packet, reply: bool, captured: Captured) {
        self.forget();
        if !self.budget.room_in(&mut self.packets, "packets") {
            return;
        }
        self.packets.push(captured);
        // No packet has number 0, which stands for packets that are not captured.
        packet.set_id(((self.forgotten + self.packets.len()) as u64) << 1 | u64::from(reply));
    }

    /// Forgets the packets before the first one under way, if one more would take more memory and they are half of all.
    fn forget(&mut self) {
        if self.packets.len() == self.packets.capacity() {
            let ended = self.packets.iter().take_while(|captured| captured.ended).count();
            if 2 * ended >= self.packets.len() {
                self.packets.drain(..ended);
                self.forgotten += ended;
            }
        }
    }

    /// The position of the packet with this number; none if it is not captured, or was forgotten.
    fn position(&self, id: u64) -> Option<usize> {
        ((id >> 1) as usize).checked_sub(1 + self.forgotten)
    }

    fn captured(&mut self, id: u64) -> Option<&mut Captured> {
        self.position(id).and_then(|n| self.packets.get_mut(n))
    }

    /// How many of the first rows are settled.
    fn settle(&mut self) -> usize {
        while let Some(id) = self.rows.id.get(self.settled) {
            let row = self.left + self.settled;
            let captured = self.position(*id).and_then(|n| self.packets.get(n));
            if captured.is_some_and(|captured| !captured.ended && captured.last_row == Some(row)) {
                break;
            }
            self.settled += 1;
        }
        self.settled
    }

    /// Hands over the rows that are settled, before the table takes more memory than enough.
    fn hand_over(&mut self, outlet: &mut Outlet) {
        if self.rows.growth() > Bytes::ZERO {
            let settled = self.settle();
            let gone = outlet.takes_of(&self.rows, settled);
            self.hand_over_first(gone, outlet);
        }
    }

    /// An interval has ended: hands over the rows that are settled, if they are wanted as they come.
    pub(super) fn hand_over_settled(&mut self, outlet: &mut Outlet) {
        if outlet.is_eager() {
            let settled = self.settle();
            self.hand_over_first(if outlet.takes(settled) { settled } else { 0 }, outlet);
        }
    }

    fn hand_over_first(&mut self, gone: usize, outlet: &mut Outlet) {
        if gone > 0 {
            let mut table = self.rows.lend();
            self.connections.add_to(&mut table);
            outlet.give_groups(&table, gone);
            let mut columns = table.columns.into_iter().map(|(_, column)| column);
            self.rows.take_back(&mut columns, gone);
            self.connections.take_back(&mut columns, gone);
            self.left += gone;
            self.settled -= gone;
        }
    }

    fn push(
        &mut self,
        now: Time,
        tap: Tap,
        packet: &Packet,
        of: Owner,
        hidden: Option<Hidden>,
        outlet: &mut Outlet,
    ) {
        let id = packet.id();
        self.hand_over(outlet);
        let row = self.left + self.rows.count();
        let has_room = self.rows.has_room(1);
        let Some(captured) = self.captured(id).filter(|_| has_room) else { return };
        captured.last_row = Some(row);
        // A damaged packet is counted as lost after this, and before anything else.
        captured.ended = tap == if id & 1 == 0 { Tap::Receiver } else { Tap::Sender };
        let Captured { copy_of, retransmission, .. } = *captured;
        let rows = &mut self.rows;
        let (tap, queue) = match tap {
            Tap::Sender => (0, u32::MAX),
            Tap::QueueIn(queue) => (1, queue),
            Tap::QueueOut(queue) => (2, queue),
            Tap::Receiver => (3, u32::MAX),
        };
        rows.t_ns.push(now.as_nanos());
        rows.tap.push(tap);
        rows.queue.push(queue);
        rows.flow.push(of.flow);
        self.connections.push(of.connection);
        rows.proto.push(of.wire.protocol);
        rows.dir.push((id & 1) as u8);
        rows.id.push(id);
        rows.copy_of.push(copy_of);
        rows.size.push(packet.size().get() as u32);
        rows.payload.push(packet.payload().get() as u32);
        rows.seq.push(packet.seq.get());
        rows.ack.push(packet.ack.get());
        rows.flags.push(u32::from(packet.flags.bits()));
        rows.ecn.push(packet.ecn as u8);
        rows.dscp.push(packet.dscp.get());
        rows.ts_val_ns.push(packet.ts_val.as_nanos());
        rows.ts_ecr_ns.push(packet.ts_ecr.as_nanos());
        rows.window.push(of.wire.scale.window(packet).get());
        rows.window_scale.push(of.wire.scale.shift as u8);
        rows.push_sack(packet);
        rows.push_mds(packet);
        rows.push_ack_rate(packet);
        rows.push_accecn(packet);
        rows.drop.push(0);
        rows.retransmission.push(retransmission);
        let hidden = hidden.unwrap_or_default();
        rows.cwnd.push(hidden.cwnd.get());
        rows.ssthresh.push(hidden.ssthresh.get());
        rows.srtt_ns.push(hidden.srtt.as_nanos());
        rows.state.push(hidden.state);
        rows.limit.push(hidden.limit);
        rows.in_flight.push(hidden.in_flight.get());
    }

    /// The packet with this number was lost after its last capture.
    pub(super) fn lost(&mut self, id: u64, cause: LossCause) {
        let Some(captured) = self.captured(id) else { return };
        captured.ended = true;
        let row = captured.last_row.and_then(|row| row.checked_sub(self.left));
        if let Some(code) = row.and_then(|row| self.rows.drop.get_mut(row)) {
            *code = cause.code();
        }
    }

    pub(super) fn into_tables(mut self) -> impl Iterator<Item = Table> {
        let mut table = self.rows.into_table();
        self.connections.add_to(&mut table);
        std::iter::once(table).chain(self.payloads.map(Payloads::into_table))
    }
}

impl PacketColumns {
    fn push_sack(&mut self, packet: &Packet) {
        let blocks = packet.options().map_or(&[][..], |options| options.sack.as_slice());
        let block = |n: usize| blocks.get(n).copied().unwrap_or_default();
        self.sack_n.push(blocks.len() as u8);
        for (n, (start, end)) in [
            (&mut self.sack1_start, &mut self.sack1_end),
            (&mut self.sack2_start, &mut self.sack2_end),
            (&mut self.sack3_start, &mut self.sack3_end),
            (&mut self.sack4_start, &mut self.sack4_end),
        ]
        .into_iter()
        .enumerate()
        {
            let SackBlock { start: from, end: to } = block(n);
            start.push(from.get());
            end.push(to.get());
        }
    }
}

impl PacketColumns {
    /// The capability of MDS: 1 more than the logarithm of its tau, 0 without one.
    fn push_mds(&mut self, packet: &Packet) {
        let capability = packet.options().and_then(|options| options.mds_capable);
        self.mds.push(capability.map_or(0, |capability| capability.log2_tau + 1));
    }

    /// The request for an ACK rate: 1 more than the segments per ACK (1 asks for an ACK at once), 255 for the capability alone, 0 without the option.
    fn push_ack_rate(&mut self, packet: &Packet) {
        let rate = packet.options().and_then(|options| options.ack_rate);
        self.ack_rate.push(match rate {
            None => 0,
            Some(AckRate::Every(ratio)) => ratio + 1,
            Some(AckRate::Capable) => u8::MAX,
        });
    }

    /// The option that counts marks, AccECN's or QUIC's counts: its kind, 0 without one, and its fields in order.
    fn push_accecn(&mut self, packet: &Packet) {
        let option = packet.options().and_then(|options| options.accecn);
        let counts = packet.options().and_then(|options| options.ecn_counts);
        let counted = counts.map(EcnCounts::fields);
        let fields = match (&option, &counted) {
            (Some(option), _) => option.fields(),
            (None, Some(counted)) => counted,
            (None, None) => &[],
        };
        let kind = option.map(|option| option.order().kind()).or(counts.map(|_| EcnCounts::KIND));
        self.accecn_kind.push(kind.unwrap_or(0));
        self.accecn_n.push(fields.len() as u8);
        let columns = [&mut self.accecn1, &mut self.accecn2, &mut self.accecn3];
        for (n, column) in columns.into_iter().enumerate() {
            column.push(fields.get(n).copied().unwrap_or_default());
        }
    }
}

impl Recorder {
    /// True if payloads are kept, and so is what decrypts them.
    pub(crate) const fn keeps_payloads(&self) -> bool {
        self.params.payloads
    }

    /// True if every packet is captured.
    #[inline]
    pub(crate) const fn captures(&self) -> bool {
        self.captures.is_some()
    }

    /// Single packets do not matter: they are neither captured nor told apart, and no event or change of state is kept
    /// for itself.
    pub(crate) const fn is_plain(&self) -> bool {
        !self.captures() && !self.tells_apart && !self.detailed_dequeues
    }

    fn owner(&self, packet: &Packet) -> Owner {
        let flow = self.connections.flow(packet.flow);
        let connection = self.connections.number(packet.flow);
        Owner { flow: flow as u32, connection, wire: self.flow_info[flow].kind.wire }
    }

    /// Captures a packet that its flow's sender sends.
    #[cold]
    pub(crate) fn capture_sent(
        &mut self,
        now: Time,
        packet: &mut Packet,
        retransmission: bool,
        hidden: Option<Hidden>,
    ) {
        let owner = self.owner(packet);
        if let Some(captures) = &mut self.captures {
            captures.number(packet, false, retransmission, &mut self.outlet);
            captures.push(now, Tap::Sender, packet, owner, hidden, &mut self.outlet);
        }
    }

    /// Captures a packet that its flow's receiver sends.
    #[cold]
    pub(crate) fn capture_reply(&mut self, now: Time, packet: &mut Packet) {
        let owner = self.owner(packet);
        if let Some(captures) = &mut self.captures {
            captures.number(packet, true, false, &mut self.outlet);
            captures.push(now, Tap::Receiver, packet, owner, None, &mut self.outlet);
        }
    }

    /// Captures a packet on its way.
    #[cold]
    pub(crate) fn capture(&mut self, now: Time, tap: Tap, packet: &Packet) {
        let owner = self.owner(packet);
        if let Some(captures) = &mut self.captures {
            captures.push(now, tap, packet, owner, None, &mut self.outlet);
        }
    }

    /// A medium made a copy of a packet.
    #[cold]
    pub(crate) fn capture_copy(&mut self, copy: &mut Packet) {
        if let Some(captures) = &mut self.captures {
            captures.number_copy(copy);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windtunnel_wire::FlowId;

    use super::*;

    /// What happens to a packet.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Sent,
        Seen,
        Copied,
        Arrived,
        Damaged,
        Lost,
    }

    fn event() -> impl Strategy<Value = Event> {
        use Event::*;
        prop::sample::select(vec![Sent, Sent, Sent, Seen, Seen, Copied, Arrived, Arrived, Damaged, Lost])
    }

    proptest! {
        /// The rows that are held to be settled are those before the first that may still change: the last one of a packet
        /// under way. So those that stay are bounded by what happened since that packet was last seen, and the notes by the
        /// packets since the oldest one under way.
        #[test]
        fn rows_wait_for_packets_under_way(events in prop::collection::vec((event(), any::<prop::sample::Index>()), 1..500)) {
            let budget = Budget::default();
            let mut outlet = Outlet::new(&budget);
            let mut captures = Captures::new(ConnectionColumn::default(), false, &budget);
            let wire = Wire { protocol: UDP, scale: WindowScale { shift: 0, scaled_syn: false } };
            let of = Owner { flow: 0, connection: 0, wire };
            let mut under_way: Vec<Packet> = Vec::new();
            // By row, the packet and the cause of its loss.
            let mut rows: Vec<(u64, u8)> = Vec::new();
            let mut most = 0;
            for (event, which) in events {
                let mut see = |captures: &mut Captures, packet: &Packet, tap| {
                    captures.push(Time::ZERO, tap, packet, of, None, &mut outlet);
                    rows.push((packet.id(), 0));
                };
                if matches!(event, Event::Sent) {
                    let mut packet = Packet::new(FlowId::new(0), Bytes::new(100), Bytes::new(72));
                    captures.number(&mut packet, false, false, &mut Outlet::new(&budget));
                    see(&mut captures, &packet, Tap::Sender);
                    under_way.push(packet);
                } else if !under_way.is_empty() {
                    let index = which.index(under_way.len());
                    match event {
                        Event::Sent | Event::Seen => see(&mut captures, &under_way[index], Tap::QueueIn(0)),
                        Event::Copied => {
                            let mut copy = under_way[index].duplicate();
                            captures.number_copy(&mut copy);
                            under_way.push(copy);
                        }
                        Event::Arrived => see(&mut captures, &under_way.swap_remove(index), Tap::Receiver),
                        Event::Damaged | Event::Lost => {
                            let packet = under_way.swap_remove(index);
                            if matches!(event, Event::Damaged) {
                                see(&mut captures, &packet, Tap::Receiver);
                            }
                            captures.lost(packet.id(), LossCause::Medium);
                            if let Some(last) = rows.iter_mut().rfind(|(id, _)| *id == packet.id()) {
                                last.1 = LossCause::Medium.code();
                            }
                        }
                    }
                }
                let last_of = |packet: &Packet| rows.iter().rposition(|(id, _)| *id == packet.id());
                let first = under_way.iter().filter_map(last_of).min().unwrap_or(rows.len());
                prop_assert_eq!(captures.settle(), first);
                let oldest = under_way.iter().map(|packet| packet.id() >> 1).min();
                let newest = (captures.forgotten + captures.packets.len()) as u64;
                most = most.max(oldest.map_or(0, |oldest| newest - oldest + 1));
                // Room for them doubles while more than half of them are needed.
                prop_assert!(captures.packets.len() as u64 <= 4 * most + 64);
            }
            let noted: Vec<(u64, u8)> = captures.rows.id.iter().copied().zip(captures.rows.drop.iter().copied()).collect();
            prop_assert_eq!(noted, rows);
        }
    }
}
