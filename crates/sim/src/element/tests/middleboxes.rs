//! Boxes that rewrite headers, and tunnels.

use windtunnel_wire::{AccEcnOption, Dscp, Ecn, IpFields, MdsCapability, Options, SackBlock};

use super::*;

/// The packet that leaves an element; none if it is lost.
fn through(medium: &mut PlacedElement, packet: Packet) -> Option<Packet> {
    match medium.enter(packet, us(1)) {
        Passage::On(packet) => Some(packet),
        Passage::Lost(_) => None,
        other => panic!("{other:?}"),
    }
}

fn carrying(ecn: Ecn, dscp: Dscp) -> Packet {
    let mut packet = data(0, 1);
    packet.ecn = ecn;
    packet.dscp = dscp;
    packet
}

const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

/// Every ECN-capable packet leaves as Not-ECT by default; `from` and `to` restrict this, for example to hide only SCE.
/// A box that affects only some packets does so at its rate.
#[test]
fn ecn_bleacher() {
    let fields = |params: EcnBleacherParams| {
        let mut medium = element(params);
        let out = ALL.map(|ecn| through(&mut medium, carrying(ecn, Dscp::MDS)).map(|packet| packet.ip()));
        assert!(out.iter().all(|ip| ip.is_some_and(|ip| ip.dscp == Dscp::MDS)), "the DSCP stays");
        (out.map(|ip| ip.map(|ip| ip.ecn)), medium.stats().tally.rewritten)
    };
    assert_eq!(fields(EcnBleacherParams::default()), ([Some(Ecn::NotEct); 4], 3));
    let hides_sce =
        EcnBleacherParams { from: vec![CodePoint::Ect1], to: CodePoint::Ect0, ..Default::default() };
    assert_eq!(fields(hides_sce), ([Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ce].map(Some), 1));
    let mut sometimes = element(EcnBleacherParams { probability: p(0.3), ..Default::default() });
    for _ in 0..10_000 {
        through(&mut sometimes, carrying(Ecn::Ce, Dscp::DEFAULT));
    }
    assert_binomial(sometimes.stats().tally.rewritten, 10_000, 0.3);
}

/// RFC 9435 section 4: bleaching writes zero; clearing the precedence changes 43 (101011) to 3 (000011); re-marking
/// writes one value. The ECN field, in the same byte, stays.
#[test]
fn dscp_bleacher() {
    let rewritten = |mode, to| {
        let mut medium = element(DscpBleacherParams { mode, to, ..Default::default() });
        let packet = through(&mut medium, carrying(Ecn::Ect0, Dscp::new(43))).unwrap();
        assert_eq!((packet.ip().ecn, medium.stats().tally.rewritten), (Ecn::Ect0, 1));
        packet.ip().dscp.get()
    };
    assert_eq!(rewritten(DscpBleaching::Bleach, None), 0);
    assert_eq!(rewritten(DscpBleaching::Precedence, None), 3);
    assert_eq!(rewritten(DscpBleaching::Remark, Some(10)), 10);
}

/// Options are removed, only from SYNs if asked for. The length stays, since NOPs take their place. The flag AE is
/// cleared as well.
#[test]
fn option_stripper() {
    let packet = |flags| {
        let mut packet = ack(0, 1);
        packet.flags = flags;
        let mut options = Options {
            mds_capable: Some(MdsCapability::default()),
            sack_permitted: true,
            ..Options::default()
        };
        options.accecn = Some(AccEcnOption::default());
        options.sack.push(SackBlock { start: Seq::new(1), end: Seq::new(2) });
        packet.set_options(options);
        packet
    };
    let left = |params: OptionStripperParams, flags| {
        let packet = through(&mut element(params), packet(flags)).unwrap();
        assert_eq!(packet.size(), Bytes::new(52));
        let options = packet.options().unwrap();
        let kept = [
            options.accecn.is_some(),
            options.mds_capable.is_some(),
            options.sack_permitted,
            !options.sack.is_empty(),
        ];
        (kept, packet.flags)
    };
    let (syn, pure) = (TcpFlags::SYN | TcpFlags::AE, TcpFlags::ACK | TcpFlags::AE);
    assert_eq!(left(OptionStripperParams::default(), syn), ([false, false, true, true], syn));
    let of_syns = OptionStripperParams {
        options: vec![Stripped::SackPermitted, Stripped::Sack],
        on: StrippedFrom::Syn,
        ..Default::default()
    };
    assert_eq!(left(of_syns.clone(), syn), ([true, true, false, false], syn));
    assert_eq!(left(of_syns, pure), ([true; 4], pure));
    let ae = OptionStripperParams { options: vec![Stripped::AeFlag], ..Default::default() };
    assert_eq!(left(ae, pure), ([true; 4], TcpFlags::ACK));
}

