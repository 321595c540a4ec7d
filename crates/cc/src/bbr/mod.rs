//! BBR: controllers that hold a model of the path, its bandwidth and its least round-trip time, and derive from it how fast
//! and how much they send. Losses do not say how much there is room for; what arrives does.
//!
//! [`v1`] is what Linux has as `bbr`, in its integers ([`fixed`]); [`v3`] has versions 3 and 2, which differ in numbers.

mod fixed;
mod max_filter;
mod v1;
mod v3;

pub use v1::BbrParams;
pub use v3::{Bbr2Params, Bbr3Params, Bbr3Variant, CeAnswer, OffloadBudget, TextPoint};
