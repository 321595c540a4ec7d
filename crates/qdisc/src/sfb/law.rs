//! SFB's bins and what they decide.
//!
//! Eight levels have 16 bins each; four bits of a flow's hash choose its bin on each level. A bin counts the packets
//! that are queued in it and has a probability, as a multiple of 2^-16: it rises with each packet that finds `target`
//! packets in the bin, and falls with each that finds none. A flow's probability is the least of its bins: bins that it
//! shares with a flow that does not respond do not count while one of them is its own.
//!
//! - A flow whose shortest bin has `max` packets loses its packets.
//! - A flow whose probability has reached the largest value does not respond: of all such flows together,
//!   `penalty_burst` packets pass, and more only if they are further apart than `penalty_rate` says.
//! - All others are signalled with their probability p; above one half, the signal is a drop with the probability 2p - 1,
//!   because either the flow does not respond to marks or the congestion is severe.
//!
//! Flows that share all bins of one that does not respond are freed by a new salt every `rehash`. There are two sets of
//! bins, so that the next one can learn beforehand: for the last `db` before the change, packets of flows that do not
//! respond count in both. As in Linux, the set that is given up keeps its probabilities until it is used again.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Duration, Probability, Time};
use windtunnel_wire::FlowId;

use super::SfbParams;
use crate::aqm::{Signal, Verdict};
use crate::flows;
use crate::params::QueueInit;

const LEVELS: usize = 8;
const BINS: usize = 16;

/// The largest probability.
const CERTAIN: u16 = u16::MAX;

/// A probability as a multiple of 2^-16.
pub(super) fn fixed(p: Probability) -> u16 {
    libm::round(p.get() * 65_536.0).min(f64::from(CERTAIN)) as u16
}

/// A packet's hash in either set of bins; 0 where it does not count.
pub(super) type Hashes = [u32; 2];

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    packets: u16,
    p: u16,
}

/// A set of bins and its salt.
#[derive(Debug)]
struct Set {
    salt: u32,
    bins: [[Bin; BINS]; LEVELS],
}

impl Set {
    /// The hash of a flow, never 0.
    fn hash(&self, flow: FlowId) -> u32 {
        flows::hash(flow, self.salt).max(1)
    }

    /// The bins of a hash.
    fn bins_of(&mut self, hash: u32) -> impl Iterator<Item = &mut Bin> {
        let chosen = move |level: usize| (hash >> (4 * level)) as usize % BINS;
        self.bins.iter_mut().enumerate().map(move |(level, bins)| &mut bins[chosen(level)])
    }
}

/// The law's variables.
#[derive(Debug)]
pub(super) struct Law {
    random: RandomStream,
    target: u16,
    max: u16,
    increment: u16,
    decrement: u16,
    rehash: Duration,
    db: Duration,
    changed: Last,
    sets: [Set; 2],
    /// The set that is in use.
    used: usize,
    penalty: Penalty,
    counts: Counts,
}

/// What tc counts.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    early_drops: u64,
    penalty_drops: u64,
    bucket_drops: u64,
    marked: u64,
}

/// When something was done last: in the run, or before it, when the queue was made.
#[derive(Clone, Copy, Debug)]
struct Last {
    at: Time,
    /// How long before the run.
    before: Duration,
}

impl Last {
    fn before_the_run(before: Duration) -> Last {
        Last { at: Time::ZERO, before }
    }

    fn at(at: Time) -> Last {
        Last { at, before: Duration::ZERO }
    }

    fn age(self, now: Time) -> Duration {
        now.since(self.at) + self.before
    }
}

/// Tokens of flows that do not respond, one for each packet. As in Linux, a packet that finds none gets what has come in
/// since the last packet that found none, in whole tokens: while packets come faster than tokens, nothing comes in.
#[derive(Debug)]
struct Penalty {
    rate: u32,
    burst: u32,
    tokens: u32,
    filled: Last,
}

impl Penalty {
    /// No more time counts than this.
    const LONGEST: Duration = Duration::from_secs(10);

    fn exceeded(&mut self, now: Time) -> bool {
        if self.rate == 0 || self.burst == 0 {
            return true;
        }
        if self.tokens == 0 {
            let age = self.filled.age(now).min(Penalty::LONGEST);
            let tokens = u128::from(age.as_nanos()) * u128::from(self.rate) / 1_000_000_000;
            self.tokens = tokens.min(u128::from(self.burst)) as u32;
            self.filled = Last::at(now);
        }
        match self.tokens.checked_sub(1) {
            Some(left) => {
                self.tokens = left;
                false
            }
            None => true,
        }
    }
}

