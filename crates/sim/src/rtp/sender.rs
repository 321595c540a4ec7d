//! The sending end: a source that follows its controller's target rate, and what window and pace let leave.

use windtunnel_cc::{
    AckSample, ArrivedPacket, CongestionControl, CongestionEvent, Delivery, EcnFeedback, ExitReason, Marked,
    MediaFrame, Pacing, PathView, Phase, SentSegment, Trigger,
};
use windtunnel_tcp::Endpoint;
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};
use windtunnel_wire::Packet;

use super::flight::{Flight, News};
use super::progress::Progress;
use super::queue::SendQueue;
use super::rtt::RoundTrip;
use super::{HEADERS, Report};
use crate::application::{Completion, Frames, MediaParams};
use crate::endpoint::{Counters, Feedback, Reading, SenderHalf, SenderState};

/// The sending end of media over RTP.
#[derive(Debug)]
pub(crate) struct RtpSender {
    endpoint: Endpoint,
    cc: Box<dyn CongestionControl>,
    source: Frames,
    /// The range of the source's rate.
    least: Rate,
    most: Rate,
    discard_after: Option<Duration>,
    /// When the next frame is made.
    next_frame: Time,
    queue: SendQueue,
    progress: Progress,
    flight: Flight,
    rtt: RoundTrip,
    /// From when on the pace lets the next data unit leave.
    next_departure: Time,
    /// When the wait for a report ends.
    timeout: Time,
    /// How many waits in a row ended without one.
    expiries: u32,
    /// The last count of CE that was reported.
    ce: u16,
    /// The data units that a report newly tells, if it tells when they arrived.
    arrivals: Vec<ArrivedPacket>,
    counters: Counters,
}

impl RtpSender {
    pub(crate) fn new(endpoint: Endpoint, cc: Box<dyn CongestionControl>, media: &MediaParams) -> RtpSender {
        RtpSender {
            endpoint,
            cc,
            source: Frames::new(media),
            least: media.min_rate,
            most: media.rate,
            discard_after: media.discard_after,
            next_frame: Time::NEVER,
            queue: SendQueue::default(),
            progress: Progress::default(),
            flight: Flight::new(),
            rtt: RoundTrip::default(),
            next_departure: Time::ZERO,
            timeout: Time::NEVER,
            expiries: 0,
            ce: 0,
            arrivals: Vec::new(),
            counters: Counters::default(),
        }
    }

    fn path(&self, now: Time) -> PathView {
        PathView {
            now,
            mss: self.endpoint.mss(),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.least(),
            in_flight: self.flight.bytes(),
            una: self.flight.una(),
            nxt: self.flight.nxt(),
        }
    }

    /// A frame is due.
    fn make_frame(&mut self, now: Time) {
        let period = self.source.interval();
        self.next_frame = now + period;
        let waited = self.queue.waited(now);
        self.discard(now);
        let target = self.cc.target_bitrate().unwrap_or(self.most);
        let size = self.source.frame_at(target.max(self.least).min(self.most));
        let units = self.queue.push(self.progress.next(), size, self.endpoint.mss(), now);
        self.progress.push(size, units, now);
        let frame = MediaFrame { size, period, waited, least: self.least, most: self.most };
        self.cc.on_frame(&frame, &self.path(now));
    }

    /// Discards frames that have waited too long. The decoder then needs a key frame.
    fn discard(&mut self, now: Time) {
        let Some(longest) = self.discard_after else { return };
        while let Some((frame, units)) = self.queue.discard(longest, now) {
            self.progress.lost(frame, units);
            self.source.next_is_key();
        }
    }

    /// The window has room for `payload` bytes. One data unit may always be in flight.
    fn has_room(&self, payload: Bytes) -> bool {
        let in_flight = self.flight.bytes();
        in_flight == Bytes::ZERO || in_flight + payload <= self.cc.cwnd()
    }

