//! A controller with a model of the path under the sender of the ideal profile: the same samples, pacing without a key,
//! bursts, and the start of each flight.
//!
//! The path passes an IP packet of 1500 bytes, 1448 of them payload, per millisecond, and takes 40 ms.

use std::collections::VecDeque;

use windtunnel_cc::{FlowInit, RateSample};
use windtunnel_tcp::ideal::Sender;
use windtunnel_tcp::{Endpoint, FeedbackScheme, HEADERS};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet, TcpFlags};

use crate::cruise::{Cruise, CruiseParams, Heard, Log};

const MSS: Bytes = Bytes::new(1448);
const BOTTLENECK: Rate = Rate::from_bits_per_sec(11_584_000);
const RTT: Duration = Duration::from_millis(40);
const SPACING: Duration = Duration::from_millis(1);

/// A sender, a bottleneck and a receiver that acknowledges each segment.
struct Path {
    sender: Sender,
    log: Log,
    now: Time,
    /// When the last packet leaves the bottleneck.
    free: Time,
    acks: VecDeque<(Time, Packet)>,
    sent: Vec<Time>,
}

impl Path {
    fn new(params: CruiseParams) -> Path {
        let endpoint = Endpoint {
            flow: FlowId::new(0),
            mtu: MSS + HEADERS,
            headers: HEADERS,
            iw: MSS * 10,
            paced: false,
            needs_ecn: false,
            ecn: Ecn::Ect0,
            feedback: FeedbackScheme::Rfc3168,
            dscp: Dscp::DEFAULT,
        };
        let log = Log::default();
        let init = FlowInit { seed: 1, ..FlowInit::new(MSS) };
        let mut sender = Sender::new(endpoint, Box::new(Cruise::new(params, init, log.clone())));
        sender.set_active(true);
        let (now, free) = (Time::ZERO, Time::ZERO);
        Path { sender, log, now, free, acks: VecDeque::new(), sent: Vec::new() }
    }

    fn run_until(&mut self, end: Time) {
        loop {
            self.transmit();
            let ack = self.acks.front().map_or(Time::NEVER, |(time, _)| *time);
            let next = ack.min(self.sender.next_timer().unwrap_or(Time::NEVER));
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if ack == next {
                let (_, packet) = self.acks.pop_front().expect("it was there");
                self.sender.on_ack(&packet, self.now);
            } else {
                self.sender.on_timer();
            }
        }
    }

    fn transmit(&mut self) {
        while let Some(packet) = self.sender.poll_transmit(self.now) {
            let mut ack = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
            (ack.flags, ack.ts_ecr) = (TcpFlags::ACK, packet.ts_val);
            ack.ack = packet.seq + packet.payload().max(Bytes::new(1));
            if packet.payload() > Bytes::ZERO {
                self.sent.push(self.now);
                self.free = self.free.max(self.now) + SPACING;
            }
            self.acks.push_back((self.free.max(self.now) + RTT, ack));
        }
    }

    fn heard(&self) -> Vec<Heard> {
        self.log.lock().expect("one thread").clone()
    }

    fn samples(&self) -> Vec<RateSample> {
        let sample = |heard: Heard| if let Heard::Ack(ack) = heard { ack.rate } else { None };
        self.heard().into_iter().filter_map(sample).collect()
    }

    /// Departures from `from` on, by how many left at the same time.
    fn bursts(&self, from: Time) -> Vec<usize> {
        let late: Vec<Time> = self.sent.iter().copied().filter(|time| *time > from).collect();
        late.chunk_by(|a, b| a == b).map(<[_]>::len).collect()
    }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// The controller asks for pacing, not the endpoint, and segments leave one by one. The samples of the steady state
/// equal the bottleneck's rate, and none is higher.
#[test]
fn rate_samples_are_the_bottlenecks_rate() {
    let mut path = Path::new(CruiseParams::default());
    path.run_until(at(2000));
    let late = path.samples().split_off(1000);
    assert!(late.iter().all(|sample| sample.rate <= BOTTLENECK));
    let full = late.iter().filter(|sample| sample.rate == BOTTLENECK).count();
    assert!(full > late.len() / 2, "{full} of {}", late.len());
    assert!(path.bursts(at(100)).iter().all(|size| *size == 1), "paced");
    assert!(path.sender.in_flight() > MSS * 40, "more than the path holds without its queue");
}

/// Each sample says how many segments were in flight when its segment left, and what had been delivered by then.
#[test]
fn samples_know_their_departures() {
    let mut path = Path::new(CruiseParams::default());
    path.run_until(at(500));
    let (mut sent, mut delivered) = (Vec::new(), Bytes::ZERO);
    let mut samples = 0;
    for heard in path.heard() {
        match heard {
            Heard::Sent(_, view) => sent.push((view.now, view.in_flight, delivered)),
            Heard::Ack(ack) => {
                delivered = ack.delivered;
                let Some(sample) = ack.rate else { continue };
                let n = (ack.delivered / MSS) as usize - 1;
                let departure = sample.departure;
                assert_eq!((departure.sent, departure.in_flight, departure.delivered), sent[n]);
                assert_eq!(sample.delivered, ack.delivered - departure.delivered);
                samples += 1;
            }
            _ => {}
        }
    }
    assert!(samples > 300, "{samples}");
}

/// A quantum of four segments: bursts of four.
#[test]
fn the_send_quantum_is_the_controllers() {
    let mut path = Path::new(CruiseParams { quantum: Some(4), ..CruiseParams::default() });
    path.run_until(at(1500));
    let bursts = path.bursts(at(700));
    let whole = bursts.iter().filter(|size| **size == 4).count();
    assert!(bursts.iter().all(|size| *size <= 4) && whole * 10 > bursts.len() * 9, "{bursts:?}");
}

/// The application pauses for a second: the next flight starts with `on_tx_start`, which says for how long nothing left.
#[test]
fn a_pause_is_heard() {
    let mut path = Path::new(CruiseParams::default());
    path.run_until(at(500));
    path.sender.set_active(false);
    path.run_until(at(1500));
    let last = *path.sent.last().expect("it sent");
    path.sender.set_active(true);
    path.run_until(at(1600));
    let starts: Vec<Duration> = path
        .heard()
        .iter()
        .filter_map(|heard| if let Heard::TxStart(idle) = heard { Some(*idle) } else { None })
        .collect();
    assert_eq!(starts.len(), 2, "the first flight, and the one after the pause");
    assert_eq!(starts[1], at(1500) - last);
}

/// The samples of a controller that rests are marked.
#[test]
fn a_resting_controllers_samples_are_marked() {
    for rests in [false, true] {
        let mut path = Path::new(CruiseParams { rests, ..CruiseParams::default() });
        path.run_until(at(2000));
        let limited = path.samples().iter().filter(|sample| sample.departure.app_limited).count();
        assert_eq!(limited > 0, rests, "{limited}");
    }
}
