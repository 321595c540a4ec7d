//! The verdict table of spec/queues-and-signalling section 0.3, exhaustively.

use windtunnel_qdisc::ecn::{Class, EcnMode, EcnPolicy, Outcome};
use windtunnel_qdisc::{Signal, Verdict};
use windtunnel_units::Bytes;
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet};

const VERDICTS: [Verdict; 4] =
    [Verdict::Pass, Verdict::Mark(Signal::Sce), Verdict::Mark(Signal::Ce), Verdict::Drop];

fn packet(ecn: Ecn, mds: bool) -> Packet {
    let mut packet = Packet::new(FlowId::new(0), Bytes::new(1500), Bytes::new(1448));
    packet.ecn = ecn;
    packet.dscp = if mds { Dscp::MDS } else { Dscp::DEFAULT };
    packet
}

/// An outcome in the table's notation: what the packet carries afterwards, `=` if that is unchanged.
fn apply(mode: EcnMode, ecn: Ecn, mds: bool, verdict: Verdict) -> &'static str {
    let policy = EcnPolicy { mode, ..EcnPolicy::default() };
    let mut packet = packet(ecn, mds);
    let class = policy.classify(&packet);
    let outcome = policy.apply(verdict, class, &mut packet, false);
    match outcome {
        Outcome::Drop => {
            assert_eq!(packet.ecn, ecn);
            "drop"
        }
        Outcome::Passed => {
            assert_eq!(packet.ecn, ecn);
            "="
        }
        Outcome::Marked(Signal::Sce) => {
            assert_eq!((ecn, packet.ecn), (Ecn::Ect0, Ecn::Ect1));
            "sce"
        }
        Outcome::Marked(Signal::Ce) => {
            assert_eq!(packet.ecn, Ecn::Ce);
            assert_ne!(ecn, Ecn::Ce);
            "ce"
        }
    }
}

/// One row: no verdict, SCE, CE, drop.
fn row(mode: EcnMode, ecn: Ecn, mds: bool) -> [&'static str; 4] {
    VERDICTS.map(|verdict| apply(mode, ecn, mds, verdict))
}

#[test]
fn verdict_table() {
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    use EcnMode::{L4s, Mds, None, Rfc3168, Sce};
    let drops_only = ["=", "=", "drop", "drop"];
    let conventional = ["=", "=", "ce", "drop"];
    let sce = ["=", "sce", "ce", "drop"];
    let marked = ["=", "=", "=", "drop"];
    for mds in [false, true] {
        for mode in [None, Rfc3168, Sce, Mds, L4s] {
            assert_eq!(row(mode, NotEct, mds), drops_only, "{mode:?}");
        }
        for ecn in [Ect0, Ect1, Ce] {
            assert_eq!(row(None, ecn, mds), drops_only, "{ecn:?}");
        }
        for mode in [Rfc3168, Sce, Mds, L4s] {
            assert_eq!(row(mode, Ce, mds), marked, "{mode:?}");
        }
        assert_eq!(row(Rfc3168, Ect0, mds), conventional);
        assert_eq!(row(Rfc3168, Ect1, mds), conventional);
        assert_eq!(row(Sce, Ect0, mds), sce);
        assert_eq!(row(Sce, Ect1, mds), conventional);
        // To an L4S queue the MDS identifier means nothing.
        assert_eq!(row(L4s, Ect0, mds), conventional);
        assert_eq!(row(L4s, Ect1, mds), conventional);
    }
    assert_eq!(row(Mds, Ect0, false), conventional);
    assert_eq!(row(Mds, Ect0, true), sce);
    assert_eq!(row(Mds, Ect1, true), conventional);
    // ECT(1) without the identifier is L4S: CE would tell it something else.
    assert_eq!(row(Mds, Ect1, false), drops_only);
}

/// The identifier is the configured DSCP, and only on an ECN-capable packet.
#[test]
fn identifier() {
    let other = EcnPolicy { mds: Dscp::new(5), ..EcnPolicy::default() };
    assert_eq!(other.classify(&packet(Ecn::Ect0, true)), Class::Conventional);
    let mut packet = packet(Ecn::Ect0, false);
    packet.dscp = Dscp::new(5);
    assert_eq!(other.classify(&packet), Class::Sce);
    packet.ecn = Ecn::NotEct;
    assert_eq!(other.classify(&packet), Class::NotEct);
}

/// RFC 9331 section 5.1: ECT(1) is L4S, and so is CE, because a queue cannot know what it was; ECT(0) is not. CE reaches
/// all of them as a mark.
#[test]
fn l4s_classes() {
    let policy = EcnPolicy { mode: EcnMode::L4s, ..EcnPolicy::default() };
    for mds in [false, true] {
        for (ecn, class) in [
            (Ecn::NotEct, Class::NotEct),
            (Ecn::Ect0, Class::Conventional),
            (Ecn::Ect1, Class::Scalable),
            (Ecn::Ce, Class::Scalable),
        ] {
            assert_eq!(policy.classify(&packet(ecn, mds)), class, "{ecn:?}");
        }
    }
}

/// Loss-free endpoints: a packet that would be dropped gets CE (spec/mds section 2).
#[test]
fn delivered_drops_carry_ce() {
    let policy = EcnPolicy::default();
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        let mut packet = packet(ecn, false);
        let class = policy.classify(&packet);
        assert_eq!(policy.apply(Verdict::Drop, class, &mut packet, true), Outcome::Drop);
        assert_eq!(packet.ecn, Ecn::Ce);
    }
}
