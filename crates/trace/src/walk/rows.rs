//! What goes into the walk and what comes out of it: columns.

use crate::segments::{MAX_SACK, Segments};

/// The columns that are read, borrowed from a capture or from a run's table `packets`.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "named as in `Segments`, which describes them")]
pub struct Rows<'a> {
    pub t_ns: &'a [u64],
    pub flow: &'a [u32],
    pub dir: &'a [u8],
    pub payload: &'a [u32],
    pub seq: &'a [u64],
    pub ack: &'a [u64],
    pub flags: &'a [u32],
    pub ecn: &'a [u8],
    pub dscp: &'a [u8],
    pub ts_val: &'a [u64],
    pub ts_ecr: &'a [u64],
    pub window: &'a [u64],
    pub sack_n: &'a [u8],
    pub sack: [(&'a [u64], &'a [u64]); MAX_SACK],
}

impl<'a> From<&'a Segments> for Rows<'a> {
    fn from(s: &'a Segments) -> Rows<'a> {
        Rows {
            t_ns: &s.t_ns,
            flow: &s.flow,
            dir: &s.dir,
            payload: &s.payload,
            seq: &s.seq,
            ack: &s.ack,
            flags: &s.flags,
            ecn: &s.ecn,
            dscp: &s.dscp,
            ts_val: &s.ts_val,
            ts_ecr: &s.ts_ecr,
            window: &s.window,
            sack_n: &s.sack_n,
            sack: [
                (&s.sack1_start, &s.sack1_end),
                (&s.sack2_start, &s.sack2_end),
                (&s.sack3_start, &s.sack3_end),
                (&s.sack4_start, &s.sack4_end),
            ],
        }
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) t_ns: u64,
    pub(super) flow: u32,
    pub(super) dir: u8,
    pub(super) payload: u64,
    pub(super) seq: u64,
    pub(super) ack: u64,
    pub(super) flags: u32,
    pub(super) ecn: u8,
    pub(super) dscp: u8,
    pub(super) ts_val: u64,
    pub(super) ts_ecr: u64,
    pub(super) window: u64,
    pub(super) sack_n: usize,
    pub(super) sack: [(u64, u64); MAX_SACK],
}

impl Row {
    pub(super) fn sack(&self) -> &[(u64, u64)] {
        &self.sack[..self.sack_n]
    }
}

impl Rows<'_> {
    /// Whether all columns have one length, as [`walk`](super::walk) needs it.
    pub fn equally_long(&self) -> bool {
        let n = self.t_ns.len();
        let narrow = [self.dir.len(), self.ecn.len(), self.dscp.len(), self.sack_n.len()];
        let middle = [self.flow.len(), self.payload.len(), self.flags.len()];
        let wide = [self.seq.len(), self.ack.len(), self.ts_val.len(), self.ts_ecr.len(), self.window.len()];
        let sack = self.sack.iter().flat_map(|(start, end)| [start.len(), end.len()]);
        narrow.into_iter().chain(middle).chain(wide).chain(sack).all(|length| length == n)
    }

    pub(super) fn at(&self, row: usize) -> Row {
        Row {
            t_ns: self.t_ns[row],
            flow: self.flow[row],
            dir: self.dir[row],
            payload: self.payload[row].into(),
            seq: self.seq[row],
            ack: self.ack[row],
            flags: self.flags[row],
            ecn: self.ecn[row],
            dscp: self.dscp[row],
            ts_val: self.ts_val[row],
            ts_ecr: self.ts_ecr[row],
            window: self.window[row],
            sack_n: usize::from(self.sack_n[row]).min(MAX_SACK),
            sack: self.sack.map(|(start, end)| (start[row], end[row])),
        }
    }
}

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
    /// Data older than others, for the first time here: lost in front of the capture point, or reordered.
    Unseen = 4,
    /// Data that the receiver has.
    Needless = 5,
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
    /// Sent and not acknowledged cumulatively.
    pub unacked: Vec<u64>,
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
    /// Flags of the header.
    pub flags: Vec<u32>,
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
    /// Newly acknowledged by SACK alone.
    pub sacked: Vec<u64>,
    /// From the newest segment acknowledged, which was sent once: from the capture point to the receiver and back; 0
    /// without a sample.
    pub rtt_ns: Vec<u64>,
    /// After it.
    pub in_flight: Vec<u64>,
    /// The receive window; `u64::MAX` if it is not known.
    pub window: Vec<u64>,
    /// The round trip, counted.
    pub round: Vec<u32>,
    /// Bits of [`AckKind`].
    pub kind: Vec<u8>,
    /// Flags of the header.
    pub flags: Vec<u32>,
    /// ECN code point.
    pub ecn: Vec<u8>,
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

/// Appends columns to those of the same names.
macro_rules! append {
    ($from:expr => $to:expr; $($name:ident),* $(,)?) => { $($to.$name.append(&mut $from.$name);)* };
}

impl Walked {
    /// Adds the departures and acknowledgements of other connections.
    pub(crate) fn append(&mut self, mut other: Walked) {
        append!(
            other.sends => self.sends;
            t_ns, flow, seq, payload, kind, in_flight, unacked, room, round, since_ack_ns, back_ns, ecn, dscp, flags,
        );
        append!(
            other.acks => self.acks;
            t_ns, flow, ack, acked, sacked, rtt_ns, in_flight, window, round, kind, flags, ecn,
        );
    }
}
