//! How much of the receive buffer a packet occupies: more than its data.
//!
//! Linux counts a receive buffer in memory, not in data: each packet occupies the block in which it was allocated and
//! the kernel's record of it (`truesize`). The window offered is therefore a share of the free memory, the scaling
//! ratio: it starts at one half and then follows what the largest segment seen so far needs.
//!
//! The size depends on where the packet came from ([`Truesize`]), and with it how far the window opens, and which segments
//! of a slow start are acknowledged at once. A driver's blocks (`kmalloc`) are powers of two that hold headroom, packet
//! and record; short packets come from a pool of smaller blocks. These sizes were measured on Linux 6.18 (`SO_MEMINFO`).
//! A packet from another namespace of the same host has its headers in a block of that pool and its payload in pages
//! next to it, as `tcp_sendmsg` laid it down. The pool's blocks (`skbuff_small_head`) hold the longest headers that the kernel
//! was built for, so that their size depends on its configuration: [`Blocks`] has it as a parameter. These sizes were
//! measured in two kernels, at receivers that do not read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::Bytes;

use crate::params::TcpParams;

/// Room before the packet (`NET_SKB_PAD`) and the record of its fragments behind it.
const HEADROOM: u64 = 64;
const FRAGMENTS: u64 = 320;
/// The record of the packet itself (`struct sk_buff`).
const RECORD: u64 = 256;
/// The least block.
const SHORT_BLOCK: u64 = 576;
/// Packets that share a buffer of the queue at most (Linux `MAX_SKB_FRAGS`).
const MOST_SHARING: u64 = 17;
/// The denominator of ratios.
const RATIO_SHIFT: u32 = 8;
/// The ratio before the first segment.
const INITIAL_RATIO: u64 = 1 << (RATIO_SHIFT - 1);

/// The memory that a packet occupies in the receive buffer (Linux `truesize`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Truesize {
    /// A network card's driver copies each packet into a block of its own: 2304 bytes for a packet of 1500.
    #[default]
    Driver,
    /// As its sender allocated it, which is so between network namespaces (veth): its payload, `header_block`, and 256 bytes.
    Sender,
}

/// The blocks of memory in which the hosts of a connection keep its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    truesize: Truesize,
    header_block: u64,
}

impl Blocks {
    pub(crate) fn new(params: &TcpParams) -> Blocks {
        Blocks { truesize: params.truesize, header_block: params.header_block.get() }
    }

    /// What a packet occupies in its sender's host apart from its payload.
    pub(crate) const fn without_payload(self) -> Bytes {
        Bytes::new(self.header_block + RECORD)
    }

    /// The memory of a packet with these headers and this payload in the receive buffer.
    pub(crate) fn received(self, headers: Bytes, payload: Bytes) -> u64 {
        match self.truesize {
            Truesize::Driver => {
                let block = HEADROOM + (headers + payload).get() + FRAGMENTS;
                let block = if block <= SHORT_BLOCK { SHORT_BLOCK } else { block.next_power_of_two() };
                block + RECORD
            }
            Truesize::Sender => (payload + self.without_payload()).get(),
        }
    }

    /// What a packet occupies once it has joined the one before it in a queue (Linux `skb_try_coalesce`): the block of a sender's
    /// headers is freed, a driver's packets stay apart.
    pub(crate) fn queued(self, memory: u64) -> u64 {
        match self.truesize {
            Truesize::Driver => memory,
            Truesize::Sender => memory - self.without_payload().get(),
        }
    }

    /// Whether this many packets that follow each other in a queue occupy one buffer.
    pub(crate) fn share(self, packets: u64) -> bool {
        packets <= 1 || (self.truesize == Truesize::Sender && packets <= MOST_SHARING)
    }
}

/// The share of memory that is offered as a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio(u64);

impl Ratio {
    pub(crate) const INITIAL: Ratio = Ratio(INITIAL_RATIO);

    /// The ratio at which segments with `data` bytes in `memory` fill the buffer as the window closes.
    pub(crate) fn of(data: u64, memory: u64) -> Ratio {
        Ratio(((data << RATIO_SHIFT) / memory.max(1)).max(1))
    }

    /// The window that this much memory supports.
    #[inline]
    pub(crate) fn window(self, memory: u64) -> u64 {
        (memory * self.0) >> RATIO_SHIFT
    }

    /// The memory that a window needs.
    pub(crate) fn memory(self, window: u64) -> u64 {
        (window << RATIO_SHIFT) / self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HEADERS;

    fn blocks(truesize: Truesize, header_block: u64) -> Blocks {
        Blocks::new(&TcpParams { truesize, header_block: Bytes::new(header_block), ..TcpParams::default() })
    }

    /// Payload and memory as a Linux 6.18 receiver has them (`SO_MEMINFO`; headers of 52 bytes).
    #[test]
    fn measured() {
        for (payload, memory) in
            [(1, 832), (128, 832), (200, 1280), (536, 1280), (600, 2304), (1000, 2304), (1448, 2304)]
        {
            let blocks = blocks(Truesize::Driver, 576);
            assert_eq!(blocks.received(HEADERS, Bytes::new(payload)), memory, "{payload} bytes");
        }
    }

    /// The same between two namespaces of Linux 7.3, built with wireless devices and with or without tunnels.
    #[test]
    fn measured_between_namespaces() {
        for (header_block, payload, memory) in
            [(704, 1, 961), (704, 536, 1496), (704, 1448, 2408), (640, 1448, 2344)]
        {
            let blocks = blocks(Truesize::Sender, header_block);
            assert_eq!(blocks.received(HEADERS, Bytes::new(payload)), memory, "{payload} bytes");
        }
    }

    /// A full segment: 1448 of 2304 bytes are 160 of 256, and 128 KiB support a window of 80 KiB.
    #[test]
    fn ratio() {
        let ratio = Ratio::of(1448, 2304);
        assert_eq!(ratio, Ratio(160));
        assert_eq!(ratio.window(131_072), 81_920);
        assert_eq!(ratio.memory(81_920), 131_072);
        assert_eq!(Ratio::INITIAL.window(131_072), 65_536);
    }

    /// All of a driver's packet counts for the growth of the window. Of a sender's, only the payload: the block of
    /// its headers is freed when it joins the queue.
    #[test]
    fn what_counts_for_growth() {
        for payload in [1, 536, 1448] {
            let [driver, sender] = [Truesize::Driver, Truesize::Sender].map(|truesize| blocks(truesize, 640));
            let memory = |blocks: Blocks| blocks.received(HEADERS, Bytes::new(payload));
            assert_eq!(driver.queued(memory(driver)), memory(driver));
            assert_eq!(sender.queued(memory(sender)), payload);
        }
    }
}
