//! A path without a path: packets leave in a fixed rhythm while the window has room, and each is acknowledged by an ACK of
//! its own after one round trip. One is lost, and found lost by the time threshold (RFC 9002 section 6.1.2), between two
//! ACKs, so that it does not matter whether a sender looks for losses before it counts an ACK or after.

use std::collections::VecDeque;

use windtunnel_units::{Duration, Time};

/// The payload of each packet in bytes: ten are an initial window in TCP and in QUIC.
pub(crate) const MSS: u16 = 1_400;
pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(40);

/// From a departure to the next: 200 packets fill a round trip.
const RHYTHM: Duration = Duration::from_micros(200);
const TICKS: u64 = 10_000;

/// After the last event.
pub(crate) const END: Time = Time::from_nanos(3_000_000_000);

/// A departure in the middle.
pub(crate) const LONG_BEFORE: Time = Time::from_nanos(1_000_000_000);

/// The packet that is lost: one of the fourth round of slow start.
const LOST: u64 = 150;

/// What makes the calls to a controller.
pub(crate) trait Sender {
    /// A packet leaves.
    fn sent(&mut self, now: Time);

    /// The packet that left at `sent` is acknowledged; `in_flight` bytes are left.
    fn acked(&mut self, now: Time, sent: Time, in_flight: u64);

    /// The packet that left at `sent` is lost.
    fn lost(&mut self, now: Time, sent: Time);

    /// The window in bytes.
    fn window(&self) -> u64;
}

/// The windows after each event of two seconds.
pub(crate) fn windows(sender: &mut dyn Sender) -> Vec<u64> {
    let mut flying = VecDeque::new();
    let mut windows = Vec::new();
    let mut number = 0;
    for tick in 1..=TICKS {
        let now = Time::ZERO + RHYTHM * tick;
        let arrives = |sent: Time| now >= sent + ROUND_TRIP;
        if flying.front().is_some_and(|&(n, sent)| n == LOST && now >= sent + ROUND_TRIP * 9 / 8) {
            let (_, sent) = flying.pop_front().expect("it is there");
            sender.lost(now, sent);
            windows.push(sender.window());
        }
        let now = now + RHYTHM / 2;
        if let Some(at) = flying.iter().position(|&(n, _)| n != LOST).filter(|at| arrives(flying[*at].1)) {
            let (_, sent) = flying.remove(at).expect("it is there");
            sender.acked(now, sent, u64::from(MSS) * flying.len() as u64);
            windows.push(sender.window());
        }
        if u64::from(MSS) * (flying.len() as u64 + 1) <= sender.window() {
            flying.push_back((number, now));
            number += 1;
            sender.sent(now);
        }
    }
    assert!(flying.front().is_some_and(|&(first, _)| first > LOST), "one is lost, and others follow");
    windows
}
