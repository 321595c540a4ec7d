//! The band that holds the most bytes: from it a full fair queue drops packets.
//!
//! Linux looks at all bands each time it has to lose a packet (`fq_codel_drop`), which is cheap compared with losing a
//! batch of 64. With more flows than packets fit into the queue, a band has hardly more than one, every packet that
//! arrives makes another one go, and looking at 50,000 bands was four fifths of the work. So the bands meet in a
//! tournament while the queue is full: a change of one band plays the matches of that band alone. It starts when the
//! queue asks, which costs as much as to look at all bands, and ends after as many changes as there are bands without a
//! question: a queue that is not full pays nothing.

use windtunnel_units::Bytes;

/// A tournament of bands. Each match is won by the band with the most bytes; of several, by the oldest.
#[derive(Debug, Default)]
pub(super) struct Longest {
    /// What each band holds; places without a band hold nothing.
    bytes: Vec<Bytes>,
    /// The winner of each match; the winners of matches `2 m` and `2 m + 1` meet in match `m`, and match 1 is the final. Empty
    /// if there is no tournament.
    winners: Vec<u32>,
    /// The changes since the last question.
    changes: usize,
}

impl Longest {
    /// A band holds this much now.
    #[inline]
    pub(super) fn changed(&mut self, band: usize, bytes: Bytes) {
        if !self.winners.is_empty() {
            self.play(band, bytes);
        }
    }

    #[inline(never)]
    fn play(&mut self, band: usize, bytes: Bytes) {
        self.changes += 1;
        if band >= self.bytes.len() || self.changes > self.bytes.len() {
            return self.winners.clear();
        }
        self.bytes[band] = bytes;
        let mut node = self.winners.len() + band;
        while node > 1 {
            let m = node / 2;
            let winner = self.match_of(m);
            let before = std::mem::replace(&mut self.winners[m], winner);
            if before == winner && winner != band as u32 {
                return;
            }
            node = m;
        }
    }

    /// The band with the most bytes, if any band holds something; `all` says what each band holds.
    pub(super) fn find(&mut self, all: impl ExactSizeIterator<Item = Bytes>) -> Option<usize> {
        self.changes = 0;
        if self.winners.is_empty() {
            self.start(all);
        }
        let winner = self.winners[1] as usize;
        (self.bytes[winner] > Bytes::ZERO).then_some(winner)
    }

    fn start(&mut self, all: impl ExactSizeIterator<Item = Bytes>) {
        let places = all.len().next_power_of_two().max(2);
        self.bytes.clear();
        self.bytes.extend(all);
        self.bytes.resize(places, Bytes::ZERO);
        self.winners.resize(places, 0);
        for m in (1..places).rev() {
            self.winners[m] = self.match_of(m);
        }
    }

    /// The winner of a match, whose entrants are known.
    #[inline]
    fn match_of(&self, m: usize) -> u32 {
        let (first, second) = (self.entrant(2 * m), self.entrant(2 * m + 1));
        if self.bytes[second as usize] > self.bytes[first as usize] { second } else { first }
    }

    /// The occupant of node `m`: the winner of a match, or a band.
    #[inline]
    fn entrant(&self, m: usize) -> u32 {
        if m < self.winners.len() { self.winners[m] } else { (m - self.winners.len()) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// It is the band that a look at all of them finds: the most bytes, of several the oldest, nothing if all are
        /// empty; whatever changes, whenever bands are added, and however rarely the queue asks.
        #[test]
        fn as_a_look_at_all(
            steps in prop::collection::vec((0_usize..40, 0_u64..5, 0_u8..8), 1..300),
        ) {
            let mut longest = Longest::default();
            let mut plain: Vec<Bytes> = Vec::new();
            for (band, bytes, what) in steps {
                if what == 0 {
                    plain.push(Bytes::ZERO);
                }
                if let Some(held) = plain.get_mut(band) {
                    *held = Bytes::new(bytes);
                    longest.changed(band, *held);
                }
                if what > 3 {
                    let most = (0..plain.len()).rev().max_by_key(|i| plain[*i]);
                    let expected = most.filter(|i| plain[*i] > Bytes::ZERO);
                    prop_assert_eq!(longest.find(plain.iter().copied()), expected);
                }
            }
        }
    }
}
