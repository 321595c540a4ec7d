//! Writes a capture, as many rows at a time as the caller has.

use std::io::{self, Write};
use std::time::Duration;

use super::blocks::{Blocks, PacketBlock};
use super::comments::Comments;
use super::headers::Frame;
use super::places::{Interfaces, Place};
use super::routes::Routes;
use super::{EPOCH, Flow, Format, Packets, Payloads};

/// A capture that is being written.
///
/// Its memory depends on the flows and queues, not on the packets. A file is whole after [`Capture::finish`].
#[derive(Debug)]
pub struct Capture<W> {
    blocks: Blocks<W>,
    flows: Vec<Flow>,
    queues: usize,
    format: Format,
    interfaces: Interfaces,
    /// Packets of each interface.
    seen: Vec<u64>,
    routes: Routes,
    /// Rows read.
    rows: usize,
    /// The time of the last packet written.
    last: Duration,
    frame: Frame,
    comments: Comments,
}

impl<W: Write> Capture<W> {
    /// Starts a capture with a description of its interfaces; `about` becomes the file's comment.
    pub fn new(
        writer: W,
        about: &str,
        flows: Vec<Flow>,
        queues: &[String],
        format: Format,
    ) -> io::Result<Capture<W>> {
        let mut blocks = Blocks::new(writer);
        blocks.section_header(about, concat!("windtunnel ", env!("CARGO_PKG_VERSION")))?;
        let interfaces = Interfaces::describe(&mut blocks, &flows, queues, &format)?;
        Ok(Capture {
            blocks,
            queues: queues.len(),
            seen: vec![0; interfaces.count()],
            routes: Routes::new(flows.len()),
            flows,
            format,
            interfaces,
            rows: 0,
            last: EPOCH,
            frame: Frame::default(),
            comments: Comments::default(),
        })
    }

    /// Writes the secrets with which readers decrypt payloads: the lines of a key log (RFC 9850). They stand before the
    /// packets that need them.
    pub fn secrets(&mut self, key_log: &str) -> io::Result<()> {
        self.blocks.secrets(key_log)
    }

    /// Writes the packets that were seen at the points of the format; rows of later calls are later ones.
    ///
    /// Fails if the writer does, or, with `InvalidData`, at a row that no run with these flows and queues can have.
    pub fn write(&mut self, packets: &Packets<'_>, payloads: &Payloads<'_>) -> io::Result<()> {
        for index in 0..packets.len() {
            self.row(packets, index, payloads)?;
            self.rows += 1;
        }
        Ok(())
    }

    fn row(&mut self, packets: &Packets<'_>, index: usize, payloads: &Payloads<'_>) -> io::Result<()> {
        let number = self.rows;
        let refuse =
            |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("packet {number}: {why}"));
        let position = Place::of(packets, index, self.flows.len(), self.queues).map_err(refuse)?;
        // Packets that are not written count, too: a route is learnt from all of them.
        let passed = self.routes.passed(position);
        let Some(interface) = self.interfaces.of(position) else { return Ok(()) };
        let row = packets.row(index);
        let flow = &self.flows[position.flow as usize];
        let content = payloads.of(row.original());
        self.frame.write(&row, flow, content, passed, &self.format).map_err(refuse)?;
        self.comments.write(&row, position.point);
        self.last = EPOCH + Duration::from_nanos(row.t_ns);
        self.seen[interface as usize] += 1;
        self.blocks.packet(&PacketBlock {
            interface,
            time: self.last,
            frame: &self.frame,
            snaplen: self.format.snaplen,
            direction: position.direction(),
            id: row.id,
            comments: &self.comments,
        })
    }

    /// Ends the file with the statistics of its interfaces, and returns how many packets it has.
    pub fn finish(mut self) -> io::Result<u64> {
        for (interface, &packets) in (0..).zip(&self.seen) {
            self.blocks.interface_statistics(interface, self.last, packets)?;
        }
        self.blocks.flush()?;
        Ok(self.seen.iter().sum())
    }
}
