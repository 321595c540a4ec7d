//! The receive buffer of a Linux host, and how the window that it offers grows.
//!
//! Linux does not offer all that its buffer holds, but only what it has seen that it can hold: a threshold
//! (`rcv_ssthresh`) starts at half of the first buffer less a segment (`tcp_select_initial_window`,
//! `tcp_init_buffer_space`), and rises by two full segments, or twice the segment if that is more, for each segment that
//! arrives with little enough memory in addition to its data (`tcp_grow_window`). It stops at the clamp (the share of the
//! buffer that the scaling ratio allows) and at the free memory. Each time it rises, the receiver acknowledges at once, so
//! that the sender hears of the larger window and its own window grows with each segment in slow start. Out-of-order data
//! occupy memory until the gap before them is filled; a segment that follows the last one joins its buffer, if it came from
//! a sender's memory.
//!
//! The buffer itself starts at 128 KiB and grows as [`Autotuning`] asks; without it, all of it is there at once. Facts: `net/ipv4/tcp_input.c` and
//! `tcp_output.c`; the numbers were compared with recordings of Linux 6.18's receiver (`tests/tcp/linux_receiver.rs`).
//! Left out: memory pressure, a buffer that overflows with short segments, an application that reads late.

use windtunnel_units::{Bytes, Seq, Time};

use super::autotuning::Autotuning;
use super::segment::Segment;
use super::segment_size::{Measured, SegmentSize};
use crate::config::Endpoint;
use crate::memory::{Blocks, Ratio};
use crate::params::TcpParams;

/// `net.ipv4.tcp_rmem[1]`.
const INITIAL_BUFFER: u64 = 131_072;
/// The largest window of a SYN|ACK.
const UNSCALED: u64 = 65_535;
/// With less than two packets of memory, nothing could be received while one packet waits to be read.
const LEAST_PACKETS: u64 = 2;
/// Segments shorter than this never open the window.
const LEAST_SEGMENT: u64 = 128;

/// The data that wait above a gap.
#[derive(Debug, Default)]
struct OutOfOrder {
    memory: u64,
    bytes: u64,
    /// The last buffer: where it ends, and how many packets it has.
    last_end: Seq,
    last_packets: u64,
}

#[derive(Debug)]
pub(super) struct Buffer {
    mss: u64,
    headers: Bytes,
    blocks: Blocks,
    /// The memory of a full segment.
    full: u64,
    size: u64,
    largest: u64,
    ratio: Ratio,
    /// Made for the first of them: most flows lose nothing.
    out_of_order: Option<Box<OutOfOrder>>,
    /// The memory of the data that the application has not read yet.
    unread: u64,
    /// The largest window that may be offered, and the one that is offered.
    clamp: u64,
    threshold: u64,
    grows: bool,
    /// A new ratio moves the threshold too.
    sets_clamp: bool,
    autotuning: Option<Autotuning>,
}

impl Buffer {
    pub(super) fn new(endpoint: &Endpoint, params: &TcpParams) -> Buffer {
        let mss = endpoint.mss().get();
        let blocks = Blocks::new(params);
        let full = blocks.received(endpoint.headers, endpoint.mss());
        let largest = Ratio::of(mss, full).memory(params.receive_window.get()).max(LEAST_PACKETS * full);
        let ratio = Ratio::INITIAL;
        let size = if params.autotuning { INITIAL_BUFFER.min(largest) } else { largest };
        let room = ratio.window(size);
        let clamp = if room > 2 * mss { room - mss } else { room };
        let threshold = first_window(params, endpoint.mss());
        Buffer {
            mss,
            headers: endpoint.headers,
            blocks,
            full,
            size,
            largest,
            ratio,
            out_of_order: None,
            unread: 0,
            clamp,
            threshold: threshold.min(clamp),
            grows: params.window_growth,
            sets_clamp: params.set_window_clamp,
            autotuning: params.autotuning.then(|| Autotuning::new(endpoint.mss(), Bytes::new(threshold))),
        }
    }

    /// The window that can be offered now. The second is true while less than half of the buffer is free.
    #[inline]
    pub(super) fn offer(&self) -> (Bytes, bool) {
        let free = self.ratio.window(self.free());
        let half = self.clamp.min(self.ratio.window(self.size)) / 2;
        (Bytes::new(free.min(self.threshold)), free < half)
    }

