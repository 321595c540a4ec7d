//! Storing and scheduling, and the one place where packets are counted.

use std::fmt::Debug;

use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{FlowId, Packet};

use crate::aqm::Signal;
use crate::ecn::Outcome;

/// What is queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: Bytes,
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue was full.
    Full,
    /// The AQM decided so.
    Aqm,
    /// A medium lost it, outside of any queue.
    Wire,
}

/// A drop, as the recorder sees it. With loss-free endpoints (see [`QueueCx::deliver_drops`]) the packet
/// was delivered with CE instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The packet's flow.
    pub flow: FlowId,
    /// Which packet it was, where packets are captured ([`Packet::id`]).
    pub id: u64,
    /// The packet's length.
    pub size: Bytes,
    /// Why.
    pub reason: DropReason,
}

/// What happened to a packet and does not show in what a dequeue returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// It was dropped.
    Dropped(Dropped),
    /// It was marked on its arrival.
    Marked {
        /// The packet's flow.
        flow: FlowId,
        /// With what.
        signal: Signal,
    },
}

/// Counters of one queue. `arrived = departed + lost + queued` in packets, at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Packets offered.
    pub arrived: u64,
    /// Packets that left by dequeue.
    pub departed: u64,
    /// Bytes that left by dequeue.
    pub departed_bytes: Bytes,
    /// Packets lost.
    pub lost: u64,
    /// Packets marked SCE by this queue.
    pub sce: u64,
    /// Packets marked CE by this queue, other than in place of a drop.
    pub ce: u64,
    /// Drops because the queue was full (also those delivered with CE in place of a loss).
    pub drops_full: u64,
    /// Drops by the AQM (likewise).
    pub drops_aqm: u64,
}

/// What a discipline is given with each call, and where it must account for what it does.
#[derive(Debug)]
pub struct QueueCx<'a> {
    /// The simulated clock.
    pub now: Time,
    /// The rate of the link behind the queue.
    pub rate: Rate,
    /// Loss-free endpoints (spec/mds section 2): what would be dropped is delivered with CE and counted
    /// as a drop.
    pub deliver_drops: bool,
    stats: &'a mut QueueStats,
    incidents: &'a mut Vec<Incident>,
    departure: Option<(Outcome, Duration)>,
}

impl<'a> QueueCx<'a> {
    /// A context for one call. `incidents` is appended to.
    pub fn new(
        now: Time,
        rate: Rate,
        deliver_drops: bool,
        stats: &'a mut QueueStats,
        incidents: &'a mut Vec<Incident>,
    ) -> QueueCx<'a> {
        QueueCx { now, rate, deliver_drops, stats, incidents, departure: None }
    }

    /// A packet was offered: call it first in every enqueue.
    pub fn arrived(&mut self) {
        self.stats.arrived += 1;
    }

    /// Loses a packet: the only way out of a queue but for dequeue.
    #[expect(clippy::needless_pass_by_value, reason = "who loses a packet gives it up")]
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.stats.lost += 1;
        self.count_drop(&packet, reason);
    }

    /// Counts the drop of a packet that is delivered with CE instead ([`QueueCx::deliver_drops`]).
    pub fn count_drop(&mut self, packet: &Packet, reason: DropReason) {
        match reason {
            DropReason::Full => self.stats.drops_full += 1,
            DropReason::Aqm | DropReason::Wire => self.stats.drops_aqm += 1,
        }
        let dropped = Dropped { flow: packet.flow, id: packet.id(), size: packet.size(), reason };
        self.incidents.push(Incident::Dropped(dropped));
    }

    /// A packet was marked on arrival; marks on departure are counted by [`QueueCx::departed`].
    pub fn marked(&mut self, packet: &Packet, signal: Signal) {
        self.count_mark(signal);
        self.incidents.push(Incident::Marked { flow: packet.flow, signal });
    }

    fn count_mark(&mut self, signal: Signal) {
        match signal {
            Signal::Sce => self.stats.sce += 1,
            Signal::Ce => self.stats.ce += 1,
        }
    }

    /// A packet leaves by dequeue, after `outcome` was applied to it and with the sojourn time that the
    /// decision was taken on: call it last in every dequeue that returns a packet.
    pub fn departed(&mut self, packet: &Packet, outcome: Outcome, sojourn: Duration) {
        self.stats.departed += 1;
        self.stats.departed_bytes += packet.size();
        match outcome {
            Outcome::Passed => {}
            Outcome::Marked(signal) => self.count_mark(signal),
            Outcome::Drop => self.count_drop(packet, DropReason::Aqm),
        }
        self.departure = Some((outcome, sojourn));
    }

    /// What was done to the packet that the last dequeue returned, and its sojourn time.
    pub const fn departure(&self) -> Option<(Outcome, Duration)> {
        self.departure
    }
}

/// A queue discipline: stores and schedules packets.
pub trait QueueDiscipline: Debug + Send {
    /// Takes a packet, or drops it or others.
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx<'_>);

    /// Gives the next packet to send, or nothing.
    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet>;

    /// The length of the packet that the next dequeue would look at first; a link that serialises
    /// before it dequeues (`dequeue_point = "end"`) needs it.
    fn head_size(&self) -> Option<Bytes>;

    /// When a packet may leave: now for work-conserving disciplines, later for shapers, never if empty.
    fn next_ready(&self, now: Time) -> Option<Time> {
        (self.backlog().packets > 0).then_some(now)
    }

    /// What is queued.
    fn backlog(&self) -> Backlog;

    /// When [`QueueDiscipline::on_timer`] wants to be called next. A discipline with a timer asks for it from the
    /// first moment on: one that returns nothing when new is never asked again, and one that has one always names its next call.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The time asked for by [`QueueDiscipline::next_timer`] has come.
    fn on_timer(&mut self, _cx: &mut QueueCx<'_>) {}

    /// Named internal numbers, for recorders: `out(name, value)`. Always the same names in the same order, which recorders
    /// learn once; a number that does not exist at the moment is NaN. A name ends in its unit unless it has none.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}
