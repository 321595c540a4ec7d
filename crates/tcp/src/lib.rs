//! A TCP sender and receiver without input or output of their own.
//!
//! Each is a state machine that takes packets and times and is polled for packets and timers; it knows no
//! link, no topology and no controller by name. One file per mechanism.
//!
//! The profile built so far is *ideal* (spec/mds section 2): no segment is ever lost, what a queue would
//! drop arrives with CE. It is the profile with which the results of "Multiplicative Decrease Scaling"
//! were made.

mod ack_policy;
mod config;
mod pacer;
mod receiver;
mod rtt;
mod sender;

pub use ack_policy::{AckParams, AckPolicy};
pub use config::{Endpoint, HEADERS};
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use sender::{AckReport, Sender};
