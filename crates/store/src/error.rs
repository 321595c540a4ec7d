//! What cannot be written, as the operating system says it.

use std::io;

use parquet::errors::ParquetError;

/// The error of the file behind an error of Parquet; another one as it is.
pub fn to_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::new(io::ErrorKind::InvalidData, other),
    }
}
