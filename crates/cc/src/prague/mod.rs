//! TCP Prague: a scalable controller for L4S (draft-briscoe-iccrg-prague-congestion-control; the L4S team's Linux module,
//! version 0.7; spec/congestion-control section 3.20).
//!
//! Prague averages the share of marked segments as DCTCP does and answers it with half of the average, once per round. What
//! differs from DCTCP: the window is a fraction, and cwnd is the next whole number of segments; unmarked ACKs grow it also while
//! it is being reduced; from four rounds after slow start on, flows with less than 25 ms of round trip grow, average and answer
//! as if they had 25 ms, so that flows of different round trips share a link equally; departures are paced; and small windows
//! are governed by a rate, which may fall below two segments per round trip.
//!
//! The rate varies by 3 % over the (at least 25 ms long) round trip, so that a step that marks sees a few marks in each
//! rather than all in one. Without counts of marks (AccECN) Prague is Reno, and its packets are not ECN-capable.
//!
//! [`params`] has the numbers, [`controller`] the rules; they are kept in the order of the module's work on an ACK.
//! [`linux_2020`] has those of the module of 2020, [`udp`] those of UDP Prague, and [`fallback`] puts Reno in their place.

mod average;
mod controller;
mod fallback;
mod linux_2020;
mod params;
mod udp;

pub use params::{PragueMode, PragueParams, PragueVariant};
