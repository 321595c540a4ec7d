//! What every algorithm has, whether it controls congestion, manages a queue or damages packets: names, parameters with a
//! schema and checks, and a random stream of its own.
//!
//! An algorithm's parameters are a struct, and the struct is the schema: its doc comments become descriptions, its `Default`
//! the defaults, [`Params::check`] the refusals. [`AnyParams`] is the same without the type, so that a family of algorithms
//! (all queues, say) is an open set: each family adds one method that builds its algorithm, in a trait of its own.

mod params;
mod random;
pub mod tau;

pub use params::{AnyParams, Params};
pub use random::RandomStream;
pub use windtunnel_units::OutOfRange;
