//! PCC Vivace (Dong, Meng, Zarchy, Arslan, Gilad, Godfrey and Schapira, NSDI 2018; spec/congestion-control section 3.26).
//!
//! The sender assumes nothing of what a loss or a delay means. It tries two rates around its own, each for a monitor interval of about
//! one round trip, turns what became of the packets of each into a number, its utility, and moves its rate along the gradient
//! between the two (section 4 of the paper). The utility is a parameter: throughput to the power t, less b times throughput times
//! the slope of the round trip, less c times throughput times loss (section 3), without the slope, or that of PCC Allegro
//! (NSDI 2015).
//!
//! - t = 0.9: below 1, utilities are strictly concave, and flows converge to one fair point (Theorem 1).
//! - b = 900: up to 1000 flows on 1 Gbit/s keep the queue empty (Theorem 2). A probe above the capacity then costs so much that only
//!   its sign matters: each such step is cut.
//! - c = 11.35: alone on 100 Mbit/s a flow withstands 5 % of random loss (section 3.2).
//! - The step for one unit of gradient is 1 Mbit/s, multiplied by a confidence that grows with each step in the same direction,
//!   because gradients of t = 0.9 are nearly the same at all rates and no single step fits all links. A step beyond 5 % of the rate
//!   is cut, so that one bad measurement does no harm; each cut lets the next step in that direction be 6 % larger.
//! - The start doubles the rate while utility grows. It does not count the first 50 losses: few packets make one loss look large.
//!
//! Losses and round trips count in the interval in which their packet left. An interval holds sums, no packets: two of them are all
//! that a decision needs. Its result is known when all of it is acknowledged, or when a packet that left a quarter of a round
//! trip later arrived, because RACK has found its losses by then.
//!
//! The authors' sender runs over UDP; three points are TCP's:
//!
//! - The window is twice what the rate needs, so that the rate governs (their kernel module).
//! - A retransmission timeout is the paper's timeout of an interval: the rate halves. The start is repeated from there, because
//!   TCP's timer repeats in an outage, and after six halvings gradient steps would need half a minute.
//! - If the application, the receiver or a pause kept the sender from the rates under trial, the trial says nothing and is repeated.
//!
//! [`controller`] has the events, [`experiment`] the intervals of one decision, [`monitor_interval`] what is measured in one,
//! [`Regression`](crate::regression::Regression) the slope of the round trip, [`utility`] the utility functions, [`ascent`] the step along the gradient.

mod ascent;
mod controller;
mod experiment;
mod monitor_interval;
mod params;
mod utility;

pub use params::VivaceParams;
pub use utility::VivaceUtility;
