//! Where packets go from a link, a delay line or an element: the hop of each flow that passes it.
//!
//! A network of a million flows has thousands of such places, and few flows pass each. What a place says about the
//! others does not matter, so that it only notes from which flow on packets go another way. Flows are asked for in the
//! order of their numbers when a network is laid out, and neighbours mostly go the same way. A table takes the place of
//! these notes where it is not much larger: it is quicker.

use windtunnel_wire::FlowId;

use crate::flow::Hop;

/// A table may have this number of entries for each change of the way.
const SPARSE: usize = 8;

/// A table of this number of entries is good for any number of changes.
const SMALL: usize = 1024;

/// Where packets go from one place in the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Onward {
    /// All flows that pass go the same way.
    One(Hop),
    /// By flow.
    PerFlow(Table),
    /// From each of these flows on, until the next; in the order of flows.
    Changes(Vec<(u32, Hop)>),
}

/// The hops of neighbouring flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// The flow of the first hop; none before it passes.
    first: u32,
    hops: Vec<Hop>,
    /// The hop of flows behind the table.
    after: Hop,
    /// How often the hop changes from flow to flow.
    changes: usize,
}

/// The entries of a table that is good for this number of changes.
fn worth(changes: usize) -> usize {
    SMALL.max(SPARSE * changes)
}

impl Onward {
    /// A place that no flow passes yet.
    pub(crate) const UNSET: Onward = Onward::Changes(Vec::new());

    /// The next hop of a packet of `flow`.
    #[inline]
    pub(crate) fn of(&self, flow: FlowId) -> Hop {
        match self {
            Onward::One(hop) => *hop,
            Onward::PerFlow(Table { first, hops, after, .. }) => {
                hops.get(flow.index().wrapping_sub(*first as usize)).copied().unwrap_or(*after)
            }
            Onward::Changes(changes) => latest(changes, flow),
        }
    }

    /// Sets the next hop of `flow`, which is the last one whose hop has been set, or comes after it.
    pub(crate) fn set(&mut self, flow: usize, to: Hop) {
        match self {
            Onward::One(hop) if *hop == to => {}
            Onward::One(hop) => *self = Onward::Changes(vec![(0, *hop), (flow as u32, to)]),
            Onward::PerFlow(table) => {
                if let Some(changes) = table.set(flow, to) {
                    *self = Onward::Changes(changes);
                }
            }
            Onward::Changes(changes) => {
                changes.pop_if(|(last, _)| *last as usize == flow);
                if changes.last().is_none_or(|(_, hop)| *hop != to) {
                    changes.push((flow as u32, to));
                }
            }
        }
    }

    /// The flows that pass have been set: takes the form in which the next hop is found soonest, in proportion to what it
    /// needs.
    pub(crate) fn settle(&mut self) {
        let Onward::Changes(changes) = self else { return };
        match changes.as_slice() {
            // No packet gets here.
            [] => *self = Onward::One(Hop::Sender),
            [(_, hop)] => *self = Onward::One(*hop),
            [(first, _), .., (last, after)] => {
                let entries = (last - first) as usize;
                if entries > worth(changes.len()) {
                    changes.shrink_to_fit();
                    return;
                }
                let ends = changes[1..].iter().map(|(flow, _)| *flow);
                let runs = changes.iter().zip(ends);
                let hops = runs.flat_map(|((flow, hop), end)| (*flow..end).map(|_| *hop)).collect();
                let changes = changes.len();
                *self = Onward::PerFlow(Table { first: *first, hops, after: *after, changes });
            }
        }
    }
}

impl Table {
    /// Sets the next hop of `flow`, which comes after those of the table. Returns the changes instead, if the table would be
    /// twice as large as they are worth: flows that come one by one do not make and drop a table each time.
    fn set(&mut self, flow: usize, to: Hop) -> Option<Vec<(u32, Hop)>> {
        if self.after == to {
            return None;
        }
        let entries = flow - self.first as usize;
        if entries > 2 * worth(self.changes + 1) {
            let mut changes = Onward::UNSET;
            for (flow, hop) in (self.first as usize..).zip(self.hops.drain(..).chain([self.after])) {
                changes.set(flow, hop);
            }
            changes.set(flow, to);
            let Onward::Changes(changes) = changes else { return None };
            return Some(changes);
        }
        // The hop of one flow may be set again.
        self.changes += usize::from(entries > self.hops.len());
        self.hops.resize(entries, self.after);
        self.after = to;
        None
    }
}

