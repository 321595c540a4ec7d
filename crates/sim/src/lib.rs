//! The event loop: flows, links and delay lines in integer nanoseconds, and the recorder that watches them.
//!
//! Knows traits ([`windtunnel_cc::CongestionControl`], [`windtunnel_qdisc::QueueDiscipline`]), not algorithms. A
//! [`Network`] is compiled elsewhere; [`Simulation`] runs it; a [`RunResult`] comes out and never changes.

mod event_queue;
mod flow;
mod line;
mod link;
mod network;
pub mod recorder;
mod result;
mod simulation;
mod streams;

pub use network::{Action, DequeuePoint, FlowSpec, LinkSpec, Network, PathHop, RecordSpec, Window};
pub use result::{
    CwndSummary, DropSummary, FlowSummary, Percentiles, QueueSummary, RunResult, SlowStartExit, Summary,
    WindowSummary,
};
pub use simulation::Simulation;
pub use streams::stream_seed;
