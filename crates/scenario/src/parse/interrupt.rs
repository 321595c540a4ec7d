//! Reading can be interrupted: the largest scenarios take a while.

use std::fmt;

use super::fault::{Fault, Problem};

/// Asks from time to time whether to go on.
#[derive(Clone, Copy)]
pub(crate) struct Interrupt<'r>(pub(crate) &'r dyn Fn() -> bool);

impl Interrupt<'_> {
    /// A fault if reading must end.
    pub(crate) fn check(self) -> Result<(), Fault> {
        if (self.0)() { Ok(()) } else { Err(Fault::new(Problem::Text("reading was interrupted".to_owned()))) }
    }
}

impl fmt::Debug for Interrupt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}
