//! How long the sender takes per packet without losses: `cargo run --profile shipped -p windtunnel-tcp --example
//! sender_speed`.
//!
//! A window of 170,000 segments, each acknowledged by itself, in order; the path is a ring of packets.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use windtunnel_cc::{ControllerParams, FlowInit, NoSlowStartParams, WindowedConfig};
use windtunnel_tcp::{Endpoint, FeedbackScheme, HEADERS, Sender};
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet, TcpFlags};

const MSS: Bytes = Bytes::new(1448);

fn main() {
    for (window, paced) in [(200, false), (170_000, false), (200, true)] {
        let endpoint = Endpoint {
            flow: FlowId::new(0),
            mtu: MSS + HEADERS,
            headers: HEADERS,
            iw: MSS * window,
            paced,
            needs_ecn: false,
            ecn: Ecn::Ect0,
            feedback: FeedbackScheme::None,
            dscp: Dscp::DEFAULT,
        };
        let init = FlowInit { iw: MSS * window, paced, ..FlowInit::new(MSS) };
        let cc = WindowedConfig { slow_start: Arc::new(NoSlowStartParams {}), ..WindowedConfig::default() };
        let mut sender = Sender::new(endpoint, &Arc::default(), cc.build(init));
        sender.write(Bytes::MAX);
        let mut path: VecDeque<Packet> = VecDeque::new();
        let mut now = Time::ZERO;
        path.extend(sender.poll_transmit(now));
        let packets = 5_000_000_u64;
        #[expect(clippy::disallowed_methods, reason = "this measures the machine, not the simulation")]
        let start = std::time::Instant::now();
        let mut sent = 0;
        while sent < packets {
            now += Duration::from_nanos(1000);
            if sender.next_timer().is_some_and(|due| due <= now) {
                sender.on_timer(now);
            }
            if let Some(data) = path.pop_front() {
                let mut ack = Packet::new(endpoint.flow, HEADERS, Bytes::ZERO);
                let syn = data.flags.contains(TcpFlags::SYN);
                ack.ack = if syn { Seq::FIRST_DATA } else { data.seq + data.payload() };
                ack.flags = TcpFlags::ACK.with_if(TcpFlags::SYN, syn);
                ack.ts_ecr = data.ts_val;
                ack.ts_val = now;
                black_box(sender.on_ack(&ack, now));
            }
            while let Some(packet) = sender.poll_transmit(now) {
                path.push_back(packet);
                sent += 1;
            }
        }
        let ns = start.elapsed().as_nanos() as f64 / packets as f64;
        println!("window {window:6}, paced {paced}: {ns:.1} ns per packet, {:?}", sender.stats().rtos);
    }
}
