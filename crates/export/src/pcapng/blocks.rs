//! The blocks of a pcapng file (draft-ietf-opsawg-pcapng): little-endian, each with its length at both ends.
//!
//! They are written here because the stable version of the usual crate (`pcap-file` 2.0) cannot write `epb_packetid`, which
//! connects the appearances of a packet, and stores the time of interface statistics with its halves swapped
//! (docs/decisions/0028-pcapng-blocks.md).

use std::io::{self, Write};
use std::time::Duration;

use super::Link;
use super::comments::Comments;
use super::headers::Frame;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;

const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const EPB_PACKETID: u16 = 5;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;

/// Secrets are the lines of a TLS key log: `TLSK`.
const TLS_KEY_LOG: u32 = 0x544C_534B;

/// Timestamps count units of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Whether a packet arrived at the place or left it: bits 0 and 1 of `epb_flags`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    Inbound = 1,
    Outbound = 2,
}

/// An enhanced packet block.
#[derive(Debug)]
pub(super) struct PacketBlock<'a> {
    pub(super) interface: u32,
    /// Time since 1970-01-01 00:00:00 UTC.
    pub(super) time: Duration,
    pub(super) frame: &'a Frame,
    /// Bytes captured of it at most; 0 for all.
    pub(super) snaplen: u32,
    pub(super) direction: Direction,
    pub(super) id: u64,
    pub(super) comments: &'a Comments,
}

/// When the buffer holds this much, it is written.
const BUFFER: usize = 1 << 18;

/// Writes blocks.
#[derive(Debug)]
pub(super) struct Blocks<W> {
    writer: W,
    /// The blocks that are not written yet; reused, so that nothing is allocated per packet.
    buffer: Vec<u8>,
    /// Where the last one starts.
    start: usize,
}

impl<W: Write> Blocks<W> {
    pub(super) fn new(writer: W) -> Blocks<W> {
        Blocks { writer, buffer: Vec::with_capacity(BUFFER), start: 0 }
    }

    pub(super) fn section_header(&mut self, comment: &str, application: &str) -> io::Result<()> {
        const UNKNOWN_LENGTH: i64 = -1;
        self.begin(SECTION_HEADER);
        self.u32(BYTE_ORDER_MAGIC);
        self.u16(1); // major version
        self.u16(0); // minor version
        self.buffer.extend(UNKNOWN_LENGTH.to_le_bytes());
        self.option(COMMENT, comment.as_bytes());
        self.option(SHB_USERAPPL, application.as_bytes());
        self.end_of_options();
        self.end()
    }

    pub(super) fn interface(&mut self, link: Link, snaplen: u32, name: &str, about: &str) -> io::Result<()> {
        self.begin(INTERFACE_DESCRIPTION);
        self.u16(match link {
            Link::Ethernet => 1,
            Link::Raw => 101,
        });
        self.u16(0); // reserved
        self.u32(snaplen);
        self.option(IF_NAME, name.as_bytes());
        self.option(IF_DESCRIPTION, about.as_bytes());
        self.option(IF_TSRESOL, &[NANOSECONDS]);
        self.end_of_options();
        self.end()
    }

    /// Secrets, which readers use for the packets after them.
    pub(super) fn secrets(&mut self, key_log: &str) -> io::Result<()> {
        self.begin(DECRYPTION_SECRETS);
        self.u32(TLS_KEY_LOG);
        self.u32(key_log.len() as u32);
        self.padded(key_log.as_bytes(), key_log.len());
        self.end_of_options();
        self.end()
    }

    pub(super) fn packet(&mut self, packet: &PacketBlock<'_>) -> io::Result<()> {
        let (start, length) = (packet.frame.start(), packet.frame.length());
        let captured = match packet.snaplen as usize {
            0 => length,
            most => length.min(most),
        };
        self.begin(ENHANCED_PACKET);
        self.u32(packet.interface);
        self.time(packet.time);
        self.u32(captured as u32);
        self.u32(length as u32);
        self.padded(&start[..captured.min(start.len())], captured);
        for comment in packet.comments.iter() {
            self.option(COMMENT, comment.as_bytes());
        }
        self.option(EPB_FLAGS, &(packet.direction as u32).to_le_bytes());
        self.option(EPB_PACKETID, &packet.id.to_le_bytes());
        self.end_of_options();
        self.end()
    }

    /// Statistics of an interface: the number of packets seen; the capture itself missed none.
    pub(super) fn interface_statistics(
        &mut self,
        interface: u32,
        time: Duration,
        packets: u64,
    ) -> io::Result<()> {
        self.begin(INTERFACE_STATISTICS);
        self.u32(interface);
        self.time(time);
        self.option(ISB_IFRECV, &packets.to_le_bytes());
        self.option(ISB_IFDROP, &0u64.to_le_bytes());
        self.end_of_options();
        self.end()
    }

