//! Both halves of a flow in one place of the memory, so that a flow needs one pointer for them.

/// Both halves of a flow. The fields of a sender that each packet needs come first in it, next to the receiver.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Pair<S, R> {
    pub(crate) receiver: R,
    pub(crate) sender: S,
}

impl<S, R> Pair<S, R> {
    pub(crate) const fn new(sender: S, receiver: R) -> Pair<S, R> {
        Pair { receiver, sender }
    }
}
