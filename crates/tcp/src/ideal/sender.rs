//! The sender of the ideal profile (spec/mds section 2).
//!
//! Order of work for one ACK: in-flight, RTT, srtt, then the congestion signal (CE first; SCE only if there is
//! no CE), then growth, then an attempt to send. A segment may leave iff `in_flight + MSS <= cwnd`.

use std::mem::offset_of;

use windtunnel_cc::rate_sample::Sample;
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, Delivery, EcnFeedback, ExitReason, Feedback,
    Marked, Needs, Pacing, PacingNeed, PathView, Phase, SentSegment, Trigger,
};
use windtunnel_prefetch::{prefetch, prefetch_first};
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet, TcpFlags};

use super::Ack;
use super::pacer::{Burst, Departing, Pacer};
use super::rtt::RttEstimator;
use super::samples::Samples;
use crate::ack_report::AckReport;
use crate::config::{Endpoint, HEADERS};

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    Established,
}

/// A sender of the ideal profile with an endless supply of data. What each packet reads comes first, as much as two cache
/// lines hold: with many flows, every line counts.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    cc: Box<dyn CongestionControl>,
    /// The controller's window after its last event.
    cwnd: Bytes,
    in_flight: Bytes,
    mss: Bytes,
    snd_una: Seq,
    snd_nxt: Seq,
    delivered: Bytes,
    rtt: RttEstimator,
    /// The controller's pacing after its last event.
    pacing: Pacing,
    pacer: Pacer,
    /// The largest IP packet.
    mtu: Bytes,
    flow: FlowId,
    ecn: Ecn,
    dscp: Dscp,
    hears_sce: bool,
    state: State,
    /// The application has data to send.
    active: bool,
    /// Departures are paced.
    paced: bool,
    /// The controller wants to hear about each departure, or has a window of its own.
    attentive: bool,
    /// The controller wants more of an ACK than its sample.
    inquires: bool,
    needs: Needs,
    burst: Burst,
    samples: Option<Box<Samples>>,
    /// When the last segment left, if the sender is `attentive`.
    last_sent: Time,
}

/// What each packet reads of a sender.
const HOT: usize = 128;

const _: () = assert!(offset_of!(Sender, needs) <= HOT);

