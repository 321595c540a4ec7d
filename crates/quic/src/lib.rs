//! Real QUIC stacks as endpoints of a simulation: quinn and noq, with TLS and every byte on the wire.
//!
//! The stacks are libraries without sockets or clocks of their own: a datagram and the time go in, datagrams and the
//! next timer come out. Both ends of a connection are such a library, so that nothing about them is modelled but the
//! sockets: virtual time takes the place of the clock ([`clock`]), and datagrams become packets ([`halves`]). The data
//! sender is the client; the handshake is a part of the flow.
//!
//! A stack's own controller decides the window, or one of windtunnel's inside it ([`windtunnel_hosted`]). A file for each
//! stack adapts its calls to [`connection::Connection`]; each is behind a feature of this crate, of the stack's name.
//!
//! A stack in C is a table of functions ([`foreign`]): in a shared library that the user brings ([`LibraryParams`]), or
//! built in, as ngtcp2 is with the feature `ngtcp2`.
//!
//! Connection IDs, and what a stack draws from its own stream, come from the flow's seed; TLS takes its keys from the
//! system. Times, sizes and ECN fields of packets are the same in each run, their contents are not.

#[cfg(not(any(feature = "noq", feature = "quinn")))]
compile_error!("without a stack there is nothing here: enable `quinn` or `noq`");

mod clock;
mod connection;
mod datagrams;
mod family;
mod fault;
mod foreign;
mod guard;
mod halves;
mod library;
mod marks;
mod null_crypto;
mod secrets;
mod seed;
mod seen;
mod stack;
mod tls;

#[cfg(feature = "ngtcp2")]
mod ngtcp2;
#[cfg(feature = "noq")]
mod noq;
#[cfg(feature = "quinn")]
mod quinn;

use windtunnel_sim::endpoint::Kinds;

pub use fault::Fault;
pub use library::LibraryParams;
#[cfg(feature = "ngtcp2")]
pub use ngtcp2::Ngtcp2Params;
#[cfg(feature = "noq")]
pub use noq::NoqParams;
#[cfg(feature = "quinn")]
pub use quinn::QuinnParams;

/// Stacks that are known and not built in, and how to get each.
const MISSING: &[(&str, &str)] = &[
    #[cfg(not(feature = "quinn"))]
    ("quinn", "build with the cargo feature `quinn`"),
    #[cfg(not(feature = "noq"))]
    ("noq", "build with the cargo feature `noq`"),
    #[cfg(not(feature = "ngtcp2"))]
    (
        "ngtcp2",
        "build with the cargo feature `ngtcp2` and NGTCP2_SOURCE, the folder of its sources, or bring its adapter as \
         stack = { kind = \"library\", file = \"./libwt_ngtcp2.so\" }",
    ),
    ("lsquic", BRING),
    ("msquic", BRING),
    ("mvfst", BRING),
    ("picoquic", BRING),
    ("quiche", BRING),
    ("s2n-quic", BRING),
    ("xquic", BRING),
];

/// How to get a stack without an adapter here.
const BRING: &str = "bring it with an adapter as stack = { kind = \"library\", file = \"./libmine.so\" } (docs/how-to/quic-stack.md)";

/// Passes each stack that is built in, or known, to `visitor`, in the order of listings and messages.
pub fn visit(visitor: &mut impl Kinds) {
    #[cfg(feature = "quinn")]
    visitor.stack::<QuinnParams>();
    #[cfg(feature = "noq")]
    visitor.stack::<NoqParams>();
    #[cfg(feature = "ngtcp2")]
    visitor.stack::<Ngtcp2Params>();
    visitor.stack::<LibraryParams>();
    for (name, how) in MISSING {
        visitor.missing(name, how);
    }
}
