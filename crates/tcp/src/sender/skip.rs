//! Random skips: a segment that never left shows who acknowledges what has not arrived.
//!
//! Optimistic ACKs need nothing but the sequence numbers that come next, which are easy to guess. So the sender now
//! and then leaves out a segment of new data and sends those behind it (Savage et al. 1999; Sherwood, Bhattacharjee and
//! Braud, "Misbehaving TCP receivers can cause Internet-wide congestion collapse", 2005, section 5; QUIC leaves out
//! packet numbers for the same purpose, RFC 9000 section 21.4). An honest receiver reports the hole by SACK, one round
//! trip later, and gets the segment then. A receiver that acknowledges it earlier is exposed: it cannot have received
//! it, whatever the network lost, delayed or doubled. The sender resets such a connection, as Sherwood et al. do. A
//! floor for cwnd instead would leave the attacker a sender that never repairs anything and never stops.
//!
//! The distance to the next skip is geometric, so that no receiver can tell where it is; its mean is `1 / skip_probability`
//! segments. One segment at a time is left out, in Open only, when more data follow for which the window has room, and not
//! from a window of fewer than four segments. It counts as in flight, so that an honest receiver pays with one segment of
//! the window for a round trip. It is not a loss: RACK compares times of transmission, so a segment that leaves late is found
//! lost late. Detectors that count what is SACKed above a segment (RFC 6675, duplicate ACKs) would take each skip for a loss, which
//! is why skips need RACK. Neither is it reordering. Where nothing comes back from behind the hole, the segment leaves as the
//! tail loss probe, after two round trips, or counts as lost with everything else when the retransmission timer expires.

use windtunnel_algorithm::RandomStream;
use windtunnel_cc::CaState;
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{Packet, TcpFlags};

use super::Sender;
use super::rto::TimerKind;
use super::scoreboard::{Amount, SegmentId};
use super::transmit::Forced;
use crate::params::TcpParams;

/// A smaller window could lose its ACK clock by a skip.
const LEAST_WINDOW: u64 = 4;

/// The largest distance to the next skip: sequence numbers stay within their type, however small the probability.
const MOST_SEGMENTS: f64 = 1e9;

/// The segment left out last.
#[derive(Clone, Copy, Debug)]
enum Hole {
    /// There is none, or it is acknowledged.
    None,
    /// It has not left yet.
    Withheld { id: SegmentId, start: Seq, end: Seq },
    /// It has left, after segments above it.
    Late { end: Seq },
}

/// The skips of a sender.
#[derive(Debug)]
pub(crate) struct Skip {
    /// `ln(1 - p)`: the geometric distribution's scale.
    scale: f64,
    seed: u64,
    random: Option<RandomStream>,
    /// The first new segment that starts here or above is left out.
    next: Seq,
    hole: Hole,
}

impl Skip {
    /// None without skips.
    pub(super) fn new(params: &TcpParams) -> Option<Box<Skip>> {
        let p = params.skip_probability.get();
        (p > 0.0).then(|| {
            let seed = params.skip_seed;
            Box::new(Skip {
                scale: libm::log1p(-p),
                seed,
                random: None,
                next: Seq::FIRST_DATA,
                hole: Hole::None,
            })
        })
    }

    /// Chooses the next segment to leave out; `nxt` is the first that can be. The connections of a flow have one seed, but start
    /// at different times.
    fn draw(&mut self, nxt: Seq, mss: Bytes, now: Time) {
        let seed = self.seed ^ now.as_nanos();
        let random = self.random.get_or_insert_with(|| RandomStream::new(seed));
        let segments = libm::floor(libm::log1p(-random.uniform()) / self.scale);
        self.next = nxt + mss * segments.min(MOST_SEGMENTS) as u64;
    }

    /// A packet that acknowledges `ack` and these blocks has any byte of the segment that has not left.
    fn is_claimed_by(&self, packet: &Packet) -> bool {
        let Hole::Withheld { start, end, .. } = self.hole else { return false };
        let covers = |options: &windtunnel_wire::Options| {
            options.sack.as_slice().iter().any(|block| block.start < end && block.end > start)
        };
        packet.ack > start || packet.options().is_some_and(covers)
    }
}

impl Sender {
    /// The next new segment stays behind, if it is that segment's turn.
    #[cold]
    pub(super) fn consider_skip(&mut self, now: Time) {
        let (nxt, una, mss) = (self.board.nxt(), self.board.una(), self.mss);
        let Some(skip) = &mut self.skip else { return };
        if skip.random.is_none() {
            skip.draw(nxt, mss, now);
        }
        let settled = match skip.hole {
            Hole::None => true,
            Hole::Withheld { .. } => false,
            Hole::Late { end } => una >= end,
        };
        if !settled || nxt < skip.next || !self.may_leave_out() {
            return;
        }
        let id = self.board.withhold(nxt, mss, now);
        if self.unsent != Bytes::MAX {
            self.unsent -= mss;
        }
        self.stats.skips += 1;
        if let Some(skip) = &mut self.skip {
            skip.hole = Hole::Withheld { id, start: nxt, end: nxt + mss };
            skip.draw(nxt + mss, mss, now);
        }
    }

