//! Loss recovery by duplicate ACKs: Tahoe (Jacobson 1988), Reno (Jacobson 1990), `NewReno` (RFC 6582), and `NewReno` as
//! Linux has it.
//!
//! Each duplicate ACK shows that one segment left the network, but not which one. Reno inflates cwnd by that segment
//! and compares cwnd with everything that is outstanding; here the segment counts as SACKed and leaves the pipe
//! instead, which permits exactly the same segments: `outstanding < ssthresh + n` is `outstanding - n < ssthresh`,
//! and a partial ACK of `Nc` segments, which deflates by `Nc - 1`, takes back as many. The cwnd that is reported is
//! the inflated one. Linux approaches cwnd by PRR with the same counts (`reduction` other than none).
//! spec/congestion-control section 1.7.

use windtunnel_cc::{CaState, LossFinder};
use windtunnel_units::Bytes;

use super::Sender;
use super::ack::Ack;
use super::detection::Detector;
use super::frto::Frto;
use super::scoreboard::{Amount, Scoreboard};
use super::transmit::Forced;
use crate::params::Inflation;

/// The variant of the recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Classic {
    /// Slow start from the lost segment on.
    Tahoe,
    /// Any ACK of new data ends the recovery.
    Reno,
    /// Partial ACKs repair one loss each.
    Newreno,
    /// The same under PRR.
    Linux,
}

/// What inflates cwnd in a fast recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inflating {
    /// Segments outstanding when the loss was detected.
    outstanding: u64,
    /// Duplicate ACKs, those that showed the loss among them.
    duplicates: u64,
}

impl Inflating {
    pub(super) fn at_entry(board: &Scoreboard) -> Inflating {
        Inflating { outstanding: board.outstanding().segments, duplicates: board.sacked().segments }
    }
}

impl Sender {
    /// A duplicate ACK of a connection without SACK: one more segment is delivered. In Loss it may answer a needless
    /// retransmission, so only duplicate ACKs of new data count there (F-RTO) while the flight is not acknowledged.
    pub(super) fn take_duplicate(&mut self, ack: &mut Ack) {
        self.inflating.duplicates += u64::from(self.state == CaState::Recovery);
        let of_new_data = self.board.nxt() > self.high_seq && self.board.una() < self.high_seq;
        if self.state != CaState::Loss || of_new_data {
            let counted = self.board.on_duplicate_ack();
            ack.delivered += counted.delivered;
            if counted.unexplained {
                self.learn_reordering(0);
            }
        }
    }

    /// More duplicate ACKs came than segments are outstanding above the holes; `acked` of these segments are
    /// acknowledged now. The segments that counted as holes had only been overtaken (Linux
    /// `tcp_check_reno_reordering`).
    #[cold]
    pub(super) fn learn_reordering(&mut self, acked: u64) {
        if self.detector == Detector::DuplicateAcks(Classic::Linux) {
            self.reordering.on_unexplained_duplicates(self.board.outstanding().segments + acked);
        }
    }

    /// A partial ACK that the late original caused. Without SACK, Linux considers everything outstanding delivered if
    /// duplicate ACKs still count anything (`tcp_highest_sack_seq`), and otherwise nothing above the ACK.
    pub(super) fn learn_lateness(&mut self, ack: &Ack) {
        if self.params.sack {
            return self.reordering.on_late(ack.prior_una);
        }
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let highest = if self.board.sacked().is_zero() { una } else { nxt };
        self.reordering.on_unexplained_duplicates((highest - ack.prior_una) / self.mss);
    }

    /// The third duplicate ACK, or a partial ACK.
    pub(super) fn detect_by_duplicate_acks(&mut self, classic: Classic, ack: &Ack) {
        match self.state {
            CaState::Loss => {}
            CaState::Recovery => {
                if ack.advanced {
                    self.lose_head(ack.now);
                    if classic == Classic::Newreno {
                        // Regardless of what is in flight (RFC 6582 section 3.2 step 3).
                        self.forced = Some(Forced::Head);
                    }
                }
            }
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                let dupthresh = match classic {
                    Classic::Linux => self.reordering.dupthresh(),
                    _ => self.params.dupthresh,
                };
                if self.board.sacked().segments >= u64::from(dupthresh)
                    && self.fast_retransmit_allowed(classic)
                {
                    self.lose_head(ack.now);
                }
            }
        }
    }

    /// RFC 6582 section 3.2 step 2: duplicate ACKs of data sent before the last recovery ended may answer its
    /// retransmissions. Linux has no such variable: it stays in that recovery meanwhile, unless the recovery was
    /// undone.
    fn fast_retransmit_allowed(&self, classic: Classic) -> bool {
        matches!(classic, Classic::Reno | Classic::Linux) || self.board.una() > self.recover
    }

    /// Tahoe: the third duplicate ACK is answered like a timeout, without its back-off. Everything outstanding counts
    /// as lost, which is "`nxt = una`".
    pub(super) fn enter_tahoe(&mut self, ack: &mut Ack) {
        let lost = self.board.mark_all_lost();
        self.found_lost(lost.bytes, LossFinder::Ack, ack.now);
        self.undo.begin(self.board.una(), 0);
        let path = self.path(ack.now);
        self.cc.on_rto(true, &path);
        self.cwnd = self.cc.cwnd();
        self.set_state(CaState::Loss, ack.now);
        self.timed_out = false;
        self.frto = Frto::Off;
        self.high_seq = self.board.nxt();
        self.recover = self.high_seq;
        self.stats.loss_episodes += 1;
        self.tlp.clear();
        self.ecn.queue_cwr();
        // The ACK that shows the loss does not grow cwnd.
        ack.delivered = Amount::ZERO;
        ack.twice = Amount::ZERO;
    }

    /// `NewReno`'s full ACK: avoids a burst if little is outstanding (RFC 6582 section 3.2 step 3, first option).
    pub(super) fn deflate(&mut self, ack: &Ack) {
        if self.detector == Detector::DuplicateAcks(Classic::Newreno) {
            let flight = self.board.outstanding().segments.max(1);
            let cwnd = self.mss * (flight + 1);
            if cwnd < self.cc.cwnd() {
                self.lower_cwnd(cwnd, ack.now);
            }
        }
    }

    /// The amount that inflates cwnd in fast recovery.
    pub(super) fn inflation(&self) -> Bytes {
        match self.detector {
            Detector::DuplicateAcks(Classic::Reno | Classic::Newreno) if self.state == CaState::Recovery => {
                self.mss * self.inflating_segments()
            }
            _ => Bytes::ZERO,
        }
    }

    /// The segments that inflate cwnd in fast recovery.
    fn inflating_segments(&self) -> u64 {
        let counted = self.board.sacked().segments;
        match self.params.inflation {
            Inflation::Outstanding => counted,
            Inflation::Entry => counted.min(self.inflating.outstanding),
            Inflation::Unlimited => self.inflating.duplicates,
        }
    }

    /// The amount in flight where the inflation differs from what duplicate ACKs were counted to have delivered.
    #[cold]
    pub(super) fn in_flight_apart_from_inflation(&self, in_flight: u64) -> u64 {
        if self.inflation() == Bytes::ZERO {
            return in_flight;
        }
        (in_flight + self.board.sacked().segments).saturating_sub(self.inflating_segments())
    }
}
