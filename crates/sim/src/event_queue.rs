//! The event queue: a tournament over a fixed set of event sources.
//!
//! Every source (a link, the head of a delay line, a flow's timer) has at most one next event. Only the head of each
//! FIFO needs an entry, because a line of fixed delay never reorders; so the set of sources grows with the network,
//! not with its traffic. Reading the earliest event takes constant time; a change costs log4(sources) matches. Events
//! at the same nanosecond happen in the order of their sources' indices.

use windtunnel_units::Time;

/// How many meet in one match. Four fill a cache line, and the first of them is found without a branch; with two there
/// are more rounds, with eight a round costs more than it saves.
const ENTRANTS: usize = 4;

/// A match: the next events that meet in it, in the order of their sources.
#[derive(Clone, Copy, Debug)]
struct Match {
    times: [Time; ENTRANTS],
    sources: [usize; ENTRANTS],
}

impl Match {
    /// The earliest event; of several at the same time, the one whose source comes first.
    #[inline]
    fn winner(&self) -> (Time, usize) {
        let mut first = 0;
        let mut time = self.times[0];
        for (place, entrant) in self.times.iter().enumerate().skip(1) {
            (first, time) = if *entrant < time { (place, *entrant) } else { (first, time) };
        }
        (time, self.sources[first])
    }
}

/// Next events of a fixed set of sources.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// A complete tree: the winners of the matches `4 m + 1` to `4 m + 4` meet in match `m`. Match 0 is the final;
    /// sources enter in the matches of the last round.
    matches: Vec<Match>,
    /// The first match of the last round.
    last_round: usize,
    winner: (Time, usize),
}

impl EventQueue {
    /// A queue for `sources` sources, none of which has an event.
    pub(crate) fn new(sources: usize) -> EventQueue {
        let (mut last_round, mut width) = (0, 1);
        while width * ENTRANTS < sources {
            last_round += width;
            width *= ENTRANTS;
        }
        let idle = Match { times: [Time::NEVER; ENTRANTS], sources: [0; ENTRANTS] };
        let mut queue =
            EventQueue { matches: vec![idle; last_round + width], last_round, winner: (Time::NEVER, 0) };
        for source in 0..width * ENTRANTS {
            let (m, place) = queue.place_of(source);
            queue.matches[m].sources[place] = source;
        }
        queue
    }

    /// The match in which a source enters, and its place there.
    #[inline]
    const fn place_of(&self, source: usize) -> (usize, usize) {
        (self.last_round + source / ENTRANTS, source % ENTRANTS)
    }

    /// The earliest event: its time, and its source.
    #[inline]
    pub(crate) const fn peek(&self) -> (Time, usize) {
        self.winner
    }

    /// Sets the next event of `source`; [`Time::NEVER`] if it has none.
    #[inline]
    pub(crate) fn set(&mut self, source: usize, time: Time) {
        let (mut m, mut place) = self.place_of(source);
        let mut winner = (time, source);
        loop {
            let matched = &mut self.matches[m];
            (matched.times[place], matched.sources[place]) = winner;
            winner = matched.winner();
            if m == 0 {
                break;
            }
            let before = m - 1;
            (m, place) = (before / ENTRANTS, before % ENTRANTS);
        }
        self.winner = winner;
    }

    /// Makes room for `sources` sources; new ones have no event.
    pub(crate) fn grow(&mut self, sources: usize) {
        let before = (self.matches.len() - self.last_round) * ENTRANTS;
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
        let (m, place) = self.place_of(source);
        self.matches[m].times[place]
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
            sources in 1_usize..100,
            changes in prop::collection::vec((0_usize..100, 0_u64..6), 1..200),
            more in 0_usize..100,
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
