//! Reads a capture: pcap or pcapng, whatever link it was made on.
//!
//! The blocks are read by the crate `pcap-parser`, one at a time. A capture that ends in the middle of a packet, or is
//! damaged, gives all that comes before, and a note that says where it stopped.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Read;
use std::sync::{Arc, OnceLock};

use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

use crate::connections::{Connection, Connections, keep};
use crate::frame::{Other, segment};
use crate::segments::Segments;

const BUFFER: usize = 1 << 16;
/// Greater blocks are taken for damage: no packet is as long (the longest that tcpdump captures is 256 kB).
const LARGEST_BLOCK: usize = 1 << 24;
const GIGA: i128 = 1_000_000_000;

/// A capture that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It has not the start of a capture.
    #[error("is neither pcap, pcapng nor qlog")]
    NotACapture,
    /// It has the start of a compressed file.
    #[error("is compressed: unpack it first")]
    Compressed,
    /// It has no bytes.
    #[error("is empty")]
    Empty,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What a capture holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// The TCP segments of its connections in order of time.
    pub segments: Segments,
    /// Its connections in the order of their first packets, but for those that carry less than two segments of data.
    pub connections: Vec<Connection>,
    /// The packets in it, TCP or not.
    pub packets: u64,
    /// What is missing from it, and what could not be read: whole sentences.
    pub notes: Vec<String>,
}

impl Capture {
    /// Keeps the `most` connections with most data, in their order, and their segments. Of equals, the earlier are kept.
    /// Returns how many go.
    pub fn keep_most(&mut self, most: usize) -> usize {
        let count = self.connections.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&n| Reverse(self.connections[n].sides[0].data_bytes));
        let mut kept = vec![true; count];
        let less = order.get(most..).unwrap_or_default();
        for &n in less {
            kept[n] = false;
        }
        if !less.is_empty() {
            keep(&mut self.segments, &mut self.connections, &kept);
        }
        less.len()
    }
}

/// Reads a capture. An error means that nothing could be read.
pub fn read(mut input: impl Read + Send) -> Result<Capture, ReadError> {
    let mut start = Vec::with_capacity(4);
    input.by_ref().take(4).read_to_end(&mut start)?;
    match start[..] {
        [] => return Err(ReadError::Empty),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd] => return Err(ReadError::Compressed),
        _ => {}
    }
    let failed = Arc::new(OnceLock::new());
    let input = Whole { input: start.chain(input), failed: Arc::clone(&failed) };
    let Ok(mut reader) = create_reader(BUFFER, input) else {
        return Err(take(failed).map_or(ReadError::NotACapture, ReadError::Io));
    };
    let mut reading = Reading::default();
    reading.blocks(reader.as_mut(), &failed);
    Ok(reading.finish())
}

/// The error at which a stream has ended.
type Failed = OnceLock<std::io::Error>;

/// Lets a short read be no end: the parser takes the first read for the whole header. An error is the end, and is kept: the
/// parser would drop what it has read before.
struct Whole<R> {
    input: R,
    failed: Arc<Failed>,
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() && self.failed.get().is_none() {
            match self.input.read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // There is none before it.
                Err(error) => _ = self.failed.set(error),
            }
        }
        Ok(filled)
    }
}

fn take(failed: Arc<Failed>) -> Option<std::io::Error> {
    Arc::into_inner(failed).and_then(OnceLock::into_inner)
}

/// An interface of a capture.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Linktype,
    /// Units of time per second.
    resolution: u64,
    offset_s: i64,
}

/// The state while a capture is read.
#[derive(Debug, Default)]
struct Reading {
    interfaces: Vec<Interface>,
    /// The first interface of the current section.
    section: usize,
    connections: Connections,
    packets: u64,
    /// When the first packet was captured.
    start_ns: Option<i128>,
    timeless: u64,
    stray: u64,
    before_start: u64,
    others: BTreeMap<&'static str, u64>,
    unknown_links: BTreeMap<i32, u64>,
    cut: u64,
    notes: Vec<String>,
}

