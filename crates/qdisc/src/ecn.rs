//! The one place where a queue changes a code point.
//!
//! What a verdict does to a packet depends on the signals that the packet understands and on the mode of
//! the queue (`spec`: RFC 3168 section 5; RFC 8311; RFC 9331; "Multiplicative Decrease Scaling", Negotiation and
//! Signaling Semantics, L4S Compatibility).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_wire::{Dscp, Ecn, Packet};

use crate::aqm::{Signal, Verdict};

/// Which signals a packet understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Not ECN-capable: drops only.
    NotEct,
    /// ECN-capable by RFC 3168: CE, else drops.
    Conventional,
    /// ECT(1) without the MDS identifier, in an MDS queue that reads it as L4S: drops only.
    L4s,
    /// ECT(1) or CE in an L4S queue: CE, which is a fine signal to its sender, else drops.
    Scalable,
    /// Carries the MDS identifier, or is ECN-capable in a plain SCE queue: SCE, CE, else drops.
    Sce,
}

impl Class {
    /// True if a CE verdict can reach the receiver as a mark; otherwise it is a drop.
    #[inline]
    pub const fn is_markable(self) -> bool {
        matches!(self, Class::Conventional | Class::Sce | Class::Scalable)
    }
}

/// How a queue reads the ECN field and what it may write into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EcnMode {
    /// No marks: every mark is a drop.
    None,
    /// CE only (RFC 3168).
    Rfc3168,
    /// SCE on every ECT(0) packet (draft-morton-tsvwg-sce).
    Sce,
    /// SCE on packets with the MDS identifier; ECT(1) without it is L4S and is dropped, not marked CE.
    #[default]
    Mds,
    /// CE on every ECN-capable packet; ECT(1), and CE, whose sender is not known any more, are L4S (RFC 9331 section 5.1).
    L4s,
}

/// The result of a verdict for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing.
    Passed,
    /// It was marked.
    Marked(Signal),
    /// It is to be dropped; with loss-free endpoints it was marked CE instead.
    Drop,
}

/// A queue's reading of the ECN field.
#[derive(Clone, Copy, Debug)]
pub struct EcnPolicy {
    /// The mode.
    pub mode: EcnMode,
    /// The DSCP that identifies MDS packets.
    pub mds: Dscp,
}

impl Default for EcnPolicy {
    fn default() -> EcnPolicy {
        EcnPolicy { mode: EcnMode::default(), mds: Dscp::MDS }
    }
}

impl EcnPolicy {
    /// Which signals `packet` understands in this queue.
    #[inline]
    pub fn classify(&self, packet: &Packet) -> Class {
        self.class_of(packet.ecn, packet.dscp == self.mds)
    }

    /// The same of a packet with this code point; `mds`: it has the MDS identifier's.
    const fn class_of(self, ecn: Ecn, mds: bool) -> Class {
        match (ecn, self.mode) {
            (Ecn::NotEct, _) | (_, EcnMode::None) => Class::NotEct,
            (_, EcnMode::Sce) => Class::Sce,
            (Ecn::Ect1 | Ecn::Ce, EcnMode::L4s) => Class::Scalable,
            (_, EcnMode::Mds) if mds => Class::Sce,
            (Ecn::Ect1, EcnMode::Mds) => Class::L4s,
            (_, EcnMode::Rfc3168 | EcnMode::Mds | EcnMode::L4s) => Class::Conventional,
        }
    }

    /// The class of each code point, without and with the MDS identifier: what [`EcnPolicy::classify`] looks at, once.
    pub(crate) fn classes(self) -> [[Class; 4]; 2] {
        let of = |mds| [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| self.class_of(ecn, mds));
        [of(false), of(true)]
    }

    /// Applies a verdict to a packet of class `class`: marks it, or says that it is to be dropped. A mark
    /// never makes a code point less severe, and a packet that already carries CE is left as it is. With
    /// `deliver_drops` (loss-free endpoints) a packet to be dropped gets CE.
    pub fn apply(&self, verdict: Verdict, class: Class, packet: &mut Packet, deliver_drops: bool) -> Outcome {
        let outcome = match (verdict, class) {
            (Verdict::Drop, _) => Outcome::Drop,
            (Verdict::Mark(Signal::Ce), class) if !class.is_markable() => Outcome::Drop,
            (Verdict::Mark(Signal::Sce), Class::Sce) if packet.ecn == Ecn::Ect0 => {
                packet.mark(Ecn::Ect1);
                Outcome::Marked(Signal::Sce)
            }
            (Verdict::Pass | Verdict::Mark(Signal::Sce), _) => Outcome::Passed,
            (Verdict::Mark(Signal::Ce), _) if packet.ecn == Ecn::Ce => Outcome::Passed,
            (Verdict::Mark(Signal::Ce), _) => {
                packet.mark(Ecn::Ce);
                Outcome::Marked(Signal::Ce)
            }
        };
        if outcome == Outcome::Drop && deliver_drops {
            packet.mark(Ecn::Ce);
        }
        outcome
    }
}
