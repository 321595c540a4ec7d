//! Traces: captures read as tables of TCP segments, and what these show about the sender.
//!
//! Two steps. [`capture`] reads pcap and pcapng into [`Segments`], one row per TCP segment, connections numbered and
//! sequence numbers unwrapped. [`walk`] goes through the segments of one connection as its sender did: what was in
//! flight at each departure, which segments were sent again and why, how long each round trip took. A run of the
//! simulator that recorded its packets has the same columns, so the second step serves both.

pub mod capture;
mod connections;
mod frame;
mod idle;
mod options;
mod segments;
pub mod walk;

pub use capture::{Capture, ReadError, read};
pub use connections::{Connection, Side};
pub use segments::{MAX_SACK, Segments};
