//! TCP small queues: how much of a connection may be in the queue of its own host, which is that of its network
//! interface.
//!
//! A segment waits while as much memory as the limit, or more, is occupied by packets of the connection that have not
//! left the host. The limit is a millisecond of data at the pacing rate, at least two packets like the one that is to
//! leave, and at most `tcp_limit_output_bytes`; it is doubled for retransmissions. A packet that leaves the host, or
//! that the host's queue drops, lets the sender try again. As long as at most one packet is outstanding nothing waits,
//! so that a packet that is slow to leave cannot stall the connection. Linux 6.18 `net/ipv4/tcp_output.c`, `tcp_small_queue_check` and `tcp_wfree`;
//! spec/congestion-control section 1.15.
//!
//! The memory of a packet is its payload, the block of its headers (`header_block`) and its record, measured on Linux 6.18
//! (`SO_MEMINFO`: a sender with a closed window queues 2280 bytes for each segment of 1448). A burst is one packet until the network card divides it: it has
//! one record, and its memory is free when its last segment has left. Linux's count starts at one, so a count equal to
//! the limit is over it. SYNs and FINs occupy a record; an ACK without data counts 2 bytes, and wakes no sender when it
//! leaves (`skb_set_tcp_pure_ack`).
//!
//! What leaves regardless of cwnd, because a timer asked for it or a recovery starts with it, is not withheld either.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Rate, Seq, Time};

use super::Sender;
use super::limits::Limited;
use crate::memory::Blocks;
use crate::params::TcpParams;

/// A millisecond as a shift (Linux's `sk_pacing_shift`): 2^-10 s.
const PACING_SHIFT: u32 = 10;
/// The memory of a packet that carries nothing but an ACK.
const PURE_ACK: Bytes = Bytes::new(2);
/// The limits of retransmissions are twice those of new data.
const RETRANSMISSIONS: u64 = 2;

/// A packet of the host: one segment, or a burst of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HostPacket {
    /// Its segments that are still in the host.
    segments: u64,
    memory: Bytes,
}

/// The packets of a connection that are in its host.
#[derive(Debug)]
pub(super) struct SmallQueues {
    limit_output: Bytes,
    /// What a packet occupies apart from its payload.
    record: Bytes,
    /// Packets in the host, in the order in which they were sent.
    packets: VecDeque<HostPacket>,
    memory: Bytes,
    /// The first byte of the newest packet with new data.
    newest: Seq,
    /// A segment waits until a packet leaves the host.
    throttled: bool,
}

impl SmallQueues {
    /// None if the host's queue is not limited.
    pub(super) fn new(params: &TcpParams) -> Option<Box<SmallQueues>> {
        let queues = || {
            Box::new(SmallQueues {
                limit_output: params.limit_output_bytes,
                record: Blocks::new(params).without_payload(),
                packets: VecDeque::new(),
                memory: Bytes::ZERO,
                newest: Seq::SYN,
                throttled: false,
            })
        };
        params.small_queues.then(queues)
    }

    /// The limit for new data at the pacing rate `rate`, which is zero before it is known, while a packet with this
    /// much payload is to leave.
    fn limit(&self, rate: Rate, payload: Bytes) -> Bytes {
        let rate = if rate == Rate::ZERO { u64::MAX } else { rate.bits_per_sec() / 8 };
        Bytes::new(rate >> PACING_SHIFT).max((payload + self.record) * 2).min(self.limit_output)
    }

    /// A segment with `payload` left, the first of a packet if `first`.
    fn sent(&mut self, payload: Bytes, first: bool) {
        match self.packets.back_mut() {
            Some(packet) if !first => {
                packet.segments += 1;
                packet.memory += payload;
                self.memory += payload;
            }
            _ => self.push(payload + self.record),
        }
    }

    fn push(&mut self, memory: Bytes) {
        self.packets.push_back(HostPacket { segments: 1, memory });
        self.memory += memory;
    }

    /// A segment has left the host. Returns whether the sender waits for that.
    fn left(&mut self) -> bool {
        let Some(oldest) = self.packets.front_mut() else { return false };
        oldest.segments -= 1;
        if oldest.segments > 0 {
            return false;
        }
        let memory = oldest.memory;
        self.packets.pop_front();
        self.memory -= memory;
        memory > PURE_ACK && std::mem::take(&mut self.throttled)
    }

    /// No data are in the host.
    pub(super) fn is_empty(&self) -> bool {
        self.memory < self.record
    }
}

impl Sender {
    /// A packet of this sender has left its host, or its host has dropped it. Call [`Sender::poll_transmit`] when
    /// [`Sender::next_timer`] says so.
    pub fn left_host(&mut self, now: Time) {
        if let Some(queues) = &mut self.small_queues
            && queues.left()
        {
            self.wake = now;
        }
    }

    /// The memory that packets of this sender occupy in its host; counted with small queues alone.
    pub fn in_host(&self) -> Bytes {
        self.small_queues.as_ref().map_or(Bytes::ZERO, |queues| queues.memory)
    }

