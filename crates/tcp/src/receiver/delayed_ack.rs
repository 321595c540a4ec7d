//! When a segment is acknowledged.
//!
//! RFC 9293 section 3.8.6.3 and RFC 5681 section 4.2: at least every second segment, at most 500 ms after the first,
//! and at once when a segment is out of order, fills a gap, or is a duplicate. Within these rules the [`AckPolicy`]
//! decides. All segments that wait for one ACK carry the same [`Mark`]: the flags of an ACK describe every segment
//! that it newly acknowledges.

use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::Ecn;

use super::ack_frequency::AckFrequency;
use super::compression::Compression;
use super::feedback::{Mark, News};
use super::handshake::Handshake;
use super::quickack::Quickack;
use crate::ack_policy::{AckParams, AckPolicy};

/// What a segment within the window means for ACKs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// The number of packets merged into it.
    pub(super) packets: u32,
    pub(super) ecn: Ecn,
    pub(super) mark: Mark,
    /// Its mark differs from that of the segments before it, which waited and were acknowledged now.
    pub(super) changed: bool,
    pub(super) news: News,
    /// It lets the window grow.
    pub(super) grew: bool,
    /// It ends the data that the sender had to send.
    pub(super) pushed: bool,
}

/// When an ACK leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    AtOnce,
    /// At once, by Linux's quickack mode.
    Quick,
    Later,
}

/// What the policy needs to know about the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection<'a> {
    pub(super) mss: Bytes,
    pub(super) window: Bytes,
    pub(super) handshake: &'a Handshake,
}

/// What the policy needs of the receiver's parameters.
#[derive(Clone, Copy, Debug)]
struct Rules {
    policy: AckPolicy,
    sack_compression: bool,
    growth_acks: bool,
    count: u32,
    delay: Duration,
}

impl Rules {
    fn of(params: &AckParams) -> Rules {
        let AckParams { policy, sack_compression, growth_acks, count, delay, .. } = *params;
        Rules { policy, sack_compression, growth_acks, count, delay }
    }
}

/// Requests for an ACK rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Never,
    /// The SYN will tell.
    Perhaps,
    NotYet,
    /// For one ACK per this many full segments.
    For(u8),
}

#[derive(Debug)]
pub(super) struct DelayedAck {
    rules: Rules,
    asked: Asked,
    /// Packets that no ACK has acknowledged yet, and their mark.
    pending: u32,
    mark: Mark,
    /// Dithered: segments that arrived with SCE, less those that were acknowledged with ESCE.
    owed: i64,
    /// The latest time for their ACK.
    deadline: Time,
    quickack: Quickack,
    compression: Compression,
    /// The pending segments end the data that the sender had to send.
    pushed: bool,
    /// QUIC's rules for order and marks.
    frequency: Option<Box<AckFrequency>>,
}

impl DelayedAck {
    pub(super) fn new(params: &AckParams, may_be_asked: bool) -> DelayedAck {
        DelayedAck {
            rules: Rules::of(params),
            asked: if may_be_asked { Asked::Perhaps } else { Asked::Never },
            pending: 0,
            mark: Mark::None,
            owed: 0,
            deadline: Time::NEVER,
            quickack: Quickack::new(),
            compression: Compression::default(),
            pushed: false,
            frequency: (params.policy == AckPolicy::Quic)
                .then(|| Box::new(AckFrequency::new(params.reordering_threshold))),
        }
    }

    /// True if an ACK may ever wait.
    pub(super) fn delays(&self) -> bool {
        self.rules.policy != AckPolicy::Immediate || self.asked != Asked::Never
    }

    /// The SYN arrived: the sender understands requests for an ACK rate, or does not.
    pub(super) fn negotiate_requests(&mut self, understood: bool) {
        self.asked = if understood { Asked::NotYet } else { Asked::Never };
    }

    /// ACKs leave as Linux sends them.
    #[inline]
    pub(super) fn is_linux(&self) -> bool {
        self.rules.policy == AckPolicy::Linux && !matches!(self.asked, Asked::For(_))
    }

    /// The handshake agreed on requests.
    #[inline]
    pub(super) fn takes_requests(&self) -> bool {
        matches!(self.asked, Asked::NotYet | Asked::For(_))
    }

    /// The sender asks for one ACK per `ratio` full segments. It takes the place of the policy's own number, with the policy's
    /// delay; marks, gaps and duplicates are reported as before.
    pub(super) fn on_request(&mut self, ratio: u8) {
        self.asked = Asked::For(ratio);
    }

    /// Segments have arrived that no ACK has acknowledged yet.
    pub(super) const fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// What an ACK of the pending segments says about them: their mark, or, dithered, the one that leaves the least
    /// owed.
    #[inline]
    pub(super) fn mark(&self) -> Mark {
        match self.mark {
            Mark::None | Mark::Sce if self.dithers() => {
                let pays = self.owed > 0 && 2 * self.owed >= i64::from(self.pending);
                if pays { Mark::Sce } else { Mark::None }
            }
            mark => mark,
        }
    }