    /// A window is at most half of what the buffer supports.
    #[inline]
    pub(super) fn is_small(&self, window: Bytes) -> bool {
        window.get() * 2 <= self.clamp
    }

    /// The sender has seen the SYN|ACK.
    pub(super) fn on_established(&mut self, now: Time) {
        if let Some(autotuning) = &mut self.autotuning {
            autotuning.on_established(now);
        }
    }

    /// A segment arrived, in order or not: its echo shows the round trip.
    #[inline]
    pub(super) fn on_echo(&mut self, segment: &Segment, sizes: &SegmentSize, now: Time) {
        if let Some(autotuning) = &mut self.autotuning {
            autotuning.on_echo(segment, sizes.estimate(), now);
        }
    }

    /// A segment in order arrived; `offered` is the window of the last ACK. True if the window may grow: the segment
    /// is then acknowledged at once.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        segment: &Segment,
        measured: Measured,
        sizes: &SegmentSize,
        offered: Bytes,
        now: Time,
    ) -> bool {
        let memory = self.memory_of(segment);
        self.unread = memory;
        self.measure(segment, memory, measured, offered);
        if let Some(autotuning) = &mut self.autotuning {
            autotuning.on_segment(segment, offered, now);
        }
        self.grow(segment, self.blocks.queued(memory), sizes)
    }

    /// A segment above a gap arrived with `new` bytes that had not arrived before; `extent` is the distance from the
    /// gap to the end of the highest segment.
    pub(super) fn on_out_of_order(
        &mut self,
        segment: &Segment,
        measured: Measured,
        sizes: &SegmentSize,
        offered: Bytes,
        extent: Bytes,
        selective: bool,
    ) -> bool {
        let memory = self.memory_of(segment);
        self.measure(segment, memory, measured, offered);
        let memory = self.join(segment, memory);
        let grown = selective && self.grow(segment, memory, sizes);
        let waiting = self.out_of_order.get_or_insert_default();
        waiting.memory += memory;
        waiting.bytes += segment.len().get();
        if let Some(autotuning) = &self.autotuning {
            let window = autotuning.window_with(extent);
            self.resize(window.get());
        }
        grown
    }

    /// The memory of a segment above a gap, which may join the last buffer.
    fn join(&mut self, segment: &Segment, memory: u64) -> u64 {
        let (waiting, packets) = (self.out_of_order.get_or_insert_default(), u64::from(segment.packets));
        let joins = segment.seq == waiting.last_end && self.blocks.share(waiting.last_packets + packets);
        if segment.end > waiting.last_end {
            waiting.last_end = segment.end;
            waiting.last_packets = if joins { waiting.last_packets + packets } else { packets };
        }
        if joins { self.blocks.queued(memory) } else { memory }
    }

    /// A segment filled a gap: this many bytes that lay above it now wait to be read.
    pub(super) fn on_gap_filled(&mut self, above: Bytes, nothing_missing: bool) {
        let Some(waiting) = self.out_of_order.as_deref_mut() else { return };
        let bytes = above.get().min(waiting.bytes);
        let memory = if nothing_missing || bytes == waiting.bytes {
            std::mem::take(waiting).memory
        } else {
            let memory = u128::from(waiting.memory) * u128::from(bytes) / u128::from(waiting.bytes);
            waiting.bytes -= bytes;
            waiting.memory -= memory as u64;
            memory as u64
        };
        self.unread += memory;
    }

    /// The end of the first buffer that can be read after a segment that ends at `end` has filled a gap.
    pub(super) fn first_read(&self, end: Seq, rcv_nxt: Seq) -> Seq {
        let above = (rcv_nxt - end) / Bytes::new(self.mss);
        if self.blocks.share(1 + above) { rcv_nxt } else { end }
    }

    /// The application has read everything below `rcv_nxt`. The first buffer that it read ended at `first`. Data above a gap
    /// reach up to `extent` beyond `rcv_nxt`.
    #[inline]
    pub(super) fn on_read(&mut self, first: Seq, rcv_nxt: Seq, extent: Bytes, now: Time) {
        self.unread = 0;
        if let Some(autotuning) = &mut self.autotuning
            && let Some(window) = autotuning.on_read(first, rcv_nxt, extent, now)
        {
            self.resize(window.get());
        }
    }

    /// The memory of the data above a gap.
    #[inline]
    fn held_back(&self) -> u64 {
        self.out_of_order.as_ref().map_or(0, |waiting| waiting.memory)
    }

    #[inline]
    fn free(&self) -> u64 {
        self.size.saturating_sub(self.held_back() + self.unread)
    }

    #[inline]
    fn memory_of(&self, segment: &Segment) -> u64 {
        let len = segment.len().get();
        if len == self.mss {
            self.full
        } else if segment.packets > 1 {
            self.full * u64::from(segment.packets)
        } else {
            self.blocks.received(self.headers, segment.len())
        }
    }

    /// The largest segment so far determines the ratio.
    #[inline]
    fn measure(&mut self, segment: &Segment, memory: u64, measured: Measured, offered: Bytes) {
        if !measured.larger {
            return;
        }
        let ratio = Ratio::of(segment.len().get(), memory);
        if ratio == self.ratio {
            return;
        }
        self.ratio = ratio;
        let before = std::mem::replace(&mut self.clamp, ratio.window(self.size));
        if !self.sets_clamp {
            // The threshold stays where it is.
        } else if self.clamp < before {
            self.threshold = self.threshold.min(self.clamp);
        } else {
            self.threshold = self.threshold.max(offered.get().min(self.clamp));
        }
        if let Some(autotuning) = &mut self.autotuning {
            autotuning.clamp(Bytes::new(self.clamp));
        }
    }

    /// The threshold after a segment; true if it rose.
    #[inline]
    fn grow(&mut self, segment: &Segment, memory: u64, sizes: &SegmentSize) -> bool {
        let len = segment.len().get();
        if !self.grows {
            self.threshold = self.threshold.max(self.clamp);
            return false;
        }
        // Once the window is as large as it can be, no memory need be counted.
        if self.clamp <= self.threshold {
            return false;
        }
        let most = self.clamp.min(self.ratio.window(self.free()));
        if most <= self.threshold || len < LEAST_SEGMENT {
            return false;
        }
        let step = if self.ratio.window(memory) <= len {
            2 * self.mss
        } else {
            self.step_of_small_segments(len, memory, sizes)
        };
        if step > 0 {
            self.threshold = most.min(self.threshold + step.max(2 * len));
        }
        step > 0
    }

    /// Much of the memory is not data: the window grows while it is small compared with the largest one.
    #[cold]
    fn step_of_small_segments(&self, len: u64, memory: u64, sizes: &SegmentSize) -> u64 {
        let mut memory = self.ratio.window(memory) / 2;
        let mut window = self.ratio.window(self.largest) / 2;
        while self.threshold <= window {
            if memory <= len {
                return 2 * sizes.estimate().get();
            }
            memory /= 2;
            window /= 2;
        }
        0
    }

    /// Enlarges the buffer, if necessary, until it supports a window.
    fn resize(&mut self, window: u64) {
        let size = self.ratio.memory(window).min(self.largest);
        if size > self.size {
            self.size = size;
            self.clamp = self.ratio.window(size);
        }
    }
}

