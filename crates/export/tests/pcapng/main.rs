//! Captures, read back byte by byte.

mod headers;
mod payloads;
mod places;
mod reader;
