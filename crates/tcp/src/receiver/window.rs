//! The receive window: what an ACK offers.
//!
//! RFC 9293 section 3.8.6; its scale: RFC 7323 section 2. A fixed window is the whole buffer, because the application
//! reads at once: the field rounds it down but offers at least one unit, because a window of zero would never open. A
//! window that grows follows the buffer; as in Linux (`__tcp_select_window`, `tcp_select_window`) the field rounds it
//! up, and the window never takes back what was offered before (RFC 7323 section 2.4).

use windtunnel_units::{Bytes, Seq};

#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    shift: u32,
    /// The window of the last ACK.
    size: Bytes,
    /// The byte after the last one that the sender has been allowed to send.
    edge: Seq,
}

impl Window {
    pub(super) fn new(size: Bytes, shift: u32) -> Window {
        let units = (size.get() >> shift).clamp(1, u64::from(u16::MAX));
        Window { shift, size: Bytes::new(units << shift), edge: Seq::SYN }
    }

    /// What the receiver offers.
    #[inline]
    pub(super) fn size(&self) -> Bytes {
        self.size
    }

    /// The right edge of the window offered.
    #[inline]
    pub(super) fn edge(&self) -> Seq {
        self.edge
    }

    /// The rest of the window above `rcv_nxt`.
    #[inline]
    pub(super) fn left(&self, rcv_nxt: Seq) -> Bytes {
        if self.edge > rcv_nxt { self.edge - rcv_nxt } else { Bytes::ZERO }
    }

    /// The window field of an ACK of everything below `ack`, where the window is fixed.
    #[inline]
    pub(super) fn offer(&mut self, ack: Seq) -> u16 {
        self.edge = ack + self.size;
        (self.size.get() >> self.shift) as u16
    }

    /// The window field of another ACK with the same window.
    pub(super) fn repeat(&self) -> u16 {
        (self.size.get() >> self.shift) as u16
    }

    /// The window field where the window grows: `size` can be offered.
    #[inline]
    pub(super) fn offer_at_least(&mut self, size: Bytes, ack: Seq) -> u16 {
        let wanted = size.max(self.left(ack)).get();
        let units = wanted.div_ceil(1 << self.shift).min(u64::from(u16::MAX));
        self.size = Bytes::new(units << self.shift);
        self.edge = self.edge.max(ack + self.size);
        units as u16
    }

    /// The window field of a receiver that offers as much as the field can say.
    pub(super) fn offer_most(&mut self, ack: Seq) -> u16 {
        self.offer_at_least(Bytes::new(u64::from(u16::MAX) << self.shift), ack)
    }

    /// The window field of a SYN|ACK, which has no scale (RFC 7323 section 2.2).
    pub(super) fn offer_unscaled(&mut self, size: Bytes, ack: Seq) -> u16 {
        self.size = size;
        self.edge = ack + size;
        size.get().min(u64::from(u16::MAX)) as u16
    }
}
