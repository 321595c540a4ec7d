//! The cause of a packet's loss.

use windtunnel_qdisc::DropReason;

/// The cause of a packet's loss: a queue, which has reasons, or a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossCause {
    /// A queue dropped it.
    Queue(DropReason),
    /// A medium lost or damaged it, outside of any queue.
    Medium,
}

impl LossCause {
    /// Its code in tables, where 0 stands for no loss.
    pub(crate) const fn code(self) -> u8 {
        match self {
            LossCause::Queue(DropReason::Full) => 1,
            LossCause::Queue(DropReason::Aqm) => 2,
            LossCause::Medium => 3,
            LossCause::Queue(DropReason::Overlimit) => 4,
            LossCause::Queue(DropReason::Policed) => 5,
            LossCause::Queue(DropReason::Filtered) => 6,
        }
    }
}
