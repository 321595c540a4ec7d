//! The table `payloads` of a run: what was in the datagrams of stacks from elsewhere.

/// Borrowed columns, of one length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Payloads<'a> {
    /// The identities of packets, in ascending order.
    pub ids: &'a [u64],
    /// What follows the UDP header of each.
    pub contents: &'a [&'a [u8]],
}

impl<'a> Payloads<'a> {
    /// The payload of a packet that was sent under this identity, if it was kept.
    pub(super) fn of(&self, id: u64) -> Option<&'a [u8]> {
        let index = self.ids.binary_search(&id).ok()?;
        self.contents.get(index).copied()
    }
}
