//! The event queue: a tournament over a fixed set of event sources.
//!
//! Every source (a link, the head of a delay line, a flow's timer) has at most one next event. Only the head of
//! each FIFO needs an entry, because a line of fixed delay never reorders; so the set of sources is as large as
//! the network, not as the traffic in it. The earliest is read in constant time, a change costs log2(sources).
//! Events at the same nanosecond happen in the order of their sources' indices.

use windtunnel_units::Time;

/// A source's next event: its time, and below it the source, so that order is by time, then by source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const fn new(time: Time, source: usize) -> Entry {
        Entry((time.as_nanos() as u128) << 64 | source as u128)
    }

    const fn time(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    const fn source(self) -> usize {
        self.0 as u64 as usize
    }
}

/// Next events of a fixed set of sources.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// A complete binary tree: the sources enter at its leaves, which are the last half; at each other place stands the earlier one of
    /// the two below it, places `2p` and `2p + 1`. The winner, at place 1, is kept apart.
    entrants: Vec<Entry>,
    winner: Entry,
}

impl EventQueue {
    /// A queue for `sources` sources, none of which has an event.
    pub(crate) fn new(sources: usize) -> EventQueue {
        let leaves = sources.next_power_of_two().max(2);
        let mut entrants = vec![Entry::new(Time::NEVER, 0); 2 * leaves];
        for (source, entrant) in entrants[leaves..].iter_mut().enumerate() {
            *entrant = Entry::new(Time::NEVER, source);
        }
        for place in (1..leaves).rev() {
            entrants[place] = entrants[2 * place];
        }
        EventQueue { winner: entrants[1], entrants }
    }

    /// The earliest event: its time, and its source.
    #[inline]
    pub(crate) fn peek(&self) -> (Time, usize) {
        (self.winner.time(), self.winner.source())
    }

    /// Sets the next event of `source`; [`Time::NEVER`] if it has none.
    #[inline]
    pub(crate) fn set(&mut self, source: usize, time: Time) {
        let mut entry = Entry::new(time, source);
        let mut place = self.leaves() + source;
        while place > 1 {
            self.entrants[place] = entry;
            // The entrant is compared in registers, not read back: the chain of matches is two selections each.
            entry = entry.min(self.entrants[place ^ 1]);
            place /= 2;
        }
        self.winner = entry;
    }

    /// Makes room for `sources` sources; those that are new have no event.
    pub(crate) fn grow(&mut self, sources: usize) {
        let before = self.leaves();
        if sources <= before {
            return;
        }
        let times: Vec<Time> = (0..before).map(|source| self.time_of(source)).collect();
        *self = EventQueue::new(sources);
        for (source, time) in times.into_iter().enumerate().filter(|(_, time)| *time < Time::NEVER) {
            self.set(source, time);
        }
    }

    /// When the next event of `source` is.
    #[inline]
    pub(crate) fn time_of(&self, source: usize) -> Time {
        self.entrants[self.leaves() + source].time()
    }

    #[inline]
    const fn leaves(&self) -> usize {
        self.entrants.len() / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The queue always names the earliest source, the lowest index on a tie (design: ties are broken by a
        /// fixed order): compared with a scan of all sources.
        #[test]
        fn earliest_then_lowest_index(
            sources in 1_usize..40,
            changes in prop::collection::vec((0_usize..40, 0_u64..6), 1..200),
            more in 0_usize..40,
        ) {
            let mut queue = EventQueue::new(sources);
            let mut plain = vec![u64::MAX; sources];
            for (n, (source, time)) in changes.into_iter().enumerate() {
                if n == 50 {
                    queue.grow(sources + more);
                    plain.resize(sources + more, u64::MAX);
                }
                let sources = plain.len();
                let source = source % sources;
                let time = if time == 5 { u64::MAX } else { time };
                queue.set(source, Time::from_nanos(time));
                plain[source] = time;
                let best = (0..sources).min_by_key(|&i| (plain[i], i)).unwrap();
                let (t, s) = queue.peek();
                prop_assert_eq!(t.as_nanos(), plain[best]);
                if t != Time::NEVER {
                    prop_assert_eq!(s, best);
                }
                prop_assert_eq!(queue.time_of(source).as_nanos(), time);
            }
        }
    }
}
