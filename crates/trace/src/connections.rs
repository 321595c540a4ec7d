//! Connections: which segment belongs to which, and sequence numbers that do not wrap.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::frame::{ACK, FIN, RST, SYN, Segment};
use crate::idle::LeftOut;
use crate::segments::{MAX_SACK, Row, Segments, retain};

/// RFC 7323 section 2.3.
const LARGEST_WINDOW_SCALE: u8 = 14;

type Address = (IpAddr, u16);

/// What the capture shows of one end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// Its SYN, if it was captured.
    pub syn: Option<Syn>,
    /// Segments that it sent.
    pub segments: u64,
    /// Payload that it sent, as far as captured, or that was acknowledged to it.
    pub data_bytes: u64,
    /// Segments with payload that were captured, and their payload.
    pub(crate) data_segments: u64,
    pub(crate) seen_bytes: u64,
    /// The flags of all its segments.
    pub(crate) flags: u32,
    /// Its greatest payload.
    pub largest: u32,
    /// Every segment but resets has timestamps.
    pub timestamps: bool,
    /// Of each ECN code point, how many of its packets had it.
    pub ecn: [u64; 4],
    /// Kinds of options in its segments other than SYNs.
    pub options: Vec<u8>,
    /// The number that stands for 0.
    base: Option<u32>,
    /// The greatest number so far, relative.
    last: u64,
    /// The greatest number that was acknowledged to it, and the least.
    acked: Option<(u64, u64)>,
}

/// What a SYN says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Syn {
    /// Its sequence number.
    pub isn: u32,
    /// The MSS option.
    pub mss: Option<u16>,
    /// The window scale option.
    pub window_scale: Option<u8>,
    /// The SACK-permitted option.
    pub sack: bool,
    /// The timestamps option.
    pub timestamps: bool,
    /// The flags of its header.
    pub flags: u32,
    /// The kinds of its options.
    pub options: Vec<u8>,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The end that sends the data, then the other.
    pub sides: [Side; 2],
    /// Whether it was closed.
    pub closed: bool,
    /// Interfaces at which it was seen; only the first is read.
    pub points: Vec<u32>,
    /// The connection's window scale is known, or neither side offered one.
    pub window_known: bool,
}

impl Side {
    fn new((address, port): Address) -> Side {
        Side {
            address,
            port,
            syn: None,
            segments: 0,
            data_bytes: 0,
            data_segments: 0,
            seen_bytes: 0,
            flags: 0,
            largest: 0,
            timestamps: true,
            ecn: [0; 4],
            options: Vec::new(),
            base: None,
            last: 0,
            acked: None,
        }
    }

    /// A number of this side's sequence space, relative and unwrapped. The first number defines the space: the SYN is
    /// 0; without it the first byte that was seen is 1.
    fn relative(&mut self, number: u32, syn: bool) -> u64 {
        let base = *self.base.get_or_insert(if syn { number } else { number.wrapping_sub(1) });
        let last = base.wrapping_add(self.last as u32);
        let step = i64::from(number.wrapping_sub(last).cast_signed());
        let relative = self.last.saturating_add_signed(step);
        self.last = self.last.max(relative);
        relative
    }

    fn note(&mut self, segment: &Segment) {
        self.segments += 1;
        self.data_segments += u64::from(segment.payload > 0);
        self.seen_bytes += u64::from(segment.payload);
        self.flags |= segment.flags;
        self.largest = self.largest.max(segment.payload);
        self.ecn[usize::from(segment.ecn & 3)] += 1;
        if segment.flags & SYN != 0 {
            self.syn = Some(Syn {
                isn: segment.seq,
                mss: segment.options.mss,
                window_scale: segment.options.window_scale,
                sack: segment.options.sack_permitted,
                timestamps: segment.options.timestamps.is_some(),
                flags: segment.flags,
                options: segment.options.kinds.as_slice().to_vec(),
            });
            return;
        }
        // A reset has none (RFC 7323 section 3.2 lets it lack them).
        if segment.flags & RST != 0 {
            return;
        }
        self.timestamps &= segment.options.timestamps.is_some();
        for kind in segment.options.kinds.as_slice() {
            if !self.options.contains(kind) {
                self.options.push(*kind);
            }
        }
    }

    fn acknowledged(&mut self, number: u64) {
        let (least, most) = self.acked.get_or_insert((number, number));
        *least = number.min(*least);
        *most = number.max(*most);
    }

    /// Data that it sent, even if only the other direction was captured.
    fn volume(&self) -> u64 {
        self.seen_bytes.max(self.acked.map_or(0, |(least, most)| most - least))
    }
}

/// Sorts segments into connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// The newest connection of each pair of ends, the lesser end first.
    open: BTreeMap<(Address, Address), usize>,
    pub(crate) all: Vec<Connection>,
    pub(crate) rows: Segments,
}

