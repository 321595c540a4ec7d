//! C4, Christian's congestion control code (draft-huitema-ccwg-c4-spec, the editors' copy of August 2026 for version -05;
//! spec/ccwg-2026 section G). It is made for media over QUIC: low delay, sources that send less than they may, Wi-Fi.
//!
//! Two numbers describe the path. The *nominal rate* R is what it delivers, and the *nominal max RTT* M its largest round trip
//! without a queue of the flow's own, jitter included. The flow sends `alpha R`, with at most `alpha R (M + margin)` in flight.
//! Time is divided into *eras*: an era ends when a packet that was sent in it is acknowledged.
//!
//! - *Initial*: alpha is 2, and the window grows by what is acknowledged, by an eighth of that for each era without more rate. It ends
//!   after three such eras, at a loss once more than 20 packets arrived, or at a delay or marks after two. M is then half the
//!   window over R.
//! - *Resuming*: for two eras, rate and window are those of an earlier connection. The first one begins when the window is in flight.
//! - *Recovery*: alpha is 15/16 for an era, or 7/8 where a queue is to be drained. A probe that raised R without a signal is followed
//!   by Pushing; a round trip that varies by more than 5/2 by Initial; anything else by Cruising.
//! - *Cruising*: alpha is 1 for two eras, and until the application has enough to send.
//! - *Probing*: alpha is 17/16 for an era; 33/32 if the path has ever marked CE, because AQMs answer 6 % more at once.
//! - *Pushing*: alpha is 5/4. The first era measures what Recovery sent; from the second on, the state lasts while R reaches 19/16
//!   of what it was when the era began, three quarters of the increase that was tried. After more than three eras Initial follows.
//!
//! A *signal* is a round trip, a share of losses or a share of marks above a threshold. It leads to Recovery, and lowers R, by at most a
//! quarter, if the state was Cruising: elsewhere the rate sent was above R. The thresholds fall with the rate ([`sensitivity`]),
//! so that the larger of two flows reacts first, and the flows become equal. A second signal in a row sets R to what was measured since
//! the last Recovery. A cycle without signal or increase sets it to the mean of both (*trimming*).
//!
//! # Where the text leaves a choice
//!
//! - It replaces R by the estimate if R is *larger*, and says that estimates can only raise R: the comparison is the wrong way round,
//!   as R begins at 0.
//! - It adds the margin, a time, to the rate; its author's code adds it to M.
//! - The estimate is the delivery rate of draft-ietf-ccwg-bbr section 4.1, whose interval is never shorter than the text's. The text
//!   asks for caution, and the author's code has such a sample.
//! - Any increase of R keeps Initial, and a delay is a signal in every state. The author's code asks for a quarter more in an era
//!   ([`C4Params::initial_increase`]), and hears delays only where they measure what was sent above R ([`C4Params::delay`]).
//! - M is "set to the first RTT" and "not changed in Initial": the handshake sets it, and the end of Initial.
//! - Draining has alpha 3/4 in the table of states and 7/8 in its own section. It happens after Initial, after Pushing, or where an
//!   era's least round trip was below the running one, if more than R times that is in flight.
//! - High jitter restarts Initial each time, at the end of a Recovery that has updated M, so not of one after Initial, Probing or
//!   Pushing; -00 and the author's code do so once ([`C4Params::jitter_restarts`]).
//! - Persistent congestion *sets* R to the recent rate; here it lowers R to it, as in the author's code. Otherwise it would undo
//!   the reductions of signals that were not the flow's own.
//! - Signals may also lower M "in some condition" that is not given: they do not.
//! - One passage has four eras of Cruising and Pushing after it; the states' own sections have two and Probing.
//! - Losses that the retransmission timer alone finds are no signal. Nor is the timer itself.
//!
//! [`controller`] has the states, [`era`] what an era measures, [`sensitivity`] the thresholds, [`signals`] the shares.

mod controller;
mod era;
mod params;
mod sensitivity;
mod signals;
mod state;

pub use params::{C4Ce, C4Delay, C4Params};
