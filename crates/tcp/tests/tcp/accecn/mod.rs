//! AccECN (RFC 9768) between the sender and the receiver, and of the sender alone.

mod counts;
mod handshake;
mod mangling;

use std::sync::{Arc, Mutex};

use windtunnel_cc::{AckSample, CongestionControl, CongestionEvent, Control, EcnFeedback, PathView, Phase};
use windtunnel_tcp::{Endpoint, FeedbackScheme, HEADERS, Sender, TcpParams};
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{AccEcnOption, AccEcnOrder, Dscp, Ecn, FlowId, Options, Packet, SackBlock, TcpFlags};

const MSS: Bytes = Bytes::new(1448);

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn endpoint(feedback: FeedbackScheme, ecn: Ecn) -> Endpoint {
    Endpoint {
        flow: FlowId::new(0),
        mtu: MSS + HEADERS,
        headers: HEADERS,
        iw: MSS * 10,
        paced: false,
        needs_ecn: false,
        ecn,
        feedback,
        dscp: Dscp::DEFAULT,
    }
}

/// What a controller was told: counts, and congestion events.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    counts: EcnFeedback,
    events: u32,
}

/// A fixed window, and the sum of what it is told.
#[derive(Debug)]
struct Counting {
    window: u64,
    told: Arc<Mutex<Told>>,
}

impl CongestionControl for Counting {
    fn on_ack(&mut self, ack: &AckSample, _: &PathView) {
        let told = &mut self.told.lock().expect("one thread").counts;
        for (sum, news) in
            [(&mut told.ce, ack.ecn.ce), (&mut told.sce, ack.ecn.sce), (&mut told.ect1, ack.ecn.ect1)]
        {
            sum.bytes += news.bytes;
            sum.packets += news.packets;
        }
    }

    fn on_congestion(&mut self, _: &CongestionEvent, _: &PathView) -> bool {
        self.told.lock().expect("one thread").events += 1;
        false
    }

    fn on_rto(&mut self, _: bool, _: &PathView) {}

    fn control(&self) -> Control {
        Control {
            ssthresh: MSS * self.window,
            phase: Phase::CongestionAvoidance,
            ..Control::window(MSS * self.window)
        }
    }
}

/// A sender with a window of `window` segments, and what its controller is told.
fn sender(feedback: FeedbackScheme, ecn: Ecn, window: u64) -> (Sender, Arc<Mutex<Told>>) {
    sender_with(feedback, ecn, window, &TcpParams::default())
}

fn sender_with(
    feedback: FeedbackScheme,
    ecn: Ecn,
    window: u64,
    params: &TcpParams,
) -> (Sender, Arc<Mutex<Told>>) {
    let told = Arc::default();
    let cc = Counting { window, told: Arc::clone(&told) };
    (Sender::new(endpoint(feedback, ecn), &Arc::new(params.clone()), Box::new(cc)), told)
}

fn told(told: &Mutex<Told>) -> Told {
    *told.lock().expect("one thread")
}

/// A packet of the receiver with this acknowledgment and these flags in addition to ACK.
fn ack(ack: u64, flags: TcpFlags, now: Time) -> Packet {
    let mut packet = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
    packet.ack = Seq::new(ack);
    packet.flags = TcpFlags::ACK | flags;
    packet.ts_val = now;
    packet
}

/// A SYN/ACK with this code of AE, CWR and ECE, and an AccECN option if `option`.
fn syn_ack(code: u8, option: Option<AccEcnOption>) -> Packet {
    let mut packet = ack(1, TcpFlags::SYN.with_ace(code), at(10));
    packet.set_options(Options { sack_permitted: true, accecn: option, ..Options::default() });
    packet
}

/// All three counters as they start.
fn initial() -> AccEcnOption {
    AccEcnOption::new(AccEcnOrder::Zero, 3, 1, 0, 1)
}

fn all_that_leaves(sender: &mut Sender, now: Time) -> Vec<Packet> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}
