//! Windtunnel's congestion controllers inside QUIC stacks.
//!
//! [`Hosted`] is a controller with what its sender does for it, whichever stack it is in. A module for each stack, behind
//! a feature of its name, makes it one of the stack's own controllers: `quinn` and `noq`. A stack is given a factory
//! in its configuration and needs no change:
//!
//! ```
//! # #[cfg(feature = "quinn")] {
//! use std::sync::Arc;
//!
//! use windtunnel_cc::Bbr3Params;
//! use windtunnel_hosted::quinn::Factory;
//!
//! let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(Factory::new(Arc::new(Bbr3Params::default()), 1)));
//! # }
//! ```
//!
//! Time is that of the stack: a controller counts it from an [`Instant`](std::time::Instant) that its maker names. The
//! same code therefore runs in real time and in a simulation.

mod connections;
mod hosted;
mod marks;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;

pub use connections::Connections;
pub use hosted::{HEADERS, Hosted};
pub use marks::Marks;
