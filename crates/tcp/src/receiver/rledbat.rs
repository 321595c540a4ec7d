//! rLEDBAT: the receiver runs a controller for background traffic, and limits its sender by the window that it offers.
//!
//! RFC 9840; spec/ccwg-2026 section K.5, which says where the rules are open. The sender is any TCP: it sends no more
//! than the window allows, whatever its own controller would.
//!
//! - Section 4.1: an ACK offers the lesser of what flow control allows (fcWND) and the controller's window (rlWND). The
//!   right edge of what was offered never moves back, so the window falls by no more than what has arrived, and a
//!   lower rlWND is in force once that much is received. The scale of the window is at most 11, and its unit at most a
//!   segment: what is left of the window is rounded up to units, and would not fall otherwise. rlWND is rounded down to
//!   units, and two segments up.
//! - Section 4.2: the round trip is from the first ACK with a timestamp to the first segment that echoes it. An ACK that
//!   has made the window smaller gives no sample: its sender could not answer it. Segments without data give none either:
//!   they are shorter, and a base from the handshake would be one that nothing later can show. A controller of one-way delays (LEDBAT)
//!   has the time from the segment's own timestamp to its arrival, with the clocks' offset, which the base has, too.
//! - Section 4.3: a segment below the highest one, and with a later timestamp than that, is a retransmission. It counts as
//!   a loss, at most once in a round trip. Lost retransmissions and the tail of a window do not show: there the sender's own
//!   controller answers alone.
//! - Appendix A: rlWND is at its maximum at first. Here the controller's window follows what the sender has in flight, until
//!   the controller makes it smaller for the first time.
//!
//! A receiver sees no departures. What was in flight is the distance from what an ACK acknowledged to the end of what was
//! sent after it, by the echo. Where that stays below the window, something else limits the sender, and rlWND does
//! not grow, as cwnd would not.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, ControllerParams, FlowInit, PathView, Phase, Trigger,
};
use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::Receiver;
use super::segment::Segment;
use crate::config::Endpoint;
use crate::timestamp_clock::{start_of_tick, ticks};

/// The round trips among which the least counts.
const FILTER: usize = 4;
/// A sender of full segments leaves less than one of the window unused, and the first of two that an ACK released
/// arrives before the other.
const UNUSED_SEGMENTS: u64 = 2;

/// The parameters of a controller that a receiver runs.
#[derive(Clone)]
pub struct ReceiverController(pub Arc<dyn ControllerParams>);

impl Deref for ReceiverController {
    type Target = dyn ControllerParams;

    fn deref(&self) -> &(dyn ControllerParams + 'static) {
        &*self.0
    }
}

impl PartialEq for ReceiverController {
    fn eq(&self, other: &ReceiverController) -> bool {
        *self.0 == *other.0
    }
}

impl fmt::Debug for ReceiverController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The ACKs of one tick of the timestamp clock.
#[derive(Clone, Copy, Debug)]
struct Sent {
    tick: u64,
    /// When the first of them left.
    at: Time,
    /// What the first one offered.
    edge: Seq,
    /// What the last one acknowledged.
    ack: Seq,
    /// The first one offered a smaller window than the ACK before it.
    reduced: bool,
    /// A segment has echoed it.
    echoed: bool,
}

/// What is known of a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The most in flight.
    flight: Bytes,
    /// The window limited the sender.
    limited: bool,
}

/// The receiver's controller, and what it is told.
#[derive(Debug)]
pub(super) struct RLedbat {
    cc: Box<dyn CongestionControl>,
    measures_one_way: bool,
    /// The controller has made the window smaller: from then on it limits the sender.
    limits: bool,
    mss: Bytes,
    /// What the window's field counts, and two segments in whole units.
    unit: Bytes,
    least: Bytes,
    /// Flow control's window, where that is fixed.
    fixed: Bytes,
    /// The window of the last ACK.
    offered: Bytes,
    now: Time,
    sent: VecDeque<Sent>,
    /// The last round trips, and the least of all.
    rtts: [Duration; FILTER],
    samples: usize,
    min_rtt: Duration,
    /// A sample that the controller has not heard yet.
    rtt: Option<Duration>,
    /// This round trip, which started then, and the one before.
    round: Round,
    round_start: Time,
    before: Round,
    /// A loss was answered then; the window stays as it is until the answer has been in force.
    answered: Option<Time>,
    /// `RCV.HGH`, the end of the highest segment, and `TSV.HGH`, its timestamp in ticks.
    highest: Seq,
    highest_tick: u64,
}