impl Connections {
    pub(crate) fn add(&mut self, t_ns: u64, point: u32, segment: &Segment) {
        let index = self.find(segment);
        let connection = &mut self.all[index];
        let from = usize::from(
            connection.sides[0].address != segment.from.0 || connection.sides[0].port != segment.from.1,
        );
        if connection.points.is_empty() || !connection.points.contains(&point) {
            connection.points.push(point);
        }
        // Other interfaces show the same packets once more.
        if connection.points[0] != point {
            return;
        }
        connection.closed |= segment.flags & FIN != 0;
        let syn = segment.flags & SYN != 0;
        let seq = connection.sides[from].relative(segment.seq, syn);
        connection.sides[from].note(segment);
        let peer = &mut connection.sides[1 - from];
        let mut ack = 0;
        if segment.flags & ACK != 0 {
            ack = peer.relative_ack(segment.ack);
            peer.acknowledged(ack);
        }
        let mut sack = [(0, 0); MAX_SACK];
        let blocks = &segment.options.sack;
        for (near, &(from, to)) in sack.iter_mut().zip(blocks) {
            *near = (peer.near(from), peer.near(to));
        }
        let (ts_val, ts_ecr) = segment.options.timestamps.unwrap_or_default();
        let row = Row {
            t_ns,
            seq,
            ack,
            ts_val: ts_val.into(),
            ts_ecr: ts_ecr.into(),
            window: segment.window.into(),
            flow: index as u32,
            payload: segment.payload,
            flags: segment.flags as u16,
            dir: from as u8,
            class: Row::class(segment.dscp, segment.ecn),
            ..Row::default()
        };
        self.rows.push(row, &sack[..blocks.len().min(MAX_SACK)]);
    }

    /// The segment's connection. A SYN with another number starts a new one.
    fn find(&mut self, segment: &Segment) -> usize {
        let key =
            if segment.from <= segment.to { (segment.from, segment.to) } else { (segment.to, segment.from) };
        if let Some(&index) = self.open.get(&key) {
            let connection = &self.all[index];
            let side = usize::from((connection.sides[0].address, connection.sides[0].port) != segment.from);
            let again = segment.flags & SYN != 0
                && segment.flags & ACK == 0
                && connection.sides[side].base.is_some_and(|base| base != segment.seq);
            if !again {
                return index;
            }
        }
        self.open.insert(key, self.all.len());
        self.all.push(Connection {
            sides: [Side::new(segment.from), Side::new(segment.to)],
            closed: false,
            points: Vec::new(),
            window_known: false,
        });
        self.all.len() - 1
    }

    /// Gives every connection its direction, leaves out those that carry too little, puts the rows in order, and scales
    /// windows. Returns the rows that were late, and what was left out.
    pub(crate) fn finish(&mut self) -> (u64, LeftOut) {
        let mut swapped = Vec::with_capacity(self.all.len());
        for connection in &mut self.all {
            let swap = connection.sides[1].volume() > connection.sides[0].volume();
            if swap {
                connection.sides.swap(0, 1);
            }
            swapped.push(swap);
            for side in &mut connection.sides {
                side.data_bytes = side.volume();
            }
            connection.window_known = connection.scale(1).is_some();
        }
        let (left_out, kept) = LeftOut::of(&self.all);
        if !left_out.is_nothing() {
            keep(&mut self.rows, &mut self.all, &kept);
            self.open.clear();
            retain(&mut swapped, &kept);
        }
        for row in self.rows.rows_mut() {
            let flow = row.flow as usize;
            row.dir ^= u8::from(swapped[flow]);
            if !row.has(SYN) {
                row.window <<= self.all[flow].scale(usize::from(row.dir)).unwrap_or(0);
            }
        }
        (self.rows.sort(), left_out)
    }
}

/// Keeps some of the connections, with their rows, and numbers them anew.
pub(crate) fn keep(rows: &mut Segments, connections: &mut Vec<Connection>, kept: &[bool]) {
    rows.keep(|row| kept[row.flow as usize]);
    let mut next = 0;
    let numbers: Vec<u32> = kept
        .iter()
        .map(|kept| {
            next += u32::from(*kept);
            next.saturating_sub(1)
        })
        .collect();
    for row in rows.rows_mut() {
        row.flow = numbers[row.flow as usize];
    }
    retain(connections, kept);
}

impl Side {
    /// An acknowledgement of this side's data: without its SYN the first acknowledgement that was seen is 1.
    fn relative_ack(&mut self, ack: u32) -> u64 {
        if self.base.is_none() {
            self.base = Some(ack.wrapping_sub(1));
        }
        let near = self.near(ack);
        // With only this direction captured, acknowledgements alone move it on.
        if self.segments == 0 {
            self.last = self.last.max(near);
        }
        near
    }

    /// The relative number nearest to the newest of this side.
    fn near(&self, number: u32) -> u64 {
        let last = self.base.unwrap_or_default().wrapping_add(self.last as u32);
        self.last.saturating_add_signed(i64::from(number.wrapping_sub(last).cast_signed()))
    }
}

impl Connection {
    /// The shift of a side's windows: RFC 7323 section 2.2, both must have offered one. None if a SYN is missing.
    fn scale(&self, side: usize) -> Option<u8> {
        let mine = self.sides[side].syn.as_ref()?;
        let other = self.sides[1 - side].syn.as_ref()?;
        Some(match (mine.window_scale, other.window_scale) {
            (Some(shift), Some(_)) => shift.min(LARGEST_WINDOW_SCALE),
            _ => 0,
        })
    }
}
