//! Lists of flows from which a flow can leave at any place. Each flow is on at most one list.

/// No flow.
const NONE: u32 = u32::MAX;

/// A flow's neighbours on its list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    before: u32,
    after: u32,
}

impl Links {
    /// Those of a flow on no list.
    pub(super) const fn none() -> Links {
        Links { before: NONE, after: NONE }
    }

    /// The flow that follows.
    #[inline]
    pub(super) const fn after(self) -> Option<usize> {
        if self.after == NONE { None } else { Some(self.after as usize) }
    }
}

/// What has links.
pub(super) trait Linked {
    /// Its own.
    fn links(&mut self) -> &mut Links;
}

/// A list, in the order in which flows are served. The links are the flows' own.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
    len: u32,
}

impl List {
    /// An empty list.
    pub(super) const fn new() -> List {
        List { first: NONE, last: NONE, len: 0 }
    }

    /// How many flows are on it.
    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    /// The flow at the front.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        (self.first != NONE).then_some(self.first as usize)
    }

    /// Adds a flow at the end.
    #[inline]
    pub(super) fn push(&mut self, flow: usize, all: &mut [impl Linked]) {
        *all[flow].links() = Links { before: self.last, after: NONE };
        if self.last == NONE {
            self.first = flow as u32;
        } else {
            all[self.last as usize].links().after = flow as u32;
        }
        self.last = flow as u32;
        self.len += 1;
    }

    /// The flow at the front goes to the end.
    #[inline]
    pub(super) fn rotate(&mut self, all: &mut [impl Linked]) {
        if self.first == self.last {
            return;
        }
        let (front, end) = (self.first, self.last);
        let links = all[front as usize].links();
        self.first = links.after;
        *links = Links { before: end, after: NONE };
        all[self.first as usize].links().before = NONE;
        all[end as usize].links().after = front;
        self.last = front;
    }

    /// Takes off a flow that is on it.
    #[inline]
    pub(super) fn remove(&mut self, flow: usize, all: &mut [impl Linked]) {
        let Links { before, after } = *all[flow].links();
        if before == NONE {
            self.first = after;
        } else {
            all[before as usize].links().after = after;
        }
        if after == NONE {
            self.last = before;
        } else {
            all[after as usize].links().before = before;
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    impl Linked for Links {
        fn links(&mut self) -> &mut Links {
            self
        }
    }

    fn in_order(list: &List, all: &[Links]) -> Vec<usize> {
        let mut flows = Vec::new();
        let mut at = list.first();
        while let Some(flow) = at {
            flows.push(flow);
            at = all[flow].after();
        }
        flows
    }

    proptest! {
        /// A list is a queue from which any element can be taken, and which can be turned.
        #[test]
        fn is_a_queue(steps in prop::collection::vec(0_usize..=8, 1..200)) {
            let mut all = [Links::none(); 8];
            let (mut list, mut model) = (List::new(), VecDeque::new());
            for flow in steps {
                if flow == all.len() {
                    model.rotate_left(model.len().min(1));
                    list.rotate(&mut all);
                } else if let Some(at) = model.iter().position(|other| *other == flow) {
                    model.remove(at);
                    list.remove(flow, &mut all);
                } else {
                    model.push_back(flow);
                    list.push(flow, &mut all);
                }
                prop_assert_eq!(in_order(&list, &all), model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(list.len() as usize, model.len());
            }
        }
    }
}
