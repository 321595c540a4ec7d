//! qlog: a run's TCP flows as logs of their endpoints, for qvis and all readers of QUIC's logs.
//!
//! One log for each flow and vantage point, as a JSON text sequence (RFC 7464), which is written as a stream:
//!
//! | vantage point | what is in it |
//! |---|---|
//! | `client` | the sender: data when they leave, acknowledgements when they arrive, its state, what it takes for lost |
//! | `server` | the receiver: data when they arrive, acknowledgements when they leave |
//! | `network` | the queues on the path: how long each packet waited, marks, and drops wherever they happen |
//!
//! No schema for TCP is standardised, so that a flow is written in the terms of QUIC:
//!
//! - A transmission of data has a packet number of its own. One that sends data again has a new number and the same offset in
//!   stream 0, where the first byte of data has offset 0. SYNs are packets of type `initial`.
//! - An acknowledgement names the transmissions that it is the first to acknowledge, or, if there are none, the greatest number
//!   acknowledged so far. Of data that were sent several times it acknowledges the last transmission.
//! - A transmission whose data are sent again counts as lost from then on; TCP may have decided so earlier.
//! - The receive window is the limit of a `max_data` frame. It is written before what was written last becomes less than half a
//!   window, so that a reader never takes the sender for limited by it when it is not.
//! - The `ce` of an acknowledgement counts packets with AccECN, and with RFC 3168 the acknowledgements that have ECE.
//! - That data are ECN-capable is told once, with their code point; a packet that has another one says so (`ecn`).
//! - What follows from the packets before is not written (`data.rs`).
//! - The sender's numbers are written when ssthresh changes, and otherwise eight times per round trip at most.
//!
//! A flow over a QUIC stack has no packet numbers here: `datagrams.rs`.
//!
//! Sources: draft-ietf-quic-qlog-main-schema and -quic-events (editor's copies f8dfcfc), whose schema is
//! `urn:ietf:params:qlog:events:quic-12`; version 0.3 for its names (draft-ietf-quic-qlog-main-schema-02,
//! -quic-events-01).

mod acks;
mod data;
mod datagrams;
mod flow;
mod logs;
mod network;
mod numbers;
mod record;
mod state;

pub use flow::Flow;
pub use logs::{Logs, Sink};

/// Whose names the events have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// `transport:packet_sent`, `recovery:metrics_updated`: what qvis reads.
    V03,
    /// Those of the current drafts: `quic:packet_sent`, `quic:recovery_metrics_updated`.
    #[default]
    Current,
}

impl Version {
    /// The version with this name.
    pub fn named(name: &str) -> Option<Version> {
        match name {
            "0.3" => Some(Version::V03),
            "0.4" => Some(Version::Current),
            _ => None,
        }
    }
}

/// Where a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// At the sender.
    Client = 0,
    /// On the path.
    Network = 1,
    /// At the receiver.
    Server = 2,
}

impl Vantage {
    /// All, in the order of their numbers.
    pub const ALL: [Vantage; 3] = [Vantage::Client, Vantage::Network, Vantage::Server];

    /// Its name in a log.
    pub const fn name(self) -> &'static str {
        match self {
            Vantage::Client => "client",
            Vantage::Network => "network",
            Vantage::Server => "server",
        }
    }
}
