//! What happened to packets: the one place where they are counted.

use windtunnel_prefetch::prefetch;
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{FlowId, Packet};

use crate::aqm::Signal;
use crate::discipline::Backlog;
use crate::ecn::Outcome;

/// Why a queue lost a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue was full: the packet arrived last, or with head drop it was the oldest.
    Full,
    /// The queue was full, and its band held the most of all.
    Overlimit,
    /// The AQM decided so.
    Aqm,
    /// A token bucket or a virtual queue in front of the queue refused it.
    Policed,
    /// It was an ACK that another one behind it made superfluous.
    Filtered,
}

/// A drop, as the recorder sees it. With loss-free endpoints (see [`QueueCx::deliver_drops`]) the packet
/// was delivered with CE instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The packet's flow.
    pub flow: FlowId,
    /// Which packet it was, where packets are told apart ([`Packet::id`]).
    pub id: u64,
    /// The packet's length.
    pub size: Bytes,
    /// It only acknowledged: the loss of an ACK is none of its flow's data.
    pub is_ack: bool,
    /// Why.
    pub reason: DropReason,
}

/// An event of a packet that a dequeue's result does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// It was dropped.
    Dropped(Dropped),
    /// It was marked on its arrival.
    Marked {
        /// The packet's flow.
        flow: FlowId,
        /// Which packet it was, where packets are told apart ([`Packet::id`]).
        id: u64,
        /// With what.
        signal: Signal,
    },
}

/// Counters of a queue or of one of its bands. `arrived = departed + lost + queued` in packets, at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Packets offered.
    pub arrived: u64,
    /// Packets that left by dequeue.
    pub departed: u64,
    /// Bytes that left by dequeue, without headers below IP.
    pub departed_bytes: Bytes,
    /// The total sojourn time of packets that left by dequeue.
    pub waited: Duration,
    /// Packets lost.
    pub lost: u64,
    /// Packets marked SCE by this queue.
    pub sce: u64,
    /// Packets marked CE by this queue, other than in place of a drop.
    pub ce: u64,
    /// Drops because the queue was full (also those delivered with CE in place of a loss).
    pub drops_full: u64,
    /// Drops from the band that held the most.
    pub drops_overlimit: u64,
    /// Drops by the AQM (also those delivered with CE in place of a loss).
    pub drops_aqm: u64,
    /// Drops in front of the queue. They belong to no band.
    pub drops_policed: u64,
    /// ACKs that others made superfluous.
    pub drops_filtered: u64,
}

impl QueueStats {
    /// Packets that are queued.
    #[inline]
    pub const fn queued(&self) -> u64 {
        self.arrived - self.departed - self.lost
    }

    /// Returns the counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &QueueStats) -> QueueStats {
        QueueStats {
            arrived: self.arrived - earlier.arrived,
            departed: self.departed - earlier.departed,
            departed_bytes: self.departed_bytes - earlier.departed_bytes,
            waited: self.waited.saturating_sub(earlier.waited),
            lost: self.lost - earlier.lost,
            sce: self.sce - earlier.sce,
            ce: self.ce - earlier.ce,
            drops_full: self.drops_full - earlier.drops_full,
            drops_overlimit: self.drops_overlimit - earlier.drops_overlimit,
            drops_aqm: self.drops_aqm - earlier.drops_aqm,
            drops_policed: self.drops_policed - earlier.drops_policed,
            drops_filtered: self.drops_filtered - earlier.drops_filtered,
        }
    }

    /// Takes back that a packet of `size` bytes has left, and how it was marked then. If it was to be dropped, that remains.
    pub fn return_packet(&mut self, size: Bytes, departure: &Departure) {
        self.departed -= 1;
        self.departed_bytes -= size;
        self.waited = self.waited.saturating_sub(departure.sojourn);
        match departure.outcome {
            Outcome::Marked(Signal::Sce) => self.sce -= 1,
            Outcome::Marked(Signal::Ce) => self.ce -= 1,
            Outcome::Passed | Outcome::Drop => {}
        }
    }

    /// Drops for any reason.
    pub const fn drops(&self) -> u64 {
        self.drops_full + self.drops_overlimit + self.drops_aqm + self.drops_policed + self.drops_filtered
    }
}

/// The counters of a queue: of the whole queue, and of each band if there are several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// The whole queue.
    pub total: QueueStats,
    /// Its bands, by index; empty for a queue of one band, and for bands that no packet has reached yet.
    pub bands: Vec<QueueStats>,
}

/// What a discipline knows of its link, and where it accounts for everything that it does. The link keeps it, and hands
/// it to each call ([`QueueCx::at`]).
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent of each other")]
pub struct QueueCx {
    /// The simulated clock.
    pub now: Time,
    /// The rate of the link behind the queue.
    pub rate: Rate,
    /// The headers below IP in the length of each packet.
    pub overhead: Bytes,
    /// Loss-free endpoints (spec/mds section 2): packets that would be dropped are delivered with CE and counted as
    /// drops.
    pub deliver_drops: bool,
    /// In this call the AQM has just dropped the packet that was to leave: what is served next takes its place.
    pub(crate) replaces: bool,
    /// What leaves in this call is held by a queue around the one that is called, and is counted when it leaves that.
    holds: bool,
    /// A queue around the one that is called has chosen the band.
    is_inside: bool,
    /// What queues around the one that is called have taken out of it and still hold ([`Held`]): it counts for limits.
    pub(crate) held: Backlog,
    /// What has happened so far.
    pub accounts: Accounts,
    /// Events also count for this band.
    band: Option<usize>,
    /// Events that a dequeue's result does not show, since they were taken last.
    pub incidents: Vec<Incident>,
    departure: Departure,
}

