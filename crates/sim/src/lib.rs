//! The event loop: flows, links and delay lines in integer nanoseconds, and the recorder that watches them.
//!
//! Knows traits ([`windtunnel_cc::CongestionControl`], [`windtunnel_qdisc::QueueDiscipline`]), not algorithms. A
//! [`Network`] is compiled elsewhere; [`Simulation`] runs it; a [`RunResult`] comes out and never changes.

pub mod application;
mod arrivals;
mod distribution;
pub mod element;
pub mod endpoint;
mod event_queue;
mod flow;
mod line;
mod link;
mod network;
mod onward;
mod random;
mod rate_trace;
pub mod recorder;
mod result;
mod rtp;
mod schedule;
mod simulation;
mod streams;

pub use distribution::{CdfPoint, Distribution, Quantity, SizeDistribution, TimeDistribution};
pub use link::{Change, DequeuePoint, LinkParams, LinkRate};
pub use network::{
    Action, Connection, ControllerFactory, ElementSpec, FlowSpec, LinkSpec, Network, PathHop, Transport,
    UnfitFlow, Window,
};
pub use rate_trace::{RateTrace, TraceError, parse_mahimahi};
pub use recorder::{RecordParams, StateRecording};
pub use result::{
    BandSummary, ChangeSummary, ClassSummary, CwndSummary, DatagramSummary, DropSummary, ElementSummary,
    FlowSummary, FrameSummary, LimitSummary, Percentiles, QueueSummary, RunResult, SenderSummary,
    SizeClassSummary, SlowStartExit, Stalled, Summary, TransferSummary, WindowSummary,
};
pub use schedule::{During, Moment, When, repeated};
pub use simulation::{Balance, Holder, MemoryExceeded, Parts, Run, Simulation, StreamState};
pub use streams::stream_seed;