    /// The window, and nothing else, keeps the next data unit from leaving.
    fn is_window_limited(&self) -> bool {
        self.queue.front().is_some_and(|unit| !self.has_room(unit.payload))
    }

    /// Losses and marks are told to the controller, each as one event of congestion.
    fn tell_congestion(&mut self, trigger: Trigger, lost: Bytes, rtt: Option<Duration>, now: Time) {
        let event = CongestionEvent { trigger, window: self.cc.cwnd(), lost, rtt };
        let reduced = self.cc.on_congestion(&event, &self.path(now));
        match trigger {
            Trigger::Loss => self.counters.loss_episodes += u64::from(reduced),
            Trigger::Ce => self.counters.ecn_reductions += u64::from(reduced),
            Trigger::Controller => {}
        }
    }

    /// The marks on what a report newly covers: it counts packets, so their bytes are in proportion.
    fn newly_marked(&mut self, report: &Report, delivered: Marked) -> Marked {
        let newly = report.ce.wrapping_sub(self.ce);
        if newly > u16::MAX / 2 {
            // An older report that was overtaken.
            return Marked::default();
        }
        self.ce = report.ce;
        let packets = u32::from(newly).min(delivered.packets);
        let bytes = if packets == 0 {
            Bytes::ZERO
        } else {
            delivered.bytes * u64::from(packets) / u64::from(delivered.packets)
        };
        Marked { bytes, packets }
    }

    /// What a report tells goes to the controller in the order of its contract.
    fn tell(&mut self, news: &News, ce: Marked, now: Time) {
        let ecn = EcnFeedback { ce, ..EcnFeedback::default() };
        let path = self.path(now);
        for packet in self.arrivals.drain(..) {
            self.cc.on_arrival(&packet, &path);
        }
        let News { delivered, advanced, rtt, one_way } = *news;
        let delivery = Delivery { acked: advanced, rtt, delivered, ecn, slow_path: false };
        self.cc.on_delivery(&delivery, &path);
        let cc = &mut self.cc;
        let lost = self.flight.find_losses(path.min_rtt, now, |segment| cc.on_lost(segment, &path));
        if lost > Bytes::ZERO {
            self.tell_congestion(Trigger::Loss, lost, rtt, now);
        }
        if ce.any() {
            self.tell_congestion(Trigger::Ce, Bytes::ZERO, rtt, now);
        }
        let cwnd_limited = self.is_window_limited();
        let ack = AckSample {
            acked: advanced,
            newly_delivered: delivered.bytes,
            may_raise: true,
            newly_lost: lost,
            delivered: self.flight.delivered(),
            lost: self.flight.lost(),
            next_departure: self.next_departure,
            rtt,
            one_way,
            ecn,
            app_limited: self.queue.is_empty(),
            cwnd_limited,
            ..AckSample::default()
        };
        self.cc.on_ack(&ack, &self.path(now));
    }

    /// The wait for the next report starts.
    fn wait(&mut self, now: Time) {
        let waits = self.flight.bytes() > Bytes::ZERO;
        self.timeout = if waits { now + self.rtt.timeout(self.expiries) } else { Time::NEVER };
    }

    /// No report came: everything in flight is lost.
    fn expire(&mut self, now: Time) {
        let nxt = self.flight.nxt();
        let view = PathView { in_flight: Bytes::ZERO, una: nxt, ..self.path(now) };
        let cc = &mut self.cc;
        self.flight.lose_all(now, |segment| cc.on_lost(segment, &view));
        self.cc.on_rto(self.expiries == 0, &view);
        self.expiries += 1;
        self.counters.rtos += 1;
        self.settle();
        self.wait(now);
    }

    fn settle(&mut self) {
        let progress = &mut self.progress;
        self.flight.forget(|frame| progress.lost(frame, 1));
    }

