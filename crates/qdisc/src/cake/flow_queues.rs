//! Which queue a flow has: from a packet to the queue of its flow.
//!
//! Source: Linux `sch_cake`; spec/queues-and-signalling section 10. A real CAKE has 1024 queues in sets of 8, and knows a
//! flow by a hash. The hash names a queue; if other flows use it, the flow may take any queue of the same set that is
//! idle, and is found there by its tag. Only when all 8 are in use do flows collide. A simulated queue can also know flows
//! apart for certain, which is the default.

use std::collections::BTreeMap;

use windtunnel_wire::FlowId;

use super::isolation::{FlowMode, Key};
use crate::flows::{FlowHash, five_tuple, jenkins};
use crate::hosts::{FlowHosts, HostPair};

/// Queues of a set.
pub(super) const WAYS: usize = 8;

/// No queue yet.
const NONE: u32 = u32::MAX;

/// The queues of one tin, by what they are for. Queues are numbered by the caller, in the order in which they are first
/// used.
#[derive(Clone, Debug)]
pub(super) struct FlowQueues {
    mode: FlowMode,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Perfect { of_flow: Vec<u32>, of_key: BTreeMap<Key, u32> },
    Hashed { salt: u32, hashes: Vec<Option<u32>>, slots: Vec<Slot>, counts: Counts },
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The hash of the flow that used it last.
    tag: u32,
    queue: u32,
}

/// How flows found their queues.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) collisions: u64,
}

/// The queue of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) queue: usize,
    /// The queue takes the packet's hosts for its own.
    pub(super) taken: bool,
}

/// What a queue is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Label {
    Key(Key),
    Slot(u32),
}

impl Label {
    pub(super) fn name(self) -> String {
        match self {
            Label::Key(key) => key.name(),
            Label::Slot(slot) => format!("slot {slot}"),
        }
    }
}

impl FlowQueues {
    pub(super) fn new(mode: FlowMode, hash: FlowHash, queues: u32, seed: u64) -> FlowQueues {
        let kind = match hash {
            FlowHash::Perfect => Kind::Perfect { of_flow: Vec::new(), of_key: BTreeMap::new() },
            FlowHash::Jenkins => Kind::Hashed {
                salt: (seed ^ (seed >> 32)) as u32,
                hashes: Vec::new(),
                slots: vec![Slot { tag: 0, queue: NONE }; queues as usize],
                counts: Counts::default(),
            },
        };
        FlowQueues { mode, kind }
    }

    /// The counts, where flows are hashed.
    pub(super) const fn counts(&self) -> Option<Counts> {
        match &self.kind {
            Kind::Perfect { .. } => None,
            Kind::Hashed { counts, .. } => Some(*counts),
        }
    }

    /// The queue of a packet; a new one gets the number `next` and its label is pushed on `labels`. `in_use` says whether a
    /// queue is on a list.
    #[inline]
    pub(super) fn find(
        &mut self,
        flow: FlowId,
        hosts: &FlowHosts,
        next: usize,
        in_use: impl Fn(usize) -> bool,
        label: impl FnOnce(Label),
    ) -> Choice {
        match &mut self.kind {
            Kind::Perfect { of_flow, of_key } => match of_flow.get(flow.index()) {
                Some(&queue) if queue != NONE => Choice { queue: queue as usize, taken: false },
                _ => {
                    let key = self.mode.key(flow, hosts.of(flow));
                    let queue = *of_key.entry(key).or_insert_with(|| {
                        label(Label::Key(key));
                        next as u32
                    });
                    if of_flow.len() <= flow.index() {
                        of_flow.resize(flow.index() + 1, NONE);
                    }
                    of_flow[flow.index()] = queue;
                    Choice { queue: queue as usize, taken: true }
                }
            },
            Kind::Hashed { salt, hashes, slots, counts } => {
                if hashes.len() <= flow.index() {
                    hashes.resize(flow.index() + 1, None);
                }
                let mode = self.mode;
                let hash =
                    *hashes[flow.index()].get_or_insert_with(|| hash(mode.key(flow, hosts.of(flow)), *salt));
                let (slot, taken) = choose(hash, slots, counts, in_use);
                slots[slot].tag = hash;
                if slots[slot].queue == NONE {
                    label(Label::Slot(slot as u32));
                    slots[slot].queue = next as u32;
                }
                Choice { queue: slots[slot].queue as usize, taken }
            }
        }
    }
}