    fn dithers(&self) -> bool {
        self.rules.policy == AckPolicy::Dithered
    }

    /// A segment with `mark` cannot share an ACK with the pending segments.
    #[inline]
    pub(super) fn is_apart_from(&self, mark: Mark) -> bool {
        let blend = || self.dithers() && self.mark != Mark::Ce && mark != Mark::Ce;
        self.pending > 0 && self.mark != mark && !blend()
    }

    /// When the ACK is due; [`Time::NEVER`] if nothing waits.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    /// A segment arrived that the next ACK describes.
    #[inline]
    pub(super) fn on_arrival(&mut self, arrival: Arrival) {
        self.pending += arrival.packets;
        self.owed += if arrival.mark == Mark::Sce { i64::from(arrival.packets) } else { 0 };
        self.mark = arrival.mark;
        self.pushed |= arrival.pushed;
        if arrival.news == News::FirstCe {
            self.quickack.on_ce();
        }
        if arrival.grew && self.rules.growth_acks {
            self.quickack.on_growth();
        }
    }

    /// The application has read everything that has arrived: true if the pending segments are acknowledged now.
    #[inline]
    pub(super) fn leaves_when_read(&self) -> bool {
        self.pushed
            && self.pending > 0
            && self.rules.policy == AckPolicy::Linux
            && !matches!(self.asked, Asked::For(_))
    }

    /// Less than half of the buffer is free.
    #[inline]
    pub(super) fn on_low_memory(&mut self) {
        self.quickack.on_low_memory();
    }

    /// The next segment in order arrived, and nothing is missing; `unacked` bytes wait for an ACK with it.
    #[inline]
    pub(super) fn on_in_order(
        &mut self,
        arrival: Arrival,
        unacked: Bytes,
        connection: &Connection<'_>,
        now: Time,
    ) -> Leave {
        if let Asked::For(ratio) = self.asked {
            return self.as_asked(ratio, arrival, unacked, connection, now);
        }
        if self.rules.policy == AckPolicy::Linux {
            return self.linux(arrival, unacked, connection, now);
        }
        self.on_arrival(arrival);
        let is_due = self.pending >= self.rules.count || self.rules.policy == AckPolicy::Immediate;
        if is_due || self.is_signal(arrival) {
            Leave::AtOnce
        } else {
            self.wait_until(now + self.rules.delay)
        }
    }

    /// The policy acknowledges what a segment says about marks at once.
    #[inline]
    fn is_signal(&self, arrival: Arrival) -> bool {
        match self.rules.policy {
            AckPolicy::Immediate => false,
            AckPolicy::Every | AckPolicy::Dithered => matches!(arrival.news, News::Due | News::Ce),
            AckPolicy::QuickSignal => arrival.mark == Mark::Sce || arrival.ecn == Ecn::Ce,
            AckPolicy::StateChange => arrival.changed || !matches!(arrival.news, News::None | News::Changed),
            AckPolicy::Linux => arrival.news.is_urgent(),
            AckPolicy::Quic => {
                arrival.news == News::Due
                    || self.frequency.as_ref().is_some_and(|frequency| frequency.is_marked())
            }
        }
    }

    /// One ACK per `ratio` full segments, after the policy's delay at the latest. Linux counts bytes.
    #[cold]
    fn as_asked(
        &mut self,
        ratio: u8,
        arrival: Arrival,
        unacked: Bytes,
        connection: &Connection<'_>,
        now: Time,
    ) -> Leave {
        let linux = self.rules.policy == AckPolicy::Linux;
        if linux {
            self.quickack.on_data(connection.handshake.rto(), connection.window, connection.mss, now);
        }
        self.on_arrival(arrival);
        let is_due = if linux {
            unacked >= connection.mss * u64::from(ratio)
        } else {
            self.pending >= u32::from(ratio)
        };
        if is_due || self.is_signal(arrival) {
            return Leave::AtOnce;
        }
        let delay = if linux { self.quickack.delay(connection.handshake.rtt()) } else { self.rules.delay };
        self.wait_until(now + delay)
    }

    /// The FIN arrived in order, with data if there is an `arrival`; `unacked` sequence numbers wait for an ACK. The
    /// application closes as well, and its FIN carries the ACK. As in Linux, quickack mode ends with the FIN, and only
    /// more than one full segment is acknowledged before.
    pub(super) fn on_fin(
        &mut self,
        arrival: Option<Arrival>,
        unacked: Bytes,
        connection: &Connection<'_>,
        now: Time,
    ) -> Leave {
        let mut urgent = false;
        if let Some(arrival) = arrival {
            self.quickack.on_data(connection.handshake.rto(), connection.window, connection.mss, now);
            self.on_arrival(arrival);
            urgent = arrival.news.is_urgent();
        }
        let linux = self.rules.policy == AckPolicy::Linux;
        if linux && (unacked > connection.mss || urgent) { Leave::AtOnce } else { Leave::Later }
    }

