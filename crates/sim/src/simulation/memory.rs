//! What a run holds, and the limit of it.
//!
//! Rows of tables never get beyond the limit ([`crate::recorder`] asks before they grow). Packets in flight and the windows
//! of senders are counted whenever the caller checks, between two slices of events: a packet that is delivered is at least
//! two events, and lets at most two others leave while a window opens, so that they grow by no more than a slice has events.

use std::fmt;

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use super::Simulation;
use crate::element::PlacedElement;
use crate::line::DelayLine;
use crate::link::Link;
use crate::recorder::Sink;

/// A run that would hold more memory than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryExceeded {
    /// The simulated time at which it stopped.
    pub at: Time,
    /// The simulated time at which it would have ended.
    pub end: Time,
    /// The memory that it may hold.
    pub limit: Bytes,
    /// What needs more memory.
    pub by: Holder,
}

/// What holds a run's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The rows of this table.
    Table(&'static str),
    /// Packets in flight, and what senders keep about them.
    Packets,
}

impl fmt::Display for MemoryExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryExceeded { at, end, limit, by } = self;
        match by {
            Holder::Table(table) => write!(f, "the rows of `{table}`")?,
            Holder::Packets => f.write_str("packets in flight")?,
        }
        let (at, end) = (at.as_secs_f64(), end.as_secs_f64());
        write!(f, " need more than {limit} after {at:.3} s of {end} s")
    }
}

impl std::error::Error for MemoryExceeded {}

impl Simulation {
    /// Limits what the run may hold. A run that is to respect it calls [`Simulation::check_memory`] between slices of
    /// events, and ends with [`Simulation::finish_within`].
    pub fn limit_memory(&mut self, limit: Bytes) {
        self.recorder.budget().set_limit(limit);
    }

    /// Gives `sink` the rows of tables that get many, instead of keeping them until the end, once all rows take `enough`.
    pub fn stream_to(&mut self, sink: Box<dyn Sink>, enough: Bytes) {
        self.recorder.stream_to(sink, enough);
    }

    /// What the run holds: its rows, with the room for further ones, packets, and what senders keep about them.
    pub fn memory(&self) -> Bytes {
        self.recorder.budget().held() + self.packets_held() + self.noted_by_senders()
    }

    /// Whether the run holds no more than it may. Senders are asked once in as many events as there are flows: meanwhile
    /// each sends one packet, on average.
    pub fn check_memory(&mut self) -> Result<(), MemoryExceeded> {
        let (asked, mut noted) = self.noted;
        if self.handled - asked >= self.flows.len() as u64 {
            noted = self.noted_by_senders();
            self.noted = (self.handled, noted);
        }
        self.check_memory_with(self.packets_held() + noted)
    }

    /// Whether it may hold its rows and these packets.
    pub(super) fn check_memory_with(&self, packets: Bytes) -> Result<(), MemoryExceeded> {
        let budget = self.recorder.budget();
        let (at, end, limit) = (self.now, self.end, budget.limit());
        let rows = budget.held();
        let by = match (budget.short(), budget.latest()) {
            (Some(table), _) => Holder::Table(table),
            (None, _) if rows + packets <= limit => return Ok(()),
            (None, Some(table)) if rows > packets => Holder::Table(table),
            (None, _) => Holder::Packets,
        };
        Err(MemoryExceeded { at, end, limit, by })
    }

    fn packets_held(&self) -> Bytes {
        const PACKET: Bytes = Bytes::new(size_of::<Packet>() as u64);
        let queued: u64 = self.links.iter().map(Link::backlog).sum();
        let held: u64 = self.elements.iter().map(PlacedElement::held).sum();
        let lines: usize = self.lines.iter().map(DelayLine::room).sum();
        PACKET * (queued + held + lines as u64)
    }

    /// What senders keep about packets.
    fn noted_by_senders(&self) -> Bytes {
        self.flows.iter().map(|flow| flow.ends.memory()).sum()
    }
}