    /// Writes what is not written yet.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer.write_all(&self.buffer)?;
        self.buffer.clear();
        self.writer.flush()
    }

    /// Starts a block of this type, whose length is not known yet.
    fn begin(&mut self, kind: u32) {
        self.start = self.buffer.len();
        self.u32(kind);
        self.u32(0);
    }

    /// Ends a block with its length.
    fn end(&mut self) -> io::Result<()> {
        let length = ((self.buffer.len() - self.start) as u32 + 4).to_le_bytes();
        self.buffer[self.start + 4..][..4].copy_from_slice(&length);
        self.buffer.extend(length);
        if self.buffer.len() >= BUFFER {
            self.writer.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn u16(&mut self, value: u16) {
        self.buffer.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.buffer.extend(value.to_le_bytes());
    }

    /// The upper half first, in either byte order.
    fn time(&mut self, time: Duration) {
        let units = time.as_nanos() as u64;
        self.u32((units >> 32) as u32);
        self.u32(units as u32);
    }

    /// An option's length has 16 bits: a longer value is cut at a character boundary.
    fn option(&mut self, code: u16, value: &[u8]) {
        let is_middle = |&n: &usize| value.get(n).is_some_and(|byte| byte & 0xC0 == 0x80);
        let mut length = value.len().min(usize::from(u16::MAX));
        while length < value.len() && is_middle(&length) {
            length -= 1;
        }
        self.u16(code);
        self.u16(length as u16);
        self.padded(&value[..length], length);
    }

    fn end_of_options(&mut self) {
        self.u32(0);
    }

    /// The bytes, and zeros up to `length` and the next multiple of four.
    fn padded(&mut self, bytes: &[u8], length: usize) {
        let end = self.buffer.len() + length.next_multiple_of(4);
        self.buffer.extend_from_slice(bytes);
        self.buffer.resize(end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Point, Row};
    use super::*;

    /// A packet block, byte by byte from section 4.3 of the draft: time 2^32 + 5 ns, three bytes of four, padding.
    #[test]
    fn enhanced_packet_block() {
        #[rustfmt::skip]
        let expected = [
            6, 0, 0, 0,  76, 0, 0, 0,
            2, 0, 0, 0,  1, 0, 0, 0,  5, 0, 0, 0,  3, 0, 0, 0,  4, 0, 0, 0,
            0xAA, 0xBB, 0, 0,
            1, 0, 9, 0,  b'd', b'r', b'o', b'p',  b':', b'f', b'u', b'l', b'l', 0, 0, 0,
            2, 0, 4, 0,  2, 0, 0, 0,
            5, 0, 8, 0,  2, 1, 0, 0, 0, 0, 0, 0,
            0, 0, 0, 0,
            76, 0, 0, 0,
        ];
        assert_eq!(file_of_a_packet(3), expected);
    }

    /// A block of secrets, byte by byte from the draft's "Decryption Secrets Block": type, length, padding.
    #[test]
    fn decryption_secrets_block() {
        let mut file = Vec::new();
        let mut blocks = Blocks::new(&mut file);
        blocks.secrets("A 01\n").unwrap();
        blocks.flush().unwrap();
        #[rustfmt::skip]
        let expected = [
            10, 0, 0, 0,  32, 0, 0, 0,
            b'K', b'S', b'L', b'T',  5, 0, 0, 0,
            b'A', b' ', b'0', b'1',  b'\n', 0, 0, 0,
            0, 0, 0, 0,
            32, 0, 0, 0,
        ];
        assert_eq!(file, expected);
    }

    /// The file has as much of a frame as is to be captured, with the zeros that end it.
    #[test]
    fn captured_bytes() {
        let captured = |snaplen| {
            let block = file_of_a_packet(snaplen);
            (block[20], block[28..32].to_vec())
        };
        assert_eq!(captured(1), (1, vec![0xAA, 0, 0, 0]));
        assert_eq!(captured(2), (2, vec![0xAA, 0xBB, 0, 0]));
        assert_eq!(captured(0), (4, vec![0xAA, 0xBB, 0, 0]));
        assert_eq!(captured(128), captured(0));
    }

    /// A frame of two bytes and two zeros.
    fn file_of_a_packet(snaplen: u32) -> Vec<u8> {
        let mut file = Vec::new();
        let mut comments = Comments::default();
        comments.write(&Row { drop: 1, ..Row::default() }, Point::QueueIn);
        let mut blocks = Blocks::new(&mut file);
        let packet = PacketBlock {
            interface: 2,
            time: Duration::from_nanos((1 << 32) + 5),
            frame: &Frame::of(&[0xAA, 0xBB], 4),
            snaplen,
            direction: Direction::Outbound,
            id: 0x0102,
            comments: &comments,
        };
        blocks.packet(&packet).unwrap();
        blocks.flush().unwrap();
        file
    }

    /// Blocks are written as they are, however the writer is called: many more than one buffer holds.
    #[test]
    fn buffers_hide_nothing() {
        const MANY: usize = BUFFER / 16;
        let mut file = Vec::new();
        let mut blocks = Blocks::new(&mut file);
        for _ in 0..MANY {
            blocks.interface(Link::Raw, 128, "a", "b").unwrap();
        }
        blocks.flush().unwrap();
        let length = file.len() / MANY;
        assert!(file.len() > 2 * BUFFER && file.len() % MANY == 0);
        assert!(file.chunks(length).all(|one| one == &file[..length]));
    }

    /// A comment longer than an option can be is cut before the character that would be split.
    #[test]
    fn long_comments_stay_utf8() {
        let mut file = Vec::new();
        let comment = format!("{}é", "x".repeat(65_534));
        let mut blocks = Blocks::new(&mut file);
        blocks.section_header(&comment, "t").unwrap();
        blocks.flush().unwrap();
        let at = 24;
        assert_eq!(&file[at..at + 4], &[1, 0, 0xFE, 0xFF]);
        assert_eq!(file.len() % 4, 0);
    }
}
