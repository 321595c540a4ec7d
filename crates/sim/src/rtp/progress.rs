//! Which frames arrived as a whole.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Time};

use crate::application::Completion;

/// A frame whose data units are not all accounted for.
#[derive(Debug)]
struct Outstanding {
    written: Time,
    size: Bytes,
    /// Data units that wait or are in the network.
    units: u64,
    /// One of its data units was lost or discarded.
    broken: bool,
}

/// The frames since the oldest one that is not settled.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The number of the first of them.
    first: u64,
    frames: VecDeque<Outstanding>,
    completed: VecDeque<Completion>,
}

impl Progress {
    /// The number of the next frame, and of frames so far.
    pub(super) fn next(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    pub(super) fn push(&mut self, size: Bytes, units: u64, now: Time) {
        self.frames.push_back(Outstanding { written: now, size, units, broken: false });
    }

    /// A data unit of `frame` arrived.
    pub(super) fn arrived(&mut self, frame: u64) {
        self.settle(frame, 1, false);
    }

    /// Data units of `frame` will not arrive.
    pub(super) fn lost(&mut self, frame: u64, units: u64) {
        self.settle(frame, units, true);
    }

    /// A frame that has arrived; call until there is none.
    pub(super) fn completion(&mut self) -> Option<Completion> {
        self.completed.pop_front()
    }

    fn settle(&mut self, number: u64, units: u64, lost: bool) {
        let frame = &mut self.frames[(number - self.first) as usize];
        frame.units -= units;
        frame.broken |= lost;
        if frame.units == 0 && !frame.broken {
            self.completed.push_back(Completion { written: frame.written, size: frame.size });
        }
        while self.frames.front().is_some_and(|first| first.units == 0) {
            self.frames.pop_front();
            self.first += 1;
        }
    }
}