/// The hop of the latest change up to `flow`.
#[expect(
    clippy::inline_always,
    reason = "a call in the loop makes it save registers for every packet: 9 instructions"
)]
#[inline(always)]
fn latest(changes: &[(u32, Hop)], flow: FlowId) -> Hop {
    let upto = changes.partition_point(|(first, _)| *first as usize <= flow.index());
    changes.get(upto.saturating_sub(1)).map_or(Hop::Sender, |(_, hop)| *hop)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// The entries that a place keeps.
    fn entries(onward: &Onward) -> usize {
        match onward {
            Onward::One(_) => 1,
            Onward::PerFlow(table) => table.hops.len(),
            Onward::Changes(changes) => changes.len(),
        }
    }

    fn laid_out(hops: impl IntoIterator<Item = (usize, Hop)>) -> Onward {
        let mut onward = Onward::UNSET;
        hops.into_iter().for_each(|(flow, hop)| onward.set(flow, hop));
        onward.settle();
        onward
    }

    proptest! {
        /// Each flow that passes has the hop that was set last, whatever is between it and the next one, and however many
        /// come after the place has settled.
        #[test]
        fn each_flow_has_its_own_hop(
            steps in prop::collection::vec((prop_oneof![9 => 0_usize..3, 1 => 0_usize..5000], 0_u32..3), 1..400),
            settled in 0_usize..400,
        ) {
            let (mut onward, mut flow, mut expected) = (Onward::UNSET, 0, BTreeMap::new());
            for (index, (gap, link)) in steps.into_iter().enumerate() {
                flow += gap;
                onward.set(flow, Hop::Link(link));
                expected.insert(flow, Hop::Link(link));
                if index >= settled {
                    onward.settle();
                }
            }
            onward.settle();
            for (flow, hop) in &expected {
                prop_assert_eq!(onward.of(FlowId::new(*flow as u32)), *hop);
            }
            prop_assert!(entries(&onward) <= 2 * SMALL.max(SPARSE * expected.len()));
        }
    }

    /// Steps that double the distance to the first flow, each with a hop of its own: the table stays as small as so few
    /// changes are worth.
    #[test]
    fn few_flows_far_apart_make_no_large_table() {
        let mut onward = Onward::UNSET;
        for (change, flow) in (0..10).map(|n| (n, 717 << n)) {
            onward.set(flow, Hop::Link(change % 2));
            onward.settle();
            assert!(entries(&onward) <= 2 * SMALL, "{change}: {}", entries(&onward));
        }
    }

    /// A place that a thousand neighbours of a million flows pass keeps one hop, or a table of these neighbours.
    #[test]
    fn flows_that_do_not_pass_take_no_memory() {
        let neighbours = 500_000..501_000;
        assert_eq!(laid_out(neighbours.clone().map(|flow| (flow, Hop::Line(3)))), Onward::One(Hop::Line(3)));
        let apart = laid_out(neighbours.map(|flow| (flow, Hop::Line(flow as u32 % 7))));
        assert!(matches!(&apart, Onward::PerFlow(table) if table.hops.len() < 1000), "{apart:?}");
    }

    /// The link in the middle of a row: flows of its own leave the row behind it, and those of all links go on.
    #[test]
    fn ways_that_part_once_take_two_entries() {
        let through = (0..1000).map(|flow| (flow, Hop::Link(1)));
        let own = (500_000..501_000).map(|flow| (flow, Hop::Receiver));
        assert_eq!(
            laid_out(through.chain(own)),
            Onward::Changes(vec![(0, Hop::Link(1)), (500_000, Hop::Receiver)])
        );
    }

    /// No packet gets to a place that no flow passes.
    #[test]
    fn a_place_that_no_flow_passes_takes_nothing() {
        assert_eq!(laid_out([]), Onward::One(Hop::Sender));
    }
}