impl Law {
    pub(super) fn new(params: &SfbParams, init: &QueueInit) -> Law {
        let mut random = RandomStream::new(init.seed);
        let mut set = || Set { salt: word(&mut random), bins: Default::default() };
        let sets = [set(), set()];
        let (target, max) = params.bin();
        Law {
            random,
            target: target as u16,
            max: max as u16,
            increment: fixed(params.increment),
            decrement: fixed(params.decrement),
            rehash: params.rehash,
            db: params.db,
            changed: Last::before_the_run(init.age),
            sets,
            used: 0,
            penalty: Penalty {
                rate: params.penalty_rate,
                burst: params.penalty_burst,
                tokens: params.penalty_burst,
                filled: Last::before_the_run(init.age),
            },
            counts: Counts::default(),
        }
    }

    /// What is done to an arriving packet, and in which bins it will count.
    pub(super) fn decide(&mut self, flow: FlowId, markable: bool, now: Time) -> (Verdict, Hashes) {
        self.change_bins(now);
        let mut hashes = [0; 2];
        let (shortest, least_p) = self.visit(self.used, flow, &mut hashes);
        let verdict = if shortest >= self.max {
            self.counts.bucket_drops += 1;
            Verdict::Drop
        } else if least_p == CERTAIN {
            if self.warms_up(now) {
                self.visit(self.used ^ 1, flow, &mut hashes);
            }
            let exceeded = self.penalty.exceeded(now);
            self.counts.penalty_drops += u64::from(exceeded);
            if exceeded { Verdict::Drop } else { Verdict::Pass }
        } else {
            self.signal(least_p, markable)
        };
        (verdict, hashes)
    }

    /// A new salt for the bins in use, which the others replace, if it is time.
    fn change_bins(&mut self, now: Time) {
        if !self.rehash.is_zero() && self.changed.age(now) > self.rehash {
            self.sets[self.used].salt = word(&mut self.random);
            self.used ^= 1;
            self.changed = Last::at(now);
        }
    }

    /// Whether the bins that are used next learn already.
    fn warms_up(&self, now: Time) -> bool {
        !self.rehash.is_zero() && !self.db.is_zero() && self.changed.age(now) + self.db > self.rehash
    }

    /// Updates a flow's bins in a set. Returns the packets of the shortest, and the least probability.
    fn visit(&mut self, set: usize, flow: FlowId, hashes: &mut Hashes) -> (u16, u16) {
        let Law { target, increment, decrement, .. } = *self;
        hashes[set] = self.sets[set].hash(flow);
        let mut least = (u16::MAX, u16::MAX);
        for bin in self.sets[set].bins_of(hashes[set]) {
            if bin.packets == 0 {
                bin.p = bin.p.saturating_sub(decrement);
            } else if bin.packets >= target {
                bin.p = bin.p.saturating_add(increment);
            }
            least = (least.0.min(bin.packets), least.1.min(bin.p));
        }
        least
    }

    /// A signal with the probability `p`.
    fn signal(&mut self, p: u16, markable: bool) -> Verdict {
        let r = (self.random.uniform() * 65_536.0) as u32;
        let p = u32::from(p);
        if r >= p {
            return Verdict::Pass;
        }
        let half = u32::from(CERTAIN / 2);
        let severe = p > half && r < (p - half) * 2;
        if severe || !markable {
            self.counts.early_drops += 1;
        } else {
            self.counts.marked += 1;
        }
        if severe { Verdict::Drop } else { Verdict::Mark(Signal::Ce) }
    }

    /// A packet has been stored.
    pub(super) fn stored(&mut self, hashes: Hashes) {
        self.count(hashes, |packets| packets.saturating_add(1));
    }

    /// A packet has left.
    pub(super) fn left(&mut self, hashes: Hashes) {
        self.count(hashes, |packets| packets.saturating_sub(1));
    }

    fn count(&mut self, hashes: Hashes, count: impl Fn(u16) -> u16) {
        for (set, hash) in self.sets.iter_mut().zip(hashes).filter(|(_, hash)| *hash != 0) {
            set.bins_of(hash).for_each(|bin| bin.packets = count(bin.packets));
        }
    }

