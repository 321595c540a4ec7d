//! Media over RTP: frames in datagrams, reports about them, and a controller that sets the rate of the source
//! (docs/decisions/0024-media-over-rtp.md).
//!
//! The sender asks its controller for the target rate before each frame, cuts the frame into data units of at most a segment,
//! and sends them as window and pace allow. Nothing is sent again: a frame that misses one unit is lost, because a frame that
//! comes a round trip late is of no use in a conversation. Frames that wait too long at the sender are discarded.
//!
//! The receiver reports as RFC 8888 has it: which of the last 64 data units arrived, when the newest did, and how many carried
//! CE. Reports overlap, so that a lost one costs nothing.
//!
//! | field of a packet | data unit | report |
//! |---|---|---|
//! | `seq` | its number, from 1 on | the highest number that arrived |
//! | `ack` | – | which of the 64 numbers up to that arrived; bit 0 is the highest |
//! | `ts_val` | when it left | when it left |
//! | `ts_ecr` | – | when the highest number arrived |
//! | `window` | 1 on the last unit of a frame (RTP's marker bit) | how many arrived with CE, modulo 65536 |
//! | `arrivals` | – | when each of the 64 numbers arrived, from the highest on; only for a controller that asks ([`Needs::arrivals`](windtunnel_cc::Needs::arrivals)) |
//!
//! [`sender`] and [`receiver`] are the two ends, [`queue`] holds the frames that wait, [`flight`] those that were sent,
//! [`progress`] which frames are complete, and [`rtt`] the round-trip time.

mod flight;
mod progress;
mod queue;
mod receiver;
mod rtt;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use receiver::RtpReceiver;
pub(crate) use sender::RtpSender;

use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::Packet;

/// IPv4, UDP, and RTP without extensions.
pub(crate) const HEADERS: Bytes = Bytes::new(40);
/// How many data units a report covers.
const COVERED: u64 = 64;
/// A report: IPv4 and UDP, RTCP's header with the sender's identifier, a block for one stream (RFC 8888 section 3.1) with two bytes for
/// each data unit, and the time of the report.
const REPORT: Bytes = Bytes::new(28 + 8 + 8 + 2 * COVERED + 4);

/// What a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Report {
    highest: u64,
    /// Bit i: the unit i below the highest arrived.
    arrived: u64,
    /// When the highest arrived.
    arrival: Time,
    sent: Time,
    /// Units that arrived with CE so far, modulo 65536.
    ce: u16,
}

impl Report {
    const fn of(packet: &Packet) -> Report {
        Report {
            highest: packet.seq.get(),
            arrived: packet.ack.get(),
            arrival: packet.ts_ecr,
            sent: packet.ts_val,
            ce: packet.window,
        }
    }

    const fn write(&self, packet: &mut Packet) {
        packet.seq = Seq::new(self.highest);
        packet.ack = Seq::new(self.arrived);
        packet.ts_ecr = self.arrival;
        packet.ts_val = self.sent;
        packet.window = self.ce;
    }

    /// The numbers that arrived, from the lowest on.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let Report { highest, arrived, .. } = *self;
        (0..COVERED.min(highest))
            .rev()
            .filter(move |below| arrived >> below & 1 == 1)
            .map(move |below| highest - below)
    }
}
