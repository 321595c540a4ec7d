//! What the sender reports to a controller that asks for more than most: the feedback that was agreed on, and
//! deliveries.

use std::sync::{Arc, Mutex};

use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, Delivery, Feedback, Needs, PathView, Phase,
};
use windtunnel_tcp::{Endpoint, FeedbackScheme, HEADERS, Sender, TcpParams};
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, MdsCapability, Options, Packet, SackBlock, TcpFlags};

use super::harness::{MSS, at, endpoint};

#[derive(Debug, Default)]
struct Reports {
    agreed: Option<Feedback>,
    deliveries: Vec<Delivery>,
    /// What the controller answers: it has given up its fine signals.
    conventional: bool,
}

/// A window of ten, and what its sender reports.
#[derive(Debug)]
struct Listener {
    feedback: Feedback,
    reports: Arc<Mutex<Reports>>,
}

impl CongestionControl for Listener {
    fn needs(&self) -> Needs {
        Needs { feedback: self.feedback, delivery_reports: true, ..Needs::default() }
    }

    fn on_negotiated(&mut self, heard: Feedback) {
        self.reports.lock().expect("one thread").agreed = Some(heard);
    }

    fn on_delivery(&mut self, delivery: &Delivery, _: &PathView) {
        self.reports.lock().expect("one thread").deliveries.push(*delivery);
    }

    fn is_conventional(&self) -> bool {
        self.reports.lock().expect("one thread").conventional
    }

    fn on_ack(&mut self, _: &AckSample, _: &PathView) {}

    fn on_congestion(&mut self, _: &CongestionEvent, _: &PathView) -> bool {
        false
    }

    fn on_rto(&mut self, _: bool, _: &PathView) {}

    fn control(&self) -> Control {
        Control { phase: Phase::CongestionAvoidance, ..Control::window(MSS * 10) }
    }
}

/// A sender whose controller wants this feedback, with data to send, and what it reports.
fn sender(scheme: FeedbackScheme, feedback: Feedback, params: TcpParams) -> (Sender, Arc<Mutex<Reports>>) {
    let reports = Arc::default();
    let cc = Listener { feedback, reports: Arc::clone(&reports) };
    let ecn = if scheme == FeedbackScheme::None { Ecn::NotEct } else { Ecn::Ect0 };
    let endpoint = Endpoint { ecn, feedback: scheme, ..endpoint() };
    let mut sender = Sender::new(endpoint, &Arc::new(params), Box::new(cc));
    sender.write(Bytes::MAX);
    (sender, reports)
}

/// A packet of the receiver that acknowledges the first `segments` segments and echoes this time.
fn answer(flags: TcpFlags, segments: u64, echo: Time, now: Time) -> Packet {
    let mut packet = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
    (packet.flags, packet.ack) = (TcpFlags::ACK | flags, Seq::FIRST_DATA + MSS * segments);
    (packet.ts_val, packet.ts_ecr, packet.window) = (now, echo, u16::MAX);
    packet
}

fn syn_ack(flags: TcpFlags, now: Time) -> Packet {
    let mut packet = answer(TcpFlags::SYN | flags, 0, at(0), now);
    packet.set_options(Options { sack_permitted: true, ..Options::default() });
    packet
}

