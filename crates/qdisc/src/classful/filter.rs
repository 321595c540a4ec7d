//! Filters: which packets go to which band of a classful discipline, by their code points or their flow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::OutOfRange;
use windtunnel_wire::Packet;

use crate::selector::{EcnField, Selector};

/// Packets that go to one band: those that meet all conditions that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// The band, from 0 on.
    pub band: u32,
    // The conditions of a `Selector`, written next to the band: flattened by hand, because a flattened struct loses the
    // messages about unknown keys.
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

impl Filter {
    fn selector(&self) -> Selector {
        Selector { dscp: self.dscp.clone(), ecn: self.ecn.clone(), flows: self.flows.clone() }
    }
}

/// The filters of a discipline: the first that selects a packet names its band.
#[derive(Clone, Debug)]
pub(crate) struct Filters {
    filters: Vec<(Selector, usize)>,
    default_band: usize,
}

impl Filters {
    pub(crate) fn new(filters: &[Filter], default_band: u32) -> Filters {
        let filters = filters.iter().map(|filter| (filter.selector(), filter.band as usize)).collect();
        Filters { filters, default_band: default_band as usize }
    }

    #[inline]
    pub(crate) fn band_of(&self, packet: &Packet) -> usize {
        let selected = self.filters.iter().find(|(selector, _)| selector.selects(packet));
        selected.map_or(self.default_band, |(_, band)| *band)
    }

    /// Checks the parameters `filters` and `default_band` of a discipline with this many bands.
    pub(crate) fn check(filters: &[Filter], default_band: u32, bands: usize) -> Result<(), OutOfRange> {
        let last = bands as u32 - 1;
        if default_band > last {
            return Err(OutOfRange::new("default_band", default_band, "a band, numbered from 0 on"));
        }
        for filter in filters {
            if filter.band > last {
                let what = format!("band {}", filter.band);
                return Err(OutOfRange::new("filters", what, "each names a band, numbered from 0 on"));
            }
            filter.selector().check("filters")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter with any one condition is one, and every band that exists can be named. It selects by its own conditions.
    #[test]
    fn one_condition_suffices() {
        let last = || Filter { band: 2, ..Filter::default() };
        for filter in [
            Filter { dscp: vec![63], ..last() },
            Filter { ecn: vec![EcnField::Ce], ..last() },
            Filter { flows: vec![0], ..last() },
        ] {
            let Selector { dscp, ecn, flows } = filter.selector();
            assert_eq!((&dscp, &ecn, &flows), (&filter.dscp, &filter.ecn, &filter.flows));
            assert_eq!(Filters::check(&[filter], 2, 3), Ok(()));
        }
        assert!(Filters::check(&[last()], 0, 3).is_err());
    }
}
