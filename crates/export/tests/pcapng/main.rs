//! Captures, read back byte by byte.

mod headers;
mod places;
mod reader;
