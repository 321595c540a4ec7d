//! Classful schedulers: which of several queues inside is served next. A filter sends packets to them.

mod children;
mod filter;
mod prio;

pub(crate) use children::Children;
pub(crate) use filter::Filters;
pub use filter::{EcnField, Filter};
pub use prio::{Prio, PrioParams};
