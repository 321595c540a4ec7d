//! Captures of real packets at the devices of an emulated path: all of each packet, as it enters the path or leaves it.

use std::io::{self, Write};
use std::time::Duration;

use super::blocks::{Blocks, Direction, PacketBlock};
use super::comments::Comments;
use super::headers::Frame;
use super::{EPOCH, Link};

/// A capture that is being written. A file is whole after [`DeviceCapture::finish`].
#[derive(Debug)]
pub struct DeviceCapture<W> {
    blocks: Blocks<W>,
    frame: Frame,
    comments: Comments,
    /// Packets of each device.
    seen: Vec<u64>,
    /// The time of the last one.
    last: Duration,
}

impl<W: Write> DeviceCapture<W> {
    /// Starts a capture with an interface for each device; `about` becomes the file's comment.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(writer: W, about: &str, devices: &[&str]) -> io::Result<DeviceCapture<W>> {
        let mut blocks = Blocks::new(writer);
        blocks.section_header(about, concat!("windtunnel ", env!("CARGO_PKG_VERSION")))?;
        for device in devices {
            blocks.interface(Link::Raw, 0, device, "the device at this end of the path")?;
        }
        Ok(DeviceCapture {
            blocks,
            frame: Frame::default(),
            comments: Comments::default(),
            seen: vec![0; devices.len()],
            last: EPOCH,
        })
    }

    /// A packet at a device, `at` this time of the path. Its host sends what `enters` the path.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, device: usize, enters: bool, at: Duration, packet: &[u8]) -> io::Result<()> {
        self.frame.hold(packet);
        self.last = EPOCH + at;
        self.seen[device] += 1;
        self.blocks.packet(&PacketBlock {
            interface: device as u32,
            time: self.last,
            frame: &self.frame,
            snaplen: 0,
            direction: if enters { Direction::Outbound } else { Direction::Inbound },
            id: self.seen.iter().sum(),
            comments: &self.comments,
        })
    }

    /// Ends the file with the statistics of its interfaces.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        for (interface, &packets) in (0..).zip(&self.seen) {
            self.blocks.interface_statistics(interface, self.last, packets)?;
        }
        self.blocks.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An enhanced packet block (draft-ietf-opsawg-pcapng, section 4.3): type 6, the device, the time, both lengths, the
    /// packet as it was; and whether its host has sent it (flags, section 4.3.1: 2 is outbound).
    #[test]
    fn a_packet_is_whole() {
        let mut file = Vec::new();
        let mut capture = DeviceCapture::new(&mut file, "a path", &["near", "far"]).unwrap();
        let packet: Vec<u8> = (0..200).collect();
        capture.write(1, true, Duration::from_nanos(7), &packet).unwrap();
        capture.finish().unwrap();
        let at = file.windows(200).position(|bytes| bytes == packet).expect("the packet");
        let word = |offset: usize| u32::from_le_bytes(file[offset..offset + 4].try_into().unwrap());
        assert_eq!((word(at - 28), word(at - 20), word(at - 8), word(at - 4)), (6, 1, 200, 200));
        let time = (u64::from(word(at - 16)) << 32) + u64::from(word(at - 12));
        assert_eq!(u128::from(time), (EPOCH + Duration::from_nanos(7)).as_nanos());
        assert_eq!((word(at + 200), word(at + 204)), (0x0004_0002, 2));
    }
}
