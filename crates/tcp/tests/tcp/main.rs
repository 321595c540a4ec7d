//! Tests of the sender and receiver alone.

mod feedback;
mod ideal_sender;
