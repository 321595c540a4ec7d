//! A controller without TCP, simulator or schema, as an adapter to another transport such as QUIC drives it:
//!
//! ```text
//! cargo run -p windtunnel-cc --no-default-features --example alone
//! ```
//!
//! An endless flow crosses a link of 10 Mbit/s with a round trip of 40 ms and a queue of 50 packets. As in QUIC, a packet
//! is sent once under its number; one is lost when a later one is acknowledged.

use std::collections::VecDeque;
use std::sync::Arc;

use windtunnel_cc::rate_sample::{RateSampler, Snapshot};
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, ControllerParams, CubicParams, FlowInit, HoldOff,
    PathView, Trigger, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

const MSS: Bytes = Bytes::new(1_200);
const LINK: Rate = Rate::from_mbps(10);
const ROUND_TRIP: Duration = Duration::from_millis(40);
const END: Time = Time::from_nanos(20_000_000_000);

/// A packet in flight.
struct Packet {
    first: Seq,
    sent: Time,
    snapshot: Snapshot,
    /// When its ACK arrives; never, if the queue was full.
    acked: Option<Time>,
}

struct Sender {
    cc: Box<dyn CongestionControl>,
    sampler: RateSampler,
    /// One reduction for all losses of a round.
    loss_gate: HoldOff,
    is_recovering: bool,
    flying: VecDeque<Packet>,
    in_flight: Bytes,
    nxt: Seq,
    srtt: Duration,
    min_rtt: Duration,
    /// When the link has sent all that is in its queue.
    link_free: Time,
}

impl Sender {
    fn new(cc: Box<dyn CongestionControl>) -> Sender {
        Sender {
            sampler: RateSampler::new(cc.needs().rate_samples),
            cc,
            loss_gate: HoldOff::new(),
            is_recovering: false,
            flying: VecDeque::new(),
            in_flight: Bytes::ZERO,
            nxt: Seq::FIRST_DATA,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            link_free: Time::ZERO,
        }
    }

    /// Sends what the window allows.
    fn send(&mut self, now: Time) {
        while self.in_flight + MSS <= self.cc.cwnd() {
            let snapshot = self.sampler.on_sent(now, MSS, self.in_flight);
            let acked = self.link(now).map(|left| left + ROUND_TRIP);
            self.flying.push_back(Packet { first: self.nxt, sent: now, snapshot, acked });
            self.in_flight += MSS;
            self.nxt = self.nxt + MSS;
        }
    }

    /// When a packet leaves the link, if there is room for it.
    fn link(&mut self, now: Time) -> Option<Time> {
        let starts = self.link_free.max(now);
        if starts.since(now) > LINK.transfer_time(MSS * 50) {
            return None;
        }
        self.link_free = starts + LINK.transfer_time(MSS);
        Some(self.link_free)
    }

    fn path(&self, now: Time) -> PathView {
        PathView {
            now,
            mss: MSS,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            in_flight: self.in_flight,
            una: self.flying.front().map_or(self.nxt, |packet| packet.first),
            nxt: self.nxt,
        }
    }

    /// The next ACK arrives: packets before it that have none are lost. Returns when, if there is one.
    fn on_ack(&mut self) -> Option<Time> {
        let lost = self.flying.iter().take_while(|packet| packet.acked.is_none()).count();
        let newest_lost = self.flying.drain(..lost).next_back();
        let Packet { first, sent, snapshot, acked } = self.flying.pop_front()?;
        let now = acked?;
        let newly_lost = MSS * lost as u64;
        self.in_flight -= MSS + newly_lost;
        self.sampler.on_lost(newly_lost);
        let rtt = now.since(sent);
        self.measure(rtt);
        self.sampler.on_delivered(sent, first + MSS, &snapshot);
        let sample = self.sampler.finish(now, MSS, self.min_rtt);
        let path = self.path(now);
        if self.is_recovering && self.loss_gate.allows(path.una) {
            self.is_recovering = false;
            self.cc.on_recovered(&path);
        }
        if newest_lost.is_some_and(|packet| self.loss_gate.allows(packet.first + MSS)) {
            let window = self.cc.cwnd();
            let event = CongestionEvent { trigger: Trigger::Loss, window, lost: newly_lost, rtt: Some(rtt) };
            if self.cc.on_congestion(&event, &path) {
                self.loss_gate.start(self.nxt);
                self.is_recovering = true;
            }
        }
        let ack = AckSample {
            acked: MSS,
            newly_delivered: MSS,
            may_raise: !self.is_recovering,
            growth_barred: self.is_recovering,
            newly_lost,
            delivered: self.sampler.delivered(),
            lost: self.sampler.lost(),
            prior_in_flight: self.in_flight + MSS + newly_lost,
            next_departure: now,
            rtt: Some(rtt),
            rate: sample.rate,
            round_start: sample.round_start,
            cwnd_limited: true,
            ..AckSample::default()
        };
        self.cc.on_ack(&ack, &path);
        Some(now)
    }

    /// The smoothed round-trip time of RFC 9002 section 5.3, and the shortest.
    fn measure(&mut self, rtt: Duration) {
        let is_first = self.srtt.is_zero();
        self.srtt = if is_first { rtt } else { (self.srtt * 7 + rtt) / 8 };
        self.min_rtt = if is_first { rtt } else { self.min_rtt.min(rtt) };
    }
}

fn main() {
    let cubic = WindowedConfig { avoidance: Arc::new(CubicParams::default()), ..WindowedConfig::default() };
    let mut sender = Sender::new(cubic.build(FlowInit::new(MSS)));
    let mut now = Time::ZERO;
    while now < END {
        sender.send(now);
        now = sender.on_ack().expect("the last packet before a full queue was acknowledged");
    }
    let goodput = Rate::of(sender.sampler.delivered(), END.since_start());
    println!("{goodput} delivered, {} lost, a window of {}", sender.sampler.lost(), sender.cc.cwnd());
    assert!(goodput.as_mbps() > 9.0, "the link is busy");
}