    pub(super) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let bins = || self.sets[self.used].bins.iter().flatten();
        let most = |of: fn(&Bin) -> u16| f64::from(bins().map(of).max().unwrap_or(0));
        out("bins_packets", most(|bin| bin.packets));
        out("bins_p", most(|bin| bin.p) / 65_536.0);
        out("early_drops", self.counts.early_drops as f64);
        out("penalty_drops", self.counts.penalty_drops as f64);
        out("bucket_drops", self.counts.bucket_drops as f64);
        out("marked", self.counts.marked as f64);
    }
}

/// 32 random bits.
fn word(random: &mut RandomStream) -> u32 {
    (random.uniform() * 4_294_967_296.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;

    /// Salts and hashes use all 32 bits: of 4000 words each bit is set in a half, within four standard deviations of
    /// 32, and so is each bit of the hashes of 4000 flows, which choose the bins of eight levels.
    #[test]
    fn words_and_hashes() {
        let mut random = RandomStream::new(1);
        let set = Set { salt: word(&mut random), bins: Default::default() };
        let words: Vec<u32> = (0..4_000).map(|_| word(&mut random)).collect();
        let hashes: Vec<u32> = (0..4_000).map(|flow| set.hash(FlowId::new(flow))).collect();
        for bit in 0..32 {
            for numbers in [&words, &hashes] {
                let ones = numbers.iter().filter(|number| **number >> bit & 1 == 1).count();
                assert!(ones.abs_diff(2_000) <= 128, "bit {bit}: {ones}");
            }
        }
    }

    /// Both sets of bins take turns, each with a new salt when it is given up; the other one learns in the last `db`
    /// before each change, and never where `rehash` or `db` is 0 s (spec/queues-and-signalling section 9.1, steps 2
    /// and 5).
    #[test]
    fn sets_take_turns() {
        let second = Duration::SECOND;
        let law = |rehash, db| {
            let init = QueueInit { age: Duration::ZERO, ..QueueInit::new(Limit::Unlimited, 1) };
            Law::new(&SfbParams { rehash, db, ..SfbParams::default() }, &init)
        };
        let mut turns = law(second * 10, second * 2);
        let at = |seconds: u64| Time::ZERO + second * seconds;
        let mut used = Vec::new();
        for now in [5, 7, 9, 11, 18, 20, 22, 33] {
            let salts = turns.sets.each_ref().map(|set| set.salt);
            let before = turns.used;
            turns.change_bins(at(now));
            used.push((turns.used, turns.warms_up(at(now))));
            let changed = turns.used != before;
            assert_eq!(turns.sets[before].salt != salts[before], changed, "{now} s");
            assert_eq!(turns.sets[before ^ 1].salt, salts[before ^ 1], "{now} s");
        }
        let [early, late] = [false, true];
        assert_eq!(
            used,
            // Changes are at 11, 22 and 33 s: each is 10 s after the one before at least.
            [(0, early), (0, early), (0, late), (1, early), (1, early), (1, late), (0, early), (1, early)]
        );
        for (rehash, db) in [(Duration::ZERO, second), (second, Duration::ZERO)] {
            assert!(!law(rehash, db).warms_up(at(5)), "{rehash} {db}");
        }
    }

    /// A packet of a flow that does not respond counts in both sets in the last `db` before a change, whichever is in
    /// use, and before that in one of them.
    #[test]
    fn counted_in_both_sets() {
        let params = SfbParams {
            target: Some(1),
            max: Some(9),
            increment: Probability::ONE,
            rehash: Duration::SECOND * 10,
            db: Duration::SECOND * 2,
            ..SfbParams::default()
        };
        let init = QueueInit { age: Duration::ZERO, ..QueueInit::new(Limit::Unlimited, 1) };
        let mut law = Law::new(&params, &init);
        let flow = FlowId::new(3);
        for (set, start) in [(0, 1), (1, 11), (0, 22)] {
            let at = |seconds: u64| Time::ZERO + Duration::SECOND * (start + seconds);
            // The second packet finds the first in all of its bins.
            let (_, hashes) = law.decide(flow, true, at(0));
            law.stored(hashes);
            for (seconds, both) in [(1, false), (7, false), (9, true)] {
                let (_, hashes) = law.decide(flow, true, at(seconds));
                assert_ne!(hashes[set], 0);
                assert_eq!(hashes[set ^ 1] != 0, both, "set {set} after {seconds} s");
            }
        }
    }
}
