//! Counts of packets by code point, as QUIC reports them (RFC 9000 section 19.3.2), in a TCP option.
//!
//! TCP has no option for them: they travel in one for experiments (RFC 6994, kind 254), whose identifier is not registered. The
//! counts have 32 bits each, where QUIC has up to 62.

/// How many packets a receiver has got with each code point since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// ECT(0).
    pub ect0: u32,
    /// ECT(1).
    pub ect1: u32,
    /// CE.
    pub ce: u32,
}

impl EcnCounts {
    /// The kind of an option for experiments.
    pub const KIND: u8 = 254;
    /// The experiment's identifier.
    pub const EXPERIMENT: [u8; 2] = *b"QE";
    /// The option's length: kind, length, identifier and three counts.
    pub const LENGTH: u8 = 16;

    /// The counts in the order of QUIC's frame.
    pub const fn fields(self) -> [u32; 3] {
        [self.ect0, self.ect1, self.ce]
    }
}