/// The window of the SYN|ACK: the first window, limited by the 16 bits of the field.
pub(super) fn initial_window(params: &TcpParams, mss: Bytes) -> u16 {
    first_window(params, mss).clamp(1, UNSCALED) as u16
}

/// The first window: the whole segments that the initial buffer supports (`tcp_select_initial_window`).
fn first_window(params: &TcpParams, mss: Bytes) -> u64 {
    let memory = Ratio::INITIAL.memory(params.receive_window.get());
    let buffer = if params.autotuning { INITIAL_BUFFER.min(memory) } else { memory };
    let window = Ratio::INITIAL.window(buffer);
    if window > mss.get() { window / mss.get() * mss.get() } else { window }
}

#[cfg(test)]
mod tests {
    use windtunnel_wire::{Dscp, Ecn, FlowId, TcpFlags};

    use super::*;
    use crate::config::HEADERS;
    use crate::memory::Truesize;
    use crate::scheme::FeedbackScheme;

    const MSS: u64 = 1448;

    fn segment(len: u64, packets: u32) -> Segment {
        Segment {
            ack: Seq::SYN,
            seq: Seq::FIRST_DATA,
            end: Seq::FIRST_DATA + Bytes::new(len),
            ts_val: Time::ZERO,
            ts_ecr: Time::ZERO,
            packets,
            flags: TcpFlags::ACK,
            ecn: Ecn::NotEct,
        }
    }

