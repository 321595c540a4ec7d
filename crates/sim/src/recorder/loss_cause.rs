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
