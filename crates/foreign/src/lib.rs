//! Transport stacks in C, or in any language that exports C functions, as safe Rust.
//!
//! A stack is a table of functions, which `windtunnel_stack.h` describes ([`table`] is the same in Rust). It comes from
//! a shared library that a user brings ([`Library::open`]), or is compiled in (`Library::ngtcp2`, with the feature
//! `ngtcp2`). What a stack can do wrong and a check can see is a message. What it does within its own memory cannot be
//! seen: it runs in this process, as a part of it.
//!
//! The workspace's unsafe code is here, but for one instruction (`windtunnel-prefetch`).

mod check;
mod end;
mod library;
mod table;

pub use end::{Config, End, Event, Identity, State};
pub use library::{Library, LoadError};

/// The version of the table: `WINDTUNNEL_STACK_VERSION`.
pub const VERSION: u32 = 1;
