//! The ideal sender's rules of sending (spec/mds section 2), under a controller with a fixed window.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, ControllerParams, ExitReason, FlowInit, Marked,
    MdsParams, Needs, Pacing, PathView, Phase, Trigger, WindowedConfig,
};
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

fn endpoint(paced: bool) -> Endpoint {
    Endpoint {
        flow: FlowId::new(3),
        mtu: MSS + HEADERS,
        headers: HEADERS,
        iw: MSS * 10,
        paced,
        needs_ecn: false,
        ecn: Ecn::Ect0,
        feedback: FeedbackScheme::Mds,
        dscp: Dscp::MDS,
    }
}

fn sender(window: Bytes, paced: bool) -> Sender {
    let mut sender = Sender::new(endpoint(paced), Box::new(FixedWindow(window)));
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

/// spec/mds section 9: after two round trips of 20 ms whose srtt is 11 ms or more above the minimum, and without SCE, a flow with
/// `fallback = 2` leaves out the identifier, and stays ECN-capable.
#[test]
fn gives_up_the_identifier() {
    let response = MdsParams { fallback: NonZeroU32::new(2), ..MdsParams::default() };
    let config = WindowedConfig { response: Arc::new(response), ..WindowedConfig::default() };
    let endpoint = Endpoint { iw: MSS * 2, ..endpoint(false) };
    let init = FlowInit { iw: MSS * 2, ..FlowInit::new(MSS) };
    let mut sender = Sender::new(endpoint, config.build(init));
    sender.set_active(true);
    sender.poll_transmit(Time::ZERO).expect("a SYN");
    let mut now = Time::ZERO + RTT;
    sender.on_ack(&ack(1, Time::ZERO, TcpFlags::SYN), now);
    let mut identified = Vec::new();
    for _ in 0..5 {
        let sent: Vec<Packet> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
        let last = sent.last().expect("the window has room");
        assert_eq!(last.ecn, Ecn::Ect0);
        identified.push(last.is_mds(Dscp::MDS));
        let acked = (last.seq + MSS).get();
        let sent = now;
        now += RTT * 5;
        sender.on_ack(&ack(acked, sent, TcpFlags::NONE), now);
    }
    // The ACK of the first window ends the handshake's round trip, those of the second and third one each of the two.
    assert_eq!(identified, [true, true, true, false, false]);
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

/// What a controller was told: samples, causes of congestion, and what was in flight and next to be sent where
/// flights started.
#[derive(Debug, Default)]
struct Told {
    samples: Vec<AckSample>,
    triggers: Vec<Trigger>,
    starts: Vec<(Bytes, Seq)>,
}

/// A controller with a window of eight segments, then of four, in slow start. It always asks for a reduction.
#[derive(Debug)]
struct Listener {
    told: Arc<Mutex<Told>>,
    window: Bytes,
    needs: Needs,
}

impl CongestionControl for Listener {
    fn needs(&self) -> Needs {
        self.needs
    }
    fn on_ack(&mut self, sample: &AckSample, _: &PathView) {
        self.told.lock().expect("one thread").samples.push(*sample);
    }
    fn on_congestion(&mut self, event: &CongestionEvent, _: &PathView) -> bool {
        self.told.lock().expect("one thread").triggers.push(event.trigger);
        self.window = MSS * 4;
        true
    }
    fn on_rto(&mut self, _: bool, _: &PathView) {}
    fn on_tx_start(&mut self, _: Duration, path: &PathView) {
        self.told.lock().expect("one thread").starts.push((path.in_flight, path.nxt));
    }
    fn asks_reduction(&mut self) -> bool {
        true
    }
    fn slow_start_exit(&self) -> Option<ExitReason> {
        Some(ExitReason::Delay)
    }
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("window", self.window.as_f64());
    }
    fn control(&self) -> Control {
        Control::window(self.window)
    }
}

/// A sender of that controller, with a full window in flight since `RTT`.
fn listener(feedback: FeedbackScheme, needs: Needs) -> (Sender, Arc<Mutex<Told>>) {
    let told = Arc::<Mutex<Told>>::default();
    let cc = Listener { told: Arc::clone(&told), window: MSS * 8, needs };
    let endpoint = Endpoint {
        flow: FlowId::new(3),
        mtu: MSS + HEADERS,
        headers: HEADERS,
        iw: MSS * 10,
        paced: false,
        needs_ecn: false,
        ecn: Ecn::Ect0,
        feedback,
        dscp: Dscp::MDS,
    };
    let mut sender = Sender::new(endpoint, Box::new(cc));
    sender.set_active(true);
    sender.poll_transmit(Time::ZERO).expect("a SYN");
    let now = Time::ZERO + RTT;
    sender.on_ack(&ack(1, Time::ZERO, TcpFlags::SYN), now);
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(now)).count(), 8);
    (sender, told)
}

