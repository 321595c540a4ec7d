//! The event queue: a tournament over a fixed set of event sources.
//!
//! Every source (a link, the head of a delay line, a flow's timer) has at most one next event. Only the head of each
//! FIFO needs an entry, because a line of fixed delay never reorders; so the set of sources grows with the network,
//! not with its traffic. Reading the earliest event takes constant time; a change costs at most log4(sources) matches,
//! and most changes end in the first: a match is played again only if its winner moved, and one that has a better winner
//! now needs no play. Events at the same nanosecond happen in the order of their ranks: a source has one of its own, or,
//! if it carries what belongs to several flows, its next event has that flow's.

use windtunnel_prefetch::prefetch;
use windtunnel_units::Time;

/// How many meet in one match. Four fill a cache line, and the first of them is found without a branch; with two there
/// are more rounds, with eight a round costs more than it saves.
const ENTRANTS: usize = 4;

/// Whose event it is: its rank among events of the same time, and below it the source, in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entrant(u64);

impl Entrant {
    #[inline]
    const fn new(rank: u32, source: usize) -> Entrant {
        Entrant((rank as u64) << 32 | source as u64)
    }

    const fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    const fn source(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The next event of a source.
type Next = (Time, Entrant);

/// No event.
const NEVER: Next = (Time::NEVER, Entrant::new(u32::MAX, 0));

/// A match: the next events that meet in it. It has a cache line of its own: where the allocator puts the table must not
/// decide how many lines a match touches.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Match {
    times: [Time; ENTRANTS],
    entrants: [Entrant; ENTRANTS],
}

impl Match {
    /// Another event enters in `slot` of a match that `winner` had won. Returns the new winner, if it is another one.
    #[inline]
    fn enter(&mut self, slot: usize, next: Next, winner: Next) -> Option<Next> {
        self.times[slot] = next.0;
        let replaced = std::mem::replace(&mut self.entrants[slot], next.1);
        if replaced == winner.1 { Some(self.winner()) } else { (next < winner).then_some(next) }
    }

    /// The earliest event; of several at the same time, the one with the lowest rank.
    #[inline]
    fn winner(&self) -> Next {
        let mut first = (self.times[0], self.entrants[0]);
        for slot in 1..ENTRANTS {
            let next = (self.times[slot], self.entrants[slot]);
            // Times are rarely equal, and one comparison serves both conditions.
            if next.0 == first.0 {
                first.1 = first.1.min(next.1);
            } else {
                first = if next.0 < first.0 { next } else { first };
            }
        }
        first
    }
}

/// The slot of the winner of match `m` in the next round.
#[inline]
const fn before(m: usize) -> (usize, usize) {
    ((m - 1) / ENTRANTS, (m - 1) % ENTRANTS)
}

/// Next events of a fixed set of sources.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// A complete tree: the winners of the matches `4 m + 1` to `4 m + 4` meet in match `m`. Match 0 is the final;
    /// sources enter in the matches of the last round.
    matches: Vec<Match>,
    /// The first match of the last round.
    last_round: usize,
    /// The last round has two to this many slots.
    digits: u32,
    /// There are at most two sources: a link and its delay line, or the timer of one flow. They meet here, and not in a
    /// match of four.
    is_pair: bool,
    pair: [Next; 2],
    winner: Next,
}

impl EventQueue {
    /// A queue for `sources` sources without any event.
    pub(crate) fn new(sources: usize) -> EventQueue {
        let (mut last_round, mut width) = (0, 1);
        while width * ENTRANTS < sources {
            last_round += width;
            width *= ENTRANTS;
        }
        let idle = Match { times: [NEVER.0; ENTRANTS], entrants: [NEVER.1; ENTRANTS] };
        EventQueue {
            matches: vec![idle; last_round + width],
            last_round,
            digits: (width * ENTRANTS).ilog2(),
            is_pair: sources <= 2,
            pair: [NEVER; 2],
            winner: NEVER,
        }
    }

    /// The match in which a source enters, and its slot there. Sources that follow each other meet late, in the final or
    /// in a semifinal: their events often follow each other, too, and these matches then show many of the next
    /// ([`EventQueue::coming`]).
    #[inline]
    const fn slot_of(&self, source: usize) -> (usize, usize) {
        let (quarter, within) = (source % ENTRANTS, source / ENTRANTS % ENTRANTS);
        let first = (ENTRANTS * quarter + within) << self.digits;
        let slot = first / ENTRANTS.pow(2) + source / ENTRANTS.pow(2);
        (self.last_round + slot / ENTRANTS, slot % ENTRANTS)
    }

    /// The earliest event: its time, and its source.
    #[inline]
    pub(crate) const fn peek(&self) -> (Time, usize) {
        (self.winner.0, self.winner.1.source())
    }

    /// The rank of the earliest event.
    #[inline]
    pub(crate) const fn peek_rank(&self) -> u32 {
        self.winner.1.rank()
    }

    /// Asks for the memory of the first match of `source`, in which most changes end.
    #[inline]
    pub(crate) fn prefetch(&self, source: usize) {
        prefetch(&self.matches[self.slot_of(source).0]);
    }

