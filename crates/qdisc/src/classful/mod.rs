//! Classful schedulers: which of several queues inside is served next. A filter, or the time, sends packets to them.

mod children;
mod drr;
mod filter;
mod in_order;
mod prio;
mod replaced;
mod round;
mod wrr;

use windtunnel_algorithm::kinds;

use crate::kinds::Kinds;
use crate::params::{ChildSlot, Takes};

pub(crate) use children::Children;
pub use filter::Filter;
pub(crate) use filter::Filters;
pub(crate) use in_order::InOrder;

kinds! {
    pub(crate) fn visit(Kinds::queue);
    prio: PrioParams;
    drr: DrrParams;
    wrr: WrrParams;
    replaced: ReplacedParams;
}

/// The key of a scheduler's queues, this many if it is left out.
fn several(count: usize) -> Vec<ChildSlot> {
    const SUMMARY: &str = "The queues of the bands, in their order; if left out, FIFOs.";
    vec![ChildSlot { key: "children", summary: SUMMARY, takes: Takes::List(count) }]
}
