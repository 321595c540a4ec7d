//! What keeps the sender from sending, and for how long (Linux's "chrono": `ss` shows it as `rwnd_limited`, `busy`).

use windtunnel_units::{Duration, Time};

/// What keeps a sender from sending the next segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Limited {
    /// cwnd is full.
    Cwnd = 0,
    /// The application has nothing to send.
    #[default]
    Application = 1,
    /// The receive window is full.
    Receiver = 2,
    /// Pacing: the time of the next departure has not come.
    Pacing = 3,
    /// The connection is not established yet.
    Handshake = 4,
    /// Enough of the connection is in the queue of its own host (TCP small queues).
    Host = 5,
    /// The send buffer is full: the application has more to send.
    SendBuffer = 6,
}

impl Limited {
    /// The number of limits.
    pub const COUNT: usize = 7;
    /// All limits, in the order of their numbers.
    pub const ALL: [Limited; Limited::COUNT] = [
        Limited::Cwnd,
        Limited::Application,
        Limited::Receiver,
        Limited::Pacing,
        Limited::Handshake,
        Limited::Host,
        Limited::SendBuffer,
    ];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Limited::Cwnd => "cwnd",
            Limited::Application => "application",
            Limited::Receiver => "receiver",
            Limited::Pacing => "pacing",
            Limited::Handshake => "handshake",
            Limited::Host => "host",
            Limited::SendBuffer => "send_buffer",
        }
    }
}

/// The present limit, and since when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    now: Limited,
    since: Time,
}

impl Limits {
    pub(crate) const fn current(&self) -> Limited {
        self.now
    }

    /// The limit is `limit` from `now` on; the time until now is added to the total of the previous limit.
    #[inline]
    pub(crate) fn set(&mut self, limit: Limited, now: Time, total: &mut [Duration; Limited::COUNT]) {
        let of = &mut total[self.now as usize];
        *of += now.since(self.since);
        self.since = now;
        self.now = limit;
    }
}
