//! Loss detection and choice of the next segment by SACK (RFC 6675 section 4; spec/congestion-control section 1.8).
//!
//! A segment is lost when enough is SACKed above it: `dupthresh` separate ranges, or more bytes than `dupthresh - 1`
//! full segments. Data above one segment are above all lower ones too, so one boundary separates the lost segments:
//! the point at which, counted from the top, enough is SACKed. To find it, at most `dupthresh` ranges are examined,
//! and each segment below it is marked once. Lost retransmissions are not found; they wait for the timeout.

use windtunnel_units::{Bytes, Seq};

use super::scoreboard::{Amount, QueuedSegment, Scoreboard, SegmentId};

/// What to send next in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextSeg {
    /// A segment again: one that is lost (rule 1), or one that may be lost if nothing else can be sent (rule 3).
    Retransmit(SegmentId),
    /// New data (rule 2).
    New,
    /// The highest segment again, so that its ACK shows what is missing (rule 4).
    Rescue(SegmentId),
}

/// The algorithm's variables (RFC 6675 sections 2 and 5).
#[derive(Debug)]
pub(crate) struct Rfc6675 {
    smss: Bytes,
    /// ACKs in a row that brought new SACK information and no new cumulative ACK: `DupAcks`.
    dup_acks: u32,
    /// Every lost segment below is marked.
    marked_below: SegmentId,
    /// The highest segment retransmitted in this recovery: `HighRxt`.
    high_rxt: Option<SegmentId>,
    /// `RecoveryPoint`.
    recovery_point: Seq,
    /// A rescue is allowed again above this: `RescueRxt`.
    rescue_rxt: Option<Seq>,
}

impl Rfc6675 {
    /// For full segments of `smss`.
    pub(crate) fn new(smss: Bytes) -> Rfc6675 {
        Rfc6675 {
            smss,
            dup_acks: 0,
            marked_below: SegmentId::default(),
            high_rxt: None,
            recovery_point: Seq::default(),
            rescue_rxt: None,
        }
    }

    /// An ACK of new data, or one with new SACK information: the RFC's definition of a duplicate ACK (section 2).
    pub(crate) fn on_ack(&mut self, advanced: bool, sacked: bool) {
        if advanced {
            self.dup_acks = 0;
        } else if sacked {
            self.dup_acks = self.dup_acks.saturating_add(1);
        }
    }

    /// `DupAcks`.
    pub(crate) const fn dup_acks(&self) -> u32 {
        self.dup_acks
    }

    /// Marks every segment for which `IsLost()` holds; call it when SACK information is new. Returns the amount newly
    /// marked.
    pub(crate) fn detect_losses(&mut self, scoreboard: &mut Scoreboard, dupthresh: u32) -> Amount {
        let mut marked = Amount::ZERO;
        let Some(limit) = self.lost_below(scoreboard, dupthresh) else { return marked };
        while let Some(id) = scoreboard.next_unsacked(self.marked_below)
            && id < limit
        {
            let payload = scoreboard.get(id).map_or(Bytes::ZERO, QueuedSegment::payload);
            if scoreboard.mark_original_lost(id) {
                marked += Amount::one(payload);
            }
            self.marked_below = id.next();
        }
        marked
    }

    /// Recovery starts.
    pub(crate) fn enter_recovery(&mut self, scoreboard: &Scoreboard) {
        self.recovery_point = scoreboard.nxt();
        self.high_rxt = None;
        self.rescue_rxt = None;
    }

    /// `NextSeg()`, if the window has room. `new_data`: the application and the receiver's window have a segment.
    pub(crate) fn next_seg(&self, scoreboard: &Scoreboard, new_data: bool) -> Option<NextSeg> {
        if let Some(lost) = scoreboard.next_lost() {
            return Some(NextSeg::Retransmit(lost));
        }
        if new_data {
            return Some(NextSeg::New);
        }
        self.perhaps_lost(scoreboard).map(NextSeg::Retransmit).or_else(|| self.rescue(scoreboard))
    }

    /// The segment that [`Rfc6675::next_seg`] named was sent.
    pub(crate) fn on_next_seg_sent(&mut self, sent: NextSeg) {
        match sent {
            NextSeg::Retransmit(id) => self.high_rxt = self.high_rxt.max(Some(id)),
            NextSeg::New => {}
            NextSeg::Rescue(_) => self.rescue_rxt = Some(self.recovery_point),
        }
    }