impl Sender {
    /// Asks for what each packet reads.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_first(self, HOT);
    }

    /// Prefetches the memory that the next ACK needs in addition to this: the controller.
    #[inline]
    pub fn prefetch_details(&self) {
        prefetch(&*self.cc);
    }

    /// A sender for `endpoint` under the controller `cc`.
    pub fn new(endpoint: Endpoint, cc: Box<dyn CongestionControl>) -> Sender {
        let needs = cc.needs();
        Sender {
            mtu: endpoint.mtu,
            flow: endpoint.flow,
            ecn: endpoint.ecn,
            dscp: endpoint.dscp,
            hears_sce: endpoint.feedback.hears_sce(),
            mss: endpoint.mss(),
            state: State::Closed,
            active: false,
            snd_una: Seq::SYN,
            snd_nxt: Seq::SYN,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            rtt: RttEstimator::default(),
            pacer: Pacer::default(),
            burst: Burst::default(),
            cwnd: cc.cwnd(),
            pacing: cc.pacing(),
            needs,
            paced: endpoint.paced || needs.pacing == PacingNeed::Always,
            attentive: needs.departures || needs.rate_samples || needs.own_window,
            inquires: needs.one_way || needs.rate_samples || needs.delivery_reports || needs.own_reductions,
            samples: needs.rate_samples.then(|| Box::new(Samples::new())),
            last_sent: Time::ZERO,
            cc,
        }
    }

    /// The application has data from now on (`true`), or has no more (`false`); data in flight drain.
    pub fn set_active(&mut self, active: bool) {
        self.active = active;
        if let Some(samples) = self.samples.as_mut().filter(|_| !active) {
            samples.on_app_limited(self.in_flight);
        }
    }

    /// What it keeps about segments in flight.
    pub fn memory(&self) -> Bytes {
        self.samples.as_ref().map_or(Bytes::ZERO, |samples| samples.memory())
    }

    /// True if a packet may leave now.
    #[inline]
    pub fn may_send(&self) -> bool {
        let allowed = match self.state {
            State::Established => self.pacer.ready() && self.in_flight + self.mss <= self.cwnd,
            State::Closed => true,
            State::SynSent => false,
        };
        self.active && allowed
    }

    /// The next packet to send, if one may leave now; call until there is none.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.may_send()
            .then(|| if self.state == State::Established { self.next_segment(now) } else { self.syn(now) })
    }

    /// A packet with an ACK arrived.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub fn on_ack(&mut self, packet: &Packet, now: Time) -> AckReport {
        self.hear(Ack::of(packet), now)
    }

    /// An ACK arrived, in a packet or without one.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub fn hear(&mut self, ack: Ack, now: Time) -> AckReport {
        let rtt = now - ack.ts_ecr;
        self.rtt.sample(rtt);
        if self.state == State::SynSent {
            self.snd_una = ack.ack;
            self.state = State::Established;
            let path = self.path(now);
            self.cc.on_established(&path);
            self.follow_controller();
            return AckReport { rtt: Some(rtt), ..AckReport::default() };
        }
        let acked = ack.ack - self.snd_una;
        self.snd_una = ack.ack;
        self.in_flight -= acked;
        self.delivered += acked;
        let ece = ack.flags.contains(TcpFlags::ECE);
        let esce = ack.flags.contains(TcpFlags::AE);
        let path = self.path(now);
        let mut sample = self.sample(acked, rtt, ece, esce);
        if self.inquires {
            self.inquire(ack, &mut sample, &path);
        }
        if ece {
            let event = CongestionEvent {
                trigger: Trigger::Ce,
                window: self.cwnd,
                lost: Bytes::ZERO,
                rtt: Some(rtt),
            };
            self.cc.on_congestion(&event, &path);
        }
        self.cc.on_ack(&sample, &path);
        if self.inquires && self.needs.own_reductions && self.cc.asks_reduction() {
            let event = CongestionEvent {
                trigger: Trigger::Controller,
                window: self.cwnd,
                lost: Bytes::ZERO,
                rtt: Some(rtt),
            };
            self.cc.on_congestion(&event, &path);
        }
        self.follow_controller();
        AckReport { rtt: Some(rtt), ece, esce, newly_delivered: acked }
    }

    /// The controller may have changed what it wants.
    #[inline]
    fn follow_controller(&mut self) {
        self.cwnd = self.cc.cwnd();
        if self.paced {
            self.pacing = self.cc.pacing();
        }
    }

    /// When [`Sender::on_timer`] wants to be called.
    #[inline]
    pub const fn next_timer(&self) -> Option<Time> {
        self.pacer.next_timer()
    }

    /// The time asked for by [`Sender::next_timer`] has come.
    #[inline]
    pub fn on_timer(&mut self) {
        self.pacer.on_timer();
    }

    /// What the controller wants now.
    pub fn control(&self) -> Control {
        self.cc.control()
    }

    /// The congestion window.
    pub const fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    /// Bytes sent and not acknowledged.
    pub const fn in_flight(&self) -> Bytes {
        self.in_flight
    }

    /// The smoothed round-trip time.
    pub const fn srtt(&self) -> Duration {
        self.rtt.srtt()
    }

    /// Only cwnd keeps the next segment from leaving.
    pub fn cwnd_limited(&self) -> bool {
        self.in_flight + self.mss > self.cwnd
    }

    /// The controller is in slow start.
    pub fn in_slow_start(&self) -> bool {
        self.cc.control().phase == Phase::SlowStart
    }

    /// Named internal numbers of the controller: `out(name, value)`.
    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.cc.probe(out);
    }

    /// Why slow start ended, once it has.
    pub fn slow_start_exit(&self) -> Option<ExitReason> {
        self.cc.slow_start_exit()
    }

    /// Next byte to be sent.
    pub const fn snd_nxt(&self) -> Seq {
        self.snd_nxt
    }

    fn path(&self, now: Time) -> PathView {
        PathView {
            now,
            mss: self.mss,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            in_flight: self.in_flight,
            una: self.snd_una,
            nxt: self.snd_nxt,
        }
    }

    fn sample(&self, acked: Bytes, rtt: Duration, ece: bool, esce: bool) -> AckSample {
        let marked = || Marked { bytes: acked, packets: acked.get().div_ceil(self.mss.get()) as u32 };
        AckSample {
            acked,
            newly_delivered: acked,
            may_raise: true,
            delivered: self.delivered,
            rtt: Some(rtt),
            ecn: EcnFeedback {
                ce: if ece { marked() } else { Marked::default() },
                sce: if esce && !ece && self.hears_sce { marked() } else { Marked::default() },
                ect1: Marked::default(),
            },
            cwnd_limited: self.cwnd_limited(),
            ..AckSample::default()
        }
    }

    /// The SYN: one sequence number, no data, nothing in flight. It carries the flow's code points so that
    /// queues treat it like its data.
    #[cold]
    fn syn(&mut self, now: Time) -> Packet {
        self.state = State::SynSent;
        self.snd_nxt = Seq::FIRST_DATA;
        let mut packet = self.packet(HEADERS, Bytes::ZERO, now);
        packet.seq = Seq::SYN;
        packet.flags = TcpFlags::SYN;
        packet
    }

    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn next_segment(&mut self, now: Time) -> Packet {
        let mut packet = self.packet(self.mtu, self.mss, now);
        packet.seq = self.snd_nxt;
        packet.flags = TcpFlags::ACK;
        self.snd_nxt = self.snd_nxt + self.mss;
        self.in_flight += self.mss;
        if self.attentive {
            self.attend(packet.seq, now);
        } else if self.paced {
            self.pacer.sent(self.departing(now), self.pacing);
        }
        packet
    }

    fn departing(&self, now: Time) -> Departing {
        Departing { now, mtu: self.mtu, mss: self.mss, cwnd: self.cwnd, srtt: self.rtt.srtt() }
    }

    /// A segment leaves, and the controller asked to hear of departures. Its window and rate are read again after it
    /// has heard of the segment. Marked cold, so that it costs nothing where no controller asks.
    #[cold]
    fn attend(&mut self, seq: Seq, now: Time) {
        let before = self.in_flight - self.mss;
        if before == Bytes::ZERO && self.needs.own_window {
            let path = PathView { in_flight: before, nxt: seq, ..self.path(now) };
            self.cc.on_tx_start(now.since(self.last_sent), &path);
        }
        self.last_sent = now;
        if let Some(samples) = &mut self.samples {
            if self.cc.control().app_limited {
                samples.on_app_limited(before);
            }
            samples.on_sent(now, seq + self.mss, self.mss, before);
        }
        if self.needs.departures {
            let path = self.path(now);
            self.cc.on_sent(&SentSegment { seq, payload: self.mss, retransmission: false }, &path);
        }
        let Control { cwnd, pacing, send_quantum, .. } = self.cc.control();
        self.cwnd = cwnd;
        let departing = self.departing(now);
        match send_quantum.filter(|_| self.paced) {
            Some(quantum) => {
                self.pacer.sent_of_burst(&mut self.burst, departing, pacing, quantum);
            }
            None if self.paced => self.pacer.sent(departing, pacing),
            None => {}
        }
    }

    /// What the controller wants of an ACK in addition to its sample. Marked cold, so that it costs nothing where no
    /// controller asks.
    #[cold]
    fn inquire(&mut self, ack: Ack, sample: &mut AckSample, path: &PathView) {
        if self.needs.one_way {
            sample.one_way = Some(ack.ts_val.since(ack.ts_ecr));
        }
        self.take_rate_sample(sample, path.now);
        if self.needs.delivery_reports {
            let AckSample { acked, rtt, ecn, .. } = *sample;
            let packets = acked.get().div_ceil(self.mss.get()) as u32;
            let delivered = Marked { bytes: acked, packets };
            self.cc.on_delivery(&Delivery { acked, rtt, delivered, ecn, slow_path: false }, path);
            if self.needs.feedback == Feedback::Sce && self.cc.is_conventional() {
                self.dscp = Dscp::DEFAULT;
            }
        }
    }

    /// What the ACK says about the delivery rate.
    fn take_rate_sample(&mut self, sample: &mut AckSample, now: Time) {
        let Some(samples) = &mut self.samples else { return };
        let Sample { rate, round_start } = samples.on_ack(now, self.snd_una, sample.acked, self.rtt.min());
        (sample.rate, sample.round_start) = (rate, round_start);
        sample.prior_in_flight = self.in_flight + sample.acked;
        sample.app_limited = samples.is_app_limited();
    }

    fn packet(&self, size: Bytes, payload: Bytes, now: Time) -> Packet {
        let mut packet = Packet::new(self.flow, size, payload);
        packet.ts_val = now;
        packet.ecn = self.ecn;
        packet.dscp = self.dscp;
        packet
    }
}
