//! The sender's queue: frames. The first may be sent in part.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Duration, Time};

/// A piece of a frame that fits into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataUnit {
    /// The frame's number.
    pub(super) frame: u64,
    pub(super) payload: Bytes,
    /// It is the last one of its frame.
    pub(super) last: bool,
}

/// The rest of a frame.
#[derive(Debug)]
struct Waiting {
    frame: u64,
    written: Time,
    bytes: Bytes,
    units: u64,
    /// A part of it has left.
    started: bool,
}

/// The frames that wait.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    frames: VecDeque<Waiting>,
}

impl SendQueue {
    /// Takes a frame. Returns the number of its data units, each of at most `largest` bytes.
    pub(super) fn push(&mut self, frame: u64, size: Bytes, largest: Bytes, now: Time) -> u64 {
        let units = size.get().div_ceil(largest.get());
        self.frames.push_back(Waiting { frame, written: now, bytes: size, units, started: false });
        units
    }

    /// The next data unit: those of a frame are equal, except that the last ones may be a byte shorter.
    pub(super) fn front(&self) -> Option<DataUnit> {
        let first = self.frames.front()?;
        let payload = Bytes::new(first.bytes.get().div_ceil(first.units));
        Some(DataUnit { frame: first.frame, payload, last: first.units == 1 })
    }

    /// Removes the next data unit, which leaves.
    pub(super) fn pop(&mut self) {
        let Some(unit) = self.front() else { return };
        if unit.last {
            self.frames.pop_front();
        } else if let Some(first) = self.frames.front_mut() {
            first.bytes -= unit.payload;
            first.units -= 1;
            first.started = true;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// How long the oldest data have waited.
    pub(super) fn waited(&self, now: Time) -> Duration {
        self.frames.front().map_or(Duration::ZERO, |first| now.since(first.written))
    }

    /// Discards the oldest frame that is still whole if it has waited longer than this: the rest of one that was started would
    /// have been sent in vain. Returns its number and its data units.
    pub(super) fn discard(&mut self, longest: Duration, now: Time) -> Option<(u64, u64)> {
        let whole = usize::from(self.frames.front().is_some_and(|first| first.started));
        if now.since(self.frames.get(whole)?.written) <= longest {
            return None;
        }
        self.frames.remove(whole).map(|frame| (frame.frame, frame.units))
    }

    /// Discards the oldest frame, or what is left of it; call until there is none.
    pub(super) fn clear(&mut self) -> Option<(u64, u64)> {
        self.frames.pop_front().map(|frame| (frame.frame, frame.units))
    }
}