    /// The retransmission timer expired: everything is marked, and counting restarts.
    pub(crate) fn on_timeout(&mut self) {
        self.reset();
        self.dup_acks = 0;
    }

    /// Marks or SACK information were taken back (undo, reneging): lost segments have to be found anew.
    pub(crate) fn reset(&mut self) {
        self.marked_below = SegmentId::default();
        self.high_rxt = None;
    }

    /// The first segment without enough SACKed above it starts at or above this one.
    fn lost_below(&self, scoreboard: &Scoreboard, dupthresh: u32) -> Option<SegmentId> {
        let enough = self.smss * u64::from(dupthresh.saturating_sub(1));
        let mut ranges = 0;
        let mut bytes = Bytes::ZERO;
        scoreboard.sacked_from_top().find_map(|(first, payload)| {
            ranges += 1;
            bytes += payload;
            (ranges >= dupthresh || bytes > enough).then_some(first)
        })
    }

    /// Rule 3: the lowest segment, neither SACKed nor retransmitted, that has SACKed data above it.
    fn perhaps_lost(&self, scoreboard: &Scoreboard) -> Option<SegmentId> {
        let highest = scoreboard.highest_sacked()?;
        let mut id = scoreboard.next_unsacked(self.high_rxt.map_or(SegmentId::default(), SegmentId::next))?;
        while scoreboard.get(id)?.is_retransmitted() {
            id = scoreboard.next_unsacked(id.next())?;
        }
        (scoreboard.get(id)?.seq() < highest).then_some(id)
    }

