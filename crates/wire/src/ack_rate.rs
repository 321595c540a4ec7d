//! The TCP ACK Rate Request option (TARR, draft-ietf-tcpm-ack-rate-request): a sender asks its receiver for one ACK per number of
//! segments.
//!
//! It is an option for experiments (RFC 6994, kind 254). On a SYN or SYN/ACK its four bytes say that the option is understood. A
//! request has a fifth byte, whose upper seven bits are the number.

/// What the option says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckRate {
    /// Its sender understands requests.
    Capable,
    /// One ACK per this many full segments; 0 asks for an ACK at once.
    Every(u8),
}

impl AckRate {
    /// The most that seven bits hold.
    pub const MOST: u8 = 127;
    /// The request for an ACK at once.
    pub const AT_ONCE: AckRate = AckRate::Every(0);

    /// The length of the option in a header, with the NOPs that make it a multiple of four bytes.
    pub const fn padded_length(self) -> u64 {
        match self {
            AckRate::Capable => 4,
            AckRate::Every(_) => 8,
        }
    }
}
