//! Tests of the sender and receiver alone.

mod accecn;
mod bsd42;
#[path = "../../../cc/tests/suite/cruise.rs"]
mod cruise;
mod feedback;
mod ideal_model_based;
mod ideal_sender;
mod receiver;
mod sender;
