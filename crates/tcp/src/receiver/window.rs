//! The receive window.
//!
//! RFC 9293 section 3.8.6; its scale: RFC 7323 section 2. The application reads at once, so what is in order takes no
//! room, and the window is the whole buffer. The field counts in units of 2^14 bytes, rounded down: the window is
//! then the same for every ACK, or larger, and since ACKs do not go back, the right edge never does either (RFC 7323
//! section 2.4). A buffer below one unit counts as one: a window of zero would never open.

use windtunnel_units::{Bytes, Seq};

use crate::config::WINDOW_SHIFT;

#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    units: u16,
    /// The byte after the last one that the sender was allowed to send.
    edge: Seq,
}

impl Window {
    pub(super) fn new(buffer: Bytes) -> Window {
        Window { units: units(buffer), edge: Seq::SYN }
    }

    /// What the receiver offers.
    pub(super) fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.units) << WINDOW_SHIFT)
    }

    /// The right edge of what was offered.
    #[inline]
    pub(super) fn edge(&self) -> Seq {
        self.edge
    }

    /// The buffer is larger now.
    pub(super) fn grow(&mut self, buffer: Bytes) {
        self.units = self.units.max(units(buffer));
    }

    /// The window field of an ACK of all below `ack`.
    #[inline]
    pub(super) fn offer(&mut self, ack: Seq) -> u16 {
        self.edge = ack + self.size();
        self.units
    }
}

fn units(buffer: Bytes) -> u16 {
    (buffer.get() >> WINDOW_SHIFT).clamp(1, u64::from(u16::MAX)) as u16
}
