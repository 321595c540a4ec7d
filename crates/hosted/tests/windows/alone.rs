//! A controller driven alone, by the calls that a TCP sender here makes: the expectation.
//!
//! The sender is that of RFC 9002, written plainly: a packet is sent once, a recovery period starts with a loss and ends
//! when a packet that was sent in it is acknowledged (section 7.3.2).

use std::collections::VecDeque;

use windtunnel_cc::rate_sample::{RateSampler, Snapshot};
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, ControllerParams, FlowInit, HoldOff, LossFinder,
    LostSegment, PathView, SentSegment, Trigger,
};
use windtunnel_units::{Bytes, Duration, Seq, Time};

use crate::drive::{self, MSS, ROUND_TRIP};

const SEGMENT: Bytes = Bytes::new(MSS as u64);

/// The seed of the controller's random numbers.
pub(crate) const SEED: u64 = 7;

struct Packet {
    first: Seq,
    sent: Time,
    snapshot: Snapshot,
}

pub(crate) struct Alone {
    cc: Box<dyn CongestionControl>,
    sampler: RateSampler,
    flying: VecDeque<Packet>,
    loss_gate: HoldOff,
    is_recovering: bool,
    is_established: bool,
    newly_lost: Bytes,
    /// The end of the newest packet acknowledged: QUIC's packets have no cumulative ACK, and what arrives after a hole
    /// does not wait for it.
    una: Seq,
    nxt: Seq,
}

impl Alone {
    pub(crate) fn new(params: &dyn ControllerParams) -> Alone {
        let mtu = SEGMENT + Bytes::new(28);
        let init = FlowInit { mtu, paced: true, seed: SEED, ..FlowInit::new(SEGMENT) };
        let cc = params.build(init);
        Alone {
            sampler: RateSampler::new(cc.needs().rate_samples),
            cc,
            flying: VecDeque::new(),
            loss_gate: HoldOff::new(),
            is_recovering: false,
            is_established: false,
            newly_lost: Bytes::ZERO,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA,
        }
    }

    fn in_flight(&self) -> Bytes {
        SEGMENT * self.flying.len() as u64
    }

    fn path(&self, now: Time) -> PathView {
        let rtt = if self.una > Seq::FIRST_DATA { ROUND_TRIP } else { Duration::ZERO };
        PathView {
            now,
            mss: SEGMENT,
            srtt: rtt,
            min_rtt: rtt,
            in_flight: self.in_flight(),
            una: self.una,
            nxt: self.nxt,
        }
    }

    fn take(&mut self, sent: Time) -> Packet {
        let at = self.flying.iter().position(|packet| packet.sent == sent).expect("it is in flight");
        self.flying.remove(at).expect("it is in flight")
    }

    fn reduce(&mut self, trigger: Trigger, lost: Bytes, now: Time) {
        let event = CongestionEvent { trigger, window: self.cc.cwnd(), lost, rtt: None };
        if self.cc.on_congestion(&event, &self.path(now)) {
            self.loss_gate.start(self.nxt);
            self.is_recovering = true;
        }
    }
}

impl drive::Sender for Alone {
    fn sent(&mut self, now: Time) {
        if self.flying.is_empty() {
            self.cc.on_tx_start(Duration::ZERO, &self.path(now));
        }
        let snapshot = self.sampler.on_sent(now, SEGMENT, self.in_flight());
        let first = self.nxt;
        self.flying.push_back(Packet { first, sent: now, snapshot });
        self.nxt = self.nxt + SEGMENT;
        if self.cc.needs().departures {
            let sent = SentSegment { seq: first, payload: SEGMENT, retransmission: false };
            self.cc.on_sent(&sent, &self.path(now));
        }
    }

    fn acked(&mut self, now: Time, sent: Time, _in_flight: u64) {
        let prior_in_flight = self.in_flight();
        let packet = self.take(sent);
        let end = packet.first + SEGMENT;
        self.una = self.una.max(end);
        self.sampler.on_delivered(sent, end, &packet.snapshot);
        let sample = self.sampler.finish(now, SEGMENT, ROUND_TRIP);
        let path = self.path(now);
        if !std::mem::replace(&mut self.is_established, true) {
            self.cc.on_established(&path);
        }
        if self.is_recovering && self.loss_gate.allows(end) {
            self.is_recovering = false;
            self.cc.on_recovered(&path);
        }
        let ack = AckSample {
            acked: SEGMENT,
            newly_delivered: SEGMENT,
            may_raise: !self.is_recovering,
            growth_barred: self.is_recovering,
            newly_lost: std::mem::take(&mut self.newly_lost),
            delivered: self.sampler.delivered(),
            lost: self.sampler.lost(),
            prior_in_flight,
            next_departure: now,
            rtt: Some(now.since(sent)),
            rate: sample.rate,
            round_start: sample.round_start,
            cwnd_limited: true,
            ..AckSample::default()
        };
        self.cc.on_ack(&ack, &path);
        if self.cc.needs().own_reductions && self.cc.asks_reduction() {
            self.reduce(Trigger::Controller, Bytes::ZERO, now);
        }
    }

    fn lost(&mut self, now: Time, sent: Time) {
        let packet = self.take(sent);
        self.newly_lost += SEGMENT;
        self.sampler.on_lost(SEGMENT);
        let lost = self.sampler.lost();
        if self.cc.needs().loss_reports {
            let departure = packet.snapshot.departure(sent, lost);
            let found_by = LossFinder::Ack;
            let segment = LostSegment { seq: packet.first, payload: SEGMENT, departure, lost, found_by };
            self.cc.on_lost(&segment, &self.path(now));
        }
        if self.loss_gate.allows(packet.first + SEGMENT) {
            self.reduce(Trigger::Loss, SEGMENT, now);
        }
    }

    fn window(&self) -> u64 {
        self.cc.cwnd().get()
    }
}