/// spec/queues-and-signalling section 17: the controller learns what the handshake agreed on. ECE accepts RFC 3168
/// and what builds on it, and the code 010 AccECN; MDS takes its own option as well; nothing is agreed without an
/// answer, or if the SYN did not ask, as the third one does not.
#[test]
fn agreed_feedback() {
    use FeedbackScheme as Scheme;
    let (ece, none, accecn) = (TcpFlags::ECE, TcpFlags::NONE, TcpFlags::NONE.with_ace(0b010));
    let nonces = TcpParams { ecn_nonce: true, ..TcpParams::default() };
    let plain = TcpParams::default();
    for (scheme, wanted, params, syns, flags, mds, agreed) in [
        (Scheme::None, Feedback::None, &plain, 1, ece, None, Feedback::None),
        (Scheme::Rfc3168, Feedback::Classic, &plain, 1, none, None, Feedback::None),
        (Scheme::Rfc3168, Feedback::Classic, &plain, 2, ece, None, Feedback::Classic),
        (Scheme::Rfc3168, Feedback::Classic, &plain, 3, ece, None, Feedback::None),
        (Scheme::Rfc3168, Feedback::Classic, &nonces, 1, ece, None, Feedback::Classic),
        (Scheme::Dctcp, Feedback::Shares, &plain, 1, ece, None, Feedback::Shares),
        (Scheme::Esce, Feedback::PlainSce, &plain, 1, ece, None, Feedback::PlainSce),
        (Scheme::Mds, Feedback::Sce, &plain, 1, ece, Some(6), Feedback::Sce),
        (Scheme::Mds, Feedback::Sce, &plain, 1, ece, Some(5), Feedback::Classic),
        (Scheme::Mds, Feedback::Sce, &plain, 1, ece, None, Feedback::Classic),
        (Scheme::Quic, Feedback::Counts, &plain, 1, ece, None, Feedback::Counts),
        (Scheme::Quic, Feedback::PlainSce, &plain, 1, ece, None, Feedback::PlainSce),
        (Scheme::AccEcn, Feedback::Counts, &plain, 1, accecn, None, Feedback::Counts),
        (Scheme::AccEcn, Feedback::Counts, &plain, 1, ece, None, Feedback::Classic),
    ] {
        let (mut sender, reports) = sender(scheme, wanted, params.clone());
        for syn in 0..syns {
            sender.on_timer(at(syn * 1000));
            assert!(sender.poll_transmit(at(syn * 1000)).is_some(), "a SYN");
        }
        let mut answer = syn_ack(flags, at(syns * 1000));
        let options = *answer.options().expect("it permits SACK");
        let mds_capable = mds.map(|log2_tau| MdsCapability { log2_tau });
        answer.set_options(Options { mds_capable, ..options });
        sender.on_ack(&answer, at(syns * 1000));
        let heard = reports.lock().expect("one thread").agreed;
        assert_eq!(heard, Some(agreed), "{scheme:?}, {syns} SYNs, {flags:?}, {mds:?}");
    }
}

/// spec/mds section 9: once the controller has given up its fine signals, packets of a flow with MDS leave without the
/// identifier, and still ECN-capable. The DSCP of another flow is no identifier, and stays.
#[test]
fn gives_up_the_identifier() {
    for (scheme, feedback, left) in [
        (FeedbackScheme::Mds, Feedback::Sce, Dscp::DEFAULT),
        (FeedbackScheme::Esce, Feedback::PlainSce, Dscp::MDS),
    ] {
        let reports: Arc<Mutex<Reports>> = Arc::default();
        let cc = Listener { feedback, reports: Arc::clone(&reports) };
        let endpoint = Endpoint { ecn: Ecn::Ect0, feedback: scheme, dscp: Dscp::MDS, ..endpoint() };
        let mut sender = Sender::new(endpoint, &Arc::new(TcpParams::default()), Box::new(cc));
        sender.write(Bytes::MAX);
        sender.poll_transmit(at(0)).expect("a SYN");
        let mut accepts = syn_ack(TcpFlags::ECE, at(40));
        let options = *accepts.options().expect("it permits SACK");
        accepts.set_options(Options { mds_capable: Some(MdsCapability { log2_tau: 6 }), ..options });
        sender.on_ack(&accepts, at(40));
        let data = |sender: &mut Sender, now| {
            let sent: Vec<Packet> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
            let last = sent.last().expect("the window has room");
            assert_eq!(last.ecn, Ecn::Ect0);
            last.dscp
        };
        assert_eq!(data(&mut sender, at(40)), Dscp::MDS);
        sender.on_ack(&answer(TcpFlags::NONE, 2, at(40), at(80)), at(80));
        assert_eq!(data(&mut sender, at(80)), Dscp::MDS, "as long as the controller wants it");
        reports.lock().expect("one thread").conventional = true;
        sender.on_ack(&answer(TcpFlags::NONE, 4, at(40), at(81)), at(81));
        assert_eq!(data(&mut sender, at(81)), left, "{scheme:?}");
    }
}

