//! AccECN on the wire: the ACE field of the TCP header (RFC 9768 section 3.2.2) and the AccECN option (section 3.2.3).

use crate::TcpFlags;

/// The values of a 3-bit counter.
pub const ACE_MODULUS: u32 = 8;

/// The values of a 24-bit counter.
pub const COUNTER_MODULUS: u32 = 1 << 24;

impl TcpFlags {
    /// The flags AE, CWR and ECE as a number, AE most significant (RFC 9768 figure 3).
    #[inline]
    pub const fn ace(self) -> u8 {
        self.contains(TcpFlags::AE) as u8 * 4
            + self.contains(TcpFlags::CWR) as u8 * 2
            + self.contains(TcpFlags::ECE) as u8
    }

    /// `self` and the flags AE, CWR and ECE that make the 3 low bits of `ace`. None of them is set before.
    #[inline]
    #[must_use]
    pub const fn with_ace(self, ace: u8) -> TcpFlags {
        self.with_if(TcpFlags::AE, ace & 4 != 0)
            .with_if(TcpFlags::CWR, ace & 2 != 0)
            .with_if(TcpFlags::ECE, ace & 1 != 0)
    }
}

/// Which counter comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccEcnOrder {
    /// EE0B, ECEB, EE1B: kind 172.
    #[default]
    Zero,
    /// EE1B, ECEB, EE0B: kind 174.
    One,
}

impl AccEcnOrder {
    /// The option's kind.
    pub const fn kind(self) -> u8 {
        match self {
            AccEcnOrder::Zero => 172,
            AccEcnOrder::One => 174,
        }
    }
}

/// The AccECN option: bytes of payload received with each code point, modulo 2^24. Fields at its tail may be left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnOption {
    order: AccEcnOrder,
    len: u8,
    fields: [u32; 3],
}

impl AccEcnOption {
    /// The option's length without fields: kind and length.
    pub const BASE_LENGTH: u8 = 2;
    /// The length of a field.
    pub const FIELD_LENGTH: u8 = 3;

    /// An option with the first `len` fields of this order, at most three.
    pub fn new(order: AccEcnOrder, len: u8, ect0: u32, ce: u32, ect1: u32) -> AccEcnOption {
        let (first, last) = match order {
            AccEcnOrder::Zero => (ect0, ect1),
            AccEcnOrder::One => (ect1, ect0),
        };
        let len = len.min(3);
        let mut fields = [first, ce, last].map(|counter| counter % COUNTER_MODULUS);
        fields[usize::from(len)..].fill(0);
        AccEcnOption { order, len, fields }
    }

    /// Which counter comes first.
    pub const fn order(&self) -> AccEcnOrder {
        self.order
    }

    /// The fields that are there, in the order of the option.
    pub fn fields(&self) -> &[u32] {
        &self.fields[..usize::from(self.len)]
    }

    /// The length of the option: 2, 5, 8 or 11.
    pub const fn length(&self) -> u8 {
        AccEcnOption::BASE_LENGTH + AccEcnOption::FIELD_LENGTH * self.len
    }

    /// EE0B: bytes received with ECT(0), if the field is there.
    pub fn ect0(&self) -> Option<u32> {
        self.field(match self.order {
            AccEcnOrder::Zero => 0,
            AccEcnOrder::One => 2,
        })
    }

    /// ECEB: bytes received with CE, if the field is there.
    pub fn ce(&self) -> Option<u32> {
        self.field(1)
    }

    /// EE1B: bytes received with ECT(1), if the field is there.
    pub fn ect1(&self) -> Option<u32> {
        self.field(match self.order {
            AccEcnOrder::Zero => 2,
            AccEcnOrder::One => 0,
        })
    }

    fn field(&self, index: usize) -> Option<u32> {
        self.fields().get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768 table 2 writes the codes of a SYN/ACK as (AE, CWR, ECE): 0 1 0, 0 1 1, 1 0 0 and 1 1 0 are the numbers 2,
    /// 3, 4 and 6; and every number survives the way to flags and back.
    #[test]
    fn ace_field() {
        let flags = TcpFlags::NONE;
        assert_eq!(flags.with_ace(0b010), TcpFlags::CWR);
        assert_eq!(flags.with_ace(0b011), TcpFlags::CWR | TcpFlags::ECE);
        assert_eq!(flags.with_ace(0b100), TcpFlags::AE);
        assert_eq!(flags.with_ace(0b110), TcpFlags::AE | TcpFlags::CWR);
        for ace in 0..8 {
            assert_eq!((TcpFlags::ACK.with_ace(ace)).ace(), ace);
        }
    }

    /// RFC 9768 section 3.2.3, table of lengths: which fields are there for each length and order.
    #[test]
    fn fields_by_length() {
        let present = |order, len| {
            let option = AccEcnOption::new(order, len, 10, 20, 30);
            (option.length(), option.ect0(), option.ce(), option.ect1())
        };
        let zero = |len| present(AccEcnOrder::Zero, len);
        assert_eq!(zero(3), (11, Some(10), Some(20), Some(30)));
        assert_eq!(zero(2), (8, Some(10), Some(20), None));
        assert_eq!(zero(1), (5, Some(10), None, None));
        assert_eq!(zero(0), (2, None, None, None));
        let one = |len| present(AccEcnOrder::One, len);
        assert_eq!(one(3), (11, Some(10), Some(20), Some(30)));
        assert_eq!(one(2), (8, None, Some(20), Some(30)));
        assert_eq!(one(1), (5, None, None, Some(30)));
        let wrapped = AccEcnOption::new(AccEcnOrder::Zero, 2, (1 << 24) + 5, u32::MAX, 0);
        assert_eq!((wrapped.ect0(), wrapped.ce()), (Some(5), Some((1 << 24) - 1)), "24 bits");
    }
}
