//! Real QUIC stacks in a simulation.

mod bulk;
mod datagrams;
mod ecn;
mod facts;
mod library;
mod limits;
mod messages;
#[cfg(feature = "ngtcp2")]
mod ngtcp2;
mod payloads;
mod refusals;
mod runs;
mod shadow;
