//! One response after another: each is written one think time after the last one was acknowledged.

use windtunnel_units::{Bytes, Time};

use super::config::RequestResponseParams;
use crate::random::Random;

/// The server's side of requests and responses.
#[derive(Debug)]
pub(super) struct RequestResponse {
    params: RequestResponseParams,
    random: Random,
    /// Responses still to be written; `None`: without end.
    left: Option<u64>,
    next: Time,
}

impl RequestResponse {
    pub(super) fn new(params: RequestResponseParams, seed: u64) -> RequestResponse {
        RequestResponse { random: Random::new(seed), left: None, next: Time::NEVER, params }
    }

    pub(super) fn start(&mut self) {
        self.left = self.params.count;
    }

    pub(super) fn stop(&mut self) {
        self.next = Time::NEVER;
    }

    pub(super) const fn next_timer(&self) -> Time {
        self.next
    }

    /// The size of the next response, at least one byte.
    pub(super) fn respond(&mut self) -> Option<Bytes> {
        self.next = Time::NEVER;
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        Some(self.random.draw(&self.params.size).max(Bytes::new(1)))
    }

    /// It has written its last response, and closes the connection.
    pub(super) fn closes(&self) -> bool {
        self.params.close && self.left == Some(0)
    }

    /// A response is acknowledged: the user thinks.
    pub(super) fn on_completion(&mut self, now: Time) {
        if self.left != Some(0) {
            self.next = now + self.random.draw(&self.params.think);
        }
    }
}
