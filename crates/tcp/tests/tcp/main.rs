//! Tests of the sender and receiver alone.

mod accecn;
mod bsd42;
#[path = "../../../cc/tests/suite/cruise.rs"]
mod cruise;
mod feedback;
mod ideal_model_based;
mod ideal_sender;
mod linux_receiver;
mod receiver;
mod sender;

/// Linux's mechanisms with a window that is all there from the start: what follows depends on nothing else.
fn fixed_window() -> windtunnel_tcp::TcpParams {
    windtunnel_tcp::TcpParams { window_growth: false, autotuning: false, ..Default::default() }
}
