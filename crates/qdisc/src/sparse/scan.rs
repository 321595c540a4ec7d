//! LFQ's bulk band: packets in order of arrival, with a place at which it is scanned.

use windtunnel_wire::Packet;

use crate::discipline::Backlog;
use crate::flows::{Chain, NONE, Pool};

/// The band.
#[derive(Debug)]
pub(crate) struct ScanBand {
    pool: Pool,
    chain: Chain,
    /// The slot before the scanned packet; [`NONE`] if that is the first.
    before: u32,
}

impl Default for ScanBand {
    fn default() -> ScanBand {
        ScanBand { pool: Pool::default(), chain: Chain::default(), before: NONE }
    }
}

impl ScanBand {
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.chain.backlog()
    }

    /// The packet that arrived first.
    #[inline]
    pub(crate) fn head(&self) -> Option<&Packet> {
        self.chain.head(&self.pool)
    }

    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) {
        self.chain.push(packet, &mut self.pool);
    }

    /// The packet at the scan; none at the end of the band.
    #[inline]
    pub(crate) fn scanned(&self) -> Option<&Packet> {
        self.pool.packet(self.chain.slot_after(self.before, &self.pool))
    }

    /// Moves the scan on by a packet.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.before = self.chain.slot_after(self.before, &self.pool);
    }

    /// Moves the scan to the first packet.
    #[inline]
    pub(crate) fn rewind(&mut self) {
        self.before = NONE;
    }

    /// Gives up the packet at the scan; the scan is then at the one behind it.
    #[inline]
    pub(crate) fn pull(&mut self) -> Option<Packet> {
        self.chain.take_after(self.before, &mut self.pool)
    }

    /// Gives up the first packet, or the second if the first is scanned and `spare_scanned`.
    pub(crate) fn lose(&mut self, spare_scanned: bool) -> Option<Packet> {
        if spare_scanned && self.before == NONE {
            return self.chain.pop_second(&mut self.pool);
        }
        if self.before == self.chain.first() {
            self.before = NONE;
        }
        self.chain.pop(&mut self.pool)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windtunnel_units::Bytes;
    use windtunnel_wire::FlowId;

    use super::*;

    proptest! {
        /// The band behaves as a vector with an index.
        #[test]
        fn as_a_vector(steps in prop::collection::vec(0_u8..8, 1..300)) {
            let (mut band, mut model, mut scan) = (ScanBand::default(), Vec::new(), 0_usize);
            let size = |packet: Packet| packet.size().get();
            for (n, step) in (1_u64..).zip(steps) {
                match step {
                    0..=2 => {
                        band.push(Packet::new(FlowId::new(0), Bytes::new(n), Bytes::ZERO));
                        model.push(n);
                    }
                    3 if scan < model.len() => {
                        band.advance();
                        scan += 1;
                    }
                    3 | 4 => {
                        band.rewind();
                        scan = 0;
                    }
                    5 => {
                        let expected = (scan < model.len()).then(|| model.remove(scan));
                        prop_assert_eq!(band.pull().map(size), expected);
                    }
                    6 => {
                        let expected = (!model.is_empty()).then(|| model.remove(0));
                        scan = scan.saturating_sub(1);
                        prop_assert_eq!(band.lose(false).map(size), expected);
                    }
                    _ => {
                        let index = usize::from(scan == 0);
                        let expected = (index < model.len()).then(|| model.remove(index));
                        if expected.is_some() {
                            scan = scan.saturating_sub(1);
                        }
                        prop_assert_eq!(band.lose(true).map(size), expected);
                    }
                }
                prop_assert_eq!(band.scanned().map(|packet| packet.size().get()), model.get(scan).copied());
                prop_assert_eq!(band.backlog().bytes.get(), model.iter().sum::<u64>());
            }
        }
    }
}
