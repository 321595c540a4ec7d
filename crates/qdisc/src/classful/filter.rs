//! Filters: which packets go to which band of a classful discipline, by their code points or their flow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::OutOfRange;
use windtunnel_wire::{Ecn, Packet};

/// Packets that go to one band: those that meet all conditions that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// The band, from 0 on.
    pub band: u32,
    /// Packets with one of these Differentiated Services code points, 0 to 63; any if left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<u8>,
    /// Packets with one of these ECN fields; any if left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ecn: Vec<EcnField>,
    /// Packets of these flows, numbered from 0 on in the order of the scenario; any if left out.
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

impl Filter {
    const LARGEST_DSCP: u8 = 63;

    fn selects(&self, packet: &Packet) -> bool {
        (self.dscp.is_empty() || self.dscp.contains(&packet.dscp.get()))
            && (self.ecn.is_empty() || self.ecn.iter().any(|field| field.is(packet.ecn)))
            && (self.flows.is_empty() || self.flows.contains(&packet.flow.get()))
    }
}

/// The filters of a discipline: the first that selects a packet names its band.
#[derive(Clone, Debug)]
pub(crate) struct Filters {
    filters: Vec<Filter>,
    default_band: usize,
}

impl Filters {
    pub(crate) fn new(filters: &[Filter], default_band: u32) -> Filters {
        Filters { filters: filters.to_vec(), default_band: default_band as usize }
    }

    #[inline]
    pub(crate) fn band_of(&self, packet: &Packet) -> usize {
        let selected = self.filters.iter().find(|filter| filter.selects(packet));
        selected.map_or(self.default_band, |filter| filter.band as usize)
    }

    /// Checks the parameters `filters` and `default_band` of a discipline with this many bands.
    pub(crate) fn check(filters: &[Filter], default_band: u32, bands: usize) -> Result<(), OutOfRange> {
        let last = bands as u32 - 1;
        if default_band > last {
            return Err(OutOfRange::new("default_band", default_band, "a band, numbered from 0 on"));
        }
        for Filter { band, dscp, ecn, flows } in filters {
            if *band > last {
                let what = format!("band {band}");
                return Err(OutOfRange::new("filters", what, "each names a band, numbered from 0 on"));
            }
            if let Some(dscp) = dscp.iter().find(|dscp| **dscp > Filter::LARGEST_DSCP) {
                return Err(OutOfRange::new("filters", format!("dscp {dscp}"), "code points are 0 to 63"));
            }
            if dscp.is_empty() && ecn.is_empty() && flows.is_empty() {
                let what = "a filter that selects every packet";
                return Err(OutOfRange::new("filters", what, "each has `dscp`, `ecn` or `flows`"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Bytes;
    use windtunnel_wire::{Dscp, FlowId};

    use super::*;

    /// A filter selects packets that meet all of its conditions: one of its code points, one of its ECN fields, and
    /// one of its flows. What it does not name is free.
    #[test]
    fn all_conditions() {
        let packet = |dscp, ecn, flow| {
            let mut packet = Packet::new(FlowId::new(flow), Bytes::new(100), Bytes::ZERO);
            (packet.dscp, packet.ecn) = (Dscp::new(dscp), ecn);
            packet
        };
        let filter = |dscp: &[u8], ecn: &[EcnField], flows: &[u32]| Filter {
            band: 0,
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
        for (filter, selected) in [
            (filter(&[46, 8], &[EcnField::Ect1, EcnField::Ce], &[1, 9]), [yes, no, no, no, no, no]),
            (filter(&[46], &[], &[]), [yes, yes, yes, no, no, no]),
            (filter(&[], &[EcnField::Ect1, EcnField::Ce], &[]), [yes, yes, no, yes, yes, no]),
            (filter(&[], &[EcnField::Ect0, EcnField::NotEct], &[]), [no, no, yes, no, no, yes]),
            (filter(&[], &[], &[1]), [yes, no, yes, yes, no, no]),
            (filter(&[0], &[], &[2, 3]), [no, no, no, no, yes, yes]),
        ] {
            assert_eq!(seen.each_ref().map(|packet| filter.selects(packet)), selected, "{filter:?}");
        }
    }

    /// A filter with any one condition is one, and every band that there is can be named.
    #[test]
    fn one_condition_suffices() {
        let last = || Filter { band: 2, ..Filter::default() };
        for filter in [
            Filter { dscp: vec![63], ..last() },
            Filter { ecn: vec![EcnField::Ce], ..last() },
            Filter { flows: vec![0], ..last() },
        ] {
            assert_eq!(Filters::check(&[filter], 2, 3), Ok(()));
        }
        assert!(Filters::check(&[last()], 0, 3).is_err());
    }
}
