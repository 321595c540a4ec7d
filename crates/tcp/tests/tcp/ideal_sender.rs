//! The ideal sender's rules of sending (spec/mds section 2), under a controller with a fixed window.

use windtunnel_cc::{AckSample, CongestionControl, CongestionEvent, Control, Pacing, PathView, Phase};
use windtunnel_tcp::ideal::Sender;
use windtunnel_tcp::{Endpoint, FeedbackScheme, HEADERS};
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet, TcpFlags};

const MSS: Bytes = Bytes::new(1448);
const RTT: Duration = Duration::from_millis(20);

#[derive(Debug)]
struct FixedWindow(Bytes);

impl CongestionControl for FixedWindow {
    fn on_ack(&mut self, _: &AckSample, _: &PathView) {}
    fn on_congestion(&mut self, _: &CongestionEvent, _: &PathView) -> bool {
        self.0 = self.0 / 2;
        true
    }
    fn on_rto(&mut self, _: bool, _: &PathView) {}
    fn control(&self) -> Control {
        Control { pacing: Pacing::Gain(2.0), phase: Phase::CongestionAvoidance, ..Control::window(self.0) }
    }
}

fn sender(window: Bytes, paced: bool) -> Sender {
    let endpoint = Endpoint {
        flow: FlowId::new(3),
        mtu: MSS + HEADERS,
        headers: HEADERS,
        iw: MSS * 10,
        paced,
        needs_ecn: false,
        ecn: Ecn::Ect0,
        feedback: FeedbackScheme::Mds,
        dscp: Dscp::MDS,
    };
    let mut sender = Sender::new(endpoint, Box::new(FixedWindow(window)));
    sender.set_active(true);
    sender
}

fn ack(seq: u64, sent: Time, flags: TcpFlags) -> Packet {
    let mut packet = Packet::new(FlowId::new(3), HEADERS, Bytes::ZERO);
    packet.ack = Seq::new(seq);
    packet.ts_ecr = sent;
    packet.flags = TcpFlags::ACK | flags;
    packet
}

/// Sends the SYN, which is answered after `RTT`.
fn established(window: Bytes, paced: bool) -> (Sender, Time) {
    let mut sender = sender(window, paced);
    let syn = sender.poll_transmit(Time::ZERO).expect("a SYN");
    assert_eq!((syn.size(), syn.payload(), syn.flags), (HEADERS, Bytes::ZERO, TcpFlags::SYN));
    assert!(sender.poll_transmit(Time::ZERO).is_none(), "nothing until the SYN is answered");
    let now = Time::ZERO + RTT;
    sender.on_ack(&ack(1, Time::ZERO, TcpFlags::SYN), now);
    (sender, now)
}

/// A segment may leave iff `in_flight + MSS <= cwnd`: 2.9 segments of window hold two.
#[test]
fn window_holds_whole_segments() {
    let (mut sender, now) = established(Bytes::new(4200), false);
    let sent: Vec<Packet> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].seq, Seq::FIRST_DATA);
    assert_eq!(sent[1].seq, Seq::FIRST_DATA + MSS);
    assert_eq!(sent[0].size(), Bytes::new(1500));
    assert!(sent[0].is_mds(Dscp::MDS));
    assert_eq!(sender.in_flight(), MSS * 2);
    assert!(sender.cwnd_limited());
}

/// After a segment the sender waits 1500 B / (gain cwnd / srtt), truncated; ACKs in between send nothing.
#[test]
fn pacing_gap() {
    let window = MSS * 10;
    let (mut sender, now) = established(window, true);
    assert!(sender.poll_transmit(now).is_some());
    assert!(sender.poll_transmit(now).is_none(), "paced");
    let gap = Duration::from_nanos((1500.0 / (2.0 * window.as_f64()) * RTT.as_nanos() as f64) as u64);
    let release = sender.next_timer().expect("a pacing timer");
    assert_eq!(release, now + gap);
    sender.on_ack(&ack(1 + 1448, now, TcpFlags::NONE), now);
    assert!(sender.poll_transmit(now).is_none(), "an ACK during the wait sends nothing");
    sender.on_timer();
    assert!(sender.poll_transmit(release).is_some());
}

/// If the wait ends and cwnd has no room, no timer runs, and the next ACK that makes room sends at once.
#[test]
fn ack_clock_after_the_wait() {
    let (mut sender, now) = established(MSS * 2, true);
    assert!(sender.poll_transmit(now).is_some());
    sender.on_timer();
    assert!(sender.poll_transmit(now).is_some());
    sender.on_timer();
    assert!(sender.poll_transmit(now).is_none() && sender.next_timer().is_none());
    sender.on_ack(&ack(1 + 1448, now, TcpFlags::NONE), now + RTT);
    assert!(sender.poll_transmit(now + RTT).is_some());
}

/// A stopped sender drains and resumes (spec: flow schedules).
#[test]
fn stop_and_resume() {
    let (mut sender, now) = established(MSS * 4, false);
    sender.set_active(false);
    assert!(sender.poll_transmit(now).is_none());
    sender.set_active(true);
    assert!(sender.poll_transmit(now).is_some());
}

/// An echo of CE reaches the controller before growth; the report says what the ACK echoed.
#[test]
fn ece_reaches_the_controller() {
    let (mut sender, now) = established(MSS * 8, false);
    while sender.poll_transmit(now).is_some() {}
    let report = sender.on_ack(&ack(1 + 1448, now, TcpFlags::ECE | TcpFlags::AE), now + RTT);
    assert!(report.ece && report.esce);
    assert_eq!(report.rtt, Some(RTT));
    assert_eq!(sender.control().cwnd, MSS * 4);
}
