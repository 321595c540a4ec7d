//! Captures: a run's packets as a pcapng file, for Wireshark, tshark, tcptrace and all readers of tcpdump's files.
//!
//! Each packet gets the headers that it would have on a real wire, with correct checksums; its payload is zeros and
//! usually not captured. The packet's comments say what no header shows (the sender's window and state, why a packet
//! was dropped). There is one interface per place of observation:
//!
//! | interface | place |
//! |---|---|
//! | `snd.<flow>` | the sender: data when they leave, ACKs when they arrive |
//! | `q.<queue>.in` | before a queue |
//! | `q.<queue>.out` | after it, at the end of serialisation |
//! | `rcv.<flow>` | the receiver |
//!
//! A packet has the same identity (`epb_packetid`), sequence number and IP identification at all places; its ECN field
//! and its TTL (64, minus one per queue passed) are those at the place. The file depends only on its input: times count
//! from [`EPOCH`].
//!
//! Sources: draft-ietf-opsawg-pcapng; RFC 791, 2018, 3168, 7323, 8200, 9293, 9768; spec/queues-and-signalling section 18.

mod blocks;
mod comments;
mod flow;
mod headers;
mod packets;
mod routes;

use std::io::{self, Write};

use blocks::{Blocks, Direction, PacketBlock};
use routes::Routes;

pub use flow::{Flow, MdsOffer};
pub use packets::{Packets, Row};

/// The start of a run in a capture: 2020-01-01 00:00:00 UTC, so that equal runs give equal files.
pub const EPOCH: std::time::Duration = std::time::Duration::from_secs(1_577_836_800);

/// The link-layer header of captured packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// A synthetic Ethernet II header (link type 1): locally administered addresses, one pair per flow.
    #[default]
    Ethernet,
    /// The IP header (link type 101).
    Raw,
}

/// The version of IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// RFC 791: packets are as long as in the simulation.
    #[default]
    V4,
    /// RFC 8200: each packet is 20 bytes longer than in the simulation.
    V6,
}

/// A place where packets are observed: the column `tap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// At the sender.
    Sender = 0,
    /// Before a queue.
    QueueIn = 1,
    /// After a queue.
    QueueOut = 2,
    /// At the receiver.
    Receiver = 3,
}

impl Point {
    /// All points, in the order of their numbers.
    pub const ALL: [Point; 4] = [Point::Sender, Point::QueueIn, Point::QueueOut, Point::Receiver];

    /// The name that options use.
    pub const fn name(self) -> &'static str {
        match self {
            Point::Sender => "sender",
            Point::QueueIn => "queue-in",
            Point::QueueOut => "queue-out",
            Point::Receiver => "receiver",
        }
    }

    /// The point with this name.
    pub fn named(name: &str) -> Option<Point> {
        Point::ALL.into_iter().find(|point| point.name() == name)
    }
}

/// The format of a capture.
#[derive(Clone, Debug)]
pub struct Format {
    /// The places of observation. With several, an analyser sees packets several times: for TCP analysis take one.
    pub points: Vec<Point>,
    /// The link-layer header.
    pub link: Link,
    /// The version of IP.
    pub ip: IpVersion,
    /// Bytes captured of each packet at most; 0 for all.
    pub snaplen: u32,
}

impl Default for Format {
    /// The sender's view, as tcpdump would show it there. 128 bytes hold all headers: 14 + 40 + 60 at most.
    fn default() -> Format {
        Format { points: vec![Point::Sender], link: Link::default(), ip: IpVersion::default(), snaplen: 128 }
    }
}

