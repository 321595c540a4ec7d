//! The signals of the IP and TCP headers.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// The ECN field of the IP header (RFC 3168 section 5). Severity order: ECT(0) < ECT(1) < CE; a mark
/// never moves a packet to a less severe code point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: only a drop can signal congestion.
    #[default]
    NotEct = 0b00,
    /// ECT(1): the L4S identifier, or, with the MDS identifier or in an SCE queue, "Some Congestion
    /// Experienced" (SCE).
    Ect1 = 0b01,
    /// ECT(0): ECN-capable.
    Ect0 = 0b10,
    /// Congestion Experienced: equivalent to a drop.
    Ce = 0b11,
}

/// A Differentiated Services code point (RFC 2474), 6 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort.
    pub const DEFAULT: Dscp = Dscp(0);
    /// The MDS identifier of this laboratory. The document leaves the value open; 43 has the form
    /// xxxx11, the pool for experimental and local use (RFC 2474 section 6).
    pub const MDS: Dscp = Dscp(0b10_1011);

    /// The code point `value`, its low 6 bits.
    pub const fn new(value: u8) -> Dscp {
        Dscp(value & 0x3f)
    }

    /// The value, 0 to 63.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// The flags of a TCP header (RFC 9293, RFC 3168, RFC 9768), as on the wire: 9 bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(u16);

impl TcpFlags {
    /// No flag.
    pub const NONE: TcpFlags = TcpFlags(0);
    /// No more data from the sender.
    pub const FIN: TcpFlags = TcpFlags(0x001);
    /// Synchronise sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x002);
    /// Reset.
    pub const RST: TcpFlags = TcpFlags(0x004);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x008);
    /// The acknowledgment number is valid.
    pub const ACK: TcpFlags = TcpFlags(0x010);
    /// ECN echo of CE.
    pub const ECE: TcpFlags = TcpFlags(0x040);
    /// Congestion window reduced.
    pub const CWR: TcpFlags = TcpFlags(0x080);
    /// Accurate ECN, the former NS; carries ESCE, the echo of SCE, on MDS and SCE flows.
    pub const AE: TcpFlags = TcpFlags(0x100);

    /// True if every flag of `other` is set.
    pub const fn contains(self, other: TcpFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if any flag of `other` is set.
    pub const fn has_any(self, other: TcpFlags) -> bool {
        self.0 & other.0 != 0
    }

    /// The flags of `self` without those of `other`.
    #[must_use]
    pub const fn without(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 & !other.0)
    }

    /// The flags as on the wire: bit 0 is FIN, bit 8 is AE.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// `self`, with `flag` added if `condition` holds.
    #[must_use]
    pub const fn with_if(self, flag: TcpFlags, condition: bool) -> TcpFlags {
        if condition { TcpFlags(self.0 | flag.0) } else { self }
    }
}

impl BitOr for TcpFlags {
    type Output = TcpFlags;
    fn bitor(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

impl BitOrAssign for TcpFlags {
    fn bitor_assign(&mut self, other: TcpFlags) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(TcpFlags, &str); 8] = [
            (TcpFlags::SYN, "SYN"),
            (TcpFlags::ACK, "ACK"),
            (TcpFlags::FIN, "FIN"),
            (TcpFlags::RST, "RST"),
            (TcpFlags::PSH, "PSH"),
            (TcpFlags::ECE, "ECE"),
            (TcpFlags::CWR, "CWR"),
            (TcpFlags::AE, "AE"),
        ];
        let set: Vec<&str> =
            NAMES.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name).collect();
        f.write_str(&set.join("|"))
    }
}
