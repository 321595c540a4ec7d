//! The parts of window-based controllers that most tests leave as they are.

use std::sync::Arc;

use windtunnel_cc::{
    AvoidanceParams, ConventionalParams, NoSlowStartParams, RenoParams, ResponseParams, SlowStartParams,
    StandardParams,
};

/// Reno with its defaults.
pub(crate) fn plain_reno() -> Arc<dyn AvoidanceParams> {
    Arc::new(RenoParams::default())
}

/// Congestion avoidance from the first ACK on.
pub(crate) fn none() -> Arc<dyn SlowStartParams> {
    Arc::new(NoSlowStartParams {})
}

/// Standard slow start with its defaults.
pub(crate) fn standard() -> Arc<dyn SlowStartParams> {
    Arc::new(StandardParams::default())
}

/// Multiplicative decrease on a loss or CE.
pub(crate) fn plain_response() -> Arc<dyn ResponseParams> {
    Arc::new(ConventionalParams::default())
}
