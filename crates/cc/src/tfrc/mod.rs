//! TCP-Friendly Rate Control (TFRC, RFC 5348; Floyd, Handley, Padhye, Widmer, SIGCOMM 2000; spec/congestion-control
//! section 3.25).
//!
//! The sender has no window. It sends at the rate at which a TCP would send on the same path: the throughput equation (section
//! 3.1) gives it from the loss event rate p and the round-trip time R. p is the inverse of a weighted mean of the last eight loss
//! intervals, so that one loss moves the rate by little, where it halves Reno's.
//!
//! - A *loss event* is one or more packets lost or marked CE that left within one round trip (sections 5.1, 5.2).
//! - A *loss interval* counts the packets from the first of one event to the first of the next (5.3). The newest one, which is
//!   still open, counts once it raises the mean (5.4). History discounting (5.5, optional) makes the older ones weigh less
//!   while the open one is more than twice their mean.
//! - *Feedback* comes once in a round trip, and at once when p rises (6.1, 6.2). Each sets the rate, which is never more than
//!   twice what arrived within two round trips (4.3).
//! - *Slow start*: before the first loss event, each feedback doubles the rate within that limit. What arrived left a round trip
//!   before, so that the rate of a steady path doubles in every second round trip. At the first loss event the history
//!   starts with the interval that the equation has for the rate at which data arrived (6.3.1).
//! - *Oscillation prevention* (4.5): departures are slower than that rate while the round trip is longer than its mean, by the square
//!   root of the ratio. The RFC says that it should be used, because the mean of round trips is long.
//! - *No feedback* for four round trips, or the time of two packets, halves the rate, again and again (4.4), down to a
//!   packet in 64 seconds.
//!
//! The RFC's receiver counts losses. Here the sender does, which section 7 of the RFC allows and RFC 4342 prepares with its lists
//! of intervals and Ack Vectors: the acknowledgements of TCP and their SACK blocks tell it the same. What follows from that:
//!
//! - The sender knows when a lost packet left. The receiver does not, and section 5.2 interpolates between the arrivals around it. On a
//!   path with a constant delay both give the same differences, as does the send-time counter of RFC 4342 section 8.1.
//! - Packets are numbered in the order of departure, retransmissions among them: the number of a packet is what was delivered, lost
//!   and in flight when it left, counted in segments.
//! - A loss that turns out to be spurious is taken out of the history (5.1 on packets that arrive late).
//! - The round trip is TCP's, with the delay of the ACK in it.
//! - A controller has no timer: whether feedback was missing is checked when a packet leaves, when an ACK arrives, and
//!   when TCP's own timer expires. Only departures use the rate, and a departure is never further away than half of the
//!   timer's interval, so that nothing is lost by that. TCP's timeout alone would be too late: it waits for at least
//!   200 ms.
//! - A departure that waits moves when the rate changes (section 4.6; [`crate::Needs::repaces`]). At a packet in many seconds the flow would
//!   otherwise not notice for as long that the path is back.
//! - A retransmission is TCP's business. It takes its turn among the departures, which the rate alone spaces.
//!
//! [`equation`] has the equation and its inverse, [`crate::loss_history`] events and intervals, [`receive_rate`] what arrives and
//! [`receive_set`] what is remembered of it, [`round_trip`] the averages of the round trip, [`allowed_rate`] the rate that follows,
//! [`controller`] the events.

mod allowed_rate;
mod controller;
mod equation;
mod params;
mod receive_rate;
mod receive_set;
mod round_trip;

pub use params::{InitialRate, TfrcParams};