/// The slot of a hash, and whether the flow takes it now.
fn choose(hash: u32, slots: &[Slot], counts: &mut Counts, in_use: impl Fn(usize) -> bool) -> (usize, bool) {
    let used = |slot: &Slot| slot.queue != NONE && in_use(slot.queue as usize);
    let direct = hash as usize % slots.len();
    if slots[direct].tag == hash && used(&slots[direct]) {
        return (direct, false);
    }
    let (way, set) = (direct % WAYS, direct - direct % WAYS);
    let ways = || (0..WAYS).map(|step| set + (way + step) % WAYS);
    if let Some(slot) = ways().find(|slot| slots[*slot].tag == hash && slots[*slot].queue != NONE) {
        counts.hits += u64::from(slot != direct);
        return (slot, !used(&slots[slot]));
    }
    if let Some(slot) = ways().find(|slot| !used(&slots[*slot])) {
        counts.misses += 1;
        return (slot, true);
    }
    counts.collisions += 1;
    (direct, true)
}

fn hash(key: Key, salt: u32) -> u32 {
    let words = match key {
        Key::All => return 0,
        Key::Source(host) => [host, 0, 0],
        Key::Destination(host) => [0, host, 0],
        Key::Hosts(HostPair { source, destination }) => [source, destination, 0],
        Key::Flow(flow) => five_tuple(FlowId::new(flow)),
    };
    jenkins(words, salt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes that name the same slot.
    const SAME: [u32; 10] = [5, 1_029, 2_053, 3_077, 4_101, 5_125, 6_149, 7_173, 8_197, 9_221];

    struct Table {
        slots: Vec<Slot>,
        counts: Counts,
        busy: [bool; 1_024],
    }

    impl Table {
        fn new() -> Table {
            let slots = (0..1_024).map(|queue| Slot { tag: 0, queue }).collect();
            Table { slots, counts: Counts::default(), busy: [false; 1_024] }
        }

        fn take(&mut self, hash: u32) -> (usize, bool) {
            let busy = self.busy;
            let choice = choose(hash, &self.slots, &mut self.counts, |queue| busy[queue]);
            self.slots[choice.0].tag = hash;
            self.busy[choice.0] = true;
            choice
        }
    }

    /// Flows with the same slot take the eight slots of the set, from their own on and around; the ninth collides in its
    /// own slot. A flow that comes back finds its slot by its tag.
    #[test]
    fn ways() {
        let mut table = Table::new();
        let taken: Vec<usize> = SAME[..8].iter().map(|hash| table.take(*hash).0).collect();
        assert_eq!(taken, [5, 6, 7, 0, 1, 2, 3, 4]);
        assert_eq!(table.take(SAME[3]), (0, false));
        assert_eq!(table.take(SAME[0]), (5, false));
        assert_eq!(table.take(SAME[8]), (5, true));
        let Counts { hits, misses, collisions } = table.counts;
        assert_eq!((hits, misses, collisions), (1, 8, 1));
    }

    /// An idle slot keeps its tag for its flow, but another flow may take it.
    #[test]
    fn idle_slots() {
        let mut table = Table::new();
        assert_eq!(table.take(SAME[0]), (5, true));
        table.busy[5] = false;
        assert_eq!(table.take(SAME[0]), (5, true));
        table.busy[5] = false;
        assert_eq!(table.take(SAME[1]), (5, true));
        assert_eq!(table.take(SAME[0]), (6, true));
    }
}