impl RLedbat {
    /// `unit` is that of the window's field, and `fixed` flow control's window, if it is fixed.
    pub(super) fn new(
        params: &ReceiverController,
        endpoint: &Endpoint,
        unit: Bytes,
        fixed: Bytes,
    ) -> RLedbat {
        let mss = endpoint.mss();
        let init = FlowInit { mtu: endpoint.mtu, min_cwnd: endpoint.min_cwnd(), ..FlowInit::new(mss) };
        let cc = params.build(init);
        RLedbat {
            measures_one_way: cc.needs().one_way,
            cc,
            limits: false,
            mss,
            unit,
            least: Bytes::new((mss * 2).get().next_multiple_of(unit.get())),
            fixed,
            offered: Bytes::ZERO,
            now: Time::ZERO,
            sent: VecDeque::new(),
            rtts: [Duration::MAX; FILTER],
            samples: 0,
            min_rtt: Duration::ZERO,
            rtt: None,
            round: Round::default(),
            round_start: Time::ZERO,
            before: Round::default(),
            answered: None,
            highest: Seq::SYN,
            highest_tick: 0,
        }
    }

    /// rlWND in whole units; nothing while it is at its maximum.
    fn limit(&self) -> Option<Bytes> {
        let whole = || Bytes::new(self.cc.cwnd().get() / self.unit.get() * self.unit.get());
        self.limits.then(|| whole().max(self.least))
    }

    /// The lesser of flow control's window and rlWND.
    pub(super) fn limited(&self, flow_control: Bytes) -> Bytes {
        self.limit().map_or(flow_control, |limit| limit.min(flow_control))
    }

    /// It is `now`.
    pub(super) fn at(&mut self, now: Time) {
        self.now = now;
    }

    /// An ACK of everything below `ack` leaves, and offers `window`, up to `edge`.
    pub(super) fn on_offer(&mut self, ack: Seq, edge: Seq, window: Bytes) {
        let (tick, reduced) = (ticks(self.now), window < self.offered);
        self.offered = window;
        match self.sent.back_mut().filter(|last| last.tick == tick) {
            Some(last) => last.ack = ack,
            None => {
                self.sent.push_back(Sent { tick, at: self.now, edge, ack, reduced, echoed: false });
            }
        }
    }

    /// A segment arrived whose echo may be that of an ACK. Returns what is known of those ACKs, and takes a sample of the round
    /// trip from the first segment.
    fn on_echo(&mut self, segment: &Segment) -> Option<Sent> {
        let tick = ticks(segment.ts_ecr);
        while self.sent.front().is_some_and(|sent| sent.tick < tick) {
            self.sent.pop_front();
        }
        let sent = self.sent.front_mut().filter(|sent| sent.tick == tick)?;
        if !std::mem::replace(&mut sent.echoed, true) && !sent.reduced {
            let rtt = self.now.since(sent.at);
            self.rtts[self.samples % FILTER] = rtt;
            self.samples += 1;
            self.min_rtt = if self.samples == 1 { rtt } else { self.min_rtt.min(rtt) };
            self.rtt = Some(rtt);
        }
        Some(*sent)
    }

    /// What a segment shows that was sent after these ACKs.
    fn on_flight(&mut self, segment: &Segment, sent: &Sent) {
        if sent.at >= self.round_start {
            self.before = std::mem::take(&mut self.round);
            self.round_start = self.now;
        }
        if segment.end > sent.ack {
            self.round.flight = self.round.flight.max(segment.end - sent.ack);
        }
        self.round.limited |= segment.end + self.mss * UNUSED_SEGMENTS > sent.edge;
        if self.answered.is_some_and(|answered| sent.at >= answered) {
            self.answered = None;
        }
    }

