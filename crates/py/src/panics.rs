//! A panic is shown, except while a signal ends the process.
//!
//! A signal becomes an exception wherever Python's code runs, and the crate `numpy` panics if one reaches it as it asks
//! numpy for its functions. Such a panic is a consequence of the signal, as the exceptions that
//! `python/windtunnel/cli/signals.py` keeps silent. Nor is one shown that a damaged file causes in what reads it: the file
//! is what is wrong, and the caller says so.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::pyfunction;

thread_local! {
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Carries out `read`; None if it panics.
pub(crate) fn caught<T>(read: impl FnOnce() -> T) -> Option<T> {
    READING.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(read));
    READING.set(false);
    done.ok()
}

static LEAVING: AtomicBool = AtomicBool::new(false);

/// Put the hook in place, once.
pub(crate) fn init() {
    let show = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !LEAVING.load(Ordering::Relaxed) && !READING.get() {
            show(panic);
        }
    }));
}

#[pyfunction]
pub fn leaving() {
    LEAVING.store(true, Ordering::Relaxed);
}
