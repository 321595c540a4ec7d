//! The real receiver, one file for each of its mechanisms.

mod acks;
mod close;
mod fixture;
mod gro;
mod handshake;
mod marks;
mod sack;
mod stream;
mod timestamps;
mod window;
