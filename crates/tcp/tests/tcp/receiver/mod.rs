//! The real receiver, one file for each of its mechanisms.

mod acks;
mod attacks;
mod close;
mod fixture;
mod gro;
mod handshake;
mod marks;
mod options;
mod rledbat;
mod sack;
mod stream;
mod timestamps;
mod window;
