//! What all algorithms share, whether they control congestion, manage a queue or act on packets along a path: a name,
//! parameters with a schema and checks, and their own random stream.
//!
//! An algorithm's parameters are a struct, and the struct is the schema: its doc comments become descriptions, its
//! `Default` the defaults, and [`Params::check`] refuses invalid values. [`AnyParams`] is the same without the type, so
//! that a family of algorithms (all queues, for example) is an open set: each family has its own trait, which adds one
//! method to build its algorithm.

mod kinds;
mod params;
mod random;
pub mod schema;
pub mod tau;

pub use params::{AnyParams, Params};
pub use random::RandomStream;
pub use windtunnel_units::OutOfRange;
