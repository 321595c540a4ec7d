//! No active queue management: a plain queue signals only by being full.

use crate::aqm::Aqm;

/// Leaves every packet as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAqm;

impl Aqm for NoAqm {
    fn is_on_arrival(&self) -> bool {
        true
    }
}
