//! Real QUIC stacks in a simulation.

mod bulk;
mod ecn;
mod facts;
mod limits;
mod messages;
mod payloads;
mod refusals;
mod runs;
mod shadow;
