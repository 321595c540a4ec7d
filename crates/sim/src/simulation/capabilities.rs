//! What a run uses, decided once when it begins.
//!
//! Few runs record single packets. The loop is compiled for each of the two kinds, from the same source: in a
//! [`Plain`] run a packet is not asked about what no packet of the run has. [`Full`] asks about everything, so it can
//! take the place of [`Plain`] in any run; what rarely happens is compiled for it alone
//! (docs/decisions/0050-capabilities.md).

/// What the packets of a run may need.
pub(crate) trait Capabilities {
    /// Single packets matter: they are told apart or captured, single events or changes of state are kept, queues have
    /// classes, or a change waits for the state of a flow.
    const SINGLE_PACKETS: bool;
}

/// A run in which single packets do not matter.
#[derive(Debug)]
pub(crate) struct Plain;

impl Capabilities for Plain {
    const SINGLE_PACKETS: bool = false;
}

/// Any run.
#[derive(Debug)]
pub(crate) struct Full;

impl Capabilities for Full {
    const SINGLE_PACKETS: bool = true;
}
