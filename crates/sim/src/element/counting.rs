//! The numbers of packets in order of arrival.

use windtunnel_units::OutOfRange;
use windtunnel_wire::FlowId;

/// Counts packets, all together or separately for each flow.
#[derive(Debug)]
pub(super) struct PacketCount {
    per_flow: bool,
    counts: Vec<u64>,
}

impl PacketCount {
    pub(super) const fn new(per_flow: bool) -> PacketCount {
        PacketCount { per_flow, counts: Vec::new() }
    }

    /// The number of this packet of `flow`: the first one has number 1.
    pub(super) fn next(&mut self, flow: FlowId) -> u64 {
        let index = if self.per_flow { flow.index() } else { 0 };
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.counts[index]
    }
}

/// Packets are listed by number, in order.
pub(super) fn check_numbers(packets: &[u64]) -> Result<(), OutOfRange> {
    if packets.first() == Some(&0) {
        return Err(OutOfRange::new("packets", 0, "numbers from 1 on"));
    }
    match packets.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(OutOfRange::new("packets", pair[1], "numbers in order, each once")),
        None => Ok(()),
    }
}