    /// A whole new segment could leave now, and another one after it.
    fn may_leave_out(&self) -> bool {
        self.state == CaState::Open
            && !self.board.is_empty()
            && self.new_segment() == Ok(self.mss)
            && self.unsent > self.mss
            && self.board.nxt() + self.mss * 2 <= self.window_end
            && self.cwnd >= self.mss * LEAST_WINDOW
            && self.has_room()
    }

    /// Resets the connection if `packet` acknowledges the segment that has not left. True if it did.
    #[cold]
    pub(super) fn exposes_receiver(&mut self, packet: &Packet) -> bool {
        let exposed = packet.ack <= self.board.nxt()
            && self.skip.as_ref().is_some_and(|skip| skip.is_claimed_by(packet));
        if exposed {
            self.stats.exposed += 1;
            self.reset();
        }
        exposed
    }

    /// After an ACK: if it reports data above the hole, the segment leaves.
    #[cold]
    pub(super) fn fill_hole(&mut self) {
        if let Some(end) = self.withheld_end()
            && self.board.highest_sacked().is_some_and(|highest| highest > end)
            && self.forced.is_none()
        {
            self.forced = Some(Forced::Withheld);
        }
    }

    /// The end of the segment that has not left.
    pub(super) fn withheld_end(&self) -> Option<Seq> {
        match self.skip.as_ref()?.hole {
            Hole::Withheld { end, .. } => Some(end),
            Hole::None | Hole::Late { .. } => None,
        }
    }

    /// A hole that the sender made itself is not filled yet: what is SACKed above it shows no loss.
    #[inline]
    pub(super) fn has_made_a_hole(&self) -> bool {
        self.skip.as_ref().is_some_and(|skip| match skip.hole {
            Hole::None => false,
            Hole::Withheld { .. } => true,
            Hole::Late { end } => self.board.una() < end,
        })
    }

    /// Sends the segment that was left out.
    pub(super) fn send_withheld(&mut self, now: Time) -> Option<Packet> {
        let (id, end) = self.take_withheld()?;
        let segment = *self.board.get(id)?;
        let (seq, payload) = (segment.seq(), segment.payload());
        let in_flight = self.board.in_flight().bytes;
        let snapshot = self.rate.on_sent(now, payload, in_flight - payload);
        self.board.release(id, now, snapshot);
        if let Some(skip) = &mut self.skip {
            skip.hole = Hole::Late { end };
        }
        let mut packet = self.packet(self.endpoint.headers, payload, now);
        packet.seq = seq;
        packet.flags = TcpFlags::ACK;
        self.ecn.stamp(&mut packet);
        self.departed(seq, payload, false, now);
        if self.board.head() == Some(id) && !self.timer.pending(TimerKind::Reordering) {
            self.timer.arm(TimerKind::Retransmission, now + self.timeout());
        }
        Some(packet)
    }

    /// The retransmission timer expired: the segment left out is as good as lost. Returns what is newly lost by that.
    pub(super) fn give_up_withheld(&mut self) -> Amount {
        self.take_withheld().map_or(Amount::ZERO, |(id, _)| self.board.give_up(id))
    }

    fn take_withheld(&mut self) -> Option<(SegmentId, Seq)> {
        let skip = self.skip.as_mut()?;
        let Hole::Withheld { id, end, .. } = skip.hole else { return None };
        skip.hole = Hole::None;
        Some((id, end))
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Probability;

    use super::*;

    /// The distances are geometric: their mean is (1 - p) / p segments, here 99 within five standard errors, and 1 % of them are
    /// zero.
    #[test]
    fn distances() {
        let params = TcpParams { skip_probability: Probability::clamped(0.01), ..TcpParams::default() };
        let mut skip = Skip::new(&params).expect("skips");
        let mss = Bytes::new(1000);
        let mut distance = || {
            skip.draw(Seq::FIRST_DATA, mss, Time::ZERO);
            (skip.next - Seq::FIRST_DATA) / mss
        };
        let distances: Vec<u64> = (0..20_000).map(|_| distance()).collect();
        let mean = distances.iter().sum::<u64>() as f64 / 20_000.0;
        assert!((mean - 99.0).abs() < 5.0 * 99.5 / f64::sqrt(20_000.0), "{mean}");
        let zeros = distances.iter().filter(|distance| **distance == 0).count();
        assert!((zeros as f64 - 200.0).abs() < 5.0 * f64::sqrt(200.0), "{zeros}");
        assert!(Skip::new(&TcpParams::default()).is_none());
    }
}
