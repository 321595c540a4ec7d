//! What the sender echoes (RFC 7323 section 4.3).

use windtunnel_tcp::HEADERS;
use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{FlowId, Packet, TcpFlags};

use super::harness::{Lab, MSS, Setup, at, lost};

/// The timestamp of every ACK is recorded, even if the ACK acknowledges nothing new, except for that of an older ACK
/// that was overtaken.
#[test]
fn echo() {
    let mut lab = Lab::new(Setup::default(), lost(0..100));
    lab.write_endless();
    lab.run_until(at(60));
    let mut echo = |acked: u64, ts_val: u64| {
        let mut packet = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
        packet.flags = TcpFlags::ACK;
        packet.ack = Seq::FIRST_DATA + MSS * acked;
        (packet.ts_val, packet.ts_ecr) = (at(ts_val), at(40));
        lab.sender.on_ack(&packet, at(90));
        while let Some(sent) = lab.sender.poll_transmit(at(90)) {
            if sent.seq > packet.ack {
                return sent.ts_ecr;
            }
        }
        panic!("nothing leaves");
    };
    assert_eq!([echo(1, 70), echo(2, 65), echo(3, 71)], [at(70), at(70), at(71)]);
}
