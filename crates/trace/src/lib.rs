//! Traces: captures read as tables of TCP segments, and what these show about the sender.
//!
//! Two steps. [`capture`] reads pcap and pcapng into [`Segments`], one row per TCP segment, connections numbered and
//! sequence numbers unwrapped. [`walk`] goes through the segments of one connection as its sender did: what was in
//! flight at each departure, which segments were sent again and why, how long each round trip took. A run of the
//! simulator that recorded its packets has the same columns, so the second step serves both. [`qlog`] reads the logs of QUIC stacks,
//! which have packet numbers in place of segments, and gives what the second step gives. [`shadow`] lets controllers of
//! windtunnel's hear what the sender heard.

pub mod capture;
mod connections;
mod frame;
mod idle;
mod options;
pub mod qlog;
mod segments;
pub mod shadow;
pub mod walk;

pub use capture::{Capture, ReadError, read};
pub use connections::{Connection, Side};
pub use segments::{MAX_SACK, Row, Segments};

use std::io::Read;

/// A trace of either kind.
#[derive(Clone, Debug)]
pub enum Trace {
    /// Packets as a capture has them.
    Capture(Box<Capture>),
    /// What an endpoint has logged.
    Qlog(Box<qlog::Qlog>),
}

/// Reads a trace: a log begins with a brace, a separator of records, or a blank; everything else is taken for a capture.
pub fn open(mut input: impl Read + Send) -> Result<Trace, ReadError> {
    let mut start = Vec::with_capacity(1);
    input.by_ref().take(1).read_to_end(&mut start)?;
    let is_log = matches!(start[..], [b'{' | 0x1e | b' ' | b'\t']);
    let whole = start.chain(input);
    if is_log {
        Ok(Trace::Qlog(Box::new(qlog::read(whole)?)))
    } else {
        read(whole).map(|capture| Trace::Capture(Box::new(capture)))
    }
}
