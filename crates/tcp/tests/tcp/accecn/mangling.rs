//! Feedback that a path or a receiver has spoilt (RFC 9768 sections 3.2.2.4, 3.2.3.2.4 and 3.2.3.2.5), and feedback that comes
//! late (section 3.2.3.1).

use windtunnel_units::Duration;

use super::*;

/// A connected sender with a window of 20 segments, all sent, and what its controller is told.
fn connected(option: Option<AccEcnOption>) -> (Sender, Arc<Mutex<Told>>) {
    let (mut sender, told) = sender(FeedbackScheme::AccEcn, Ecn::Ect0, 20);
    sender.write(Bytes::MAX);
    sender.poll_transmit(at(0)).expect("the SYN");
    sender.on_ack(&syn_ack(0b010, option), at(10));
    assert_eq!(all_that_leaves(&mut sender, at(10)).len(), 21);
    (sender, told)
}

/// An ACK of the first `segments` segments, with this ACE field and these bytes with CE in an option.
fn reports(segments: u64, ace: u8, ceb: Option<u32>, ms: u64) -> Packet {
    let mut packet = ack(1 + segments * MSS.get(), TcpFlags::NONE.with_ace(ace), at(ms));
    if let Some(ceb) = ceb {
        let accecn = Some(AccEcnOption::new(AccEcnOrder::Zero, 2, 1, ceb, 1));
        packet.set_options(Options { accecn, ..Options::default() });
    }
    packet
}

fn code_points(sender: &mut Sender, ms: u64) -> Vec<Ecn> {
    all_that_leaves(sender, at(ms)).iter().map(|packet| packet.ecn).collect()
}

/// Section 3.2.2.4: if the first ACE field is zero, data are sent as Not-ECT, and the sender does not respond to
/// feedback.
#[test]
fn zeroed_ace() {
    let (mut sender, told_to) = connected(Some(initial()));
    sender.on_ack(&reports(1, 0, None, 20), at(20));
    assert_eq!(code_points(&mut sender, 20), [Ecn::NotEct]);
    sender.on_ack(&reports(2, 3, None, 21), at(21));
    assert_eq!((told(&told_to).counts.ce.packets, told(&told_to).events), (0, 0));
}

/// A later zero is a counter that has wrapped: 5, 6, 7, 0.
#[test]
fn ace_goes_round() {
    let (mut sender, told_to) = connected(Some(initial()));
    for (n, ace) in [(1, 6), (2, 7), (3, 0), (4, 1)] {
        sender.on_ack(&reports(n, ace, None, 20 + n), at(20 + n));
        assert_eq!(told(&told_to).counts.ce.packets, n as u32);
    }
    assert!(code_points(&mut sender, 25).iter().all(|ecn| *ecn == Ecn::Ect0));
}

/// Section 3.2.3.2.4: if EE0B or EE1B is zero in the first option, options are ignored and the ACE field alone counts:
/// an ACK of 8 segments with an unchanged field means 8 marks.
#[test]
fn zeroed_option() {
    for (e0b, e1b) in [(0, 0), (0, 1), (1, 0)] {
        let zeroed = Some(AccEcnOption::new(AccEcnOrder::Zero, 3, e0b, 0, e1b));
        let (mut sender, told_to) = connected(zeroed);
        sender.on_ack(&reports(8, 5, Some(0), 20), at(20));
        assert_eq!(told(&told_to).counts.ce.packets, 8, "{e0b}, {e1b}");
    }
    let (mut sender, told_to) = connected(Some(initial()));
    sender.on_ack(&reports(8, 5, Some(0), 20), at(20));
    assert_eq!(told(&told_to).counts.ce.packets, 0, "with the option that nothing was marked is certain");
}

/// Section 3.2.3.2.5: if bytes were marked but no packet, and the field cannot have wrapped, data are sent as Not-ECT.
#[test]
fn bytes_without_packets() {
    let (mut sender, _) = connected(Some(initial()));
    sender.on_ack(&reports(1, 5, Some(1448), 20), at(20));
    assert_eq!(code_points(&mut sender, 20), [Ecn::NotEct]);
}

