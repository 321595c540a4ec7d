//! A TCP sender and receiver without input or output of their own.
//!
//! Each is a state machine that takes packets and times and is polled for packets and timers; it knows no
//! link, no topology and no controller by name. One file per mechanism.
//!
//! Three profiles: [`ideal`], the loss-free endpoints of "Multiplicative Decrease Scaling"; a TCP as Linux has it,
//! whose mechanisms [`TcpParams`] switches one by one; and [`bsd42`], from before congestion control.

mod ack_policy;
mod ack_report;
pub mod bsd42;
mod config;
mod connection;
mod ecn_pp;
mod growth_gate;
pub mod ideal;
mod info;
mod memory;
mod params;
mod paws;
mod receiver;
mod scheme;
mod sender;
mod timestamp_clock;

pub use ack_policy::{AckParams, AckPolicy};
pub use ack_report::AckReport;
pub use config::{Endpoint, HEADERS, HEADERS_WITHOUT_TIMESTAMPS, WindowScale};
pub use connection::ConnectionState;
pub use ecn_pp::EcnPp;
pub use growth_gate::GrowthGate;
pub use info::TcpInfo;
pub use memory::Truesize;
pub use params::{IdleRule, Inflation, LossDetection, Reduction, RtoRule, TcpParams};
pub use receiver::{Receiver, ReceiverController, ReceiverStats, SegmentReport};
pub use scheme::FeedbackScheme;
pub use sender::{CaState, Limited, Sender, SenderStats};