    fn packet(&self, number: u64, payload: Bytes, last: bool, now: Time) -> Packet {
        let mut packet = Packet::new(self.endpoint.flow, payload + HEADERS, payload);
        packet.seq = Seq::new(number);
        packet.ts_val = now;
        packet.window = u16::from(last);
        packet.ecn = self.endpoint.ecn;
        packet.dscp = self.endpoint.dscp;
        packet
    }
}

impl SenderHalf for RtpSender {
    fn start(&mut self, now: Time) {
        self.next_frame = now;
    }

    fn stop(&mut self) {
        self.next_frame = Time::NEVER;
        while let Some((frame, units)) = self.queue.clear() {
            self.progress.lost(frame, units);
        }
    }

    /// The highest rate; the lowest is not above it.
    fn set_rate(&mut self, rate: Rate, _now: Time) {
        (self.least, self.most) = (self.least.min(rate), rate);
    }

    fn on_packet(&mut self, packet: &Packet, now: Time) -> Feedback {
        let report = Report::of(packet);
        let (progress, arrivals, times) = (&mut self.progress, &mut self.arrivals, packet.arrivals());
        let news = self.flight.acknowledge(&report, now, |unit| {
            progress.arrived(unit.frame);
            if let Some(arrived) = times.and_then(|times| times.get(unit.below)) {
                arrivals.push(ArrivedPacket { sent: unit.sent, arrived: *arrived, payload: unit.payload });
            }
        });
        if let Some(rtt) = news.rtt {
            self.rtt.update(rtt);
        }
        let ce = self.newly_marked(&report, news.delivered);
        if news.delivered.any() {
            self.expiries = 0;
            self.tell(&news, ce, now);
            self.wait(now);
        }
        self.settle();
        Feedback { rtt: news.rtt, ece: ce.any(), esce: false, cwnd_limited: self.is_window_limited() }
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        if self.next_frame <= now {
            self.make_frame(now);
        }
        let unit = self.queue.front()?;
        if now < self.next_departure || !self.has_room(unit.payload) {
            return None;
        }
        self.queue.pop();
        let is_first = self.flight.bytes() == Bytes::ZERO;
        let (number, seq) = self.flight.send(unit, self.queue.is_empty(), now);
        let sent = SentSegment { seq, payload: unit.payload, retransmission: false };
        self.cc.on_sent(&sent, &self.path(now));
        if let Pacing::Rate(rate) = self.cc.pacing()
            && rate > Rate::ZERO
        {
            self.next_departure = now + rate.transfer_time(unit.payload);
        }
        if is_first {
            self.wait(now);
        }
        Some(self.packet(number, unit.payload, unit.last, now))
    }

    fn next_timer(&self) -> Time {
        let can_leave = self.queue.front().is_some_and(|unit| self.has_room(unit.payload));
        let departure = if can_leave { self.next_departure } else { Time::NEVER };
        departure.min(self.next_frame).min(self.timeout)
    }

    fn on_timer(&mut self, now: Time) -> bool {
        let expired = self.timeout <= now;
        if expired {
            self.expire(now);
        }
        expired
    }

    fn observe(&self) -> SenderState {
        SenderState {
            cwnd: Some(self.cc.cwnd()),
            in_flight: self.flight.bytes(),
            srtt: self.rtt.smoothed(),
            cwnd_limited: self.is_window_limited(),
        }
    }

    fn completion(&mut self, _now: Time) -> Option<Completion> {
        self.progress.completion()
    }

    fn in_slow_start(&self) -> bool {
        self.cc.control().phase == Phase::SlowStart
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.cc.slow_start_exit()
    }

    fn reading(&self) -> Reading {
        let counters = Counters {
            sent: self.flight.sent(),
            delivered: self.flight.delivered(),
            messages: self.progress.next(),
            ..self.counters
        };
        Reading { counters, info: None }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.cc.probe(out);
    }

    fn is_done(&self) -> bool {
        self.next_frame == Time::NEVER && self.queue.is_empty() && self.flight.bytes() == Bytes::ZERO
    }
}