    /// Two sources whose events come soon, now that `source` has its next event: the one that has taken its place in the
    /// quarterfinal, and the one that has won this match. There are at least 64 slots.
    #[inline]
    pub(crate) fn coming(&self, source: usize) -> (usize, usize) {
        let (quarter, within) = (source % ENTRANTS, source / ENTRANTS % ENTRANTS);
        let quarterfinal = &self.matches[1 + ENTRANTS + ENTRANTS * quarter + within];
        let newcomer = quarterfinal.entrants[(source * ENTRANTS) >> self.digits];
        let winner = self.matches[1 + quarter].entrants[within];
        (newcomer.source(), winner.source())
    }

    /// Sets the next event of `source`, whose rank is its index; [`Time::NEVER`] if it has none.
    #[inline]
    pub(crate) fn set(&mut self, source: usize, time: Time) {
        self.set_ranked(source, source as u32, time);
    }

    /// Sets the next event of `source`, and its rank among events of the same time.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub(crate) fn set_ranked(&mut self, source: usize, rank: u32, time: Time) {
        let next = (time, Entrant::new(rank, source));
        if self.is_pair {
            let other = self.pair[(source & 1) ^ 1];
            self.pair[source & 1] = next;
            self.winner = if other.0 < time || (other.0 == time && other.1 < next.1) { other } else { next };
        } else if let [only] = &mut *self.matches {
            if let Some(winner) = only.enter(source % ENTRANTS, next, self.winner) {
                self.winner = winner;
            }
        } else {
            self.play(source, next);
        }
    }

    /// Plays the matches of `source`, from its first one on, as far as their winners change.
    #[inline(never)]
    fn play(&mut self, source: usize, mut next: Next) {
        if source == self.winner.1.source() {
            return self.replay(source, next);
        }
        let (mut m, mut slot) = self.slot_of(source);
        loop {
            let winner = if m == 0 { self.winner } else { self.entry(before(m)) };
            match self.matches[m].enter(slot, next, winner) {
                None => return,
                Some(changed) => next = changed,
            }
            if m == 0 {
                self.winner = next;
                return;
            }
            (m, slot) = before(m);
        }
    }

    /// Plays all matches of `source`, which has won each of them: what its event was followed by is the usual change, and
    /// nothing need be asked before a match is played.
    #[inline]
    fn replay(&mut self, source: usize, mut next: Next) {
        let (mut m, mut slot) = self.slot_of(source);
        loop {
            let played = &mut self.matches[m];
            played.times[slot] = next.0;
            played.entrants[slot] = next.1;
            next = played.winner();
            if m == 0 {
                self.winner = next;
                return;
            }
            (m, slot) = before(m);
        }
    }

    /// Makes room for `sources` sources; new ones have no event.
    pub(crate) fn grow(&mut self, sources: usize) {
        let before = if self.is_pair { 2 } else { (self.matches.len() - self.last_round) * ENTRANTS };
        if sources <= before {
            return;
        }
        let entered: Vec<Next> = (0..before).map(|source| self.next_of(source)).collect();
        *self = EventQueue::new(sources);
        for next in entered.into_iter().filter(|(time, _)| *time < Time::NEVER) {
            self.set_ranked(next.1.source(), next.1.rank(), next.0);
        }
    }

    /// The event in a slot of a match.
    #[inline]
    fn entry(&self, (m, slot): (usize, usize)) -> Next {
        (self.matches[m].times[slot], self.matches[m].entrants[slot])
    }

    #[inline]
    fn next_of(&self, source: usize) -> Next {
        if self.is_pair { self.pair[source & 1] } else { self.entry(self.slot_of(source)) }
    }

    /// The time of the next event of `source`.
    #[inline]
    pub(crate) fn time_of(&self, source: usize) -> Time {
        self.next_of(source).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The queue always names the earliest source, and on a tie the one whose event has the lowest rank (ties are
        /// broken by a fixed order): compared with a scan of all sources. A source has a rank of its own, or a new one
        /// with each event.
        #[test]
        fn earliest_then_lowest_rank(
            sources in 1_usize..100,
            changes in prop::collection::vec((0_usize..100, 0_u64..6, prop::option::of(0_u32..5)), 1..200),
            more in 0_usize..100,
        ) {
            let mut queue = EventQueue::new(sources);
            let mut plain = vec![(u64::MAX, u32::MAX); sources];
            for (n, (source, time, rank)) in changes.into_iter().enumerate() {
                if n == 50 {
                    queue.grow(sources + more);
                    plain.resize(sources + more, (u64::MAX, u32::MAX));
                }
                let sources = plain.len();
                let source = source % sources;
                let time = if time == 5 { u64::MAX } else { time };
                match rank {
                    Some(rank) => queue.set_ranked(source, rank, Time::from_nanos(time)),
                    None => queue.set(source, Time::from_nanos(time)),
                }
                plain[source] = (time, rank.unwrap_or(source as u32));
                let best = (0..sources).min_by_key(|&i| (plain[i], i)).unwrap();
                let (t, s) = queue.peek();
                prop_assert_eq!(t.as_nanos(), plain[best].0);
                if t != Time::NEVER {
                    prop_assert_eq!(s, best);
                    if queue.digits >= 6 {
                        prop_assert_eq!(queue.coming(best), (best, best));
                    }
                }
                prop_assert_eq!(queue.time_of(source).as_nanos(), time);
            }
        }
    }
}
