//! BBR's first version (Linux `net/ipv4/tcp_bbr.c`; draft-cardwell-iccrg-bbr-congestion-control-00;
//! spec/congestion-control section 3.22).
//!
//! The bandwidth is the largest delivery rate of the last ten rounds, the round trip the least of the last ten seconds; their
//! product fills the path without a queue. Departures are paced at `gain * bandwidth`, and cwnd is a multiple of the product:
//!
//! - Startup: gain 2/ln 2, the smallest that doubles the rate in each round, until the bandwidth has grown by less than a
//!   quarter in three rounds;
//! - Drain: the inverse gain, until no more is in flight than the product, because Startup left a queue;
//! - `ProbeBW`: a cycle of eight phases, as long as a round trip each. 1.25 probes for more, 0.75 drains what that queued, six
//!   times 1 cruises. The first phase is random, so that flows do not probe together;
//! - `ProbeRTT`: if the least round trip is ten seconds old, four packets for 200 ms, so that queues drain and all flows see
//!   the path's own round trip.
//!
//! cwnd, at twice the product, is there for delayed and aggregated ACKs; it limits the queue of several flows. A loss sets it
//! to what is in flight for one round; then it returns. CE has no effect.
//!
//! The table `cc` shows the mode by its number: Startup 0, Drain 1, `ProbeBW` 2 (with the phase of its cycle, 0 to 7), `ProbeRTT`
//! 3.
//!
//! [`controller`] has the events, [`model`] and [`window`] the rules in the order in which an ACK runs through them, [`policer`]
//! and [`aggregation`] two estimators, [`bursts`] what leaves at once, [`params`] the switches.

mod aggregation;
mod bursts;
mod controller;
mod model;
mod params;
mod policer;
mod window;

pub use params::BbrParams;

#[cfg(test)]
mod tests;
