//! The native AQM of the low-latency queue: marks by that queue's own length, in addition to the coupled ones.
//!
//! Source: RFC 9332 section 2.4 and appendix A.1 (ramp); Linux `sch_dualpi2` (step).

use std::collections::VecDeque;

use windtunnel_units::Duration;

use super::slot::Slot;
use crate::aqm::{PacketView, QueueView, Signal, Verdict};
use crate::queue_length::QueueLength;

/// The native AQM.
#[derive(Debug)]
pub(super) enum Native {
    Step(Step),
    Ramp(Ramp),
    Slot(Slot),
}

/// Linux's: every packet above a threshold is marked.
#[derive(Debug)]
pub(super) struct Step {
    thresh: QueueLength,
    /// Packets that arrive to a shorter queue are spared.
    min_qlen: usize,
    /// Whether each queued packet may be marked; not kept where all may.
    applies: VecDeque<bool>,
}

impl Step {
    pub(super) const fn new(thresh: QueueLength, min_qlen: usize) -> Step {
        Step { thresh, min_qlen, applies: VecDeque::new() }
    }

    #[inline]
    pub(super) fn stored(&mut self, packets_before: usize) {
        if self.min_qlen > 0 {
            self.applies.push_back(packets_before >= self.min_qlen);
        }
    }

    #[inline]
    pub(super) fn verdict(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let applies = self.min_qlen == 0 || self.applies.pop_front().unwrap_or(true);
        let above = match self.thresh {
            QueueLength::Time(time) => packet.sojourn > time,
            QueueLength::Packets(packets) => queue.packets > packets,
            QueueLength::Bytes(bytes) => queue.bytes > bytes,
        };
        if applies && above { Verdict::Mark(Signal::Ce) } else { Verdict::Pass }
    }
}

/// RFC 9332's: the probability rises linearly with the sojourn time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ramp {
    pub(super) minth: Duration,
    pub(super) range: Duration,
    pub(super) th_len: usize,
}

impl Ramp {
    /// The probability for the leaving packet. The RFC's queue of one packet is the leaving packet itself.
    #[inline]
    pub(super) fn probability(&self, packet: &PacketView, queue: &QueueView) -> f64 {
        if queue.packets < self.th_len || packet.sojourn <= self.minth {
            return 0.0;
        }
        let above = packet.sojourn - self.minth;
        if above >= self.range { 1.0 } else { above.ratio(self.range) }
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::{Bytes, Rate, Time};
    use windtunnel_wire::{Dscp, Ecn, FlowId};

    use super::*;
    use crate::ecn::Class;

    fn packet(us: u64) -> PacketView {
        PacketView {
            size: Bytes::new(1_500),
            flow: FlowId::new(0),
            dscp: Dscp::DEFAULT,
            ecn: Ecn::Ect1,
            class: Class::Scalable,
            sojourn: Duration::from_micros(us),
            replaces: false,
        }
    }

    fn queue(packets: usize) -> QueueView {
        QueueView {
            now: Time::ZERO,
            packets,
            bytes: Bytes::ZERO,
            all_bytes: Bytes::ZERO,
            head_waiting: None,
            rate: Rate::ZERO,
        }
    }

    /// RFC 9332 appendix A.1: 0 up to 800 us, 1 from 1200 us on, linear between, nothing in a queue of one packet; a
    /// range of 0 is a step.
    #[test]
    fn ramp() {
        let us = Duration::from_micros;
        let ramp = Ramp { minth: us(800), range: us(400), th_len: 1 };
        for (at, p) in [(0, 0.0), (800, 0.0), (900, 0.25), (1_100, 0.75), (1_200, 1.0), (9_000, 1.0)] {
            assert!((ramp.probability(&packet(at), &queue(1)) - p).abs() < 1e-12, "{at}");
            assert!(ramp.probability(&packet(at), &queue(0)).abs() < 1e-12);
        }
        let step = Ramp { range: us(0), ..ramp };
        assert!(step.probability(&packet(800), &queue(5)).abs() < 1e-12);
        assert!((step.probability(&packet(801), &queue(5)) - 1.0).abs() < 1e-12);
    }

    /// Linux: strictly above the time, or above the number of packets left behind; packets that arrived to a shorter
    /// queue than `min_qlen_step` are spared.
    #[test]
    fn step() {
        let mark = Verdict::Mark(Signal::Ce);
        let mut by_time = Step::new(QueueLength::Time(Duration::from_millis(1)), 0);
        assert_eq!(by_time.verdict(&packet(1_000), &queue(0)), Verdict::Pass);
        assert_eq!(by_time.verdict(&packet(1_001), &queue(0)), mark);
        let mut by_packets = Step::new(QueueLength::Packets(5), 0);
        assert_eq!(by_packets.verdict(&packet(0), &queue(5)), Verdict::Pass);
        assert_eq!(by_packets.verdict(&packet(0), &queue(6)), mark);
        let mut spares = Step::new(QueueLength::Time(Duration::ZERO), 2);
        for before in 0..4 {
            spares.stored(before);
        }
        let verdicts: Vec<Verdict> = (0..4).map(|_| spares.verdict(&packet(9), &queue(9))).collect();
        assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, mark, mark]);
    }
}