/// Deliveries as Linux's `in_ack_event` reports them: what is new, cumulatively or by SACK, with the marks on it, but
/// not what a D-SACK says came twice. Linux takes its slow path for an ACK that changes the window or has SACK
/// blocks. The round trip of a segment sent twice is that of the echo in whole milliseconds, at least one: from 93.9
/// to 133.6 ms it is 40.
#[test]
fn deliveries() {
    let params = TcpParams { tlp: false, ..crate::fixed_window() };
    let (mut sender, reports) = sender(FeedbackScheme::Rfc3168, Feedback::Classic, params);
    let flush = |sender: &mut Sender, now| while sender.poll_transmit(now).is_some() {};
    let micros = |us: u64| Time::from_nanos(us * 1000);
    let block = |first: u64, last: u64| SackBlock {
        start: Seq::FIRST_DATA + MSS * (first - 1),
        end: Seq::FIRST_DATA + MSS * last,
    };
    // The acknowledged and the new segments, those marked, the round trip in microseconds, the slow path.
    let hear = |sender: &mut Sender, packet: &Packet, now| {
        sender.on_ack(packet, now);
        flush(sender, now);
        let deliveries = std::mem::take(&mut reports.lock().expect("one thread").deliveries);
        assert!(deliveries.len() < 2);
        deliveries.first().map(|delivery| {
            let Delivery { acked, rtt, delivered, ecn, slow_path } = *delivery;
            assert_eq!(delivered.bytes, MSS * u64::from(delivered.packets));
            (acked / MSS, delivered.packets, ecn.ce.packets, rtt.map(|rtt| rtt.as_nanos() / 1000), slow_path)
        })
    };
    flush(&mut sender, at(0));
    sender.on_ack(&syn_ack(TcpFlags::ECE, at(40)), at(40));
    flush(&mut sender, at(40));
    let ack = |segments, blocks: &[SackBlock], us: u64| {
        let mut packet = answer(TcpFlags::NONE, segments, at(40), micros(us));
        if !blocks.is_empty() {
            let mut options = Options::default();
            for block in blocks {
                options.sack.push(*block);
            }
            packet.set_options(options);
        }
        packet
    };
    assert_eq!(
        hear(&mut sender, &ack(1, &[], 80_000), at(80)),
        Some((1, 1, 0, Some(40_000), true)),
        "a new window"
    );
    assert_eq!(hear(&mut sender, &ack(3, &[], 80_300), micros(80_300)), Some((2, 2, 0, Some(40_300), false)));
    let mut narrower = ack(4, &[], 81_000);
    narrower.window -= 1;
    assert_eq!(hear(&mut sender, &narrower, at(81)), Some((1, 1, 0, Some(41_000), true)));
    let mut marked = ack(6, &[], 82_000);
    marked.window -= 1;
    marked.flags |= TcpFlags::ECE;
    assert_eq!(hear(&mut sender, &marked, at(82)), Some((2, 2, 2, Some(42_000), false)));
    let selective = ack(6, &[block(8, 9)], 83_000);
    assert_eq!(hear(&mut sender, &selective, at(83)), Some((0, 2, 0, Some(43_000), true)));
    assert_eq!(hear(&mut sender, &selective, at(84)), None, "nothing is new");
    // RACK's timer of 93 ms finds 7 lost, 53 ms after its departure.
    sender.on_timer(micros(93_900));
    flush(&mut sender, micros(93_900));
    assert_eq!(sender.stats().retransmits, 1);
    let mut repaired = ack(9, &[], 133_600);
    repaired.ts_ecr = micros(93_900);
    assert_eq!(hear(&mut sender, &repaired, micros(133_600)), Some((3, 1, 0, Some(40_000), false)));
    let twice = ack(10, &[block(7, 7)], 134_000);
    assert_eq!(hear(&mut sender, &twice, at(134)), Some((1, 1, 0, Some(94_000), true)));
}