/// What an ACK tells the controller (spec/mds section 2): all that it acknowledges is delivered and may raise cwnd,
/// and is marked as the ACK says, by CE rather than by SCE; SCE counts with MDS only.
#[test]
fn samples_of_acks() {
    let both = TcpFlags::ECE | TcpFlags::AE;
    let (none, two) = (Marked::default(), Marked { bytes: MSS * 2, packets: 2 });
    for (feedback, flags, ce, sce) in [
        (FeedbackScheme::Mds, TcpFlags::NONE, none, none),
        (FeedbackScheme::Mds, TcpFlags::AE, none, two),
        (FeedbackScheme::Mds, TcpFlags::ECE, two, none),
        (FeedbackScheme::Mds, both, two, none),
        (FeedbackScheme::Rfc3168, TcpFlags::AE, none, none),
    ] {
        let (mut sender, told) = listener(feedback, Needs::default());
        let now = Time::ZERO + RTT;
        sender.on_ack(&ack(1 + 2 * MSS.get(), now, flags), now + RTT);
        let sample = told.lock().expect("one thread").samples[0];
        assert_eq!((sample.acked, sample.newly_delivered, sample.delivered), (MSS * 2, MSS * 2, MSS * 2));
        assert!(sample.may_raise && sample.rtt == Some(RTT));
        assert_eq!(
            (sample.ecn.ce, sample.ecn.sce, sample.ecn.ect1),
            (ce, sce, none),
            "{feedback:?} {flags:?}"
        );
    }
}

/// cwnd limits the sender while no further segment fits: not with seven of eight segments in flight, but with seven
/// of four.
#[test]
fn limited_by_cwnd() {
    let (mut sender, told) = listener(FeedbackScheme::Mds, Needs::default());
    assert!(sender.cwnd_limited(), "eight of eight");
    let now = Time::ZERO + RTT;
    sender.on_ack(&ack(1 + MSS.get(), now, TcpFlags::ECE), now + RTT);
    assert!(sender.cwnd_limited(), "seven of four");
    for n in [2, 5] {
        sender.on_ack(&ack(1 + n * MSS.get(), now, TcpFlags::NONE), now + RTT);
    }
    assert!(!sender.cwnd_limited(), "three of four: one more fits");
    let limited: Vec<bool> =
        told.lock().expect("one thread").samples.iter().map(|sample| sample.cwnd_limited).collect();
    assert_eq!(limited, [false, true, false], "when each ACK arrives");
}

/// A controller that starts reductions of its own is asked after each ACK; others are not, whatever else they need.
#[test]
fn own_reductions() {
    for (needs, triggers) in [
        (Needs { own_reductions: true, ..Needs::default() }, vec![Trigger::Controller]),
        (Needs { one_way: true, ..Needs::default() }, vec![]),
        (Needs::default(), vec![]),
    ] {
        let (mut sender, told) = listener(FeedbackScheme::Mds, needs);
        let now = Time::ZERO + RTT;
        sender.on_ack(&ack(1 + MSS.get(), now, TcpFlags::NONE), now + RTT);
        assert_eq!(told.lock().expect("one thread").triggers, triggers);
    }
}

/// A controller with a window of its own hears of the start of a flight as it is before the first segment leaves:
/// nothing is in flight, and that segment is the next. Without pacing, the whole window leaves at once here as well.
#[test]
fn the_start_of_a_flight() {
    let (mut sender, told) = listener(FeedbackScheme::Mds, Needs { own_window: true, ..Needs::default() });
    let now = Time::ZERO + RTT;
    sender.on_ack(&ack(1 + 8 * MSS.get(), now, TcpFlags::NONE), now + RTT);
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(now + RTT)).count(), 8);
    let starts = told.lock().expect("one thread").starts.clone();
    assert_eq!(starts, [(Bytes::ZERO, Seq::FIRST_DATA), (Bytes::ZERO, Seq::FIRST_DATA + MSS * 8)]);
}

/// Recorders see the controller's own state.
#[test]
fn the_controllers_state_is_shown() {
    let (sender, _) = listener(FeedbackScheme::Mds, Needs::default());
    let mut numbers = Vec::new();
    sender.probe(&mut |name, value| numbers.push((name, value)));
    assert_eq!(numbers, [("window", MSS.as_f64() * 8.0)]);
    assert_eq!((sender.in_slow_start(), sender.slow_start_exit()), (true, Some(ExitReason::Delay)));
}
