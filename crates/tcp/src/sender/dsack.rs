//! What a D-SACK says (RFC 2883; RFC 3708): its bytes arrived twice, so a retransmission was needless.
//!
//! The network may also have made the copy, so only data that were sent again count (for data below SND.UNA that is
//! no longer known), and once more segments are reported than were ever sent again, reports are ignored.
//!
//! A copy that arrived left the network: as in Linux it counts as delivered for the reduction, for growth and for the
//! delivery rate, though it is not data.
//!
//! RACK learns from it to wait longer, but not from the copy of a tail loss probe, which the timer sends
//! independently of RACK, nor before reordering was ever seen. RFC 8985 section 6.2 step 4 counts every D-SACK; this
//! is Linux's rule (`net/ipv4/tcp_input.c`, `tcp_dsack_seen`, `tcp_sacktag_one`).

use windtunnel_wire::SackBlock;

use super::Sender;
use super::ack::Ack;
use super::scoreboard::Amount;

impl Sender {
    /// An ACK reports `block` as received twice.
    pub(super) fn take_dsack(&mut self, block: SackBlock, ack: &mut Ack) {
        self.stats.dsacks += 1;
        let segments = (block.end - block.start).get().div_ceil(self.mss.get()).max(1);
        self.dsacked += segments;
        if self.dsacked > self.stats.retransmits + self.stats.control_retransmits {
            return;
        }
        ack.twice = Amount { segments, bytes: block.end - block.start };
        ack.delivered += ack.twice;
        let forgotten = block.end <= self.board.una();
        let needless = if forgotten { segments } else { self.board.ever_retransmitted(&block) };
        self.undo.on_dsack(block, needless);
        if self.reordering.seen() && !self.tlp.is_answered_by(block) {
            self.rack.on_dsack(self.board.una(), self.board.nxt());
        }
    }
}
