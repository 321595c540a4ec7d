//! The send buffer: how much the application may write ahead of what is acknowledged.
//!
//! Linux `net/ipv4/tcp.c` and `tcp_input.c` (`tcp_sndbuf_expand`), compared with recordings of 6.18; spec/congestion-control
//! section 1.20. The buffer is counted in the kernel's memory: each packet buffer takes its data and a block of its own.
//! The application writes until the buffer is full, which may be one packet buffer too late. Then it sleeps until a third
//! of the buffer is free (`sk_stream_min_wspace`), checked after each ACK, when everything that cwnd allows has been
//! sent. SACK frees memory too: adjacent SACKed segments are merged into one packet buffer (`tcp_shift_skb_data`), so that
//! the application can wake before a loss is repaired.
//!
//! It starts with `tcp_wmem[1]`. While the application sleeps it grows with cwnd: to two windows of the least efficient
//! buffers, or as many as the controller asks for, so that new data are there when a recovery has made room for them; up to
//! `tcp_wmem[2]`. It never shrinks.
//!
//! Left out: memory pressure, and SACKed segments that stay apart (a run that grows downwards, or has more than 17 page
//! fragments). With GSO a packet buffer is taken to hold one full burst; Linux fills it further (decision 0017).

use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::Packet;

use super::Sender;
use crate::config::Endpoint;
use crate::memory::Blocks;
use crate::params::TcpParams;

/// Segments that the buffer holds at least (`TCP_INIT_CWND`).
const LEAST_SEGMENTS: u64 = 10;
/// By how much the block of a packet's headers is longer than the longest headers (`MAX_TCP_HEADER`) and the record of
/// fragments, which a lone segment needs next to its data: it has headroom for what is received, too (`NET_SKB_PAD`).
/// Measured on 6.18, whose block has 576 bytes: what a segment needs doubles above 1536 bytes of data. It is 4096 bytes for
/// any full segment where the block has 704.
const HEADROOM: u64 = 64;
/// The record of the packet, outside of the block.
const RECORD: u64 = 256;
/// Headers without options: the segment size that the other end announces does not know of timestamps.
const PLAIN_HEADERS: Bytes = Bytes::new(40);

/// A send buffer that can be full.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    size: u64,
    largest: u64,
    autotuned: bool,
    /// Congestion windows that it should hold, and the memory that counts for a segment in this.
    windows: u64,
    segment: u64,
    /// The memory of an empty packet buffer: the block of its headers and its record.
    empty: u64,
    /// What the application still wants to write; [`Bytes::MAX`]: without end.
    waiting: Bytes,
}

impl SendBuffer {
    /// The buffer of an established connection; none if it has no limit.
    pub(crate) fn new(params: &TcpParams, endpoint: &Endpoint, windows: u32) -> Option<Box<SendBuffer>> {
        let largest = params.send_buffer?.get();
        let block = (endpoint.mtu - PLAIN_HEADERS).get() + params.header_block.get().saturating_sub(HEADROOM);
        let mut buffer = SendBuffer {
            size: if params.send_autotuning {
                params.initial_send_buffer.get().min(largest)
            } else {
                largest
            },
            largest,
            autotuned: params.send_autotuning,
            windows: u64::from(windows),
            segment: block.next_power_of_two() + RECORD,
            empty: Blocks::new(params).without_payload().get(),
            waiting: Bytes::ZERO,
        };
        buffer.grow(endpoint.iw / endpoint.mss());
        Some(Box::new(buffer))
    }

    /// It holds enough for a window of this many segments.
    fn grow(&mut self, segments: u64) {
        if self.autotuned {
            let wanted = self.windows * segments.max(LEAST_SEGMENTS) * self.segment;
            self.size = self.size.max(wanted.min(self.largest));
        }
    }

    /// Data that wait outside of it.
    pub(crate) const fn waiting(&self) -> Bytes {
        self.waiting
    }

    pub(crate) fn write(&mut self, bytes: Bytes) {
        self.waiting = Bytes::new(self.waiting.get().saturating_add(bytes.get()));
    }

    /// The application writes no more.
    pub(crate) fn stop(&mut self) {
        self.waiting = Bytes::ZERO;
    }

    /// The application writes until `used`, the memory in use, is not less than the size: in whole packet buffers with
    /// `data` each. Returns how much it writes.
    fn fill(&mut self, used: u64, data: Bytes) -> Bytes {
        let room = self.size.saturating_sub(used);
        let written = (data * room.div_ceil(data.get() + self.empty)).min(self.waiting);
        if self.waiting != Bytes::MAX {
            self.waiting -= written;
        }
        written
    }
}

impl Sender {
    /// The application has more to write than the send buffer takes.
    pub fn is_writing(&self) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.waiting() > Bytes::ZERO)
    }

    /// What the application has written into the connection; [`Bytes::MAX`] if that has no end and no limit.
    pub fn written(&self) -> Bytes {
        let sent = self.board.nxt().get() - Seq::FIRST_DATA.get();
        Bytes::new(sent.saturating_add(self.unsent.get()))
    }

    /// The application writes as much as the buffer takes.
    pub(super) fn fill_buffer(&mut self) {
        let (used, data) = (self.buffered(), self.mss * self.segments_per_buffer());
        if let Some(buffer) = &mut self.buffer {
            let written = buffer.fill(used, data);
            self.unsent += written;
            if written > Bytes::ZERO && buffer.waiting() > Bytes::ZERO {
                self.push.stop_at(self.board.nxt() + self.unsent);
            }
        }
    }

    /// Everything that can be sent has been sent: if an application that waits for room now writes something, the next
    /// packet.
    #[cold]
    #[inline(never)]
    pub(super) fn go_on_writing(&mut self, now: Time) -> Option<Packet> {
        if self.wake_writer(now) { self.poll_transmit(now) } else { None }
    }

    /// Wakes an application that waits for room, if there is enough. True if it wrote something.
    fn wake_writer(&mut self, now: Time) -> bool {
        if !self.is_writing() {
            return false;
        }
        // The application is not the limit: no reason to give up cwnd that is not used (`tcp_cwnd_application_limited`).
        self.validation.restart(now);
        let used = self.buffered();
        let window = (self.cwnd / self.mss).max(u64::from(self.reordering.dupthresh()) + 1);
        let Some(buffer) = &mut self.buffer else { return false };
        buffer.grow(window);
        let free = buffer.size.saturating_sub(used);
        if free == 0 || free < used / 2 {
            return false;
        }
        self.fill_buffer();
        true
    }

    /// The memory of what is not sent or not acknowledged. A run of SACKed segments shares a packet buffer.
    fn buffered(&self) -> u64 {
        let out = self.board.outstanding();
        let runs = self.board.sacked_runs();
        // Without SACK there are no runs, and duplicate ACKs free nothing.
        let merged = if runs > 0 { self.board.sacked().segments } else { 0 };
        let alone = out.segments - merged + self.unsent.get().div_ceil(self.mss.get());
        let buffers = runs + alone.div_ceil(self.segments_per_buffer());
        let empty = self.buffer.as_ref().map_or(0, |buffer| buffer.empty);
        (out.bytes + self.unsent).get() + buffers * empty
    }

    fn segments_per_buffer(&self) -> u64 {
        if self.tso.is_on() { self.tso.full() } else { 1 }
    }
}
