//! GCC, Google Congestion Control: a rate for media from the trend of the delay, and from losses (draft-ietf-rmcat-gcc-02, July
//! 2016, the last; spec/ccwg-2026 section K.4). It is what WebRTC has.
//!
//! Two controllers estimate what the path can carry, and the smaller estimate is the rate. The *delay-based* one asks how
//! much longer each group of packets took than the one before: if a filter of these variations is above a threshold, the
//! rate exceeds the path (*over-use*), long before a queue is full. The *loss-based* one is for queues too short for that.
//!
//! - A group is what leaves within 5 ms, because a pacer sends in bursts; what arrives in a burst after an outage joins it.
//! - The Kalman filter takes q = 10^-3 for the state's noise, and measures that of the path: at least 1 ms^2, where it
//!   follows 32 groups late. WebRTC's code now has the slope of a line through 20 smoothed delays (`filter = "trendline"`;
//!   0.9 kept in smoothing, gain 4), with other gains of the threshold.
//! - The threshold follows the trend: within a tenth of a second up (`K_u`), in 5.6 s down (`K_d`). A fixed one starves next to
//!   flows that fill the queue, because they exceed it all the time.
//! - Over-use leaves 0.85 of what arrives: less than the capacity, so that the queue drains. While the queue drains
//!   (*under-use*) the rate holds. Then it grows by 8 % in a second, or near the rates at which it was reduced by half a
//!   packet in each response time.
//! - Losses below 2 % are none, those up to 10 % hold the rate, because they need not be of its own making; more take half of
//!   their share.
//!
//! The text leaves points open; section K.4 has them with what is done here, and what of it shows in runs. The largest is
//! `max_deltas`: the text compares the variation of one group with a threshold for the delay of many, and detects nothing.
//!
//! Both run at the sender, from the arrivals of all packets in reports (section 3, the first version). A transport that
//! tells only of the newest packet, such as TCP, gives coarser groups.
//!
//! [`controller`] has the events, [`groups`] the arrivals and what they say, [`kalman`] and [`trendline`] the filters, [`detector`] the
//! threshold, [`received`] the rate that arrives, [`delay_based`] and [`loss_based`] the two estimates.

mod controller;
mod delay_based;
mod detector;
mod groups;
mod kalman;
mod loss_based;
mod params;
mod received;
mod trendline;

pub use params::{GccFilter, GccParams};
