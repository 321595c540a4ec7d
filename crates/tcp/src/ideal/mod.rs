//! The endpoints of the ideal profile (spec/mds section 2): no segment is ever lost, and a packet that a queue would
//! drop arrives with CE instead. The results of "Multiplicative Decrease Scaling" were made with this profile.

mod ack;
mod pacer;
mod receiver;
mod rtt;
mod samples;
mod sender;

pub use ack::Ack;
pub use receiver::Receiver;
pub use sender::Sender;
