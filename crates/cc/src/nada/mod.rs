//! NADA, network-assisted dynamic adaptation: a rate for media from delay, losses and marks in one number (RFC 8698 of February
//! 2020; spec/ccwg-2026 section K.2). The RFC's table of parameters and the authors' code for ns-3 (cisco/ns3-rmcat adb3f8e, after
//! version -05 of the draft) were read; they agree in all constants that both have.
//!
//! The *aggregate congestion signal* x is a delay: the queueing delay, and what losses and marks count for,
//! `DLOSS (p_loss / PLRREF)^2 + DMARK (p_mark / PMRREF)^2`. The square makes a few losses on a wireless link harmless.
//!
//! - *Accelerated ramp-up*, while nothing was lost and no queue built up in the last `LOGWIN`: the rate is what arrives,
//!   and by gamma more. Gamma is what builds a queue of `QBOUND` at most before feedback comes: a round trip, the
//!   interval of feedback and the filter's delay.
//! - *Gradual update*: every `DELTA` the rate moves by the distance of x from `PRIO XREF RMAX / r`, and by its change. So
//!   flows of different round trips share in proportion to their priority, and alone a flow has the path with that x.
//!
//! Where others fill the queue until it overflows, losses come regularly. Then the queueing delay above `QTH` is *warped*:
//! the larger it is, the less it counts, so that NADA holds its share. It is not warped once a loss is overdue by
//! `MULTILOSS` mean intervals.
//!
//! What follows from the rules: `RMAX` is the unit of the queue, so that the encoder's highest rate should be one that it uses; marks do
//! not end a ramp-up, so that a queue of `QEPS` comes back however many there are; after a loss x can stay only below `QTH`; a flow that
//! starts late counts the queue of the others to its path.
//!
//! What the texts leave open, and what is done here:
//!
//! - The mean interval between losses is TFRC's (RFC 5348 section 5.4), of the closed intervals alone. With the open one, as in
//!   the authors' code, it is at least a sixth of that, so that no loss is ever overdue by seven.
//! - x is computed at the sender, because reports tell of each packet. A report tells the delay of its last packet, which stands
//!   for all of them in the filter of fifteen packets. All of these are within `LOGWIN`, as in that code.
//! - The base delay is the least since the start. x is at most 500 ms, as in that code.
//! - The rate shaping buffer (section 5.2.2) is the sender's queue. Its length is what the rate sends while the oldest data waited.
//! - Data without a source that tells its range have the RFC's. Rates are those of payloads.
//! - After a timeout the rate is the lowest.
//!
//! [`controller`] has the events and the rate, [`log`] the statistics of `LOGWIN`, [`signal`] the aggregate signal.

mod controller;
mod log;
mod params;
mod signal;

pub use params::NadaParams;
