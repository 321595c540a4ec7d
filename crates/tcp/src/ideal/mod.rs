//! The endpoints of the ideal profile (spec/mds section 2): no segment is ever lost, what a queue would drop arrives with
//! CE. It is the profile with which the results of "Multiplicative Decrease Scaling" were made.

mod pacer;
mod receiver;
mod rtt;
mod samples;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;