    fn endpoint() -> Endpoint {
        Endpoint {
            flow: FlowId::new(0),
            mtu: Bytes::new(MSS) + HEADERS,
            headers: HEADERS,
            iw: Bytes::new(MSS) * 10,
            paced: false,
            needs_ecn: false,
            ecn: Ecn::NotEct,
            feedback: FeedbackScheme::None,
            dscp: Dscp::DEFAULT,
        }
    }

    /// A buffer for a window of 1 MiB, which a full segment has set to the ratio 160/256 (1448 of 2304 bytes):
    /// 1,677,721 bytes of memory; and the sizes of its sender's segments.
    fn buffer() -> (Buffer, SegmentSize) {
        let endpoint = endpoint();
        let params =
            TcpParams { receive_window: Bytes::new(1 << 20), autotuning: false, ..TcpParams::default() };
        let mut buffer = Buffer::new(&endpoint, &params);
        let mut sizes = SegmentSize::new(endpoint.mss());
        let full = segment(MSS, 1);
        let measured = sizes.on_segment(&full);
        assert!(buffer.on_data(&full, measured, &sizes, Bytes::new(65_535), Time::ZERO));
        assert_eq!((buffer.size, buffer.clamp), (1_677_721, (1 << 20) - 1));
        (buffer, sizes)
    }

    /// A full segment occupies 2304 bytes, alone or as one of several that GRO merged, and short ones what their
    /// block takes.
    #[test]
    fn memory() {
        let (buffer, _) = buffer();
        for (len, packets, memory) in
            [(MSS, 1, 2304), (200, 1, 1280), (100, 1, 832), (2 * MSS, 2, 4608), (9 * MSS + 1, 10, 23_040)]
        {
            assert_eq!(buffer.memory_of(&segment(len, packets)), memory, "{packets} with {len} bytes");
        }
    }

    /// Linux's `tcp_grow_window`: a segment that fills its share of memory (1440 bytes of 2304) lets the window grow
    /// by two full ones, or twice its length if that is more. Of 600 bytes, which fill half of their share, it does
    /// so up to a quarter of the largest window (`__tcp_grow_window`: both are halved once more, 1440/4 < 600), of
    /// 300 (a share of 800 bytes) likewise, of 128 (520/8 < 128 <= 520/4) up to an eighth; shorter ones never. Growth
    /// ends at the clamp.
    #[test]
    fn growth() {
        let largest = (1 << 20) - 1;
        for (len, packets, threshold, step) in [
            (MSS, 1, 65_535, 2 * MSS),
            (MSS, 1, largest - 10_000, 2 * MSS),
            (1440, 1, 65_535, 2 * MSS),
            (10 * MSS, 10, 65_535, 20 * MSS),
            (600, 1, largest / 4, 2 * MSS),
            (600, 1, largest / 4 + 1, 0),
            (300, 1, largest / 4, 2 * MSS),
            (300, 1, largest / 4 + 1, 0),
            (128, 1, largest / 8, 2 * MSS),
            (128, 1, largest / 8 + 1, 0),
            (127, 1, 65_535, 0),
        ] {
            let (mut buffer, sizes) = buffer();
            buffer.threshold = threshold;
            let segment = segment(len, packets);
            let memory = buffer.memory_of(&segment);
            assert_eq!(buffer.grow(&segment, memory, &sizes), step > 0, "{len} bytes at {threshold}");
            assert_eq!(buffer.threshold - threshold, step, "{len} bytes at {threshold}");
        }
        let (mut buffer, sizes) = buffer();
        for (threshold, grown) in [(largest - 1500, true), (largest, false)] {
            buffer.unread = 0;
            buffer.threshold = threshold;
            assert_eq!(buffer.grow(&segment(MSS, 1), 2304, &sizes), grown);
            assert_eq!(buffer.threshold, largest, "the clamp");
        }
    }

