//! What a packet carries, and nothing that it does.
//!
//! `tcp` makes packets, `qdisc` stores and marks them, `sim` moves them: this crate is the one thing that they share. A
//! [`Packet`] carries every signal of the field from the first day (DSCP, the ECN code points, ECE, CWR, AE, AccECN
//! counters, SACK blocks, timestamps, capability options).
//!
//! A packet is moved, never copied: it leaves the simulation only by delivery or by a counted drop.

mod accecn;
mod options;
mod packet;
mod rewrite;
mod signal;

pub use accecn::{ACE_MODULUS, AccEcnOption, AccEcnOrder, COUNTER_MODULUS};
pub use options::{Options, SackBlock, SackBlocks};
pub use packet::{FlowId, Packet};
pub use rewrite::{Encapsulation, IpFields, TcpOption};
pub use signal::{Dscp, Ecn, TcpFlags};