    /// Rule 4: once per recovery, and again when SND.UNA has passed `RescueRxt`.
    fn rescue(&self, scoreboard: &Scoreboard) -> Option<NextSeg> {
        let allowed = self.rescue_rxt.is_none_or(|rescue_rxt| scoreboard.una() > rescue_rxt);
        scoreboard.last_unsacked().filter(|_| allowed).map(NextSeg::Rescue)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use windtunnel_cc::rate_sample::Snapshot;

    use super::super::scoreboard::tests::{MSS, ack, id, ms, sack, send};
    use super::*;

    fn board(n: u64) -> (Rfc6675, Scoreboard) {
        let mut board = Scoreboard::new(false);
        send(&mut board, n, ms(0));
        (Rfc6675::new(MSS), board)
    }

    fn lost(board: &Scoreboard) -> Vec<u64> {
        (1..=20).filter(|&n| board.get(id(n)).is_some_and(QueuedSegment::is_lost)).collect()
    }

    /// RFC 6675 section 4: three ranges above suffice, however short.
    #[test]
    fn by_ranges() {
        let (mut detector, mut board) = board(10);
        sack(&mut board, &[(3, 3), (5, 5)]);
        assert_eq!(detector.detect_losses(&mut board, 3), Amount::ZERO, "two ranges of 1000 bytes");
        sack(&mut board, &[(7, 7)]);
        assert_eq!(detector.detect_losses(&mut board, 3).segments, 2);
        assert_eq!(lost(&board), [1, 2]);
        sack(&mut board, &[(9, 9)]);
        assert_eq!(detector.detect_losses(&mut board, 3).segments, 1);
        assert_eq!(lost(&board), [1, 2, 4], "5, 7 and 9 are above 4");
        assert_eq!(detector.detect_losses(&mut board, 3), Amount::ZERO, "nothing is new");
    }

    /// More than (3 - 1) SMSS above, in one range.
    #[test]
    fn by_bytes() {
        let (mut detector, mut board) = board(10);
        sack(&mut board, &[(2, 3)]);
        assert_eq!(detector.detect_losses(&mut board, 3), Amount::ZERO, "exactly two segments");
        sack(&mut board, &[(4, 4)]);
        assert_eq!(detector.detect_losses(&mut board, 3), Amount::one(MSS));
        assert_eq!(lost(&board), [1]);
    }

    /// The order of `NextSeg()`: lost segments, new data, segments below the highest SACK that may be lost, one
    /// rescue.
    #[test]
    fn next_seg() {
        let (mut detector, mut board) = board(10);
        sack(&mut board, &[(3, 3), (5, 5), (7, 7)]);
        detector.detect_losses(&mut board, 3);
        detector.enter_recovery(&board);
        assert_eq!(detector.recovery_point, board.nxt());
        let mut sent = Vec::new();
        for new_data in [true, false, true, false, false, false, false] {
            let next = detector.next_seg(&board, new_data);
            if let Some(next) = next {
                match next {
                    NextSeg::Retransmit(id) | NextSeg::Rescue(id) => {
                        board.on_retransmitted(id, ms(40), Snapshot::default());
                    }
                    NextSeg::New => send(&mut board, 1, ms(40)),
                }
                detector.on_next_seg_sent(next);
            }
            sent.push(next);
        }
        let again = |n| Some(NextSeg::Retransmit(id(n)));
        let rescue = Some(NextSeg::Rescue(id(11)));
        assert_eq!(sent, [again(1), again(2), Some(NextSeg::New), again(4), again(6), rescue, None]);
        ack(&mut board, 11);
        assert_eq!(detector.next_seg(&board, false), None, "SND.UNA is not above RescueRxt");
        ack(&mut board, 12);
        send(&mut board, 1, ms(80));
        assert_eq!(detector.next_seg(&board, false), Some(NextSeg::Rescue(id(12))));
    }

    /// RFC 6675 section 2: an ACK is a duplicate if it brings SACK information, whatever else it says; new data, or a
    /// timeout, restart the count.
    #[test]
    fn duplicate_acks() {
        let mut detector = Rfc6675::new(MSS);
        let mut counts = Vec::new();
        for (advanced, sacked) in [(false, true), (false, false), (false, true), (true, true), (false, true)]
        {
            detector.on_ack(advanced, sacked);
            counts.push(detector.dup_acks());
        }
        assert_eq!(counts, [1, 1, 2, 0, 1]);
        detector.on_timeout();
        assert_eq!(detector.dup_acks(), 0);
    }

    /// The detection finds again what an undo took back.
    #[test]
    fn reset() {
        let (mut detector, mut board) = board(10);
        sack(&mut board, &[(4, 6)]);
        assert_eq!(detector.detect_losses(&mut board, 3).segments, 3);
        board.unmark_lost();
        detector.reset();
        assert_eq!(detector.detect_losses(&mut board, 3).segments, 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        /// The marked segments are, step by step, those for which the RFC's `IsLost()`, computed from everything
        /// SACKed, has ever been true.
        #[test]
        fn by_definition(sacks in vec((1..60u64, 0..4u64), 1..60), dupthresh in 1..6u32) {
            let (mut detector, mut board) = board(64);
            let mut expected = [false; 65];
            for (first, more) in sacks {
                sack(&mut board, &[(first, first + more)]);
                let is_sacked = |n: u64| board.get(id(n)).is_some_and(QueuedSegment::is_sacked);
                for n in 1..=64 {
                    let above: Vec<u64> = (n + 1..=64).filter(|&m| is_sacked(m)).collect();
                    let ranges = above.iter().filter(|&&m| !is_sacked(m - 1)).count();
                    let enough = ranges as u64 >= u64::from(dupthresh) || above.len() as u64 > u64::from(dupthresh - 1);
                    expected[n as usize] = !is_sacked(n) && (expected[n as usize] || enough);
                }
                detector.detect_losses(&mut board, dupthresh);
                for n in 1..=64 {
                    let marked = board.get(id(n)).is_some_and(QueuedSegment::is_lost);
                    prop_assert_eq!(marked, expected[n as usize], "segment {}", n);
                }
            }
        }
    }

    /// RFC 6675 section 4: three ranges above are enough even if they have few bytes, here 3000 where more than 2 *
    /// 10,000 would be; two are not.
    #[test]
    fn by_ranges_of_small_segments() {
        let (_, mut board) = board(10);
        let mut detector = Rfc6675::new(MSS * 10);
        sack(&mut board, &[(3, 3), (5, 5)]);
        assert_eq!(detector.detect_losses(&mut board, 3), Amount::ZERO);
        sack(&mut board, &[(7, 7)]);
        assert_eq!(detector.detect_losses(&mut board, 3).segments, 2);
        assert_eq!(lost(&board), [1, 2]);
    }
}
