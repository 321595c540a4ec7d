//! Taking turns: how a fair queue serves the band that it has chosen.
//!
//! A discipline says which band is next and what a departure costs that band. The rest is the same for all fair queues:
//! a choice is kept until it is served, and a packet that the AQM drops is replaced from the same band while that has
//! packets, then from the next one (RFC 8290 section 4.2).

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use super::Flows;
use crate::accounts::QueueCx;
use crate::aqm::Aqm;

/// A fair queue whose bands take turns.
pub(crate) trait Turns {
    /// The AQM of each band.
    type Aqm: Aqm;

    /// The bands.
    fn flows(&self) -> &Flows<Self::Aqm>;

    /// The band whose first packet leaves next, if it has been chosen.
    fn chosen(&mut self) -> &mut Option<usize>;

    /// The band whose turn it is, and which has a packet that may leave.
    fn next_band(&mut self, now: Time) -> Option<usize>;

    /// The first packet of a band leaves, unless its AQM drops it. `replaces`: see [`Flows::release`].
    fn release(&mut self, band: usize, replaces: bool, cx: &mut QueueCx<'_>) -> Option<Packet>;
}

/// [`crate::QueueDiscipline::choose`] of a fair queue.
#[inline]
pub(crate) fn choose<T: Turns>(queue: &mut T, cx: &QueueCx<'_>) -> Option<Bytes> {
    if queue.chosen().is_none() {
        *queue.chosen() = queue.next_band(cx.now);
    }
    let band = (*queue.chosen())?;
    queue.flows().head_size(band)
}

/// [`crate::QueueDiscipline::serve`] of a fair queue.
#[inline]
pub(crate) fn serve<T: Turns>(queue: &mut T, cx: &mut QueueCx<'_>) -> Option<Packet> {
    let band = queue.chosen().take()?;
    queue.release(band, cx.replaces, cx)
}

/// [`crate::QueueDiscipline::dequeue`] of a fair queue.
#[inline]
pub(crate) fn dequeue<T: Turns>(queue: &mut T, cx: &mut QueueCx<'_>) -> Option<Packet> {
    loop {
        let chosen = queue.chosen().take();
        let band = chosen.or_else(|| queue.next_band(cx.now))?;
        let mut replaces = false;
        while queue.flows().band_backlog(band).packets > 0 {
            let packet = queue.release(band, replaces, cx);
            if packet.is_some() {
                return packet;
            }
            replaces = true;
        }
    }
}
