//! BBR's third version and its second (spec/congestion-control section 3.23). The texts, each a variant:
//!
//! - `draft`: "BBR Congestion Control", draft-ietf-ccwg-bbr, editor's copy at commit 007dbe1fd591;
//! - `draft-06`: the same as posted, draft-ietf-ccwg-bbr-06 (commit 6db913fb, July 2026);
//! - `linux`: the branch v3 of google/bbr (`net/ipv4/tcp_bbr.c`);
//! - `bbr2`: the branch v2alpha of google/bbr (`net/ipv4/tcp_bbr2.c`).
//!
//! In addition to bandwidth and round trip, the model has bounds. The long-term bound on the data in flight is found
//! where probing lost more than 2 %. The short-term bounds on bandwidth and data in flight fall by 30 % in each round
//! with losses, and are forgotten with the next probe. Version 3 probes the path less often than version 1: every two
//! to three seconds, or as often as Reno would need at this window, so that Reno and CUBIC get a share:
//!
//! - Startup ends also when more than 2 % are lost in a round of a recovery;
//! - `ProbeBW` is a cycle of four: down (drains), cruise (leaves 15 % of the long-term bound free for others), refill (a round
//!   at the bandwidth, so that the probe starts from a full path), up (probes with 1.25, more from round to round, until the
//!   bandwidth does not grow any more or too much is lost);
//! - `ProbeRTT` is entered after ten seconds without a lower round trip (-06 and Linux: five) and keeps half of the product in
//!   flight.
//!
//! The table `cc` shows the mode by its number: Startup 0, Drain 1, down 2, cruise 3, refill 4, up 5, `ProbeRTT` 6.
//!
//! [`rules`] has the numbers in which draft, Linux and version 2 differ, [`model`] the parts of the state, [`controller`]
//! the events, [`signals`], [`cycle`], [`round_trip`] and [`window`] the rules in the order in which an ACK runs through
//! them; [`ce_as_loss`] has the draft's answer to CE, [`ecn`] Linux's; [`resume`] has Careful Resume.

mod ack_frequency;
mod ce_as_loss;
mod controller;
mod cycle;
mod ecn;
mod model;
mod params;
mod resume;
mod round_trip;
mod rules;
mod signals;
mod window;

pub use params::{Bbr2Params, Bbr3Params, Bbr3Variant, CeAnswer, OffloadBudget, TextPoint};
