//! Requests for an ACK rate (TARR, draft-ietf-tcpm-ack-rate-request; spec/ccwg-2026 section H): the handshake, what a
//! receiver makes of a request, and when a sender makes one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use windtunnel_cc::{AckSample, CongestionControl, CongestionEvent, Control, Needs, PathView, Phase};
use windtunnel_tcp::{AckParams, AckPolicy, Endpoint, FeedbackScheme, HEADERS, Receiver, Sender, TcpParams};
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{AckRate, Dscp, Ecn, FlowId, Options, Packet, TcpFlags, TcpOption};

const MSS: Bytes = Bytes::new(1448);
const ONE_WAY: Duration = Duration::from_millis(10);

fn endpoint() -> Endpoint {
    Endpoint {
        flow: FlowId::new(0),
        mtu: MSS + HEADERS,
        headers: HEADERS,
        iw: MSS * 40,
        paced: false,
        needs_ecn: false,
        ecn: Ecn::NotEct,
        feedback: FeedbackScheme::None,
        dscp: Dscp::DEFAULT,
    }
}

/// A window of 40 segments, and a wish for ACKs; 0 for none.
#[derive(Debug)]
struct Wishing {
    wish: Arc<AtomicU32>,
}

impl CongestionControl for Wishing {
    fn needs(&self) -> Needs {
        Needs { ack_requests: true, own_window: true, ..Needs::default() }
    }

    fn on_ack(&mut self, _: &AckSample, _: &PathView) {}

    fn on_congestion(&mut self, _: &CongestionEvent, _: &PathView) -> bool {
        false
    }

    fn on_rto(&mut self, _: bool, _: &PathView) {}

    fn ack_ratio(&self) -> Option<u32> {
        Some(self.wish.load(Ordering::Relaxed)).filter(|wish| *wish > 0)
    }

    fn control(&self) -> Control {
        Control { ssthresh: MSS * 40, phase: Phase::CongestionAvoidance, ..Control::window(MSS * 40) }
    }
}

/// Both ends of a connection, 10 ms apart. Packets leave 100 us apart, so that their order is that of transmission.
struct Pair {
    sender: Sender,
    receiver: Receiver,
    wish: Arc<AtomicU32>,
    now: Time,
    /// By arrival; true for those on their way to the receiver.
    ways: BTreeMap<(Time, u64), (bool, Packet)>,
    last: Time,
    count: u64,
    /// A middlebox removes the option.
    strips: bool,
    /// When which request left, and how large its packet was.
    requests: Vec<(Time, u8, u64)>,
    /// When data were acknowledged, and how many segments by each ACK.
    acks: Vec<(Time, u64)>,
    syn_sizes: Vec<u64>,
}

impl Pair {
    fn new(params: &TcpParams, policy: AckPolicy) -> Pair {
        Pair::with(params, AckParams { policy, ..AckParams::default() })
    }

    fn with(params: &TcpParams, ack: AckParams) -> Pair {
        let params = Arc::new(TcpParams { receive_window: Bytes::new(1 << 20), ..params.clone() });
        let wish = Arc::new(AtomicU32::new(0));
        let cc = Wishing { wish: Arc::clone(&wish) };
        let mut sender = Sender::new(endpoint(), &params, Box::new(cc));
        sender.write(Bytes::MAX);
        Pair {
            sender,
            receiver: Receiver::new(endpoint(), &params, ack),
            wish,
            now: Time::ZERO,
            ways: BTreeMap::new(),
            last: Time::ZERO,
            count: 0,
            strips: false,
            requests: Vec::new(),
            acks: Vec::new(),
            syn_sizes: Vec::new(),
        }
    }

