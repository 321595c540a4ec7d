//! A fixed piece of work, by which the speeds of two machines compare.
//!
//! Packets per second say as much about the machine and its other users as about the simulator. `windtunnel bench`
//! therefore times this work before and after each of its own, and also prints packets per *hold*: a number that a
//! faster clock hardly changes.
//!
//! The hold is that of the hold model (Jones, "An empirical comparison of priority-queue and event-set
//! implementations", CACM 29(4), 1986): take the earliest event of a queue, and put it back at a later, random time.
//! Each hold also updates a record as large as a packet. So it does what an event simulator does, with about its share of
//! dependent loads and of branches that no processor predicts.
//!
//! **Never change this work**: numbers that were printed before would no longer compare with those printed after. It
//! shares no code with the simulator, whose own event queue may become faster. A test pins its result.

/// Events in the queue: ten levels of a binary heap, which a first-level cache holds.
const EVENTS: usize = 1024;

/// Records of a cache line each: 256 KiB, which a second-level cache holds, as it does the packets of a usual run.
const RECORDS: usize = 4096;

/// The words of a record: 64 bytes, the size of a packet.
const WORDS: usize = 8;

/// The longest time that an event is put off, as a mask. The mean is half of it.
const LATEST: u64 = (1 << 20) - 1;

/// Carries out this many holds, and returns a number that depends on each of them.
pub fn holds(count: u64) -> u64 {
    let mut model = HoldModel::new();
    for _ in 0..count {
        model.hold();
    }
    model.sum
}

struct HoldModel {
    /// The times of the events, as a binary heap: no element is later than the two at twice its index.
    times: Vec<u64>,
    records: Vec<[u64; WORDS]>,
    random: SplitMix64,
    sum: u64,
}

impl HoldModel {
    fn new() -> HoldModel {
        let mut random = SplitMix64(0);
        let mut times: Vec<u64> = (0..EVENTS).map(|_| random.next() & LATEST).collect();
        // A sorted list is a heap.
        times.sort_unstable();
        HoldModel { times, records: vec![[0; WORDS]; RECORDS], random, sum: 0 }
    }

    fn hold(&mut self) {
        let (now, random) = (self.times[0], self.random.next());
        self.replace_earliest(now + (random & LATEST));
        let record = &mut self.records[(random >> 32) as usize % RECORDS];
        record[now as usize % WORDS] ^= random;
        self.sum = record.iter().fold(self.sum ^ now, |sum, word| sum.rotate_left(1).wrapping_add(*word));
    }

    /// Puts `time` in the place of the earliest, and lets it sink to where it belongs.
    fn replace_earliest(&mut self, time: u64) {
        let times = &mut self.times[..];
        let mut hole = 0;
        loop {
            let mut child = 2 * hole + 1;
            if child >= times.len() {
                break;
            }
            if child + 1 < times.len() && times[child + 1] < times[child] {
                child += 1;
            }
            if times[child] >= time {
                break;
            }
            times[hole] = times[child];
            hole = child;
        }
        times[hole] = time;
    }
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use super::*;

    /// Events leave in the order of the standard library's heap.
    #[test]
    fn each_hold_takes_the_earliest_event() {
        let mut model = HoldModel::new();
        let mut peer: BinaryHeap<_> = model.times.iter().copied().map(Reverse).collect();
        for _ in 0..20_000 {
            let Reverse(earliest) = peer.pop().expect("it has as many events as before");
            assert_eq!(model.times[0], earliest);
            let put_off = SplitMix64(model.random.0).next() & LATEST;
            peer.push(Reverse(earliest + put_off));
            model.hold();
        }
    }

    /// The first numbers of the published generator with seed 0 (Vigna's reference implementation, splitmix64.c).
    #[test]
    fn random_numbers_are_those_of_splitmix64() {
        let mut random = SplitMix64(0);
        assert_eq!(random.next(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.next(), 0x6E78_9E6A_A1B9_65F4);
    }

    /// A change of the work shows here: its numbers no longer compare with those printed before. The number was
    /// computed by a model of it in another language.
    #[test]
    fn the_work_is_fixed() {
        assert_eq!(holds(100_000), 0xCD5A_AA3D_17F4_3AFE);
    }
}
