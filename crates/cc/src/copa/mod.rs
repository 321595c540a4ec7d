//! Copa (Arun and Balakrishnan, NSDI 2018; spec/congestion-control section 3.24).
//!
//! The sender aims at the rate `1 / (delta * dq)`, in segments per second, that maximises the logarithm of throughput less
//! `delta` times the logarithm of delay (section 2.1 of the paper). `dq` is the queueing delay: the standing round trip, which
//! is the least within half of the smoothed one, so that bunched ACKs do not count, less the least of the last ten
//! seconds. The window moves towards the target by `velocity / (delta * cwnd)` for each segment that arrives; n flows then hold
//! n/delta segments in the queue.
//!
//! - Slow start doubles the window in each round trip until the rate first exceeds the target.
//! - The velocity is 1; once the window has moved in one direction for three round trips it doubles in each. Three, because in
//!   equilibrium the window swings with a period of five round trips, and no direction lasts longer than 2.5 (section 3).
//! - Departures are paced at twice the window per standing round trip: no bursts, and never slower than the window allows.
//! - Flows of Copa alone empty the queue once in five round trips. If the queue was not nearly empty, below a tenth of
//!   its largest delay within four round trips, for that long, others fill it: the competitive mode then raises `1/delta` by
//!   one in each round trip and halves it at a loss, like Reno's window. It ends when the queue empties (section 2.2).
//!   Otherwise losses change nothing.
//!
//! The paper leaves six points to implementations:
//!
//! - The round trip of the handshake does not count: its packets are shorter than data, and the difference would look like a queue
//!   that never empties.
//! - A queue with less than one segment of the flow also counts as nearly empty. With a few segments queued, a tenth of the
//!   largest delay is less than a packet's time, and a flow alone would switch its mode.
//! - The five round trips count from the end of slow start, because until then the flow itself fills the queue.
//! - The velocity returns to 1 at once if the target is on the other side; a fast window would pass it by the rest of a
//!   round trip. It is at most what doubles the window in a round trip.
//! - After a timeout slow start begins again with the smallest window.
//! - An application that sends too little to use the window does not make it grow.
//!
//! With a small delta the window follows the target so closely that it hardly swings. The queue then does not empty, and flows of
//! Copa can take each other for others until a loss.
//!
//! [`controller`] has the events, [`delay`] the delays, [`extreme`] how they are remembered, [`velocity`] the direction and speed.

mod controller;
mod delay;
mod extreme;
mod params;
mod velocity;

pub use params::CopaParams;
