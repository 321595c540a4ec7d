//! A link that gets packets at a constant rate, from a sender that does not respond.

use std::ops::Range;

use crate::bench::{Bench, Kind, Left};

/// 1500-byte packets, and a link that takes `service_ns` for each.
pub(crate) struct Load {
    pub(crate) kind: Kind,
    pub(crate) service_ns: u64,
    pub(crate) interval_ns: u64,
}

impl Load {
    /// Runs from and to a time in nanoseconds, calling `each` with every departure. The link dequeues when it is
    /// free, and sends whenever there is a packet. Returns how long it was idle.
    pub(crate) fn run(
        &self,
        bench: &mut Bench,
        span: Range<u64>,
        mut each: impl FnMut(&Bench, &Left),
    ) -> u64 {
        let (mut arrival, mut free, mut idle) = (span.start, span.start, 0);
        while arrival < span.end {
            if free < arrival && bench.backlog().packets > 0 {
                if let Some(left) = bench.dequeue(free) {
                    each(bench, &left);
                    free += self.service_ns;
                }
                continue;
            }
            if free < arrival {
                idle += arrival - free;
                free = arrival;
            }
            bench.arrive(arrival, self.kind);
            arrival += self.interval_ns;
        }
        idle
    }
}
