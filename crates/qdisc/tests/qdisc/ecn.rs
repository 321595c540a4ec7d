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

/// The table of a queue mode: the rows of Not-ECT, ECT(0), ECT(1) and CE, first for packets without the MDS identifier, then
/// for packets with it. A new mode is a new arm.
fn table(mode: EcnMode) -> [[[&'static str; 4]; 4]; 2] {
    let drops_only = ["=", "=", "drop", "drop"];
    let conventional = ["=", "=", "ce", "drop"];
    let sce = ["=", "sce", "ce", "drop"];
    let marked = ["=", "=", "=", "drop"];
    // ECT(1) of a packet that understands SCE is SCE already.
    let has_sce = conventional;
    match mode {
        EcnMode::None => [[drops_only; 4]; 2],
        // To an L4S queue, which gives the same verdicts to either, the MDS identifier means nothing.
        EcnMode::Rfc3168 | EcnMode::L4s => [[drops_only, conventional, conventional, marked]; 2],
        EcnMode::Sce => [[drops_only, sce, has_sce, marked]; 2],
        // ECT(1) without the identifier is L4S: CE would tell it something else.
        EcnMode::Mds => [[drops_only, conventional, drops_only, marked], [drops_only, sce, has_sce, marked]],
    }
}

/// Every mode, code point, identifier and verdict. The modes are those that a scenario can name.
#[test]
fn verdict_table() {
    let modes: Vec<EcnMode> = modes();
    assert!(modes.len() >= 4, "{modes:?}");
    for mode in modes {
        for (mds, rows) in [false, true].into_iter().zip(table(mode)) {
            for (ecn, expected) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].into_iter().zip(rows) {
                assert_eq!(row(mode, ecn, mds), expected, "{mode:?} {ecn:?} with identifier: {mds}");
            }
        }
    }
}

/// All modes, from the schema.
fn modes() -> Vec<EcnMode> {
    let schema = schemars::schema_for!(EcnMode).to_value();
    let variants = schema["oneOf"].as_array().expect("variants with descriptions");
    variants.iter().map(|variant| serde_json::from_value(variant["const"].clone()).unwrap()).collect()
}

/// Severity never falls, and what is applied twice is applied once: a mark on a marked packet changes nothing or adds
/// severity.
#[test]
fn marks_only_become_more_severe() {
    let severity = |ecn: Ecn| match ecn {
        Ecn::NotEct | Ecn::Ect0 => 0,
        Ecn::Ect1 => 1,
        Ecn::Ce => 2,
    };
    for mode in modes() {
        let policy = EcnPolicy { mode, ..EcnPolicy::default() };
        for (ecn, mds) in
            [Ecn::Ect0, Ecn::Ect1, Ecn::Ce].into_iter().flat_map(|ecn| [(ecn, false), (ecn, true)])
        {
            for (first, second) in
                VERDICTS.into_iter().flat_map(|first| VERDICTS.map(|second| (first, second)))
            {
                let mut packet = packet(ecn, mds);
                let mut before = severity(packet.ecn);
                for verdict in [first, second] {
                    policy.apply(verdict, policy.classify(&packet), &mut packet, false);
                    assert!(severity(packet.ecn) >= before, "{mode:?} {ecn:?} {first:?} {second:?}");
                    before = severity(packet.ecn);
                }
            }
        }
    }
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
