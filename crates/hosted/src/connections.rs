//! The controllers of a stack's connections, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use windtunnel_cc::ControllerParams;

use crate::hosted::Hosted;

/// Makes the controller of each connection: what an adapter to a stack needs for a factory of its own.
#[derive(Debug)]
pub struct Connections {
    params: Arc<dyn ControllerParams>,
    seed: u64,
    made: AtomicU64,
}

impl Connections {
    /// Makes controllers of these parameters. `seed` is that of the first one's random numbers; each has its own.
    pub fn new(params: Arc<dyn ControllerParams>, seed: u64) -> Connections {
        Connections { params, seed, made: AtomicU64::new(0) }
    }

    /// The controller of the next connection, which starts at `now` with packets of `mss` bytes of UDP payload.
    pub fn next(&self, now: Instant, mss: u16) -> Hosted {
        let seed = self.seed.wrapping_add(self.made.fetch_add(1, Ordering::Relaxed));
        Hosted::new(Arc::clone(&self.params), now, mss, seed)
    }
}
