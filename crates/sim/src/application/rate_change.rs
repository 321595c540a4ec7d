//! Changes of an application's rate during a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{OutOfRange, Rate, Time};

use super::config::positive_rate;
use crate::schedule::{Moment, When, check_moment};

/// A change of an application's rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateChange {
    /// The time of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// Instead of a time: the first ACK after which a flow's controller is in a state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The new rate.
    pub rate: Rate,
}

impl RateChange {
    /// When it happens; nothing without `at` and `when`.
    pub fn moment(&self) -> Option<Moment> {
        Moment::of(self.at, self.when.as_ref())
    }
}

/// Each change has a rate, and one moment.
pub(super) fn check_changes(changes: &[RateChange]) -> Result<(), OutOfRange> {
    let mut last = None;
    for change in changes {
        positive_rate("changes", change.rate)?;
        check_moment("changes", change.at, change.when.as_ref(), &mut last)?;
    }
    Ok(())
}
