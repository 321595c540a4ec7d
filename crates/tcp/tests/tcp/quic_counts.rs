//! Counts of packets as in QUIC's ACK frames (RFC 9000 sections 13.4 and 19.3.2; spec/queues-and-signalling section 17.8).

use std::sync::{Arc, Mutex};

use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, EcnFeedback, Feedback, Needs, PathView, Phase,
};
use windtunnel_tcp::{
    AckParams, AckPolicy, EcnPp, Endpoint, FeedbackScheme, HEADERS, Receiver, Sender, TcpParams,
};
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, EcnCounts, FlowId, Options, Packet, SackBlock, TcpFlags};

const MSS: Bytes = Bytes::new(1448);

fn endpoint(ecn: Ecn) -> Endpoint {
    Endpoint {
        flow: FlowId::new(0),
        mtu: MSS + HEADERS,
        headers: HEADERS,
        iw: MSS * 10,
        paced: false,
        needs_ecn: false,
        ecn,
        feedback: FeedbackScheme::Quic,
        dscp: Dscp::DEFAULT,
    }
}

/// A window of ten segments, and the sum of what it is told.
#[derive(Debug)]
struct Counting {
    needs: Feedback,
    heard: Arc<Mutex<(EcnFeedback, u32)>>,
}

impl CongestionControl for Counting {
    fn needs(&self) -> Needs {
        Needs { feedback: self.needs, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &AckSample, _: &PathView) {
        let heard = &mut self.heard.lock().expect("one thread").0;
        heard.ce += ack.ecn.ce;
        heard.sce += ack.ecn.sce;
    }

    fn on_congestion(&mut self, _: &CongestionEvent, _: &PathView) -> bool {
        self.heard.lock().expect("one thread").1 += 1;
        false
    }

    fn on_rto(&mut self, _: bool, _: &PathView) {}

    fn control(&self) -> Control {
        Control { ssthresh: MSS * 10, phase: Phase::CongestionAvoidance, ..Control::window(MSS * 10) }
    }
}

/// A sender whose SYN has been answered, with ten segments in flight.
struct Lab {
    sender: Sender,
    heard: Arc<Mutex<(EcnFeedback, u32)>>,
    now: Time,
    flight: Vec<Ecn>,
}

impl Lab {
    fn new(ecn: Ecn, needs: Feedback) -> Lab {
        let heard = Arc::default();
        let cc = Counting { needs, heard: Arc::clone(&heard) };
        let params = Arc::new(TcpParams { ecn_pp: EcnPp::Off, ..TcpParams::default() });
        let mut sender = Sender::new(endpoint(ecn), &params, Box::new(cc));
        sender.write(Bytes::MAX);
        let syn = sender.poll_transmit(Time::ZERO).expect("a SYN");
        assert_eq!(syn.flags.ace(), 0b011, "negotiated as RFC 3168");
        let mut lab = Lab { sender, heard, now: Time::ZERO, flight: Vec::new() };
        let mut answer = lab.packet(1);
        answer.flags = TcpFlags::SYN | TcpFlags::ACK | TcpFlags::ECE;
        answer.set_options(Options { sack_permitted: true, ..Options::default() });
        lab.give(&answer);
        assert_eq!(lab.flight.remove(0), Ecn::NotEct, "the ACK of the answer");
        assert_eq!(lab.flight, [ecn; 10]);
        lab
    }

    fn packet(&mut self, ack: u64) -> Packet {
        self.now += Duration::from_millis(10);
        let mut packet = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
        packet.ack = Seq::new(ack);
        packet.flags = TcpFlags::ACK;
        packet.ts_val = self.now;
        packet
    }

    fn give(&mut self, packet: &Packet) {
        self.sender.on_ack(packet, self.now);
        self.flight =
            std::iter::from_fn(|| self.sender.poll_transmit(self.now)).map(|sent| sent.ecn).collect();
    }

