//! The event queue: a tournament over a fixed set of event sources.
//!
//! Every source (a link, the head of a delay line, a flow's timer) has at most one next event. Only the head of each
//! FIFO needs an entry, because a line of fixed delay never reorders; so the set of sources grows with the network,
//! not with its traffic. Reading the earliest event takes constant time; a change costs log2(sources). Events at the
//! same nanosecond happen in the order of their sources' indices.

use windtunnel_units::Time;

/// A source's next event: its time, and below it the source, so that events sort by time, then by source.
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
    /// A complete binary tree of matches: `matches[m]` holds the two sources that meet in match `m`, whose winner
    /// moves on to match `m / 2`. Match 1 is the final; sources enter in the last half.
    matches: Vec<[Entry; 2]>,
    winner: Entry,
}

impl EventQueue {
    /// A queue for `sources` sources, none of which has an event.
    pub(crate) fn new(sources: usize) -> EventQueue {
        let leaves = sources.next_power_of_two().max(2);
        let idle = |source: usize| Entry::new(Time::NEVER, source);
        let mut matches = vec![[idle(0), idle(0)]; leaves];
        for m in (1..leaves).rev() {
            let entrant = |side: usize, matches: &[[Entry; 2]]| match (2 * m + side).checked_sub(leaves) {
                Some(source) => idle(source),
                None => matches[2 * m + side][0],
            };
            matches[m] = [entrant(0, &matches), entrant(1, &matches)];
        }
        EventQueue { winner: matches[1][0], matches }
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
        let mut place = self.matches.len() + source;
        while place > 1 {
            let pair = &mut self.matches[place / 2];
            pair[place % 2] = entry;
            // The entrant is compared in registers, not read back: each match of the chain costs two selections.
            entry = entry.min(pair[1 - place % 2]);
            place /= 2;
        }
        self.winner = entry;
    }

    /// Makes room for `sources` sources; new ones have no event.
    pub(crate) fn grow(&mut self, sources: usize) {
        let before = self.matches.len();
        if sources <= before {
            return;
        }
        let times: Vec<Time> = (0..before).map(|source| self.time_of(source)).collect();
        *self = EventQueue::new(sources);
        for (source, time) in times.into_iter().enumerate().filter(|(_, time)| *time < Time::NEVER) {
            self.set(source, time);
        }
    }

    /// The time of the next event of `source`.
    #[inline]
    pub(crate) fn time_of(&self, source: usize) -> Time {
        let place = self.matches.len() + source;
        self.matches[place / 2][place % 2].time()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The queue always names the earliest source, and on a tie the one with the lowest index (ties are broken by
        /// a fixed order): compared with a scan of all sources.
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
