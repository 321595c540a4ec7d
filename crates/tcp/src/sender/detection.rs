//! Which losses an ACK reveals: the detectors behind one switch (step 6 of spec/congestion-control section 1.1).

use windtunnel_cc::{CaState, LossFinder, LostSegment};
use windtunnel_units::{Bytes, Time};

use super::Sender;
use super::ack::Ack;
use super::classic::Classic;
use super::rack::{Detection, RackContext};
use super::rto::TimerKind;
use super::scoreboard::{QueuedSegment, SegmentId};
use crate::params::{LossDetection, Reduction, TcpParams};

/// How losses are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detector {
    Rack,
    Rfc6675,
    /// By duplicate ACKs.
    DuplicateAcks(Classic),
}

impl Detector {
    /// Without SACK only duplicate ACKs remain.
    pub(crate) fn new(params: &TcpParams) -> Detector {
        match params.loss_detection {
            LossDetection::Rack if params.sack => Detector::Rack,
            LossDetection::Rfc6675 if params.sack => Detector::Rfc6675,
            LossDetection::Reno => Detector::DuplicateAcks(Classic::Reno),
            LossDetection::Tahoe => Detector::DuplicateAcks(Classic::Tahoe),
            _ if params.reduction == Reduction::None => Detector::DuplicateAcks(Classic::Newreno),
            _ => Detector::DuplicateAcks(Classic::Linux),
        }
    }
}

impl Sender {
    /// Marks the segments that the ACK shows to be lost.
    pub(super) fn detect_losses(&mut self, ack: &mut Ack) {
        match self.detector {
            Detector::Rack => {
                let detection = self.detect_by_rack(ack);
                self.found_lost(detection.lost.bytes, LossFinder::Ack, ack.now);
                if detection.timer.is_some() {
                    ack.restart_timer = false;
                }
            }
            Detector::Rfc6675 => self.detect_by_rfc6675(ack),
            Detector::DuplicateAcks(classic) => self.detect_by_duplicate_acks(classic, ack),
        }
    }

    /// RFC 8985 section 6.2 steps 4 and 5; sets the reordering timer.
    pub(super) fn detect_by_rack(&mut self, ack: &Ack) -> Detection {
        let context = RackContext {
            now: ack.now,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.srtt(),
            recovering: self.state >= CaState::Recovery,
            dupthresh: if self.has_made_a_hole() { u32::MAX } else { self.reordering.dupthresh() },
            reordering_seen: self.reordering.seen(),
        };
        let detection = self.rack.detect_losses(&mut self.board, &context);
        if let Some(due) = detection.timer {
            self.timer.arm(TimerKind::Reordering, due);
        }
        detection
    }

    /// RFC 6675 section 5: by the segments SACKed above, or by the third duplicate ACK.
    fn detect_by_rfc6675(&mut self, ack: &Ack) {
        let Some(rfc6675) = &mut self.rfc6675 else { return };
        rfc6675.on_ack(ack.advanced, ack.sacked);
        if self.state == CaState::Loss {
            return;
        }
        let dupthresh = self.params.dupthresh;
        let lost = rfc6675.detect_losses(&mut self.board, dupthresh);
        let enough = rfc6675.dup_acks() >= dupthresh;
        self.found_lost(lost.bytes, LossFinder::Ack, ack.now);
        let head = self.board.head().filter(|_| self.state < CaState::Recovery && enough);
        if let Some(head) = head {
            let bytes = self.payload_of(head);
            if self.board.mark_original_lost(head) {
                self.found_lost(bytes, LossFinder::Ack, ack.now);
            }
        }
    }

    /// The head is lost.
    pub(super) fn lose_head(&mut self, now: Time) {
        let bytes = self.board.head().map_or(Bytes::ZERO, |head| self.payload_of(head));
        if self.board.mark_head_lost() {
            self.found_lost(bytes, LossFinder::Ack, now);
        }
    }

    /// `bytes` more were found lost: the controller hears of each segment, if it asked for that.
    pub(super) fn found_lost(&mut self, bytes: Bytes, found_by: LossFinder, now: Time) {
        self.newly_lost += bytes;
        if self.needs.loss_reports {
            self.report_losses(found_by, now);
        } else {
            self.rate.on_lost(bytes);
        }
    }

    fn report_losses(&mut self, found_by: LossFinder, now: Time) {
        let path = self.path(now);
        let losses = self.board.take_losses();
        for segment in losses.iter().filter_map(|id| self.board.get(*id)) {
            self.rate.on_lost(segment.payload());
            let lost = self.rate.lost();
            let departure = segment.snapshot().departure(segment.sent(), lost);
            let (seq, payload) = (segment.seq(), segment.payload());
            self.cc.on_lost(&LostSegment { seq, payload, departure, lost, found_by }, &path);
        }
        self.board.reuse(losses);
    }

    fn payload_of(&self, id: SegmentId) -> Bytes {
        self.board.get(id).map_or(Bytes::ZERO, QueuedSegment::payload)
    }
}
