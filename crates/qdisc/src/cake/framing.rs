//! What a packet costs on the link behind a shaper: its own length, headers below IP, padding, and cells.
//!
//! Source: tc-cake(8), "Overhead compensation parameters"; Linux `sch_cake`. ATM carries 48 bytes in each cell of 53; PTM
//! adds a byte to each 64 or part of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::Bytes;

/// How the link behind the shaper cuts packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cells {
    /// Not at all.
    #[default]
    Noatm,
    /// Into ATM cells (ADSL).
    Atm,
    /// With PTM's 64b/65b encoding (VDSL2).
    Ptm,
}

/// What the link adds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framing {
    pub(super) overhead: Bytes,
    pub(super) mpu: Bytes,
    pub(super) cells: Cells,
}

impl Framing {
    /// What a packet of `size` costs, `of_link` being its headers below IP: `overhead` takes their place.
    #[inline]
    pub(super) fn length(&self, size: Bytes, of_link: Bytes) -> Bytes {
        let size = if self.overhead == Bytes::ZERO { size } else { size - of_link };
        let framed = (size + self.overhead).max(self.mpu);
        match self.cells {
            Cells::Noatm => framed,
            Cells::Atm => Bytes::new(framed.get().div_ceil(48) * 53),
            Cells::Ptm => framed + Bytes::new(framed.get().div_ceil(64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tc-cake(8): a minimum size of 64 bytes; 1500 bytes and 40 of headers are 33 cells, and with PTM 25 bytes more.
    #[test]
    fn lengths() {
        let length = |overhead, mpu, cells, size| {
            let [overhead, mpu] = [overhead, mpu].map(Bytes::new);
            Framing { overhead, mpu, cells }.length(Bytes::new(size), Bytes::ZERO).get()
        };
        assert_eq!(length(0, 0, Cells::Noatm, 1_500), 1_500);
        assert_eq!(length(18, 64, Cells::Noatm, 40), 64);
        assert_eq!(length(18, 64, Cells::Noatm, 52), 70);
        assert_eq!(length(40, 0, Cells::Atm, 1_500), 33 * 53);
        assert_eq!(length(0, 0, Cells::Atm, 48), 53);
        assert_eq!(length(0, 0, Cells::Atm, 49), 106);
        assert_eq!(length(40, 0, Cells::Ptm, 1_500), 1_540 + 25);
        let ethernet =
            |overhead| Framing { overhead: Bytes::new(overhead), mpu: Bytes::ZERO, cells: Cells::Noatm };
        let [framed, raw] = [44, 0].map(|of| ethernet(of).length(Bytes::new(1_514), Bytes::new(14)).get());
        assert_eq!((framed, raw), (1_544, 1_514));
    }
}