/// Writes the packets that were seen at the points of `format` to `writer`, and returns how many.
///
/// `about` becomes the file's comment. Fails if `writer` does, or, with `InvalidData`, at a row that no run with these
/// flows and queues can have. Memory does not grow with the packets.
pub fn write<W: Write>(
    writer: W,
    about: &str,
    flows: &[Flow],
    queues: &[String],
    packets: &Packets<'_>,
    format: &Format,
) -> io::Result<u64> {
    let mut blocks = Blocks::new(writer);
    blocks.section_header(about, concat!("windtunnel ", env!("CARGO_PKG_VERSION")))?;
    let interfaces = describe(&mut blocks, flows, queues, format)?;
    let mut seen = vec![0u64; interfaces.count as usize];
    let mut routes = Routes::new(flows.len());
    let (mut frame, mut payload, mut comments) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = EPOCH;
    for (index, row) in packets.rows().enumerate() {
        let refuse =
            |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("packet {index}: {why}"));
        let point = check(&row, flows.len(), queues.len()).map_err(refuse)?;
        // Packets that are not written count, too: a route is learnt from all of them.
        let passed = routes.passed(&row, point);
        let Some(interface) = interfaces.of(&row, point) else { continue };
        last = EPOCH + std::time::Duration::from_nanos(row.t_ns);
        let flow = &flows[row.flow as usize];
        headers::write_frame(&row, flow, passed, format, &mut payload, &mut frame).map_err(refuse)?;
        comments::write(&row, point, &mut comments);
        let captured = match format.snaplen as usize {
            0 => frame.len(),
            most => frame.len().min(most),
        };
        blocks.packet(&PacketBlock {
            interface,
            time: last,
            captured: &frame[..captured],
            length: frame.len() as u32,
            direction: direction(&row, point),
            id: row.id,
            comments: &comments,
        })?;
        seen[interface as usize] += 1;
    }
    for (interface, &packets) in (0..).zip(&seen) {
        blocks.interface_statistics(interface, last, packets)?;
    }
    blocks.flush()?;
    Ok(seen.iter().sum())
}

/// The first interface of each captured point.
#[derive(Debug)]
struct Interfaces {
    first: [Option<u32>; 4],
    /// Both sides of a queue are neighbours: with both captured, successive queues are two interfaces apart.
    per_queue: u32,
    count: u32,
}

impl Interfaces {
    fn of(&self, row: &Row, point: Point) -> Option<u32> {
        let offset = match point {
            Point::Sender | Point::Receiver => row.flow,
            Point::QueueIn | Point::QueueOut => row.queue * self.per_queue,
        };
        self.first[point as usize].map(|first| first + offset)
    }
}

/// Describes the interfaces of all points: senders, queues, receivers.
fn describe<W: Write>(
    blocks: &mut Blocks<W>,
    flows: &[Flow],
    queues: &[String],
    format: &Format,
) -> io::Result<Interfaces> {
    let mut described = Interfaces { first: [None; 4], per_queue: 0, count: 0 };
    let mut add = |point: Point, name: String, about: String| -> io::Result<()> {
        described.first[point as usize].get_or_insert(described.count);
        described.count += 1;
        blocks.interface(format.link, format.snaplen, &name, &about)
    };
    let wanted = |point| format.points.contains(&point);
    if wanted(Point::Sender) {
        for flow in flows {
            add(Point::Sender, format!("snd.{}", flow.name), format!("sender of flow {}", flow.name))?;
        }
    }
    for queue in queues {
        if wanted(Point::QueueIn) {
            add(Point::QueueIn, format!("q.{queue}.in"), format!("before queue {queue}"))?;
        }
        if wanted(Point::QueueOut) {
            add(Point::QueueOut, format!("q.{queue}.out"), format!("after queue {queue}"))?;
        }
    }
    if wanted(Point::Receiver) {
        for flow in flows {
            add(Point::Receiver, format!("rcv.{}", flow.name), format!("receiver of flow {}", flow.name))?;
        }
    }
    described.per_queue = u32::from(wanted(Point::QueueIn)) + u32::from(wanted(Point::QueueOut));
    Ok(described)
}

/// Where `row` was seen, if a run with this number of flows and queues can have such a row.
fn check(row: &Row, flows: usize, queues: usize) -> Result<Point, String> {
    let point = *Point::ALL.get(usize::from(row.tap)).ok_or_else(|| format!("{} is not a tap", row.tap))?;
    if row.flow as usize >= flows {
        return Err(format!("flow {} is not one of {flows}", row.flow));
    }
    if matches!(point, Point::QueueIn | Point::QueueOut) && row.queue as usize >= queues {
        return Err(format!("queue {} is not one of {queues}", row.queue));
    }
    Ok(point)
}

fn direction(row: &Row, point: Point) -> Direction {
    let leaves = match point {
        Point::Sender => !row.is_ack_direction(),
        Point::Receiver => row.is_ack_direction(),
        Point::QueueIn => false,
        Point::QueueOut => true,
    };
    if leaves { Direction::Outbound } else { Direction::Inbound }
}
