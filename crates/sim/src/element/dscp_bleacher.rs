//! A box that rewrites the DSCP.
//!
//! RFC 9435 section 4 reports what networks do to unknown code points: they write zero ("bleaching"), clear the three
//! bits that were the precedence of RFC 791, or write a code point of their own. A packet that loses the MDS
//! identifier before a queue is a conventional one there; after the queue nothing needs the identifier any more
//! ("Multiplicative Decrease Scaling", Signaling Traversal).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{OutOfRange, Probability, Time};
use windtunnel_wire::{Dscp, Packet};

use super::{Affects, Element, ElementParams, Passage, Stage, Tally};

/// The code points of the Differentiated Services field: 6 bits.
pub(super) const LARGEST_DSCP: u8 = 63;

/// A box rewrites the DSCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9435 section 4", "x-title" = "DSCP bleacher"))]
pub struct DscpBleacherParams {
    /// How it changes a code point.
    pub mode: DscpBleaching,
    /// The code point that `remark` writes.
    #[schemars(range(max = 63))]
    pub to: Option<u8>,
    /// The probability that it rewrites a packet.
    pub probability: Probability,
    /// The packets that it examines.
    pub affects: Affects,
}

/// How a box changes a code point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DscpBleaching {
    /// It writes zero, the code point of best effort.
    #[default]
    Bleach,
    /// It clears the first three bits, the former precedence: 43 becomes 3.
    Precedence,
    /// It writes `to`.
    Remark,
}

impl Default for DscpBleacherParams {
    fn default() -> DscpBleacherParams {
        DscpBleacherParams {
            mode: DscpBleaching::default(),
            to: None,
            probability: Probability::ONE,
            affects: Affects::All,
        }
    }
}

impl Params for DscpBleacherParams {
    const NAME: &'static str = "dscp-bleacher";
    const SUMMARY: &'static str = "Rewrites the DSCP, to zero if nothing else is asked for";

    fn check(&self) -> Result<(), OutOfRange> {
        match (self.mode, self.to) {
            (DscpBleaching::Remark, None) => {
                Err(OutOfRange::missing("to", "the code point that `remark` writes, 0 to 63"))
            }
            (DscpBleaching::Remark, Some(to)) if to > LARGEST_DSCP => {
                Err(OutOfRange::new("to", to, "0 to 63"))
            }
            (DscpBleaching::Bleach | DscpBleaching::Precedence, Some(to)) => {
                Err(OutOfRange::new("to", to, "left out: it belongs to mode = \"remark\""))
            }
            _ => Ok(()),
        }
    }
}

impl ElementParams for DscpBleacherParams {
    fn stage(&self) -> Stage {
        Stage::Node
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(DscpBleacher { params: self.clone(), random })
    }
}

#[derive(Debug)]
struct DscpBleacher {
    params: DscpBleacherParams,
    random: RandomStream,
}

impl DscpBleacher {
    fn rewritten(&self, dscp: Dscp) -> Dscp {
        const PRECEDENCE: u8 = 0b11_1000;
        match self.params.mode {
            DscpBleaching::Bleach => Dscp::DEFAULT,
            DscpBleaching::Precedence => Dscp::new(dscp.get() & !PRECEDENCE),
            DscpBleaching::Remark => Dscp::new(self.params.to.unwrap_or_default()),
        }
    }
}

impl Element for DscpBleacher {
    fn enter(&mut self, mut packet: Packet, _now: Time, tally: &mut Tally) -> Passage {
        if self.params.affects.includes(&packet) && self.random.chance(self.params.probability) {
            let dscp = self.rewritten(packet.ip().dscp);
            tally.rewritten += u64::from(packet.rewrite_dscp(dscp));
        }
        Passage::On(packet)
    }
}