/// How a packet left a queue.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// What the AQM did to it.
    pub outcome: Outcome,
    /// How long it was in the queue: the time on which the AQM decided, and how long a shaper held it afterwards.
    pub sojourn: Duration,
    /// The queue was empty afterwards.
    pub emptied: bool,
    /// The band that it left, or [`Departure::NO_BAND`]: half a word, because each packet's departure is copied.
    band: u32,
}

impl Departure {
    /// No packet has left.
    pub const NONE: Departure = Departure {
        outcome: Outcome::Passed,
        sojourn: Duration::ZERO,
        emptied: false,
        band: Departure::NO_BAND,
    };
    /// What a queue without bands has for one.
    const NO_BAND: u32 = u32::MAX;

    /// The band that it left, if the queue has bands.
    #[inline]
    pub const fn band(&self) -> Option<usize> {
        if self.band == Departure::NO_BAND { None } else { Some(self.band as usize) }
    }
}

/// A packet that a queue has taken out of the one inside it, past the AQM there, and holds until it may leave: the
/// kernel's `qdisc_peek_dequeued`. It is still part of the queue.
#[derive(Debug)]
pub(crate) struct Held {
    packet: Packet,
    /// What the AQM did to it.
    outcome: Outcome,
    /// The band that it left, where there are several.
    band: Option<usize>,
}

impl Held {
    pub(crate) const fn size(&self) -> Bytes {
        self.packet.size()
    }

    /// The band that it counts for.
    pub(crate) fn band(&self) -> usize {
        self.band.unwrap_or_default()
    }

    /// What it adds to the backlog.
    pub(crate) const fn backlog(&self) -> Backlog {
        Backlog { packets: 1, bytes: self.size() }
    }
}

impl QueueCx {
    /// The context of a queue in front of a link of this rate.
    pub fn new(rate: Rate, overhead: Bytes, deliver_drops: bool) -> QueueCx {
        QueueCx {
            now: Time::ZERO,
            rate,
            overhead,
            deliver_drops,
            replaces: false,
            holds: false,
            is_inside: false,
            held: Backlog::NONE,
            accounts: Accounts::default(),
            band: None,
            incidents: Vec::new(),
            departure: Departure::NONE,
        }
    }

    /// The context of a call at `now`.
    #[inline]
    pub const fn at(&mut self, now: Time) -> &mut QueueCx {
        self.now = now;
        self.band = None;
        self
    }

    /// Asks for the memory of the counters of a band.
    #[inline]
    pub(crate) fn prefetch_band(&self, band: usize) {
        if let Some(stats) = self.accounts.bands.get(band) {
            prefetch(stats);
        }
    }

    /// Selects the band in which the following events happen. A discipline with one band does not call this. Inside of
    /// [`QueueCx::within_band`] it has no effect.
    #[inline]
    pub fn enter_band(&mut self, band: usize) {
        if self.is_inside {
            return;
        }
        if self.accounts.bands.len() <= band {
            self.accounts.bands.resize(band + 1, QueueStats::default());
        }
        self.band = Some(band);
    }

    /// Calls a child of a queue that has several: all that happens counts for `band` of the queue around it. The child's
    /// own bands are not told apart, and neither are these inside of another such call.
    #[inline]
    pub fn within_band<R>(&mut self, band: usize, call: impl FnOnce(&mut QueueCx) -> R) -> R {
        self.enter_band(band);
        let was_inside = std::mem::replace(&mut self.is_inside, true);
        let result = call(self);
        self.is_inside = was_inside;
        result
    }

    /// Calls the child of a queue that lets it send at no more than `rate`.
    #[inline]
    pub fn at_rate<R>(&mut self, rate: Rate, call: impl FnOnce(&mut QueueCx) -> R) -> R {
        let own = self.rate;
        self.rate = own.min(rate);
        let result = call(self);
        self.rate = own;
        result
    }

    /// Calls the child of a queue that has taken `held` out of it.
    #[inline]
    pub(crate) fn while_held<R>(&mut self, held: Backlog, call: impl FnOnce(&mut QueueCx) -> R) -> R {
        let around = self.held;
        self.held = around + held;
        let result = call(self);
        self.held = around;
        result
    }

    /// Takes the next packet out of the child of a queue, which holds it.
    pub(crate) fn hold(&mut self, dequeue: impl FnOnce(&mut QueueCx) -> Option<Packet>) -> Option<Held> {
        let (is_held, last) = (std::mem::replace(&mut self.holds, true), self.departure);
        let packet = dequeue(self);
        self.holds = is_held;
        let Departure { outcome, .. } = std::mem::replace(&mut self.departure, last);
        packet.map(|packet| Held { packet, outcome, band: self.band })
    }

