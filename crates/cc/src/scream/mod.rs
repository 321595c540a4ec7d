//! SCReAM version 2, congestion control for media (draft-ietf-ccwg-rfc8298bis-screamv2-01, the editors' copy of August 2026;
//! spec/congestion-control section 3.27). It replaces RFC 8298.
//!
//! Three parts work at the sender. Network congestion control keeps the *reference window*: how much the path holds without
//! a queue. Media rate control makes the encoder's target rate from it. Sender transmission control lets the data of a
//! large frame exceed the window, paced, because a frame that waits at the sender is as late as one that waits in the network.
//!
//! - A loss keeps 0.7 of the window, and a classic CE 0.8: more than TCP keeps, because a source that sends less than the
//!   path carries has fewer occasions to grow (section on lost data units).
//! - In L4S mode the window falls by half the averaged share of marked packets, as in DCTCP. The average rises at 1/8 and
//!   falls at 1/128, because video comes in bursts, and a burst is marked as a whole.
//! - Queueing delay counts as virtual marks: none at half the target, all at the target, which is 60 ms.
//! - The window grows by a segment in each round trip, and by 2 % of itself if the last loss or mark is a hundred round trips
//!   ago. It grows little where it was before the last congestion (the *inflection point*), and never far beyond what was
//!   in flight, because an encoder can send less than its target.
//! - Flows with a round trip below 25 ms grow and react as if they had that one, as Prague's do.
//! - Four optional parts are off (section "Additional functions"; docs/spec/ccwg-2026.md, K.1): losses of the link and of a
//!   policer, a weaker answer where the target is below what arrives, and a new base for clocks that drift. The part for
//!   policers is that of -01; the editors' branch for -02 (b007af7, 11 August 2026) drops it and leaves the rest as it is.
//!
//! The draft leaves some points open; section 3.27 lists them with what is done here.
//!
//! [`controller`] has the events, [`ref_wnd`] the reference window, [`alpha`] the share of marks, [`qdelay`] the queueing delay,
//! [`jitter`] its variation, [`competing`] the target where others fill the queue, [`in_flight`] how much was in flight,
//! [`media`] the target rate and the pace, [`link_loss`] which losses count, [`acked`] the rate acknowledged, [`drift`] the
//! clocks.

mod acked;
mod alpha;
mod competing;
mod controller;
mod drift;
mod in_flight;
mod jitter;
mod link_loss;
mod media;
mod params;
mod qdelay;
mod ref_wnd;

pub use params::ScreamParams;