    /// The window of Linux 7.3.4 between namespaces after each of the first seven segments (`tcpi_rcv_ssthresh` whenever the
    /// application has read; 40 Mbit/s and 40 ms, Reno over bfifo and over choke, and 25 Mbit/s and 30 ms over cake: all
    /// alike). That kernel was built without tunnels. The window starts a segment below the 64 KiB that the initial
    /// buffer supports and stops where the free memory ends, that is 131,072 bytes less a packet of 2344 at 158/256.
    #[test]
    fn measured_at_the_start() {
        let stops = 79_449;
        assert_eq!(start(640, false), [66_984, 69_880, 72_776, 75_672, 78_568, stops, stops]);
    }

    /// Without autotuning, all of the buffer is there at once: of 1,677,721 bytes, half (`TCP_DEFAULT_SCALING_RATIO`) in whole
    /// segments (`tcp_select_initial_window`), and with one segment in reserve (`tcp_init_buffer_space`). The SYN|ACK can
    /// say 65,535 of it. From there it rises by two segments for each, as always. A buffer that grows starts with the
    /// half of 128 KiB, however much it may have.
    #[test]
    fn the_first_window() {
        let of = |autotuning| {
            let params =
                TcpParams { receive_window: Bytes::new(1 << 20), autotuning, ..TcpParams::default() };
            let threshold = Buffer::new(&endpoint(), &params).threshold;
            (u64::from(initial_window(&params, endpoint().mss())), threshold)
        };
        assert_eq!(of(false), (65_535, 838_860 - MSS));
        assert_eq!(of(true), (65_160, 65_536 - MSS));
        assert_eq!(buffer().0.threshold, 838_860 - MSS + 2 * MSS);
    }

    /// By the rules of `tcp_grow_window`: with longer blocks (2408 bytes, 153/256) the window stops earlier. Where the
    /// ratio moves the window (`tcp_set_window_clamp`) it starts from the 65,160 bytes of the SYN|ACK.
    #[test]
    fn other_kernels_at_the_start() {
        let stops = (131_072 - 2408) * 153 / 256;
        assert_eq!(start(704, false), [66_984, 69_880, 72_776, 75_672, stops, stops, stops]);
        let stops = (131_072 - 2344) * 158 / 256;
        assert_eq!(start(640, true), [68_056, 70_952, 73_848, 76_744, stops, stops, stops]);
    }

    /// The window after each of seven full segments, all read at once.
    fn start(header_block: u64, set_window_clamp: bool) -> [u64; 7] {
        let header_block = Bytes::new(header_block);
        let truesize = Truesize::Sender;
        let params = TcpParams { truesize, header_block, set_window_clamp, ..TcpParams::default() };
        let endpoint = endpoint();
        let mut buffer = Buffer::new(&endpoint, &params);
        let mut sizes = SegmentSize::new(endpoint.mss());
        let offered = Bytes::new(u64::from(initial_window(&params, endpoint.mss())));
        [(); 7].map(|()| {
            let full = segment(MSS, 1);
            let measured = sizes.on_segment(&full);
            buffer.on_data(&full, measured, &sizes, offered, Time::ZERO);
            buffer.on_read(full.end, full.end, Bytes::ZERO, Time::ZERO);
            buffer.threshold
        })
    }

    /// Little memory: less than half of the window that the whole buffer supports is left (Linux
    /// `__tcp_select_window`). 838,860 of 1,677,721 bytes support 524,287 bytes of 1,048,575; one packet less does
    /// not.
    #[test]
    fn half_of_the_buffer() {
        let (mut buffer, _) = buffer();
        buffer.unread = 0;
        for (occupied, low) in
            [(0, false), (838_861, false), (838_861 + 2304, true), (1_677_721, true), (2_000_000, true)]
        {
            buffer.out_of_order = Some(Box::new(OutOfOrder { memory: occupied, ..OutOfOrder::default() }));
            assert_eq!(buffer.offer().1, low, "{occupied} bytes");
        }
    }
}
