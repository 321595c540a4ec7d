//! A box that rewrites the ECN field.
//!
//! RFC 3168 section 18 lists the changes that a router must not make and the effect of each. Most boxes that make one
//! clear the whole field, because they treat the byte that holds it as the type of service of RFC 791: changing ECT
//! to Not-ECT turns marks into drops, and changing CE to Not-ECT hides congestion. Changing ECT(1) to ECT(0) hides
//! SCE, the fine signal of MDS ("Multiplicative Decrease Scaling", Signaling Traversal).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{OutOfRange, Probability, Time};
use windtunnel_wire::{Ecn, Packet};

use super::code_point::CodePoint;
use super::{Affects, Element, ElementParams, Passage, Stage, Tally};

/// A box rewrites the ECN field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 3168 section 18", "x-title" = "ECN bleacher"))]
pub struct EcnBleacherParams {
    /// The code points that it rewrites.
    pub from: Vec<CodePoint>,
    /// The code point that it writes.
    pub to: CodePoint,
    /// The probability that it rewrites a packet.
    pub probability: Probability,
    /// The packets that it examines.
    pub affects: Affects,
}

impl Default for EcnBleacherParams {
    fn default() -> EcnBleacherParams {
        EcnBleacherParams {
            from: vec![CodePoint::Ect0, CodePoint::Ect1, CodePoint::Ce],
            to: CodePoint::NotEct,
            probability: Probability::ONE,
            affects: Affects::All,
        }
    }
}

impl Params for EcnBleacherParams {
    const NAME: &'static str = "ecn-bleacher";
    const SUMMARY: &'static str = "Rewrites the ECN field, to Not-ECT if nothing else is asked for";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.from.is_empty() {
            return Err(OutOfRange::new("from", "[]", "at least one of not-ect, ect0, ect1, ce"));
        }
        if self.from.contains(&self.to) {
            return Err(OutOfRange::new(
                "to",
                format!("{:?}", self.to),
                "a code point that is not in `from`",
            ));
        }
        Ok(())
    }
}

impl ElementParams for EcnBleacherParams {
    fn stage(&self) -> Stage {
        Stage::Node
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        let from = self.from.iter().map(|code_point| Ecn::from(*code_point)).collect();
        Box::new(EcnBleacher { params: self.clone(), from, random })
    }
}

#[derive(Debug)]
struct EcnBleacher {
    params: EcnBleacherParams,
    from: Vec<Ecn>,
    random: RandomStream,
}

impl Element for EcnBleacher {
    fn enter(&mut self, mut packet: Packet, _now: Time, tally: &mut Tally) -> Passage {
        if self.params.affects.includes(&packet)
            && self.random.chance(self.params.probability)
            && self.from.contains(&packet.ip().ecn)
        {
            tally.rewritten += u64::from(packet.rewrite_ecn(self.params.to.into()));
        }
        Passage::On(packet)
    }
}