    /// A packet that was held leaves.
    pub(crate) fn release(&mut self, held: Held) -> Packet {
        let Held { packet, outcome, band } = held;
        if let Some(band) = band {
            self.enter_band(band);
        }
        self.departed(&packet, outcome, self.now.since(packet.enqueued_at));
        packet
    }

    #[inline]
    fn count(&mut self, count: impl Fn(&mut QueueStats)) {
        count(&mut self.accounts.total);
        if let Some(band) = self.band {
            count(&mut self.accounts.bands[band]);
        }
    }

    /// A packet was offered.
    #[inline]
    pub fn arrived(&mut self) {
        self.count(|stats| stats.arrived += 1);
    }

    /// Loses a packet. Apart from dequeue, this is the only way out of a queue.
    #[expect(clippy::needless_pass_by_value, reason = "who loses a packet gives it up")]
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.count(|stats| stats.lost += 1);
        self.count_drop(&packet, reason);
    }

    /// Counts the drop of a packet that is delivered with CE instead ([`QueueCx::deliver_drops`]).
    pub fn count_drop(&mut self, packet: &Packet, reason: DropReason) {
        self.count(|stats| match reason {
            DropReason::Full => stats.drops_full += 1,
            DropReason::Overlimit => stats.drops_overlimit += 1,
            DropReason::Aqm => stats.drops_aqm += 1,
            DropReason::Policed => stats.drops_policed += 1,
            DropReason::Filtered => stats.drops_filtered += 1,
        });
        let dropped = Dropped {
            flow: packet.flow,
            id: packet.id(),
            size: packet.size(),
            is_ack: packet.is_pure_ack(),
            reason,
        };
        self.incidents.push(Incident::Dropped(dropped));
    }

    /// A packet was marked on arrival; marks on departure are counted by [`QueueCx::departed`].
    pub fn marked(&mut self, packet: &Packet, signal: Signal) {
        self.count_mark(signal);
        self.incidents.push(Incident::Marked { flow: packet.flow, id: packet.id(), signal });
    }

    fn count_mark(&mut self, signal: Signal) {
        self.count(|stats| match signal {
            Signal::Sce => stats.sce += 1,
            Signal::Ce => stats.ce += 1,
        });
    }

    /// A packet leaves by dequeue. `outcome` was applied to it, and the sojourn time is the one on which the AQM
    /// decided.
    #[expect(clippy::inline_always, reason = "on the path of every packet: 20 instructions of its own")]
    #[inline(always)]
    pub fn departed(&mut self, packet: &Packet, outcome: Outcome, sojourn: Duration) {
        if self.holds {
            self.departure = Departure { outcome, sojourn, emptied: false, band: self.band_left() };
            return;
        }
        let overhead = self.overhead;
        self.count(|stats| {
            stats.departed += 1;
            stats.departed_bytes += packet.size() - overhead;
            stats.waited += sojourn;
        });
        match outcome {
            Outcome::Passed => {}
            Outcome::Marked(signal) => self.count_mark(signal),
            Outcome::Drop => self.count_drop(packet, DropReason::Aqm),
        }
        self.departure = Departure {
            outcome,
            sojourn,
            emptied: self.accounts.total.queued() == 0,
            band: self.band_left(),
        };
    }

    #[inline]
    fn band_left(&self) -> u32 {
        self.band.map_or(Departure::NO_BAND, |band| band as u32)
    }

    /// Returns how the packet left that the last dequeue returned.
    pub const fn departure(&self) -> Departure {
        self.departure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(n: u64) -> QueueStats {
        QueueStats {
            arrived: 100 * n,
            departed: 11 * n,
            departed_bytes: Bytes::new(12 * n),
            waited: Duration::from_nanos(13 * n),
            lost: 14 * n,
            sce: 15 * n,
            ce: 16 * n,
            drops_full: 17 * n,
            drops_overlimit: 18 * n,
            drops_aqm: 19 * n,
            drops_policed: 20 * n,
            drops_filtered: 21 * n,
        }
    }

    /// What has been counted since a time is the difference of each of the counts.
    #[test]
    fn differences() {
        assert_eq!(count(7).since(&count(3)), count(4));
        assert_eq!(count(7).since(&QueueStats::default()), count(7));
        assert_eq!(count(1).queued(), 100 - 11 - 14);
        assert_eq!(count(1).drops(), 17 + 18 + 19 + 20 + 21);
    }

    /// A departure says whether it left the queue empty: the last of two packets does.
    #[test]
    fn emptied() {
        let mut cx = QueueCx::new(Rate::from_mbps(1), Bytes::ZERO, false);
        let packet = Packet::new(FlowId::new(0), Bytes::new(1_500), Bytes::ZERO);
        (0..2).for_each(|_| cx.arrived());
        let emptied = [0, 1].map(|_| {
            cx.departed(&packet, Outcome::Passed, Duration::ZERO);
            cx.departure().emptied
        });
        assert_eq!(emptied, [false, true]);
    }
}
