//! PSH: where the data end that the application has handed over.
//!
//! spec/congestion-control section 1.22; Linux `tcp_sendmsg_locked`, `tcp_push`, `forced_push`. A call that hands over data pushes its last segment, and so does
//! one that has to wait for room in the send buffer. A long call is pushed in between, once more than half of the largest
//! window that the receiver offered has been written since the last push. The flag belongs to the data: a retransmission
//! carries it, too (RFC 9293 section 3.9.1). Linux's receiver acknowledges a pushed segment at once, even a single one
//! (`ICSK_ACK_PUSHED`), which changes from time to time which segments share an ACK.
//!
//! Simplified: without a send buffer (`tcp.send_buffer`) the application is taken to write calls of `tcp.write_size` end to
//! end. In Linux the next call takes PSH off a segment that it can still append to, and a fast application is stopped by the
//! buffer instead, which is pushed just as well. With a send buffer it is as in Linux: calls end to end leave no mark, a full
//! buffer does.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{Packet, TcpFlags};

use super::Sender;

/// No data reach it.
const NEVER: Seq = Seq::new(u64::MAX);

/// What is to be pushed next.
#[derive(Debug)]
pub(crate) struct Push {
    /// What the application hands over with one call; 0 if nothing is pushed.
    call: Bytes,
    /// The end of the call under way.
    call_end: Seq,
    /// A segment that reaches this is pushed regardless of calls.
    forced: Seq,
    /// Where the send buffer was full, in data that are not sent yet; without one, calls end by themselves.
    #[expect(
        clippy::box_collection,
        reason = "senders are many, and few have a send buffer: 24 bytes less for each"
    )]
    stops: Option<Box<VecDeque<Seq>>>,
    /// The least of all these.
    due: Seq,
}

impl Push {
    pub(crate) fn new(write_size: Bytes, has_buffer: bool) -> Push {
        let mut push = Push {
            call: write_size,
            call_end: Seq::FIRST_DATA,
            forced: NEVER,
            stops: has_buffer.then(Box::default),
            due: Seq::FIRST_DATA,
        };
        push.begin_call(Seq::FIRST_DATA);
        push
    }

    /// The application hands over data from `at` on; everything before has been sent.
    pub(crate) fn begin_call(&mut self, at: Seq) {
        self.call_end = if self.stops.is_some() { NEVER } else { at + self.call };
        self.settle();
    }

    /// The receiver's first `window` is known; the data that come next begin at `at`, as if those before had been pushed.
    pub(crate) fn on_established(&mut self, at: Seq, window: Bytes) {
        self.forced = beyond_half(at, window);
        self.settle();
    }

    /// The application waits for room in the send buffer, which reaches up to `at`.
    pub(crate) fn stop_at(&mut self, at: Seq) {
        if let Some(stops) = &mut self.stops
            && self.call > Bytes::ZERO
        {
            stops.push_back(at);
            self.settle();
        }
    }

    /// A new segment that ends at `end` is pushed.
    #[inline]
    pub(crate) fn is_due(&self, end: Seq) -> bool {
        end >= self.due
    }

    /// A segment that ends at `end` is pushed; the receiver has offered `window` at most.
    fn pushed(&mut self, end: Seq, window: Bytes) {
        if end >= self.call_end && self.call > Bytes::ZERO {
            self.call_end = self.call_end + self.call * ((end - self.call_end) / self.call + 1);
        }
        if let Some(stops) = &mut self.stops {
            while stops.front().is_some_and(|at| *at <= end) {
                stops.pop_front();
            }
        }
        self.forced = beyond_half(end, window);
        self.settle();
    }

    fn settle(&mut self) {
        let stop = self.stops.as_ref().and_then(|stops| stops.front()).copied().unwrap_or(NEVER);
        self.due = if self.call > Bytes::ZERO { stop.min(self.call_end).min(self.forced) } else { NEVER };
    }
}

/// The least end of a segment that holds more than half of a window's data after `pushed`.
fn beyond_half(pushed: Seq, window: Bytes) -> Seq {
    pushed + window / 2 + Bytes::new(1)
}

impl Sender {
    /// The segment that was sent last, and is `packet`, carries PSH.
    #[cold]
    pub(super) fn push(&mut self, packet: &mut Packet) {
        packet.flags |= TcpFlags::PSH;
        self.board.push();
        self.push.pushed(self.board.nxt(), self.largest_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(bytes: u64) -> Seq {
        Seq::FIRST_DATA + Bytes::new(bytes)
    }

    /// Sends segments of 1000 bytes up to `end`. Returns where pushed ones end.
    fn send(push: &mut Push, from: u64, end: u64, window: u64) -> Vec<u64> {
        let ends = (from / 1000 + 1..=end / 1000).map(|n| n * 1000);
        ends.filter(|end| {
            let due = push.is_due(at(*end));
            if due {
                push.pushed(at(*end), Bytes::new(window));
            }
            due
        })
        .collect()
    }

    /// The segment with the last byte of each call: calls of 2500 bytes end in the third segment, the fifth, and so on; one
    /// after a pause counts from there.
    #[test]
    fn ends_of_calls() {
        let mut push = Push::new(Bytes::new(2500), false);
        assert_eq!(send(&mut push, 0, 10_000, 1 << 30), [3000, 5000, 8000, 10_000]);
        push.begin_call(at(11_000));
        assert_eq!(send(&mut push, 11_000, 17_000, 1 << 30), [14_000, 16_000]);
        let mut short = Push::new(Bytes::new(300), false);
        assert_eq!(send(&mut short, 0, 3000, 1 << 30), [1000, 2000, 3000], "several calls in a segment");
        let mut off = Push::new(Bytes::ZERO, false);
        off.begin_call(at(0));
        assert_eq!(send(&mut off, 0, 9000, 1000), [0; 0]);
    }

    /// The first half of a window counts from the start of the data (`tcp_connect` sets `pushed_seq`): a window of 65,160 bytes
    /// lets the 23rd segment of 1448 be pushed, which Linux 7.3.4's receiver acknowledges alone, as the last of 23 single ACKs
    /// (5 Mbit/s, 30 ms, `bytes_acked` every millisecond).
    #[test]
    fn the_first_half() {
        let mut push = Push::new(Bytes::new(131_072), false);
        push.begin_call(at(0));
        push.on_established(at(0), Bytes::new(65_160));
        let first = (1..=90).find(|n| push.is_due(at(n * 1448)));
        assert_eq!(first, Some(23));
    }

    /// More than half of the largest window since the last push is pushed (`after(write_seq, pushed_seq + max_window / 2)`).
    #[test]
    fn halves_of_windows() {
        let mut push = Push::new(Bytes::new(10_000), false);
        assert_eq!(send(&mut push, 0, 20_000, 8000), [10_000, 15_000, 20_000]);
    }

    /// With a send buffer the ends of calls leave no mark, but a full buffer does.
    #[test]
    fn full_buffers() {
        let mut push = Push::new(Bytes::new(2500), true);
        push.stop_at(at(4000));
        push.stop_at(at(6000));
        assert_eq!(send(&mut push, 0, 9000, 1 << 30), [4000, 6000]);
    }
}
