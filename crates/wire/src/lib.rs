//! What a packet carries, without any behaviour.
//!
//! `tcp` makes packets, `qdisc` stores and marks them, `sim` moves them: this crate is the only thing that they share.
//! A [`Packet`] can carry every signal of the field (DSCP, the ECN code points, ECE, CWR, AE, AccECN counters, SACK
//! blocks, timestamps, capability options).
//!
//! A packet is moved, never copied: it leaves the simulation only by delivery or by a counted drop.

mod options;
mod packet;
mod signal;

pub use options::{AccEcnOption, Options, SackBlock, SackBlocks};
pub use packet::{FlowId, Packet};
pub use signal::{Dscp, Ecn, TcpFlags};
