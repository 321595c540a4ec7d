//! A panic is shown, except while a signal ends the process.
//!
//! A signal becomes an exception wherever Python's code runs, and the crate `numpy` panics if one reaches it as it asks
//! numpy for its functions. Such a panic is a consequence of the signal, as the exceptions that
//! `python/windtunnel/cli/signals.py` keeps silent.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::pyfunction;

static LEAVING: AtomicBool = AtomicBool::new(false);

/// Put the hook in place, once.
pub(crate) fn init() {
    let show = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !LEAVING.load(Ordering::Relaxed) {
            show(panic);
        }
    }));
}

#[pyfunction]
pub fn leaving() {
    LEAVING.store(true, Ordering::Relaxed);
}
