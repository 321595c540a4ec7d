//! Tables as Parquet files, and as CSV.
//!
//! Rows are written in groups of a bounded size, so that a writer holds one group of one column at a time, whatever the
//! length of the table, and a reader may take one group after the other. Equal tables are equal files.

mod csv;
mod error;
mod file;
mod keys;
mod pages;
mod parts;
mod read;
mod schema;
mod values;

pub use parquet::data_type::ByteArray;
pub use parquet::errors::ParquetError;

pub use csv::{write_head, write_rows};
pub use error::to_io;
pub use file::TableFile;
pub use keys::{Keys, Same};
pub use parts::{Failure, Parts, merge};
pub use read::{Array, Kind, Read, TableParts, TableReader, Words};
pub use values::Values;
