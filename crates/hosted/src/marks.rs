//! Marks that a controller hears of from outside of its stack.
//!
//! A stack tells its controller that packets were marked, and not how many. A program that knows more, because it counts
//! the marks itself or reads them from ACK frames, gives the controller [`Marks`] and adds to them before the stack
//! processes the ACK.

use std::sync::{Arc, Mutex, PoisonError};

use windtunnel_cc::EcnFeedback;

/// Marks on packets that are acknowledged, and that the controller has not heard of. Copies share them.
#[derive(Clone, Debug, Default)]
pub struct Marks(Arc<Mutex<EcnFeedback>>);

impl Marks {
    /// The controller is to hear of these with the next ACK.
    pub fn add(&self, more: EcnFeedback) {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.ce += more.ce;
        marks.sce += more.sce;
        marks.ect1 += more.ect1;
    }

    /// Takes what was added since the last call.
    pub fn take(&self) -> EcnFeedback {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
