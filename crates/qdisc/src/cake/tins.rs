//! Tins: which traffic belongs together, and how much of the bandwidth it has priority for.
//!
//! Source: tc-cake(8), "Priority queue parameters"; Linux `sch_cake`. A tin has a threshold, a share of the bandwidth, below
//! which it is served before those that stand before it in the list; a tin above its threshold takes what others leave,
//! and none starves. Without a bandwidth the shares are weights.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::Rate;
use windtunnel_wire::Dscp;

/// How traffic is divided into tins by its DSCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Diffserv {
    /// One tin for all.
    Besteffort,
    /// Eight, by the former IP precedence: each has priority over the ones below it, for 7/8 of their share.
    Precedence,
    /// Bulk (LE, CS1), best effort, and voice (CS6, CS7, EF, VA, TOS4).
    #[default]
    Diffserv3,
    /// Bulk (LE, CS1), best effort, video (AF21 to AF43, CS2, CS3, TOS4), and voice (CS4 to CS7, EF, VA).
    Diffserv4,
    /// Eight kinds of applications: each has priority over the ones below it, for 7/8 of their share.
    Diffserv8,
}

/// What sets one tin apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TinSpec {
    /// tc's name for it.
    pub(super) name: String,
    /// Its share of the bandwidth up to which it has priority.
    pub(super) share: Share,
    /// Its weight without a bandwidth, in bytes per turn.
    pub(super) weight: i64,
}

/// A part of the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// 1/2^n.
    Halved(u32),
    /// (7/8)^n.
    Eighths(u32),
}

impl Share {
    /// The share of a rate, at least the least rate that Linux's CAKE can keep: 64 bytes in a second.
    pub(super) fn of(self, rate: Rate) -> Rate {
        let bits = rate.bits_per_sec();
        let share = match self {
            Share::Halved(n) => bits >> n,
            Share::Eighths(n) => (0..n).fold(bits, |bits, _| (u128::from(bits) * 7 / 8) as u64),
        };
        Rate::from_bits_per_sec(share.max(512))
    }
}

/// The weight of the first tin where shares are halved, and where they fall by an eighth.
const HALVED_WEIGHT: i64 = 1_024;
const EIGHTHS_WEIGHT: i64 = 256;

impl Diffserv {
    /// The tins. Of those within their thresholds the last is served first.
    pub(super) fn tins(self) -> Vec<TinSpec> {
        let halved = |name: &str, n| TinSpec {
            name: name.to_owned(),
            share: Share::Halved(n),
            weight: HALVED_WEIGHT >> n,
        };
        let eighths = |n| TinSpec {
            name: format!("tin {n}"),
            share: Share::Eighths(n),
            weight: (0..n).fold(EIGHTHS_WEIGHT, |weight, _| weight * 7 / 8),
        };
        match self {
            Diffserv::Besteffort => vec![halved("tin 0", 0)],
            Diffserv::Diffserv3 => vec![halved("best effort", 0), halved("bulk", 4), halved("voice", 2)],
            Diffserv::Diffserv4 => {
                vec![halved("best effort", 0), halved("bulk", 4), halved("video", 1), halved("voice", 2)]
            }
            Diffserv::Precedence | Diffserv::Diffserv8 => (0..8).map(eighths).collect(),
        }
    }

    /// The tin of a packet.
    #[inline]
    pub(super) const fn tin(self, dscp: Dscp) -> usize {
        match self {
            Diffserv::Besteffort => 0,
            Diffserv::Precedence => dscp.get() as usize >> 3,
            Diffserv::Diffserv3 => diffserv3(dscp.get()),
            Diffserv::Diffserv4 => diffserv4(dscp.get()),
            Diffserv::Diffserv8 => diffserv8(dscp.get()),
        }
    }
}

/// Code points by name (RFC 2474, 2597, 3246, 5865, 8622), and two former meanings of the type of service byte. `AFxy` is
/// `8 x + 2 y`.
mod code_point {
    pub(super) const LE: u8 = 1;
    pub(super) const TOS2: u8 = 2;
    pub(super) const TOS4: u8 = 4;
    pub(super) const CS1: u8 = 8;
    pub(super) const CS2: u8 = 16;
    pub(super) const CS3: u8 = 24;
    pub(super) const CS4: u8 = 32;
    pub(super) const CS5: u8 = 40;
    pub(super) const VA: u8 = 44;
    pub(super) const EF: u8 = 46;
    pub(super) const CS6: u8 = 48;
    pub(super) const CS7: u8 = 56;
}

use code_point::{CS1, CS2, CS3, CS4, CS5, CS6, CS7, EF, LE, TOS2, TOS4, VA};

const fn diffserv3(dscp: u8) -> usize {
    match dscp {
        LE | CS1 => 1,
        TOS4 | VA | EF | CS6 | CS7 => 2,
        _ => 0,
    }
}

const fn diffserv4(dscp: u8) -> usize {
    match dscp {
        LE | CS1 => 1,
        TOS4 | CS2 | 18 | 20 | 22 | CS3 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
        CS4 | CS5 | VA | EF | CS6 | CS7 => 3,
        _ => 0,
    }
}

const fn diffserv8(dscp: u8) -> usize {
    match dscp {
        LE => 0,
        TOS2 | CS1 | 10 | 12 | 14 => 1,
        CS3 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
        TOS4 | 18 | 20 | 22 => 4,
        CS2 => 5,
        CS4 | CS5 | VA | EF => 6,
        CS6 | CS7 => 7,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(diffserv: Diffserv, tin: usize) -> Vec<u8> {
        (0..64).filter(|dscp| diffserv.tin(Dscp::new(*dscp)) == tin).collect()
    }

    /// The tins' code points, as tc-cake(8) lists them by name, and how many are left for best effort.
    #[test]
    fn code_points() {
        assert_eq!(members(Diffserv::Besteffort, 0).len(), 64);
        assert_eq!(members(Diffserv::Precedence, 7), (56..64).collect::<Vec<_>>());
        assert_eq!(members(Diffserv::Diffserv3, 1), [1, 8]);
        assert_eq!(members(Diffserv::Diffserv3, 2), [4, 44, 46, 48, 56]);
        assert_eq!(members(Diffserv::Diffserv4, 1), [1, 8]);
        assert_eq!(members(Diffserv::Diffserv4, 2), [4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]);
        assert_eq!(members(Diffserv::Diffserv4, 3), [32, 40, 44, 46, 48, 56]);
        assert_eq!(members(Diffserv::Diffserv8, 2).len(), 64 - 1 - 5 - 7 - 4 - 1 - 4 - 2);
    }

    /// Shares and weights: 1/16, 1/2 and 1/4 for bulk, video and voice; 7/8 of the tin before.
    #[test]
    fn shares() {
        let rate = Rate::from_mbps(16);
        let shares = |diffserv: Diffserv| -> Vec<_> {
            diffserv.tins().iter().map(|tin| (tin.share.of(rate).bits_per_sec(), tin.weight)).collect()
        };
        assert_eq!(
            shares(Diffserv::Diffserv4),
            [(16_000_000, 1_024), (1_000_000, 64), (8_000_000, 512), (4_000_000, 256)]
        );
        assert_eq!(shares(Diffserv::Diffserv3), [(16_000_000, 1_024), (1_000_000, 64), (4_000_000, 256)]);
        let eighths = shares(Diffserv::Precedence);
        assert_eq!((eighths.len(), eighths[0], eighths[1]), (8, (16_000_000, 256), (14_000_000, 224)));
        assert_eq!(eighths[7].1, 98);
    }
}