    fn put(&mut self, to_receiver: bool, mut packet: Packet) {
        if packet.flags.contains(TcpFlags::SYN) {
            self.syn_sizes.push(packet.size().get());
        }
        if let Some(Options { ack_rate: Some(AckRate::Every(ratio)), .. }) = packet.options() {
            assert!(to_receiver && packet.payload() == Bytes::ZERO);
            self.requests.push((self.now, *ratio, packet.size().get()));
        }
        if self.strips {
            packet.strip_option(TcpOption::AckRate);
        }
        let arrival =
            (self.now + ONE_WAY).max(self.last + Duration::from_micros(if to_receiver { 100 } else { 0 }));
        if to_receiver {
            self.last = arrival;
        }
        self.count += 1;
        self.ways.insert((arrival, self.count), (to_receiver, packet));
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            while let Some(packet) = self.sender.poll_transmit(self.now) {
                self.put(true, packet);
            }
            while let Some(ack) = self.receiver.poll_ack(self.now) {
                self.put(false, ack);
            }
            let arrival = self.ways.keys().next().map(|key| key.0);
            let timers = [self.sender.next_timer(), self.receiver.next_timer(), arrival];
            let Some(next) = timers.into_iter().flatten().min().filter(|next| *next <= end) else { break };
            self.now = next;
            if arrival == Some(next) {
                let (_, (to_receiver, packet)) = self.ways.pop_first().expect("an arrival");
                if to_receiver {
                    self.receiver.on_segment(&packet, next);
                } else {
                    let before = self.sender.snd_una();
                    self.sender.on_ack(&packet, next);
                    if before > Seq::SYN {
                        self.acks.push((next, (self.sender.snd_una() - before) / MSS));
                    }
                }
            }
            if self.sender.next_timer().is_some_and(|timer| timer <= next) {
                self.sender.on_timer(next);
            }
            if self.receiver.next_timer().is_some_and(|timer| timer <= next) {
                self.receiver.on_timer(next);
            }
        }
        self.now = end;
    }

    /// The segments per ACK from now on for this time.
    fn ratios(&mut self, span: Duration) -> Vec<u64> {
        let from = self.now;
        self.run(span);
        self.acks.iter().filter(|ack| ack.0 > from).map(|ack| ack.1).collect()
    }
}

fn asking(ratio: u32) -> TcpParams {
    TcpParams { ack_ratio: Some(ratio), ..crate::fixed_window() }
}

/// Both SYNs have the option of four bytes; the first ACK is followed by a request in a packet without data, 8 bytes longer than an
/// ACK; from its arrival on each ACK acknowledges that number of segments, whatever the receiver's policy was.
#[test]
fn a_request_is_obeyed() {
    for policy in [AckPolicy::Immediate, AckPolicy::Every, AckPolicy::QuickSignal, AckPolicy::Linux] {
        for ratio in [1, 2, 10, 20] {
            let mut pair = Pair::new(&asking(ratio), policy);
            pair.run(Duration::from_millis(200));
            assert_eq!(pair.syn_sizes, [64, 64], "{policy:?}");
            assert_eq!(pair.requests[0].2, 60);
            assert!(pair.requests.iter().all(|request| request.1 == ratio as u8));
            let ratios = pair.ratios(Duration::from_millis(200));
            assert!(ratios.len() > 10, "{policy:?} {ratio}: {ratios:?}");
            assert!(ratios.iter().all(|n| *n == u64::from(ratio)), "{policy:?} {ratio}: {ratios:?}");
        }
    }
}

/// A request is repeated once per round trip, since none is acknowledged.
#[test]
fn a_request_is_repeated() {
    let mut pair = Pair::new(&asking(4), AckPolicy::Linux);
    pair.run(Duration::from_secs(1));
    let times: Vec<Time> = pair.requests.iter().map(|request| request.0).collect();
    assert!((35..=50).contains(&times.len()), "{}", times.len());
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_millis(20)));
}

