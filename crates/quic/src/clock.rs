//! Virtual time as the stacks know it.
//!
//! They compute with [`Instant`]s, and only differences between these matter. The start of a run is one fixed instant,
//! the same for all runs of a process.

use std::sync::OnceLock;
use std::time::Instant;

use windtunnel_units::Time;

/// The instant that stands for the start of a run.
#[expect(clippy::disallowed_methods, reason = "an origin: only differences from it are used")]
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// The stack's instant for `time`.
pub(crate) fn instant(time: Time) -> Instant {
    start() + std::time::Duration::from_nanos(time.as_nanos())
}

/// The time of a stack's instant.
pub(crate) fn time(instant: Instant) -> Time {
    Time::ZERO + instant.saturating_duration_since(start()).into()
}