    /// A packet with this much payload is to leave, with new data if `new`. Returns what prevents it, if the host's
    /// queue does.
    #[cold]
    pub(super) fn check_small_queue(&mut self, new: bool, payload: Bytes) -> Result<(), Limited> {
        let rate = self.pacer.estimate();
        let Some(queues) = &mut self.small_queues else { return Ok(()) };
        let limit = queues.limit(rate, payload) * if new { 1 } else { RETRANSMISSIONS };
        let single = self.board.is_empty() || self.board.una() >= queues.newest;
        if queues.memory < limit || single {
            return Ok(());
        }
        queues.throttled = true;
        Err(Limited::Host)
    }

    /// The payload of the packet that a segment with `payload` starts: that of its burst, if it is of new data.
    pub(super) fn burst_payload(&self, payload: Bytes) -> Bytes {
        if payload < self.mss { payload } else { (self.mss * self.tso.ahead().max(1)).min(self.unsent) }
    }

    /// A segment left: of the packet that left before, unless it is the `first` of one.
    #[cold]
    pub(super) fn enters_host(&mut self, seq: Seq, payload: Bytes, first: bool, retransmission: bool) {
        if let Some(queues) = &mut self.small_queues {
            queues.sent(payload, first);
            if first && !retransmission {
                queues.newest = seq;
            }
        }
    }

    /// A SYN left.
    pub(super) fn syn_enters_host(&mut self) {
        if let Some(queues) = &mut self.small_queues {
            queues.push(queues.record);
        }
    }

    /// An ACK without data left.
    pub(super) fn ack_enters_host(&mut self) {
        if let Some(queues) = &mut self.small_queues {
            queues.push(PURE_ACK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);

    fn queues(limit_output_bytes: Bytes) -> SmallQueues {
        let params = TcpParams { small_queues: true, limit_output_bytes, ..TcpParams::default() };
        *SmallQueues::new(&params).expect("they are on")
    }

    /// spec/congestion-control section 1.15: two packets of 1448 + 832 bytes at low rates; at 100 Mbit/s, 12 500 000 /
    /// 1024 bytes; never more than `tcp_limit_output_bytes`, not even before the rate is known; a burst counts one
    /// record.
    #[test]
    fn the_limit() {
        let default = queues(TcpParams::default().limit_output_bytes);
        assert_eq!(default.limit(Rate::from_mbps(1), MSS), Bytes::new(4560));
        assert_eq!(default.limit(Rate::from_mbps(100), MSS), Bytes::new(12_207));
        assert_eq!(default.limit(Rate::from_mbps(100), MSS * 8), Bytes::new(2 * (8 * 1448 + 832)));
        assert_eq!(default.limit(Rate::from_mbps(100_000), MSS), Bytes::new(4 << 20));
        assert_eq!(default.limit(Rate::ZERO, MSS), Bytes::new(4 << 20));
        assert_eq!(queues(Bytes::new(5000)).limit(Rate::from_mbps(100), MSS), Bytes::new(5000));
        assert!(SmallQueues::new(&TcpParams::default()).is_none());
    }

    /// A burst of three counts one record, and its memory is free when its last segment has left. A segment that leaves
    /// wakes only a sender that waits, and once.
    #[test]
    fn memory_is_returned() {
        let mut queues = queues(Bytes::new(5000));
        for first in [true, false, false, true] {
            queues.sent(MSS, first);
        }
        assert_eq!(queues.memory, Bytes::new(3 * 1448 + 832 + 2280));
        queues.throttled = true;
        assert_eq!([queues.left(), queues.left()], [false, false]);
        assert_eq!(queues.memory, Bytes::new(3 * 1448 + 832 + 2280));
        assert!(queues.left());
        assert_eq!(queues.memory, Bytes::new(2280));
        assert!(!queues.left(), "it has been woken");
        assert_eq!((queues.memory, queues.packets.len()), (Bytes::ZERO, 0));
        assert!(!queues.left(), "nothing is in the host");
    }

    /// A pure ACK that leaves does not wake the sender; the segment behind it does.
    #[test]
    fn a_pure_ack() {
        let mut queues = queues(Bytes::new(5000));
        queues.push(PURE_ACK);
        queues.sent(MSS, true);
        queues.throttled = true;
        assert_eq!([queues.left(), queues.left()], [false, true]);
    }

    /// The host drops the first segment of a burst while the rest still leaves: the rest is a packet of its own.
    #[test]
    fn a_burst_whose_first_segment_is_dropped() {
        let mut queues = queues(Bytes::new(5000));
        queues.sent(MSS, true);
        queues.left();
        queues.sent(MSS, false);
        assert_eq!(queues.memory, Bytes::new(2280));
        queues.left();
        assert_eq!(queues.memory, Bytes::ZERO);
    }

    /// An ACK alone occupies the host with 2 bytes, and that is no data; a SYN's record counts as such.
    #[test]
    fn no_data() {
        let mut queues = queues(Bytes::new(5000));
        assert!(queues.is_empty());
        queues.push(PURE_ACK);
        assert!(queues.is_empty());
        queues.left();
        queues.push(queues.record);
        assert!(!queues.is_empty());
    }
}