/// A window of 40 segments and an ACK for each 64: the receiver would hold the ACK back for a second. A loss probe leaves after two
/// round trips of 20 ms, and the request that follows it is answered at once; the ratio stays.
#[test]
fn a_probe_asks_for_an_ack_at_once() {
    let params = TcpParams { tlp: true, ..asking(64) };
    let delay = Duration::SECOND;
    let mut pair = Pair::with(&params, AckParams { policy: AckPolicy::Every, delay, ..AckParams::default() });
    pair.run(Duration::from_secs(1));
    let at_once: Vec<Time> = pair.requests.iter().filter(|each| each.1 == 0).map(|each| each.0).collect();
    let first = pair.acks.iter().position(|ack| ack.1 == 41).expect("40 and the probe");
    let (before, answers) = pair.acks.split_at(first);
    assert!(answers.iter().all(|ack| ack.1 == 41), "{answers:?}");
    // The request arrives 100 us after the probe.
    let answered = |left: &Time| *left + ONE_WAY * 2 + Duration::from_micros(100);
    assert!(at_once.len() > 2 && at_once.len() - answers.len() <= 1);
    assert!(
        answers.iter().zip(&at_once).all(|(ack, left)| ack.0 == answered(left)),
        "{answers:?} {at_once:?}"
    );
    assert!(answers[0].0 - before[first - 1].0 < Duration::from_millis(80), "{:?}", pair.acks);
}

/// Without the option in both SYNs nothing is asked for, and the receiver acknowledges as it would: every second segment.
#[test]
fn a_middlebox_removes_the_option() {
    let mut pair = Pair::new(&asking(10), AckPolicy::Every);
    pair.strips = true;
    pair.run(Duration::from_millis(200));
    assert_eq!(pair.requests, []);
    assert!(pair.ratios(Duration::from_millis(200)).iter().all(|n| *n == 2));
}

/// A window of 40 segments and four ACKs in a round trip: one per ten.
#[test]
fn acks_per_round_trip() {
    let params = TcpParams { acks_per_rtt: Some(4), ..crate::fixed_window() };
    let mut pair = Pair::new(&params, AckPolicy::Linux);
    pair.run(Duration::from_millis(200));
    assert!(pair.ratios(Duration::from_millis(200)).iter().all(|n| *n == 10));
}

/// The controller's wish: none at first; fewer ACKs are asked for at the next round trip, more at the next ACK.
#[test]
fn the_controller_asks() {
    let params = TcpParams { controller_asks_acks: true, ..crate::fixed_window() };
    let mut pair = Pair::new(&params, AckPolicy::Linux);
    pair.run(Duration::from_millis(200));
    assert_eq!(pair.requests, []);
    pair.wish.store(20, Ordering::Relaxed);
    pair.run(Duration::from_millis(100));
    assert!(pair.requests.iter().all(|request| request.1 == 20) && !pair.requests.is_empty());
    let (asked, from) = (pair.requests.len(), pair.now);
    pair.wish.store(2, Ordering::Relaxed);
    pair.run(Duration::from_millis(100));
    let next_ack = pair.acks.iter().map(|ack| ack.0).find(|at| *at > from);
    assert_eq!((Some(pair.requests[asked].0), pair.requests[asked].1), (next_ack, 2));
    assert!(pair.ratios(Duration::from_millis(100)).iter().all(|n| *n == 2));
}

/// Seven bits hold 127.
#[test]
fn bad_numbers() {
    for (params, key) in [
        (asking(0), "ack_ratio"),
        (asking(128), "ack_ratio"),
        (TcpParams { acks_per_rtt: Some(0), ..TcpParams::default() }, "acks_per_rtt"),
        (TcpParams { acks_per_rtt: Some(1001), ..TcpParams::default() }, "acks_per_rtt"),
        (TcpParams { acks_per_rtt: Some(4), ..asking(4) }, "ack_ratio"),
    ] {
        assert_eq!(params.check().map_err(|refused| refused.key), Err(key));
    }
    assert!(asking(127).check().is_ok());
}
