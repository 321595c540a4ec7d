//! Forward RTO recovery (RFC 5682 section 3.1, the SACK-enhanced version): was the timeout spurious?
//!
//! After the timeout only the head is sent again. If the next ACK advances, two new segments are sent instead of
//! retransmissions: their answers then distinguish the original flight from the retransmission. Data that were never
//! sent again and are acknowledged prove that the flight was only late. A timeout within a recovery counts as genuine
//! unless it is the same segment's again, because otherwise it is unknown which transmission an ACK answers. Linux
//! `net/ipv4/tcp_input.c`, `tcp_process_loss`; spec/congestion-control section 1.12.

use super::Sender;
use super::ack::Ack;

/// The state of the detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Frto {
    /// The loss counts as genuine, or nothing timed out.
    #[default]
    Off,
    /// The head was sent again, or the new data were sent, and the answer is awaited.
    Armed,
    /// New data go first, retransmissions wait.
    Probing,
}

/// What an ACK says about the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrtoVerdict {
    /// Step 3.b: the flight was only late.
    Spurious,
    /// Step 2.b: send new data and wait.
    Probe,
    /// Go on with the recovery.
    Continue,
}

impl Sender {
    /// Steps 2 and 3 for an ACK in Loss.
    pub(super) fn frto_verdict(&mut self, ack: &Ack) -> FrtoVerdict {
        if self.frto == Frto::Off {
            return FrtoVerdict::Continue;
        }
        self.frto = Frto::Armed;
        if ack.originals {
            return FrtoVerdict::Spurious;
        }
        if self.board.nxt() > self.high_seq {
            if ack.sacked || ack.duplicate {
                // Step 3.a: the new data arrived, the flight before them did not.
                self.frto = Frto::Off;
            }
        } else if ack.advanced && self.board.una() < self.high_seq {
            self.high_seq = self.board.nxt();
            if self.new_segment().is_ok() {
                self.frto = Frto::Probing;
                return FrtoVerdict::Probe;
            }
            self.frto = Frto::Off;
        }
        FrtoVerdict::Continue
    }
}
