//! Real packets through the paths of a scenario.
//!
//! Programs that know nothing of a simulation send IP packets through two devices, one at each end of a way. Between the
//! devices is an ordinary [`Simulation`](windtunnel_sim::Simulation): real packets pass its links, queues and elements like
//! those of simulated flows, next to them if the scenario has any. Only their ends are outside of it.
//!
//! ```text
//! device -> ip -> outside (a half that sends what arrives) -> links, queues, elements -> outside -> ip -> device
//! ```
//!
//! - `ip.rs` reads headers and writes what a path changes in them.
//! - `tuples.rs` tells connections apart: each 5-tuple is a flow.
//! - `stacks.rs` are the stacks whose ends are outside; `outside.rs` are their halves, which send and receive for the
//!   devices.
//! - `seen.rs` is what a path can see of a TCP connection: what is sent again, round trips, what is in order.
//! - `path.rs` puts these together, without a clock, a device, or any other input or output: [`Emulation`].
//! - `live.rs` drives it by a clock and two devices, in a thread of its own, and measures how late packets leave
//!   (`lateness.rs`).
//!
//! The clock may be that of a kernel in virtual time. Then the same code is exact.

mod ip;
mod lateness;
mod live;
mod outside;
mod path;
mod seen;
mod stacks;
mod tuples;

use windtunnel_sim::endpoint::Kinds;

pub use lateness::Lateness;
pub use live::{Live, Snapshot, Tap};
pub use outside::Side;
pub use path::{Emulation, EmulationError, LinkState, Traffic};
pub use stacks::{LinuxKernelParams, OutsideParams};
pub use tuples::{Hosts, Tuple};

/// Passes the stacks whose ends are outside to `visitor`.
pub fn visit(visitor: &mut impl Kinds) {
    visitor.stack::<OutsideParams>();
    visitor.stack::<LinuxKernelParams>();
}
