//! Which packets something concerns, by their code points or their flow: the conditions of a filter, and of an impairment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::OutOfRange;
use windtunnel_wire::{Ecn, Packet};

/// The code points of the Differentiated Services field: 6 bits.
const LARGEST_DSCP: u8 = 63;

/// The packets that meet all conditions that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Selector {
    /// Packets with one of these Differentiated Services code points, 0 to 63; any if left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<u8>,
    /// Packets with one of these ECN fields; any if left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ecn: Vec<EcnField>,
    /// Packets of these flows, their ACKs included, numbered from 0 on in the order of the scenario; any if left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<u32>,
}

/// A value of the ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnField {
    /// Not ECN-capable.
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl EcnField {
    const fn is(self, ecn: Ecn) -> bool {
        matches!(
            (self, ecn),
            (EcnField::NotEct, Ecn::NotEct)
                | (EcnField::Ect0, Ecn::Ect0)
                | (EcnField::Ect1, Ecn::Ect1)
                | (EcnField::Ce, Ecn::Ce)
        )
    }
}

impl Selector {
    /// Whether the packet meets all conditions.
    #[inline]
    pub fn selects(&self, packet: &Packet) -> bool {
        (self.dscp.is_empty() || self.dscp.contains(&packet.dscp.get()))
            && (self.ecn.is_empty() || self.ecn.iter().any(|field| field.is(packet.ecn)))
            && (self.flows.is_empty() || self.flows.contains(&packet.flow.get()))
    }

    /// Whether its code points exist, and it has a condition.
    ///
    /// # Errors
    /// What is wrong, under `key`.
    pub fn check(&self, key: &'static str) -> Result<(), OutOfRange> {
        if let Some(dscp) = self.dscp.iter().find(|dscp| **dscp > LARGEST_DSCP) {
            return Err(OutOfRange::new(key, format!("dscp {dscp}"), "code points are 0 to 63"));
        }
        if self.dscp.is_empty() && self.ecn.is_empty() && self.flows.is_empty() {
            let what = "a filter that selects every packet";
            return Err(OutOfRange::new(key, what, "each has `dscp`, `ecn` or `flows`"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Bytes;
    use windtunnel_wire::{Dscp, FlowId};

    use super::*;

    /// A selector selects packets that meet all of its conditions: one of its code points, one of its ECN fields, and
    /// one of its flows. What it does not name is free.
    #[test]
    fn all_conditions() {
        let packet = |dscp, ecn, flow| {
            let mut packet = Packet::new(FlowId::new(flow), Bytes::new(100), Bytes::ZERO);
            (packet.dscp, packet.ecn) = (Dscp::new(dscp), ecn);
            packet
        };
        let selector = |dscp: &[u8], ecn: &[EcnField], flows: &[u32]| Selector {
            dscp: dscp.to_vec(),
            ecn: ecn.to_vec(),
            flows: flows.to_vec(),
        };
        let seen = [
            packet(46, Ecn::Ect1, 1),
            packet(46, Ecn::Ect1, 2),
            packet(46, Ecn::Ect0, 1),
            packet(0, Ecn::Ect1, 1),
            packet(0, Ecn::Ce, 2),
            packet(0, Ecn::NotEct, 3),
        ];
        let [yes, no] = [true, false];
        for (selector, selected) in [
            (selector(&[46, 8], &[EcnField::Ect1, EcnField::Ce], &[1, 9]), [yes, no, no, no, no, no]),
            (selector(&[46], &[], &[]), [yes, yes, yes, no, no, no]),
            (selector(&[], &[EcnField::Ect1, EcnField::Ce], &[]), [yes, yes, no, yes, yes, no]),
            (selector(&[], &[EcnField::Ect0, EcnField::NotEct], &[]), [no, no, yes, no, no, yes]),
            (selector(&[], &[], &[1]), [yes, no, yes, yes, no, no]),
            (selector(&[0], &[], &[2, 3]), [no, no, no, no, yes, yes]),
        ] {
            assert_eq!(seen.each_ref().map(|packet| selector.selects(packet)), selected, "{selector:?}");
        }
    }

    /// A selector with any one condition is one; without any it is refused, as is a code point that does not exist.
    #[test]
    fn one_condition_suffices() {
        for selector in [
            Selector { dscp: vec![63], ..Selector::default() },
            Selector { ecn: vec![EcnField::Ce], ..Selector::default() },
            Selector { flows: vec![0], ..Selector::default() },
        ] {
            assert_eq!(selector.check("only"), Ok(()));
        }
        assert!(Selector::default().check("only").is_err());
        assert!(Selector { dscp: vec![64], ..Selector::default() }.check("only").is_err());
    }
}
