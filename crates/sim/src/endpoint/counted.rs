//! What a sending half counts: its other [`super::Counters`] are absent from results, not zero.

use std::ops::BitOr;

/// A set of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted(u16);

impl Counted {
    /// [`super::Counters::sent`].
    pub const SENT: Counted = Counted(1);
    /// [`super::Counters::delivered`].
    pub const DELIVERED: Counted = Counted(1 << 1);
    /// [`super::Counters::retransmits`].
    pub const RETRANSMITS: Counted = Counted(1 << 2);
    /// [`super::Counters::loss_episodes`].
    pub const LOSS_EPISODES: Counted = Counted(1 << 3);
    /// [`super::Counters::rtos`].
    pub const RTOS: Counted = Counted(1 << 4);
    /// [`super::Counters::spurious_rtos`].
    pub const SPURIOUS_RTOS: Counted = Counted(1 << 5);
    /// [`super::Counters::tlps`].
    pub const TLPS: Counted = Counted(1 << 6);
    /// [`super::Counters::undos`].
    pub const UNDOS: Counted = Counted(1 << 7);
    /// [`super::Counters::ecn_reductions`].
    pub const ECN_REDUCTIONS: Counted = Counted(1 << 8);
    /// [`super::Counters::skips`].
    pub const SKIPS: Counted = Counted(1 << 9);
    /// [`super::Counters::exposed`].
    pub const EXPOSED: Counted = Counted(1 << 10);
    /// [`super::Counters::nonce_fail`].
    pub const NONCE_FAIL: Counted = Counted(1 << 11);

    /// All that TCP counts.
    pub(crate) const TCP: Counted = Counted((1 << 12) - 1);
    /// What loss-free endpoints count, which have nothing to send again.
    pub(crate) const LOSS_FREE: Counted = Counted::RETRANSMITS
        .and(Counted::LOSS_EPISODES)
        .and(Counted::RTOS)
        .and(Counted::SPURIOUS_RTOS)
        .and(Counted::TLPS)
        .and(Counted::UNDOS);
    /// What a controller of media over RTP counts.
    pub(crate) const RTP: Counted = Counted::SENT
        .and(Counted::DELIVERED)
        .and(Counted::LOSS_EPISODES)
        .and(Counted::RTOS)
        .and(Counted::ECN_REDUCTIONS);

    /// These and those of `other`.
    #[must_use]
    pub const fn and(self, other: Counted) -> Counted {
        Counted(self.0 | other.0)
    }

    /// `count` if it is one of these.
    pub(crate) fn then(self, counter: Counted, count: u64) -> Option<u64> {
        (self.0 & counter.0 != 0).then_some(count)
    }
}

impl BitOr for Counted {
    type Output = Counted;

    fn bitor(self, other: Counted) -> Counted {
        self.and(other)
    }
}
