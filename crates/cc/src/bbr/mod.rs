//! BBR: controllers that hold a model of the path, its bandwidth and its least round-trip time, and derive from it how fast
//! and how much they send. Losses do not say how much there is room for; what arrives does.
//!
//! [`v1`] is what Linux has as `bbr`. What its successors have in common with it (`fixed`, [`max_filter`]) is beside it.

mod fixed;
mod max_filter;
mod v1;

pub use v1::BbrParams;
