//! What comes out of the walk: columns.

/// Why a segment was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendKind {
    /// New data.
    New = 0,
    /// Again, after acknowledgements that show a loss.
    FastRetransmit = 1,
    /// Again, after a silence.
    Timeout = 2,
    /// The last segment again, with nothing lost: a tail-loss probe (RFC 8985 section 7).
    Probe = 3,
    /// Data older than others, for the first time here: lost in front of the capture point, and sent again.
    Unseen = 4,
    /// Data that the receiver has.
    Needless = 5,
    /// Data older than others that come sooner than the sender can have heard of the hole: others have overtaken them.
    Overtaken = 6,
}

/// What an acknowledgement is besides new: bits.
#[derive(Clone, Copy, Debug)]
pub struct AckKind;

impl AckKind {
    /// It acknowledges nothing new while data are in flight.
    pub const DUPLICATE: u8 = 1;
    /// It acknowledges data that the capture has not shown so far: they were not captured, or not sent.
    pub const AHEAD: u8 = 2;
    /// It reports data that arrived twice (RFC 2883).
    pub const DSACK: u8 = 4;
    /// It ends within a segment.
    pub const PARTIAL: u8 = 8;
    /// It is ahead, and the capture shows its data afterwards: it acknowledges what was not sent.
    pub const BEFORE_DATA: u8 = 16;
}

/// One row for each segment with data.
#[derive(Clone, Debug, Default)]
pub struct Sends {
    /// When.
    pub t_ns: Vec<u64>,
    /// The connection.
    pub flow: Vec<u32>,
    /// Its first byte.
    pub seq: Vec<u64>,
    /// Its payload.
    pub payload: Vec<u32>,
    /// A [`SendKind`].
    pub kind: Vec<u8>,
    /// Sent and neither acknowledged nor taken for lost, this segment included.
    pub in_flight: Vec<u64>,
    /// What the receive window still permits; `u64::MAX` if it is not known.
    pub room: Vec<u64>,
    /// The round trip, counted.
    pub round: Vec<u32>,
    /// Since the last acknowledgement reached the sender; `u64::MAX` before the first.
    pub since_ack_ns: Vec<u64>,
    /// From the capture point to the sender and back, queues included; 0 without a sample.
    pub back_ns: Vec<u64>,
    /// ECN code point.
    pub ecn: Vec<u8>,
    /// DSCP.
    pub dscp: Vec<u8>,
}

/// One row for each acknowledgement.
#[derive(Clone, Debug, Default)]
pub struct Acks {
    /// When it passed the capture point.
    pub t_ns: Vec<u64>,
    /// The connection.
    pub flow: Vec<u32>,
    /// Its number.
    pub ack: Vec<u64>,
    /// Newly acknowledged cumulatively.
    pub acked: Vec<u64>,
    /// Newly acknowledged, cumulatively or by SACK: no byte counts twice.
    pub delivered: Vec<u64>,
    /// From the newest segment acknowledged, which was sent once: from the capture point to the receiver and back; 0
    /// without a sample.
    pub rtt_ns: Vec<u64>,
    /// After it.
    pub in_flight: Vec<u64>,
    /// The round trip, counted.
    pub round: Vec<u32>,
    /// Bits of [`AckKind`].
    pub kind: Vec<u8>,
    /// Flags of the header.
    pub flags: Vec<u16>,
}

/// What the walk finds.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// Departures.
    pub sends: Sends,
    /// Acknowledgements.
    pub acks: Acks,
    /// By connection: the least time from the capture point to the sender and back; `u64::MAX` if nothing shows it.
    pub back_ns: Vec<u64>,
    /// By connection: whether the capture was made so near the sender that acknowledgements count at once.
    pub at_sender: Vec<bool>,
}

/// Makes room for rows in columns.
macro_rules! reserve {
    ($rows:expr => $to:expr; $($name:ident),* $(,)?) => { $($to.$name.reserve_exact($rows);)* };
}

/// Appends columns to those of the same names.
macro_rules! append {
    ($from:expr => $to:expr; $($name:ident),* $(,)?) => { $($to.$name.append(&mut $from.$name);)* };
}

impl Walked {
    /// Nothing yet, with room for as many departures and acknowledgements: columns that grow would need twice their room.
    pub(super) fn with_room(sends: usize, acks: usize) -> Walked {
        let mut walked = Walked::default();
        reserve!(
            sends => walked.sends;
            t_ns, flow, seq, payload, kind, in_flight, room, round, since_ack_ns, back_ns, ecn, dscp,
        );
        reserve!(acks => walked.acks; t_ns, flow, ack, acked, delivered, rtt_ns, in_flight, round, kind, flags);
        walked
    }

    /// Adds the departures and acknowledgements of other connections.
    pub(crate) fn append(&mut self, mut other: Walked) {
        append!(
            other.sends => self.sends;
            t_ns, flow, seq, payload, kind, in_flight, room, round, since_ack_ns, back_ns, ecn, dscp,
        );
        append!(
            other.acks => self.acks;
            t_ns, flow, ack, acked, delivered, rtt_ns, in_flight, round, kind, flags,
        );
    }
}