/// No more than two SACK blocks fit next to an option: lost ACKs may have had other blocks, so it is not certain how
/// often the field wrapped. The bytes of eight segments without growth of the field are then eight packets, and no sign
/// of mangling; with one block they are such a sign.
#[test]
fn bytes_beyond_what_sack_shows() {
    let block = |segment| SackBlock {
        start: Seq::new(1 + segment * MSS.get()),
        end: Seq::new(1 + (segment + 1) * MSS.get()),
    };
    for (blocks, packets, data) in
        [(vec![block(5), block(2)], 8, Ecn::Ect0), (vec![block(2)], 0, Ecn::NotEct)]
    {
        let (mut sender, told_to) = connected(Some(initial()));
        let mut packet = reports(0, 5, Some(8 * 1448), 20);
        let mut options = *packet.options().expect("an option");
        for block in blocks {
            options.sack.push(block);
        }
        packet.set_options(options);
        sender.on_ack(&packet, at(20));
        assert_eq!((told(&told_to).counts.ce.packets, told(&told_to).counts.ce.bytes), (packets, MSS * 8));
        assert_eq!(code_points(&mut sender, 20).last(), Some(&data));
    }
}

/// Section 3.2.3.1: an ACK that another has superseded is not read: it acknowledges nothing new, and its timestamp is
/// not later. An ACK that acknowledges nothing but is later is read. Timestamps have ticks of 1 ms: within one tick it
/// is not known which ACK is the later one, so the counters are read from the next ACK.
#[test]
fn superseded() {
    let (mut sender, told_to) = connected(Some(initial()));
    sender.on_ack(&reports(1, 6, Some(1448), 19), at(19));
    sender.on_ack(&reports(4, 0, Some(3 * 1448), 20), at(20));
    assert_eq!(told(&told_to).counts.ce.packets, 3);
    sender.on_ack(&reports(2, 6, Some(1448), 18), at(21));
    assert_eq!(told(&told_to).counts.ce.packets, 3, "overtaken");
    let mut same_tick = reports(4, 1, Some(4 * 1448), 20);
    same_tick.ts_val += Duration::from_micros(999);
    sender.on_ack(&same_tick, at(22));
    sender.on_ack(&reports(5, 1, Some(4 * 1448), 23), at(23));
    assert_eq!(told(&told_to).counts.ce.packets, 4);
    sender.on_ack(&reports(5, 2, Some(5 * 1448), 24), at(24));
    sender.on_ack(&reports(6, 2, Some(5 * 1448), 25), at(25));
    assert_eq!(told(&told_to).counts.ce.packets, 5, "heard of a mark while nothing was acknowledged");
}

/// A superseded ACK may still deliver something: SACK blocks for which later ACKs had no room. It is recognised by its
/// timestamp and, within a tick, by a counter that has gone back, here that of ECT(0). Its ACE field of 6 after 7 does
/// not mean seven marks, and its counter has not wrapped at 2^24 bytes.
#[test]
fn superseded_with_news() {
    for (ms, e0b) in [(19, 1), (20, 1449)] {
        let (mut sender, told_to) = connected(Some(initial()));
        let dup = |ace, ceb, e0b, blocks: &[u64], ms| {
            let mut packet = reports(0, ace, None, ms);
            let accecn = Some(AccEcnOption::new(AccEcnOrder::Zero, 2, e0b, ceb, 1));
            let mut options = Options { accecn, ..Options::default() };
            for block in blocks {
                let start = Seq::new(1 + block * MSS.get());
                options.sack.push(SackBlock { start, end: start + MSS });
            }
            packet.set_options(options);
            packet
        };
        sender.on_ack(&dup(7, 2 * 1448, 1 + 2 * 1448, &[5], 20), at(20));
        assert_eq!(told(&told_to).counts.ce.packets, 2);
        sender.on_ack(&dup(6, 1448, e0b, &[3], ms), at(20));
        let ce = told(&told_to).counts.ce;
        assert_eq!((ce.packets, ce.bytes), (2, MSS * 2), "timestamp {ms} ms");
        sender.on_ack(&dup(0, 3 * 1448, 1 + 3 * 1448, &[7], 20), at(20));
        let ce = told(&told_to).counts.ce;
        assert_eq!((ce.packets, ce.bytes), (3, MSS * 3), "the next one is read");
    }
}

/// Bytes are estimated where an ACK has no option, and reconciled with the next one: no mark is counted twice.
#[test]
fn estimates_are_reconciled() {
    let (mut sender, told_to) = connected(Some(initial()));
    sender.on_ack(&reports(2, 7, None, 20), at(20));
    assert_eq!(told(&told_to).counts.ce.bytes, MSS * 2, "an estimate");
    sender.on_ack(&reports(4, 0, Some(3 * 1448), 21), at(21));
    assert_eq!((told(&told_to).counts.ce.bytes, told(&told_to).counts.ce.packets), (MSS * 3, 3));
}
