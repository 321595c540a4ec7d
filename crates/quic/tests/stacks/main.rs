//! Real QUIC stacks in a simulation.

mod bulk;
mod ecn;
mod facts;
mod limits;
mod messages;
mod refusals;
mod runs;
mod shadow;