    /// Section 4.3.
    fn is_retransmission(&mut self, segment: &Segment) -> bool {
        let tick = ticks(segment.ts_val);
        let again = segment.seq < self.highest && tick > self.highest_tick;
        if segment.end > self.highest {
            self.highest = segment.end;
            self.highest_tick = tick;
        }
        again
    }

    fn flight(&self) -> Bytes {
        self.round.flight.max(self.before.flight).max(self.mss)
    }

    /// The same where a sender that the window limits has all of it in flight: what is left is less than a segment, by the
    /// units of the window and of data. LEDBAT lets its window exceed the flight by a segment, and could not grow else.
    fn used(&self) -> Bytes {
        let limited = self.round.limited || self.before.limited;
        if limited { self.flight().max(self.cc.cwnd()) } else { self.flight() }
    }

    /// The window limited the sender in this round trip or the last. While the controller seeks the capacity, half of it
    /// is enough (as for Linux's `tcp_is_cwnd_limited`).
    fn is_limited(&self) -> bool {
        let seeks = self.cc.control().phase == Phase::SlowStart;
        self.round.limited || self.before.limited || (seeks && self.flight() * 2 >= self.offered)
    }

    /// A segment arrived; `new` bytes of it had not arrived before, and all below `rcv_nxt` had.
    pub(super) fn on_segment(&mut self, segment: &Segment, new: Bytes, rcv_nxt: Seq, now: Time) {
        self.now = now;
        if segment.len() == Bytes::ZERO {
            return;
        }
        if let Some(sent) = self.on_echo(segment) {
            self.on_flight(segment, &sent);
        }
        let retransmission = self.is_retransmission(segment);
        let flight = self.flight();
        let path = PathView {
            now,
            mss: self.mss,
            srtt: if self.samples == 0 {
                Duration::ZERO
            } else {
                self.rtts.into_iter().min().unwrap_or_default()
            },
            min_rtt: self.min_rtt,
            in_flight: self.used().saturating_sub(new),
            una: rcv_nxt,
            nxt: self.highest,
        };
        if !self.limits {
            self.cc.adopt_window(flight);
        }
        if retransmission && self.answered.is_none() {
            let window = self.cc.cwnd();
            let (trigger, lost, rtt) = (Trigger::Loss, segment.len(), self.rtt);
            self.limits = true;
            self.answered = Some(now);
            self.cc.on_congestion(&CongestionEvent { trigger, window, lost, rtt }, &path);
        }
        let one_way = now.since(start_of_tick(segment.ts_val));
        let ack = AckSample {
            acked: new,
            newly_delivered: new,
            may_raise: self.answered.is_none() && new > Bytes::ZERO,
            growth_barred: self.answered.is_some() || (self.limits && !self.is_limited()),
            rtt: self.rtt.take(),
            one_way: self.measures_one_way.then_some(one_way),
            ..AckSample::default()
        };
        self.cc.on_ack(&ack, &path);
        self.limits |= self.cc.cwnd() < flight;
    }

    /// Gives memory back that is not in use.
    pub(super) fn give_back(&mut self) {
        self.sent.shrink_to_fit();
    }
}

impl Receiver {
    /// A segment arrived at TCP: the controller hears of it before it is acknowledged.
    #[cold]
    pub(super) fn limit_by(&mut self, segment: &Segment, now: Time) {
        let start = segment.seq.max(self.rcv_nxt);
        let held = self.reassembly.ranges().any(|range| range.start <= start && segment.end <= range.end);
        let new = if held || segment.end <= start { Bytes::ZERO } else { segment.end - start };
        if let Some(rledbat) = &mut self.rledbat {
            rledbat.on_segment(segment, new, self.rcv_nxt, now);
        }
    }

    /// The window field of an ACK.
    #[cold]
    pub(super) fn offer_limited(&mut self) -> u16 {
        let Some(rledbat) = &mut self.rledbat else { return self.window.offer(self.rcv_nxt) };
        let (flow_control, low) =
            self.buffer.as_ref().map_or((rledbat.fixed, false), |buffer| buffer.offer());
        if low {
            self.delayed_ack.on_low_memory();
        }
        let window = self.window.offer_at_least(rledbat.limited(flow_control), self.rcv_nxt);
        rledbat.on_offer(self.rcv_nxt, self.window.edge(), self.window.size());
        window
    }
}
