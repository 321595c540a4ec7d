//! Tests of the sender and receiver alone.

mod accecn;
mod ack_rate;
mod bsd42;
#[path = "../../../cc/tests/suite/cruise.rs"]
mod cruise;
mod ecn_pp;
mod feedback;
mod ideal_model_based;
mod ideal_sender;
mod linux_receiver;
mod params;
mod quic_counts;
mod receiver;
mod sender;

/// Linux's mechanisms, with the whole receive window open from the start, so that it does not influence the tests.
fn fixed_window() -> windtunnel_tcp::TcpParams {
    windtunnel_tcp::TcpParams { window_growth: false, autotuning: false, ..Default::default() }
}
