//! A TCP sender and receiver without input or output of their own.
//!
//! Each is a state machine that takes packets and times and is polled for packets and timers; it knows no
//! link, no topology and no controller by name. One file per mechanism.
//!
//! Two profiles: [`ideal`], the loss-free endpoints of "Multiplicative Decrease Scaling", and a TCP as Linux has it, of
//! which [`TcpParams`] switches every mechanism.

mod ack_policy;
mod config;
pub mod ideal;
mod params;

pub use ack_policy::{AckParams, AckPolicy};
pub use config::{Endpoint, HEADERS, HEADERS_WITHOUT_TIMESTAMPS};
pub use params::{IdleRule, LossDetection, Reduction, RtoRule, TcpParams};