    /// An ACK of everything below this segment, with counts of ECT(0), ECT(1) and CE and with these segments as SACK blocks.
    fn ack(&mut self, segment: u64, counts: Option<[u32; 3]>, sacked: &[u64]) {
        let mut packet = self.packet(1 + segment * MSS.get());
        let mut options = Options {
            ecn_counts: counts.map(|[ect0, ect1, ce]| EcnCounts { ect0, ect1, ce }),
            ..Options::default()
        };
        for n in sacked {
            let start = Seq::FIRST_DATA + MSS * *n;
            options.sack.push(SackBlock { start, end: start + MSS });
        }
        packet.set_options(options);
        self.give(&packet);
    }

    /// CE, SCE, congestion events.
    fn heard(&self) -> (u32, u32, u32) {
        let (ecn, events) = *self.heard.lock().expect("one thread");
        (ecn.ce.packets, ecn.sce.packets, events)
    }

    /// What is sent is still ECN-capable.
    fn uses_ecn(&self) -> bool {
        assert!(!self.flight.is_empty(), "something is sent");
        self.flight.iter().all(|ecn| *ecn != Ecn::NotEct)
    }
}

/// What the counts have grown by is what was marked, whatever ACKs were lost between; the sum tells of the acknowledged packets alone.
#[test]
fn marks_are_heard_exactly() {
    let mut lab = Lab::new(Ecn::Ect0, Feedback::Counts);
    lab.ack(2, Some([2, 0, 0]), &[]);
    assert_eq!(lab.heard(), (0, 0, 0));
    lab.ack(7, Some([3, 0, 4]), &[]);
    assert_eq!(lab.heard(), (4, 0, 1));
    lab.ack(8, Some([3, 0, 5]), &[]);
    assert_eq!(lab.heard(), (5, 0, 2));
    assert!(lab.uses_ecn());
}

/// RFC 9000 section 13.4.2.1: ECN is given up if acknowledged packets are missing in the counts (bleached), if the counts are
/// missing (stripped), if a code point is counted that was never sent (re-marked), and if counts go back while others grow. What the
/// ACK said about marks is then not heard.
#[test]
fn validation() {
    for (counts, what) in [
        (Some([1, 0, 0]), "one of two bleached"),
        (Some([0, 0, 0]), "all bleached"),
        (None, "stripped"),
        (Some([1, 1, 0]), "re-marked as ECT(1)"),
    ] {
        let mut lab = Lab::new(Ecn::Ect0, Feedback::Counts);
        lab.ack(2, counts, &[]);
        assert!(!lab.uses_ecn(), "{what}");
        assert_eq!(lab.heard(), (0, 0, 0), "{what}");
        lab.ack(4, Some([2, 0, 2]), &[]);
        assert!(!lab.uses_ecn() && lab.heard().2 == 0, "{what}: for good");
    }
    let mut lab = Lab::new(Ecn::Ect1, Feedback::Counts);
    lab.ack(2, Some([0, 1, 1]), &[]);
    assert!(lab.uses_ecn(), "of an L4S sender, ECT(1) and CE count");
    lab.ack(4, Some([1, 2, 1]), &[]);
    assert!(!lab.uses_ecn(), "ECT(0) was never sent");
    let mut lab = Lab::new(Ecn::Ect0, Feedback::Counts);
    lab.ack(2, Some([2, 0, 0]), &[]);
    lab.ack(4, Some([1, 0, 3]), &[]);
    assert!(!lab.uses_ecn(), "not the sender's code point");
}

/// Section 17.8: a sender that hears SCE takes ECT(1) for its mark, not for a fault.
#[test]
fn sce_is_counted() {
    let mut lab = Lab::new(Ecn::Ect0, Feedback::PlainSce);
    lab.ack(4, Some([1, 3, 0]), &[]);
    assert!(lab.uses_ecn());
    assert_eq!(lab.heard(), (0, 3, 0));
    lab.ack(6, Some([1, 4, 1]), &[]);
    assert_eq!(lab.heard(), (1, 4, 1));
}

/// An ACK that a later one has overtaken has smaller counts: it is not read, and shows no fault (RFC 9000 section 13.4.2.1: only ACKs
/// that raise the largest acknowledged are validated).
#[test]
fn overtaken() {
    let mut lab = Lab::new(Ecn::Ect0, Feedback::Counts);
    lab.ack(6, Some([4, 0, 2]), &[]);
    let flight = lab.flight.clone();
    lab.ack(2, Some([1, 0, 1]), &[]);
    assert_eq!(lab.heard(), (2, 0, 1));
    lab.flight = flight;
    assert!(lab.uses_ecn());
    lab.ack(8, Some([6, 0, 2]), &[]);
    assert!(lab.uses_ecn());
}

/// With two SACK blocks there is no room for the counts next to timestamps: their absence is no fault, and the next
/// counts include what those ACKs delivered. A retransmission is sent Not-ECT, and is not missed.
#[test]
fn losses() {
    let mut lab = Lab::new(Ecn::Ect0, Feedback::Counts);
    lab.ack(0, None, &[9, 7]);
    lab.ack(0, None, &[5, 9, 7]);
    assert_eq!(lab.heard(), (0, 0, 0));
    for _ in 0..20 {
        let Some(timer) = lab.sender.next_timer() else { break };
        if lab.flight.contains(&Ecn::NotEct) {
            break;
        }
        lab.now = lab.now.max(timer);
        lab.sender.on_timer(lab.now);
        lab.flight = std::iter::from_fn(|| lab.sender.poll_transmit(lab.now)).map(|sent| sent.ecn).collect();
    }
    assert!(lab.flight.contains(&Ecn::NotEct), "the head is sent again");
    lab.ack(1, Some([3, 0, 0]), &[5]);
    assert!(!lab.flight.is_empty());
    lab.ack(10, Some([11, 0, 1]), &[]);
    assert!(lab.flight.contains(&Ecn::Ect0), "{:?}", lab.flight);
    assert_eq!(lab.heard().0, 1);
}

/// The receiver: cumulative counts of every accepted packet on every ACK; CE is acknowledged at once, everything else by twos (RFC 9000
/// section 13.2.1 and 13.2.2); a duplicate is not counted again (section 13.4.1); with two SACK blocks there is no room.
#[test]
fn receiver() {
    let params = TcpParams { window_growth: false, autotuning: false, ..TcpParams::default() };
    let acks = AckParams { policy: AckPolicy::Every, ..AckParams::default() };
    let mut receiver = Receiver::new(endpoint(Ecn::Ect0), &params, acks);
    let mut syn = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
    syn.flags = TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR;
    syn.set_options(Options { sack_permitted: true, ..Options::default() });
    receiver.on_segment(&syn, Time::ZERO);
    assert_eq!(receiver.poll_ack(Time::ZERO).expect("an answer").flags.ace(), 0b001);
    let mut give = |n: u64, ecn| {
        let now = Time::ZERO + Duration::from_millis(n + 1);
        let mut packet = Packet::new(FlowId::new(0), MSS + HEADERS, MSS);
        packet.seq = Seq::FIRST_DATA + MSS * n;
        packet.ecn = ecn;
        packet.ts_val = now;
        receiver.on_segment(&packet, now);
        receiver.poll_ack(now).map(|ack| {
            assert_eq!(ack.flags, TcpFlags::ACK, "the flags say nothing");
            let options = ack.options();
            (ack.size() - HEADERS, options.and_then(|options| options.ecn_counts.map(EcnCounts::fields)))
        })
    };
    let counted = |counts| Some((Bytes::new(16), Some(counts)));
    assert_eq!(give(0, Ecn::Ect0), None);
    assert_eq!(give(1, Ecn::Ect0), counted([2, 0, 0]));
    assert_eq!(give(2, Ecn::Ce), counted([2, 0, 1]), "at once");
    assert_eq!(give(3, Ecn::Ce), counted([2, 0, 2]));
    assert_eq!(give(3, Ecn::Ce).map(|(_, counts)| counts), Some(Some([2, 0, 2])), "a duplicate");
    assert_eq!(give(4, Ecn::Ect1), None);
    assert_eq!(give(5, Ecn::NotEct), counted([2, 1, 2]));
    assert_eq!(give(7, Ecn::Ect0), Some((Bytes::new(12 + 16), Some([3, 1, 2]))), "next to a block");
    assert_eq!(give(9, Ecn::Ect0), Some((Bytes::new(20), None)), "two blocks");
}