    /// On a connection with SACK, a segment arrived above a gap while `gap` is awaited, and all of it is new.
    pub(super) fn on_out_of_order(
        &mut self,
        arrival: Arrival,
        gap: Seq,
        connection: &Connection<'_>,
        now: Time,
    ) -> Leave {
        self.on_arrival(arrival);
        let compresses = self.rules.policy == AckPolicy::Linux && self.rules.sack_compression;
        if !compresses || arrival.news.is_urgent() {
            return Leave::AtOnce;
        }
        if self.quickack.is_on() {
            return Leave::Quick;
        }
        match self.compression.hold(gap, connection.handshake.rtt()) {
            Some(delay) => self.wait_until(now + delay),
            None => Leave::AtOnce,
        }
    }

    /// A segment in order filled a gap, or a part of it, and is acknowledged at once; `unacked` bytes wait for an ACK. If
    /// another `gap` follows, its ACK is the first that reports it (Linux `__tcp_ack_snd_check`).
    pub(super) fn on_gap_filled(
        &mut self,
        arrival: Arrival,
        unacked: Bytes,
        gap: Option<Seq>,
        connection: &Connection<'_>,
        now: Time,
    ) {
        self.quickack.on_data(connection.handshake.rto(), connection.window, connection.mss, now);
        self.on_arrival(arrival);
        let urgent = unacked > connection.mss || arrival.news.is_urgent() || self.quickack.is_on();
        if let Some(gap) = gap
            && !urgent
        {
            self.compression.on_reported(gap);
        }
    }

    /// A segment arrived that holds old data, or lies beyond the window.
    pub(super) fn on_unacceptable(&mut self, connection: &Connection<'_>) {
        self.quickack.on_unacceptable(connection.window, connection.mss);
    }

    /// ACKs of out-of-order segments that wait.
    #[inline]
    pub(super) fn held(&self) -> u32 {
        self.compression.held()
    }

    /// QUIC's rules apply to what is out of order.
    pub(super) fn frequency(&self) -> Option<&AckFrequency> {
        self.frequency.as_deref()
    }

    /// A packet arrived whose data end at `end`.
    #[inline]
    pub(super) fn on_packet(&mut self, end: Seq, ecn: Ecn) {
        if let Some(frequency) = &mut self.frequency {
            let count = if let Asked::For(ratio) = self.asked { u32::from(ratio) } else { self.rules.count };
            frequency.on_packet(end, ecn, count);
        }
    }

    /// A packet that is not the next one in order arrived, and QUIC's rules say whether it is acknowledged at once
    /// (`reordered`); else as if it were.
    pub(super) fn on_quic(
        &mut self,
        arrival: Arrival,
        reordered: bool,
        connection: &Connection<'_>,
        now: Time,
    ) -> Leave {
        let leave = self.on_in_order(arrival, Bytes::ZERO, connection, now);
        if reordered { Leave::AtOnce } else { leave }
    }

    /// The deadline is over.
    pub(super) fn on_expiry(&mut self, rto: Duration) {
        if self.compression.held() == 0 {
            self.quickack.on_expiry(rto);
        }
    }

    /// All pending segments were acknowledged.
    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        if self.mark() == Mark::Sce {
            self.owed -= i64::from(self.pending);
        }
        self.pending = 0;
        self.mark = Mark::None;
        self.pushed = false;
        if let Some(frequency) = &mut self.frequency {
            frequency.on_ack_sent();
        }
        self.deadline = Time::NEVER;
        self.quickack.on_ack_sent();
        self.compression.on_ack_sent();
    }

    /// Linux: at once in quickack mode, once more than one full segment is pending, and on urgent news; else after
    /// the ATO.
    #[expect(clippy::inline_always, reason = "compiled for each way of a segment")]
    #[inline(always)]
    pub(super) fn linux(
        &mut self,
        arrival: Arrival,
        unacked: Bytes,
        connection: &Connection<'_>,
        now: Time,
    ) -> Leave {
        self.quickack.on_data(connection.handshake.rto(), connection.window, connection.mss, now);
        self.on_arrival(arrival);
        if unacked > connection.mss || arrival.news.is_urgent() {
            return Leave::AtOnce;
        }
        if self.quickack.is_on() {
            return Leave::Quick;
        }
        let delay = self.quickack.delay(connection.handshake.rtt());
        self.wait_until(now + delay)
    }

    #[inline]
    fn wait_until(&mut self, deadline: Time) -> Leave {
        self.deadline = self.deadline.min(deadline);
        Leave::Later
    }
}
