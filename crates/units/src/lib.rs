//! Quantities with types.
//!
//! Nothing else in windtunnel stores a time, a size or a rate as a bare integer: the unit is in the
//! type, so that bytes per second cannot be taken for bits per second. Clocks and counters are
//! integers (nanoseconds, bytes, bits per second); only ratios are floating point.
//!
//! Every type prints itself with its unit and is parsed from the same text ([`parse`]); in scenario
//! files quantities are strings such as `"20 ms"` or `"100 Mbit/s"`.

mod bytes;
#[cfg(feature = "schema")]
pub mod count;
mod out_of_range;
pub mod parse;
mod probability;
mod rate;
#[cfg(feature = "schema")]
mod schema;
mod seq;
mod time;

pub use bytes::Bytes;
pub use out_of_range::OutOfRange;
pub use parse::ParseError;
pub use probability::Probability;
pub use rate::Rate;
pub use seq::Seq;
pub use time::{Duration, Time};
