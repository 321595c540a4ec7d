//! The averaged shares of losses and of marks.

/// The weight of a packet, and of an ACK's marks.
const GAIN: f64 = 1.0 / 16.0;
/// An ACK with so large a share of marks sets the average at once: a queue has just begun to mark everything.
const AT_ONCE: f64 = 0.5;

/// The share of packets that are lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossShare(f64);

impl LossShare {
    /// `packets` arrived.
    pub(super) fn arrived(&mut self, packets: u64) {
        self.0 *= libm::pow(1.0 - GAIN, packets as f64);
    }

    /// One was lost.
    pub(super) fn lost(&mut self) {
        self.0 += GAIN * (1.0 - self.0);
    }

    pub(super) fn get(self) -> f64 {
        self.0
    }
}

/// The share of packets that are marked (`ecn_alpha`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MarkShare(f64);

impl MarkShare {
    /// An ACK says that `marked` of `packets` carried CE.
    pub(super) fn ack(&mut self, marked: u32, packets: u64) {
        let share = (f64::from(marked) / packets.max(u64::from(marked)).max(1) as f64).min(1.0);
        if share >= AT_ONCE {
            self.0 = share;
        } else {
            self.0 += GAIN * (share - self.0);
        }
    }

    pub(super) fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loss weighs a sixteenth, and 16 arrivals leave (15/16)^16 of it.
    #[test]
    fn losses_are_averaged_over_packets() {
        let mut share = LossShare::default();
        share.lost();
        share.lost();
        assert!((share.get() - 31.0 / 256.0).abs() < 1e-12);
        share.arrived(16);
        assert!((share.get() - 31.0 / 256.0 * libm::pow(15.0 / 16.0, 16.0)).abs() < 1e-12);
    }

    /// Fewer than half of an ACK's packets weigh a sixteenth; half of them are the share.
    #[test]
    fn marks_are_averaged_over_acks() {
        let mut share = MarkShare::default();
        share.ack(1, 4);
        assert!((share.get() - 0.25 / 16.0).abs() < 1e-12);
        share.ack(1, 2);
        assert!((share.get() - 0.5).abs() < 1e-12);
        share.ack(0, 2);
        assert!((share.get() - 0.5 * 15.0 / 16.0).abs() < 1e-12);
    }
}
