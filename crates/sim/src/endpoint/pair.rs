//! Both halves of a flow in one place of the memory, so that a flow needs one pointer for them.

/// Both halves of a flow.
#[derive(Debug)]
pub(crate) struct Pair<S, R> {
    pub(crate) sender: S,
    pub(crate) receiver: R,
}

impl<S, R> Pair<S, R> {
    pub(crate) const fn new(sender: S, receiver: R) -> Pair<S, R> {
        Pair { sender, receiver }
    }
}
