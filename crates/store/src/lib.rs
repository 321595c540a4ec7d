//! A run's tables as Parquet files.
//!
//! Rows are written in groups of a bounded size, so that a writer holds one group of one column at a time, whatever the
//! length of the table, and a reader may take one group after the other. Equal tables are equal files.

mod error;
mod file;
mod keys;
mod parts;
mod values;

pub use error::to_io;
pub use file::TableFile;
pub use keys::{Keys, Same};
pub use parts::{Failure, Parts, merge};
pub use values::Values;
