//! Tests of the sender and receiver alone.

mod accecn;
mod bsd42;
mod feedback;
mod ideal_sender;
mod receiver;
mod sender;
