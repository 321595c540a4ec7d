//! The simulation, as valgrind sees it: `windtunnel bench` counts the instructions of these functions and what they call,
//! and not those of Python's interpreter around them. It tells them by their names, so they are never inlined.

use windtunnel_sim::{MemoryExceeded, Run, RunResult};
use windtunnel_units::Time;

/// Handles at most this many events; returns whether the end was reached.
#[inline(never)]
pub(crate) fn run_slice(simulation: &mut Run, end: Time, events: u64) -> bool {
    simulation.run_slice(end, events)
}

/// Makes the tables.
#[inline(never)]
pub(crate) fn finish(simulation: Run) -> Result<RunResult, MemoryExceeded> {
    simulation.finish_within()
}
