//! The subflows of a connection that uses several paths: what their controllers know of each other.
//!
//! Each subflow is a flow with its own window, round-trip time and recovery. Coupled controllers also need those of the
//! others (RFC 6356 section 3), and no more: each reports its own state, and reads all. A connection has one thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windtunnel_units::{Bytes, Duration};

/// The state of a subflow, as its controller reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SubflowState {
    /// The congestion window.
    pub cwnd: Bytes,
    /// The smoothed round-trip time; zero until the subflow is established.
    pub srtt: Duration,
    /// OLIA's `l`: bytes delivered between the last two losses or since the last one, whichever is more.
    pub between_losses: Bytes,
}

impl SubflowState {
    /// True if the subflow is established: it has measured its path.
    pub const fn is_established(&self) -> bool {
        !self.srtt.is_zero()
    }

    /// The round-trip time in seconds.
    pub(crate) fn rtt(&self) -> f64 {
        self.srtt.as_secs_f64()
    }

    /// The rate in bytes per second: the window in each round trip. A subflow that is not established has none.
    pub(crate) fn rate(&self) -> f64 {
        if self.is_established() { self.cwnd.as_f64() / self.rtt() } else { 0.0 }
    }
}

/// One subflow of a connection, for its controller ([`crate::CongestionControl::join`]).
#[derive(Clone, Debug)]
pub struct Subflow {
    connection: Arc<Mutex<Box<[SubflowState]>>>,
    index: usize,
}

impl Subflow {
    /// The `count` subflows of a new connection, not established yet.
    pub fn of_connection(count: usize) -> Vec<Subflow> {
        let connection = Arc::new(Mutex::new(vec![SubflowState::default(); count].into_boxed_slice()));
        (0..count).map(|index| Subflow { connection: Arc::clone(&connection), index }).collect()
    }

    /// The only subflow of a connection.
    pub(crate) fn alone() -> Subflow {
        Subflow { connection: Arc::new(Mutex::new(Box::new([SubflowState::default()]))), index: 0 }
    }

    /// Reports the state of this subflow.
    pub fn report(&self, state: SubflowState) {
        if let Some(own) = self.lock().get_mut(self.index) {
            *own = state;
        }
    }

    /// Computes a value from the states of all subflows of the connection, and the index of this one.
    pub fn read<T>(&self, compute: impl FnOnce(&[SubflowState], usize) -> T) -> T {
        compute(&self.lock(), self.index)
    }

    fn lock(&self) -> MutexGuard<'_, Box<[SubflowState]>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
