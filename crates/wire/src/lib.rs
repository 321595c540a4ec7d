//! What a packet carries, without any behaviour.
//!
//! `tcp` makes packets, `qdisc` stores and marks them, `sim` moves them: this crate is the only thing that they share.
//! A [`Packet`] can carry every signal of the field (DSCP, the ECN code points, ECE, CWR, AE, AccECN counters, SACK
//! blocks, timestamps, capability options).
//!
//! A packet is moved, never copied, in [`PacketRing`]s above all: it leaves the simulation only by delivery or by a counted drop.

mod accecn;
mod ack_rate;
mod ecn_counts;
mod extras;
mod options;
mod packet;
mod rewrite;
mod ring;
mod signal;

pub use accecn::{ACE_MODULUS, AccEcnOption, AccEcnOrder, COUNTER_MODULUS};
pub use ack_rate::AckRate;
pub use ecn_counts::EcnCounts;
pub use extras::Extras;
pub use options::{MdsCapability, Options, SackBlock, SackBlocks};
pub use packet::{FlowId, Packet};
pub use rewrite::{Encapsulation, IpFields, TcpOption};
pub use ring::PacketRing;
pub use signal::{Dscp, Ecn, TcpFlags};
