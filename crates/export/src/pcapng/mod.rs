//! Captures: a run's packets as a pcapng file, for Wireshark, tshark, tcptrace and all readers of tcpdump's files.
//!
//! Each packet gets the headers that it would have on a real wire, with correct checksums; its payload is zeros and
//! usually not captured. A datagram of a real stack has its real payload where that was kept, and the secrets that decrypt
//! it come first in the file. The packet's comments say what no header shows (the sender's window and state where its
//! state changes, why a packet was dropped). There is one interface per place of observation:
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
mod capture;
mod comments;
mod devices;
mod flow;
mod headers;
mod payloads;
mod places;
mod routes;

pub use crate::packets::{Packets, Row};
pub use capture::Capture;
pub use devices::DeviceCapture;
pub use flow::{Flow, MdsOffer};
pub use payloads::Payloads;

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
