//! QUIC's counts at the sender (RFC 9000 section 13.4.2; spec/queues-and-signalling section 17.8).
//!
//! What a count has grown by since the last ACK is what was received with that code point. The counts are validated: a path or a
//! receiver that loses the ECN field would hide congestion, so that a sender whose packets are acknowledged and not counted stops
//! sending ECT (section 13.4.2.1). The rule is that of the section, over the whole connection instead of ACK by ACK:
//! a TCP ACK with too few SACK blocks reports some packets later than the counts include them. Retransmissions that were
//! sent Not-ECT may be missing in the counts.
//!
//! A sender that hears SCE accepts ECT(1) as its mark; for all others a code point that they never sent shows a fault.

use std::cmp::Ordering;

use windtunnel_cc::{EcnFeedback, Marked};
use windtunnel_units::Bytes;
use windtunnel_wire::{Ecn, EcnCounts, Packet};

use super::{Progress, bytes_of};

/// The number of SACK blocks that leave no room for the counts.
const BLOCKS_INSTEAD: usize = 2;

/// What the sender knows of the counts.
#[derive(Debug)]
pub(super) struct Quic {
    mss: Bytes,
    /// The code point of its data.
    data: Ecn,
    /// ECT(1) is a mark.
    hears_sce: bool,
    /// The counts of the latest ACK.
    latest: EcnCounts,
    /// Packets that were acknowledged.
    delivered: u64,
    /// Packets that were sent Not-ECT.
    bare: u64,
    /// Those that the counts include.
    counted: u64,
    failed: bool,
    /// What no [`Quic::take_counts`] has taken.
    heard: EcnFeedback,
}

impl Quic {
    pub(super) fn new(mss: Bytes, data: Ecn, hears_sce: bool) -> Quic {
        Quic {
            mss,
            data,
            hears_sce,
            latest: EcnCounts::default(),
            delivered: 0,
            bare: 0,
            counted: 0,
            failed: false,
            heard: EcnFeedback::default(),
        }
    }

    /// The counts are not those of the packets that were sent: ECN is off.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    pub(super) fn hears_sce(&self) -> bool {
        self.hears_sce
    }

    /// A segment leaves Not-ECT.
    pub(super) fn sent_bare(&mut self) {
        self.bare += 1;
    }

    /// An ACK arrived. Whether it reports CE and SCE.
    pub(super) fn hear(&mut self, packet: &Packet, progress: Progress) -> (bool, bool) {
        if self.failed {
            return (false, false);
        }
        self.delivered += progress.delivered.segments;
        let options = packet.options();
        let Some(counts) = options.and_then(|options| options.ecn_counts) else {
            let crowded = options.is_some_and(|options| options.sack.as_slice().len() >= BLOCKS_INSTEAD);
            self.failed = !crowded && !progress.delivered.is_zero();
            return (false, false);
        };
        let Some(news) = self.news(counts) else { return (false, false) };
        self.latest = counts;
        self.counted += u64::from(news.ect0) + u64::from(news.ect1) + u64::from(news.ce);
        self.failed = !self.is_valid();
        if self.failed {
            return (false, false);
        }
        let marked = |packets| Marked { bytes: bytes_of(packets, self.mss), packets };
        let sce = if self.hears_sce { news.ect1 } else { 0 };
        let (ce, sce) = (marked(news.ce), marked(sce));
        self.heard.ce += ce;
        self.heard.sce += sce;
        (ce.any(), sce.any())
    }

    /// By how much the counts have grown; nothing if the ACK is older than one before. Counts never decrease: if some have and
    /// other ones have grown, the path has overwritten them.
    fn news(&mut self, counts: EcnCounts) -> Option<EcnCounts> {
        let [ect0, ect1, ce] = {
            let (new, old) = (counts.fields(), self.latest.fields());
            [0, 1, 2].map(|n| new[n].wrapping_sub(old[n]))
        };
        let steps = [ect0, ect1, ce].map(|step| step.cast_signed().cmp(&0));
        if !steps.contains(&Ordering::Less) {
            return Some(EcnCounts { ect0, ect1, ce });
        }
        self.failed = steps.contains(&Ordering::Greater);
        None
    }

    fn is_valid(&self) -> bool {
        let foreign = match self.data {
            Ecn::Ect1 => self.latest.ect0,
            _ if self.hears_sce => 0,
            _ => self.latest.ect1,
        };
        foreign == 0 && self.counted + self.bare >= self.delivered
    }

    /// What was heard since the last [`Quic::take_counts`].
    pub(super) const fn counts(&self) -> EcnFeedback {
        self.heard
    }

    /// What was heard since the last call.
    pub(super) fn take_counts(&mut self) -> EcnFeedback {
        std::mem::take(&mut self.heard)
    }
}