/// A packet goes through a tunnel within which a queue marks: RFC 6040 copies the mark to the inner header; an exit
/// that ignores the outer header loses it. The tunnel's bytes are on the wire only between its ends. DSCP by RFC
/// 2983.
#[test]
fn tunnel() {
    let through_tunnel = |entry: TunnelEntryParams, exit: TunnelExitParams, mark| {
        let mut packet = through(&mut element(entry), carrying(Ecn::Ect0, Dscp::MDS)).unwrap();
        assert_eq!((packet.size(), packet.payload()), (MTU + Bytes::new(20), Bytes::new(1448)));
        let seen = packet.ip();
        packet.mark(mark);
        let packet = through(&mut element(exit), packet)?;
        assert_eq!((packet.size(), packet.inner_ip()), (MTU, None));
        Some((seen, packet.ip()))
    };
    let entry = TunnelEntryParams::default;
    let exit = TunnelExitParams::default;
    let ip = |ecn, dscp| IpFields { dscp, ecn };
    let copied = ip(Ecn::Ect0, Dscp::MDS);
    assert_eq!(through_tunnel(entry(), exit(), Ecn::Ect1), Some((copied, ip(Ecn::Ect1, Dscp::MDS))));
    assert_eq!(through_tunnel(entry(), exit(), Ecn::Ce), Some((copied, ip(Ecn::Ce, Dscp::MDS))));
    let deaf = TunnelExitParams { ecn: ExitEcn::Ignore, ..exit() };
    assert_eq!(through_tunnel(entry(), deaf, Ecn::Ce), Some((copied, copied)));
    let own = TunnelEntryParams { mode: EntryMode::Compatibility, dscp: Some(10), ..entry() };
    let outer = ip(Ecn::NotEct, Dscp::new(10));
    let pipe = through_tunnel(own.clone(), exit(), Ecn::NotEct);
    assert_eq!(pipe, Some((outer, copied)));
    let uniform = TunnelExitParams { dscp: ExitDscp::Uniform, ..exit() };
    let copied_back = through_tunnel(own, uniform, Ecn::NotEct);
    assert_eq!(copied_back, Some((outer, ip(Ecn::Ect0, Dscp::new(10)))));
}

/// A packet with an inner header that is not ECN-capable under CE is dropped at the exit (RFC 6040 figure 4); a
/// packet in no tunnel passes the exit; a packet in the maximum number of tunnels of RFC 2473 is not accepted into
/// another.
#[test]
fn tunnel_drops() {
    let mut packet =
        through(&mut element(TunnelEntryParams::default()), carrying(Ecn::NotEct, Dscp::DEFAULT)).unwrap();
    packet.mark(Ecn::Ce);
    assert!(through(&mut element(TunnelExitParams::default()), packet).is_none());
    let mut exit = element(TunnelExitParams::default());
    assert!(through(&mut exit, data(0, 1)).is_some() && exit.stats().tally.rewritten == 0);
    let mut entry = element(TunnelEntryParams::default());
    let mut nested = data(0, 1);
    for _ in 0..4 {
        nested = through(&mut entry, nested).unwrap();
    }
    assert!(through(&mut entry, nested).is_none() && entry.stats().lost == 1);
}

/// A VPN with an anti-replay window of four: of packets that others overtake, those that more than the window overtook are lost,
/// and copies (RFC 4303 section 3.4.3). An exit without a window takes all.
#[test]
fn anti_replay() {
    let arrive = |replay_window: Option<u32>| {
        let mut entry = element(TunnelEntryParams::default());
        let mut sent: Vec<Packet> = (0..10).map(|n| through(&mut entry, data(0, n)).unwrap()).collect();
        let copy = sent[9].duplicate();
        let mut exit = element(TunnelExitParams { replay_window, ..Default::default() });
        // Packets 2 and 5 are late: by seven and by three.
        let (fifth, second) = (sent.remove(5), sent.remove(2));
        sent.insert(6, fifth);
        sent.extend([second, copy]);
        sent.into_iter().filter_map(|packet| through(&mut exit, packet)).count()
    };
    assert_eq!(arrive(None), 11);
    assert_eq!(arrive(Some(64)), 10, "the copy");
    assert_eq!(arrive(Some(4)), 9, "and the packet that seven overtook");
    assert_eq!(key(&TunnelExitParams { replay_window: Some(0), ..Default::default() }), Err("replay_window"));
}

/// Tunnels start and end on one way, nested or in sequence.
#[test]
fn tunnels_have_two_ends() {
    use TunnelEnd::{Entry, Exit};
    for ends in [&[][..], &[Entry, Exit], &[Entry, Entry, Exit, Exit], &[Entry, Exit, Entry, Exit]] {
        assert!(tunnels_match(ends.iter().copied()), "{ends:?}");
    }
    for ends in [&[Entry][..], &[Exit], &[Exit, Entry], &[Entry, Exit, Exit]] {
        assert!(!tunnels_match(ends.iter().copied()), "{ends:?}");
    }
}

/// Invalid parameters, with the key at fault.
#[test]
fn parameters_are_checked() {
    let remark = |mode, to| DscpBleacherParams { mode, to, ..Default::default() };
    assert_eq!(key(&remark(DscpBleaching::Remark, None)), Err("to"));
    assert_eq!(key(&remark(DscpBleaching::Remark, Some(64))), Err("to"));
    assert_eq!(key(&remark(DscpBleaching::Bleach, Some(1))), Err("to"));
    assert_eq!(key(&EcnBleacherParams { from: vec![], ..Default::default() }), Err("from"));
    assert_eq!(key(&EcnBleacherParams { to: CodePoint::Ce, ..Default::default() }), Err("to"));
    assert_eq!(key(&OptionStripperParams { options: vec![], ..Default::default() }), Err("options"));
    assert_eq!(key(&TunnelEntryParams { dscp: Some(64), ..Default::default() }), Err("dscp"));
    assert_eq!(key(&TunnelEntryParams { overhead: Bytes::ZERO, ..Default::default() }), Err("overhead"));
}
