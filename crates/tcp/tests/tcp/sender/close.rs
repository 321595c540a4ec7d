//! The end of a connection, as the side that closes first has it: RFC 9293 sections 3.6 and 3.10.4. Recordings cover
//! what Linux does with its FIN (`linux_close.py` of the validation); these tests cover what no recording of
//! transmissions shows.

use windtunnel_tcp::{ConnectionState, Limited, WindowScale};
use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{Packet, TcpFlags};

use super::harness::{Lab, MSS, Script, Setup, at, endpoint, lost};

/// A packet of the peer that acknowledges everything below `ack`; with `fin` it ends the peer's stream.
fn peer(ack: u64, fin: bool, lab: &Lab) -> Packet {
    let mut packet = Packet::new(endpoint().flow, endpoint().headers, Bytes::ZERO);
    packet.flags = TcpFlags::ACK.with_if(TcpFlags::FIN, fin);
    packet.seq = Seq::FIRST_DATA;
    packet.ack = Seq::new(ack);
    packet.ts_val = lab.now;
    packet
}

fn closed(segments: u64, script: Script) -> Lab {
    let mut lab = Lab::new(Setup::default(), script);
    lab.sender.write(MSS * segments);
    lab.sender.close();
    lab.write(0);
    lab
}

/// ESTABLISHED, FIN-WAIT-1 from the call of close on, FIN-WAIT-2 after the ACK of the FIN, TIME-WAIT after the peer's
/// FIN, which is acknowledged at once, and again if it is repeated. The FIN has the sequence number after the data.
#[test]
fn states() {
    let mut lab = Lab::new(Setup::default(), Script::default());
    assert_eq!(lab.sender.connection_state(), ConnectionState::Closed);
    lab.write(12);
    assert_eq!(lab.sender.connection_state(), ConnectionState::SynSent);
    lab.run_until(at(40));
    assert_eq!(lab.sender.connection_state(), ConnectionState::Established);
    lab.sender.close();
    assert_eq!(lab.sender.connection_state(), ConnectionState::FinWait1, "the FIN has not left yet");
    lab.run_until(at(80));
    assert_eq!(lab.sent.last().map(|sent| sent.flags), Some(TcpFlags::ACK | TcpFlags::PSH | TcpFlags::FIN));
    assert_eq!(lab.sender.connection_state(), ConnectionState::FinWait1, "nor been acknowledged");
    let end = 1 + 12 * MSS.get() + 1;
    assert_eq!(lab.sender.snd_nxt(), Seq::new(end));
    assert_eq!(lab.sender.in_flight(), MSS * 2, "a FIN is no data");
    let now = lab.now;
    let packet = peer(end, false, &lab);
    lab.sender.on_ack(&packet, now);
    assert_eq!(lab.sender.connection_state(), ConnectionState::FinWait2);
    assert!(lab.sender.is_drained() && lab.sender.next_timer().is_none());
    for _ in 0..2 {
        let packet = peer(end, true, &lab);
        lab.sender.on_ack(&packet, now);
        assert_eq!(lab.sender.connection_state(), ConnectionState::TimeWait);
        let answer = lab.sender.poll_transmit(now).expect("the ACK of the FIN");
        assert_eq!((answer.flags, answer.payload()), (TcpFlags::ACK, Bytes::ZERO));
        assert_eq!((answer.seq, answer.ack), (Seq::new(end), Seq::new(2)));
        assert_eq!(lab.sender.poll_transmit(now), None);
    }
    assert_eq!(lab.sender.stats().delivered, MSS * 12);
}

/// Without data left the FIN is a packet of its own: not ECN-capable, no data segment in the statistics, and the
/// application limits the sender afterwards.
#[test]
fn alone() {
    let mut lab = Lab::new(Setup::default(), Script::default());
    lab.write(3);
    lab.run_until(at(45));
    lab.sender.close();
    let fin = lab.sender.poll_transmit(lab.now).expect("the FIN");
    assert_eq!((fin.flags, fin.payload()), (TcpFlags::ACK | TcpFlags::FIN, Bytes::ZERO));
    assert_eq!(fin.seq, Seq::new(1 + 3 * MSS.get()));
    assert_eq!(lab.sender.poll_transmit(lab.now), None);
    assert_eq!(lab.sender.limited_by(), Limited::Application);
    assert_eq!((lab.sender.stats().segments_sent, lab.sender.in_flight()), (3, MSS * 3));
}

/// Data written after the close are not part of the stream.
#[test]
fn writes_after_the_close_are_ignored() {
    let mut lab = closed(2, Script::default());
    lab.sender.write(MSS * 5);
    lab.run_until(at(100));
    assert_eq!(lab.sender.snd_nxt(), Seq::new(1 + 2 * MSS.get() + 1));
}

/// A FIN needs room in the receive window like a byte of data (RFC 9293 section 3.4): if the data fill the window
/// exactly, it leaves alone when the window moves.
#[test]
fn the_window_holds_the_fin_back() {
    let mut lab = Lab::new(Setup { cwnd: 20, ..Setup::default() }, Script::default());
    let unit = 1 << WindowScale::new(&endpoint(), &crate::fixed_window()).shift;
    lab.set_window(1);
    lab.sender.write(Bytes::new(unit));
    lab.sender.close();
    lab.write(0);
    lab.run_until(at(40));
    assert_eq!(lab.sender.snd_nxt(), Seq::new(1 + unit), "all data, and no FIN");
    lab.run_until(at(80));
    assert_eq!(lab.sender.snd_nxt(), Seq::new(1 + unit + 1));
    assert_eq!(lab.sent.last().map(|sent| sent.flags), Some(TcpFlags::ACK | TcpFlags::FIN));
}

/// Losses anywhere: the FIN gets through, and everything is acknowledged.
#[test]
fn gets_through() {
    for segments in [1, 9, 10, 11, 30] {
        for first in 0..segments {
            let mut lab = closed(segments, lost([first, first + 1, segments, segments + 1]));
            lab.run_to_the_end();
            assert_eq!(lab.sender.connection_state(), ConnectionState::FinWait2, "{segments} {first}");
            assert_eq!(lab.received(), MSS * segments + Bytes::new(1), "{segments} {first}");
            assert_eq!(lab.sender.stats().delivered, MSS * segments);
        }
    }
}

/// A FIN without data that is lost is repaired like a segment, but counts as a control packet that was sent again and
/// not as data.
#[test]
fn a_lost_fin_is_counted() {
    let mut lab = Lab::new(Setup::default(), lost([1]));
    lab.write(1);
    lab.run_until(at(100));
    lab.sender.close();
    lab.write(0);
    lab.run_to_the_end();
    let stats = lab.sender.stats();
    assert_eq!((stats.control_retransmits, stats.retransmits, stats.segments_sent), (1, 0, 1));
}