impl Reading {
    fn blocks(&mut self, reader: &mut dyn PcapReaderIterator, failed: &Failed) {
        let mut buffer = BUFFER;
        loop {
            let at = reader.consumed();
            let step = match reader.next() {
                Ok((size, block)) => {
                    self.block(block);
                    Step::Consume(size)
                }
                Err(PcapError::Eof | PcapError::UnexpectedEof) if failed.get().is_some() => {
                    Step::End(Some("cannot be read further"))
                }
                Err(PcapError::Eof) => Step::End(None),
                Err(PcapError::Incomplete(_)) => Step::Refill,
                Err(PcapError::BufferTooSmall) => Step::Grow,
                Err(PcapError::UnexpectedEof) => Step::End(Some("ends in the middle of a packet")),
                Err(_) => Step::End(Some("is damaged")),
            };
            match step {
                // A block takes room, or the loop would not end.
                Step::Consume(0) => return self.stopped("is damaged", at),
                Step::Consume(size) => reader.consume(size),
                Step::Refill => {
                    if reader.refill().is_err() {
                        return self.stopped("is damaged", at);
                    }
                }
                Step::Grow => {
                    buffer *= 2;
                    if buffer > LARGEST_BLOCK || !reader.grow(buffer) || reader.refill().is_err() {
                        return self.stopped("is damaged", at);
                    }
                }
                Step::End(None) => return,
                Step::End(Some(why)) => return self.stopped(why, at),
            }
        }
    }

    fn stopped(&mut self, why: &str, at: usize) {
        self.notes.push(format!("The capture {why} at byte {at}: what comes after is missing."));
    }

    fn block(&mut self, block: PcapBlockOwned<'_>) {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                self.interfaces.push(Interface { link: header.network, resolution, offset_s: 0 });
            }
            PcapBlockOwned::Legacy(packet) => {
                let Some(&interface) = self.interfaces.first() else { return };
                let units =
                    i128::from(packet.ts_sec) * i128::from(interface.resolution) + i128::from(packet.ts_usec);
                self.packet(0, interface, units, packet.data, packet.origlen);
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => self.section = self.interfaces.len(),
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => self.interfaces.push(Interface {
                link: interface.linktype,
                resolution: interface.ts_resolution().unwrap_or(1_000_000).max(1),
                offset_s: interface.ts_offset(),
            }),
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let point = self.section + packet.if_id as usize;
                let Some(&interface) = self.interfaces.get(point) else {
                    self.packets += 1;
                    self.stray += 1;
                    return;
                };
                let units = i128::from(packet.ts_high) << 32 | i128::from(packet.ts_low);
                self.packet(point as u32, interface, units, packet.packet_data(), packet.origlen);
            }
            PcapBlockOwned::NG(Block::SimplePacket(_)) => {
                self.packets += 1;
                self.timeless += 1;
            }
            PcapBlockOwned::NG(_) => {}
        }
    }

    fn packet(&mut self, point: u32, interface: Interface, units: i128, data: &[u8], length: u32) {
        self.packets += 1;
        let whole = units * GIGA / i128::from(interface.resolution);
        let ns = whole + i128::from(interface.offset_s) * GIGA;
        let start = *self.start_ns.get_or_insert(ns);
        let Ok(t_ns) = u64::try_from(ns - start) else {
            self.before_start += 1;
            return;
        };
        match segment(interface.link, data, length) {
            Ok(segment) => self.connections.add(t_ns, point, &segment),
            Err(Other::Protocol) => *self.others.entry("are not TCP over IP").or_default() += 1,
            Err(Other::Fragment) => {
                *self.others.entry("are later fragments without a TCP header").or_default() += 1;
            }
            Err(Other::Cut) => self.cut += 1,
            Err(Other::Link(link)) => *self.unknown_links.entry(link).or_default() += 1,
        }
    }

    fn finish(mut self) -> Capture {
        let (late, left_out) = self.connections.finish();
        let mut note = |count: u64, what: &dyn Display| {
            if count > 0 {
                self.notes.push(format!("{count} of {} packets {what}.", self.packets));
            }
        };
        for (what, count) in &self.others {
            note(*count, what);
        }
        for (link, count) in &self.unknown_links {
            note(*count, &format!("have a link header that is not known (type {link})"));
        }
        note(self.cut, &"are cut or damaged before the end of the TCP header");
        note(self.stray, &"name an interface that the capture does not describe");
        note(self.timeless, &"have no time and were left out");
        note(self.before_start, &"are dated before the first packet and were left out");
        note(late, &"came later in the file than in time, and were put in order");
        if !left_out.is_nothing() {
            self.notes.push(left_out.to_string());
        }
        Capture {
            segments: self.connections.rows,
            connections: self.connections.all,
            packets: self.packets,
            notes: self.notes,
        }
    }
}

/// What to do after a look at the buffer.
enum Step {
    Consume(usize),
    Refill,
    Grow,
    End(Option<&'static str>),
}
