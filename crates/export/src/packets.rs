//! The table `packets` of a run: one row per packet and place.

use std::iter;

use arrayvec::ArrayVec;

/// Borrowed columns, all of one length.
macro_rules! packets {
    ($($(#[$doc:meta])* $name:ident: $type:ty),* $(,)?) => {
        /// The columns of the table; all have one length.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Packets<'a> { $($(#[$doc])* pub $name: &'a [$type],)* }

        /// One row of the table: a packet at one place.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Row { $($(#[$doc])* pub $name: $type,)* }

        impl Packets<'_> {
            /// The number of rows, which is the length of every column.
            pub fn len(&self) -> usize {
                [$(self.$name.len()),*].into_iter().min().unwrap_or(0)
            }

            /// Row `index`; it must be less than [`Packets::len`].
            pub fn row(&self, index: usize) -> Row {
                Row { $($name: self.$name[index]),* }
            }
        }
    };
}

packets! {
    /// When the packet was there.
    t_ns: u64,
    /// The place, a [`Point`](crate::pcapng::Point).
    tap: u8,
    /// The queue, if the place is at one.
    queue: u32,
    /// The flow.
    flow: u32,
    /// The connection: the flow's own number, unless connections arrive during the run.
    connection: u32,
    /// 0 in the direction of the data, 1 in that of the ACKs.
    dir: u8,
    /// 6 TCP, 17 UDP.
    proto: u8,
    /// The packet's identity, the same at every place.
    id: u64,
    /// For a copy made by a medium: the identity of the original packet; 0 for one that was sent.
    copy_of: u64,
    /// Length of the IP packet.
    size: u32,
    /// Length of its data.
    payload: u32,
    /// 64 bits; the SYN has number 0.
    seq: u64,
    /// 64 bits.
    ack: u64,
    /// As on the wire: bit 0 FIN, bit 8 AE.
    flags: u32,
    /// The ECN field.
    ecn: u8,
    /// The Differentiated Services code point.
    dscp: u8,
    /// The timestamp option's value.
    ts_val_ns: u64,
    /// The timestamp option's echo.
    ts_ecr_ns: u64,
    /// The receive window in bytes.
    window: u64,
    /// The scale of its window field (RFC 7323 section 2), which a SYN announces and does not use.
    window_scale: u8,
    /// How many SACK blocks there are.
    sack_n: u8,
    /// First block: its first byte.
    sack1_start: u64,
    /// First block: the byte after its last one.
    sack1_end: u64,
    /// Second block.
    sack2_start: u64,
    /// Second block.
    sack2_end: u64,
    /// Third block.
    sack3_start: u64,
    /// Third block.
    sack3_end: u64,
    /// Fourth block.
    sack4_start: u64,
    /// Fourth block.
    sack4_end: u64,
    /// 1 more than the base-2 logarithm of the tau in its capability of MDS; 0 without that option.
    mds: u8,
    /// 1 more than the segments per ACK that its option asks for, 255 for the capability alone; 0 without that option.
    ack_rate: u8,
    /// The kind of the option that counts marks: 172 or 174 for AccECN's, 254 for QUIC's counts; 0 without one.
    accecn_kind: u8,
    /// How many fields that has.
    accecn_n: u8,
    /// Its first field.
    accecn1: u32,
    /// Its second field.
    accecn2: u32,
    /// Its third field.
    accecn3: u32,
    /// Why it was lost right after this place: 0 not lost, 1 the queue was full, 2 the AQM, 3 the medium.
    drop: u8,
    /// Whether its data were sent before.
    retransmission: bool,
    /// The sender's window after sending; 0 where that is unknown.
    cwnd: u64,
    /// Its slow-start threshold; `u64::MAX` for infinite.
    ssthresh: u64,
    /// Its smoothed round-trip time.
    srtt_ns: u64,
    /// Its state, numbered as in Linux.
    state: u8,
    /// What keeps the sender from sending more.
    limit: u8,
    /// Its data in flight.
    in_flight: u64,
}

impl Packets<'_> {
    /// True without a row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Row {
    /// The SACK blocks, from the first byte to the one after the last.
    pub(crate) fn sack(&self) -> impl Iterator<Item = (u64, u64)> {
        [
            (self.sack1_start, self.sack1_end),
            (self.sack2_start, self.sack2_end),
            (self.sack3_start, self.sack3_end),
            (self.sack4_start, self.sack4_end),
        ]
        .into_iter()
        .take(usize::from(self.sack_n))
    }

    /// The option that counts marks as on the wire: AccECN's (RFC 9768 section 3.2.3), filled up to a multiple of four bytes with
    /// NOPs, or QUIC's counts in an experimental option (RFC 6994).
    pub(crate) fn counts(&self) -> ArrayVec<u8, 16> {
        const NOP: u8 = 1;
        /// An option for experiments, and the identifier of this one, which is not registered.
        const EXPERIMENT_2: u8 = 254;
        const EXID: [u8; 2] = *b"QE";
        let mut bytes = ArrayVec::new();
        if self.accecn_kind == 0 {
            return bytes;
        }
        let fields = [self.accecn1, self.accecn2, self.accecn3];
        if self.accecn_kind == EXPERIMENT_2 {
            bytes.extend([EXPERIMENT_2, 16, EXID[0], EXID[1]]);
            bytes.extend(fields.into_iter().flat_map(u32::to_be_bytes));
            return bytes;
        }
        let fields = &fields[..usize::from(self.accecn_n).min(3)];
        bytes.extend([self.accecn_kind, 2 + 3 * fields.len() as u8]);
        for field in fields {
            bytes.extend(field.to_be_bytes().into_iter().skip(1));
        }
        let padding = bytes.len().next_multiple_of(4) - bytes.len();
        bytes.extend(iter::repeat_n(NOP, padding));
        bytes
    }

    /// The request for an ACK rate as on the wire (TARR, draft-ietf-tcpm-ack-rate-request): an option for experiments (RFC 6994),
    /// filled up with NOPs. The upper seven bits of a request's last byte are the segments per ACK.
    pub(crate) fn ack_rate(&self) -> ArrayVec<u8, 8> {
        const NOP: u8 = 1;
        const EXPERIMENT_2: u8 = 254;
        const EXID: [u8; 2] = [0x00, 0xAC];
        let mut bytes = ArrayVec::new();
        match self.ack_rate {
            0 => {}
            u8::MAX => bytes.extend([EXPERIMENT_2, 4, EXID[0], EXID[1]]),
            more => bytes.extend([EXPERIMENT_2, 5, EXID[0], EXID[1], (more - 1) << 1, NOP, NOP, NOP]),
        }
        bytes
    }

    /// The identity of the packet that was sent: its own, unless it is a copy.
    pub(crate) const fn original(&self) -> u64 {
        if self.copy_of == 0 { self.id } else { self.copy_of }
    }

    /// True for packets from the receiver.
    pub(crate) const fn is_ack_direction(&self) -> bool {
        self.dir != 0
    }
}
