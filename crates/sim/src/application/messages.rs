//! Messages in a stream: when each was written, and when all of it was acknowledged.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Time};

/// A message whose every byte is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When it was written.
    pub written: Time,
    /// Its length.
    pub size: Bytes,
}

/// Messages that are not acknowledged yet, in the order of the stream.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// The end of the stream: bytes written since its start.
    end: Bytes,
    /// How many were written, those that were forgotten included.
    written: u64,
    waiting: VecDeque<(Bytes, Completion)>,
}

impl Messages {
    /// Forgets all messages; the stream continues at `position`.
    pub(super) fn restart(&mut self, position: Bytes) {
        self.end = position;
        self.waiting.clear();
    }

    pub(super) fn write(&mut self, size: Bytes, now: Time) {
        self.end += size;
        self.written += 1;
        self.waiting.push_back((self.end, Completion { written: now, size }));
    }

    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// The next message that lies wholly within the first `acked` bytes of the stream; call until there is none.
    pub(super) fn complete(&mut self, acked: Bytes) -> Option<Completion> {
        let (end, message) = *self.waiting.front()?;
        if end > acked {
            return None;
        }
        self.waiting.pop_front();
        Some(message)
    }

    /// Gives memory back that is not in use.
    pub(super) fn give_back(&mut self) {
        self.waiting.shrink_to_fit();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
