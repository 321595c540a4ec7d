//! How much a queue holds.

use windtunnel_units::{Bytes, Duration, Rate};

use crate::accounts::QueueCx;
use crate::discipline::Backlog;
use crate::queue_length::QueueLength;

/// How much a queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// As much as arrives.
    #[default]
    Unlimited,
    /// This many packets.
    Packets(usize),
    /// This many bytes.
    Bytes(Bytes),
    /// What the link drains within this time at its current rate.
    Time(Duration),
}

impl From<QueueLength> for Limit {
    fn from(length: QueueLength) -> Limit {
        match length {
            QueueLength::Packets(packets) => Limit::Packets(packets),
            QueueLength::Bytes(bytes) => Limit::Bytes(bytes),
            QueueLength::Time(time) => Limit::Time(time),
        }
    }
}

/// A limit that is asked at every arrival. Packets that are queued stay when a limit that depends on the rate shrinks.
#[derive(Clone, Debug)]
pub struct Room {
    limit: Limit,
    /// What [`Limit::Time`] amounts to at a rate: rates change seldom.
    time_limit: (Rate, Bytes),
}

impl Room {
    /// Room for `limit`.
    pub const fn new(limit: Limit) -> Room {
        Room { limit, time_limit: (Rate::ZERO, Bytes::ZERO) }
    }

    /// Sets the limit. Queued packets stay.
    pub const fn set(&mut self, limit: Limit) {
        *self = Room::new(limit);
    }

    /// True if no more than allowed is queued, in front of a link of `rate`.
    #[inline]
    pub fn holds(&mut self, backlog: Backlog, rate: Rate) -> bool {
        let Backlog { packets, bytes } = backlog;
        packets == 0 || self.fits(Backlog { packets: packets - 1, bytes }, Bytes::ZERO, rate)
    }

    /// True if a packet of `size` fits, given `backlog` and what a shaper around the queue has taken out of it.
    #[inline]
    pub(crate) fn takes(&mut self, backlog: Backlog, size: Bytes, cx: &QueueCx) -> bool {
        self.fits(backlog + cx.held, size, cx.rate)
    }

    /// True if a packet of `size` fits in addition to `backlog`, in front of a link of `rate`.
    #[inline]
    pub fn fits(&mut self, backlog: Backlog, size: Bytes, rate: Rate) -> bool {
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => backlog.packets < limit,
            Limit::Bytes(limit) => backlog.bytes + size <= limit,
            // 8 * bytes / rate <= limit, without a division per packet.
            Limit::Time(limit) => {
                if self.time_limit.0 != rate {
                    self.time_limit = (rate, rate * limit);
                }
                backlog.bytes + size <= self.time_limit.1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A length of a queue is a limit of the same kind.
    #[test]
    fn of_a_length() {
        let (bytes, time) = (Bytes::new(1_500), Duration::SECOND);
        for (length, limit) in [
            (QueueLength::Packets(5), Limit::Packets(5)),
            (QueueLength::Bytes(bytes), Limit::Bytes(bytes)),
            (QueueLength::Time(time), Limit::Time(time)),
        ] {
            assert_eq!(Limit::from(length), limit);
        }
    }
}
