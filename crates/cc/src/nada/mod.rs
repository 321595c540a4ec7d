//! NADA, network-assisted dynamic adaptation: a rate for media from delay, losses and marks in one number (RFC 8698;
//! spec/ccwg-2026 section K.2).
//!
//! The *aggregate congestion signal* x is a delay: the queueing delay, and what losses and marks count for,
//! `DLOSS (p_loss / PLRREF)^2 + DMARK (p_mark / PMRREF)^2`. The square makes a few losses on a wireless link harmless.
//!
//! - *Accelerated ramp-up*, while nothing was lost and no queue built up in the last `LOGWIN`: the rate is what arrives,
//!   and by gamma more. Gamma is what builds a queue of `QBOUND` at most before feedback comes: a round trip, the
//!   interval of feedback and the filter's delay.
//! - *Gradual update*: every `DELTA` the rate moves by the distance of x from `PRIO XREF RMAX / r`, and by its change. So
//!   flows of different round trips share equally, in proportion to their priority, and the rate at which x stays is
//!   that of the path.
//!
//! Where others fill the queue until it overflows, losses come regularly. Then the queueing delay above `QTH` is *warped*:
//! it counts the less, the larger it is, so that NADA holds its share. It is not warped once a loss is overdue by
//! `MULTILOSS` mean intervals.
//!
//! NADA computes x at the receiver, or at the sender if feedback tells of each packet (section 5.3). Reports here do, so
//! that it is the sender. The rate shaping buffer (section 5.2.2) is the sender's queue: what waits lowers the encoder's
//! rate and raises that of departures.
//!
//! The RFC leaves open how the mean interval between losses is computed; it names the method of TFRC, which is used.
//! The base delay is the least since the start.
//!
//! [`controller`] has the events and the rate, [`log`] the statistics of `LOGWIN`, [`signal`] the aggregate signal.

mod controller;
mod log;
mod params;
mod signal;

pub use params::NadaParams;
