//! The sender of a TCP with loss: segment sequences calculated by hand.

mod buffer;
mod classic;
mod close;
mod congestion_echo;
mod handshake;
mod harness;
mod hosted;
mod linux;
mod model_based;
mod nonces;
mod observed;
mod odd_acks;
mod plain_receiver;
mod pushes;
mod rate_limited;
mod recovery;
mod reno;
mod reports;
mod robustness;
mod skips;
mod small_queues;
mod spurious;
mod states;
mod timestamps;
mod tso;
mod window;
