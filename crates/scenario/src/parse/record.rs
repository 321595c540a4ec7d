//! Recording and measurement windows.

use std::collections::BTreeMap;

use windtunnel_sim::{RecordParams, Window};
use windtunnel_units::{Duration, Time};

use super::cursor::Cursor;
use super::fault::Fault;
use crate::model::FlowGroup;

/// Points of one series over a run, unless the scenario says otherwise: more than a figure has pixels.
const POINTS: u64 = 20_000;

/// The number of series that get `POINTS` points each. More series share the total, so that a thousand flows do not
/// fill the memory.
const SERIES: u64 = 16;

/// The minimum default distance of two points.
const LEAST_POINT_DISTANCE: Duration = Duration::from_micros(100);

/// The maximum number of rows of a run's time series; each takes about 150 bytes.
const MOST_ROWS: u64 = 100_000_000;

/// Validates `[record]` for a run with the given number of series, and fills in its defaults.
pub(crate) fn record(
    params: RecordParams,
    at: &Cursor<'_>,
    duration: Duration,
    series: u64,
) -> Result<RecordParams, Fault> {
    let rows_at_1_ns = u128::from(duration.as_nanos()) * u128::from(series);
    let least = Duration::from_nanos(rows_at_1_ns.div_ceil(u128::from(MOST_ROWS)).max(1) as u64);
    if params.interval < least {
        let allowed =
            format!("at least {least}: {series} flows and links over {duration} are {MOST_ROWS} rows then");
        return Err(at.get("interval").or_default_not_allowed(params.interval, allowed));
    }
    let usual = || LEAST_POINT_DISTANCE.max(duration * series.div_ceil(SERIES) / POINTS);
    Ok(RecordParams { points: Some(params.points.unwrap_or_else(usual)), ..params })
}

/// Checks that there are packets whose payloads can be kept.
pub(crate) fn check_payloads(
    params: RecordParams,
    at: &Cursor<'_>,
    flows: &[FlowGroup],
) -> Result<(), Fault> {
    let needs = |what: &str| Err(at.get("payloads").fault(format!("needs {what}")));
    if params.payloads && !params.packets {
        return needs("packets = true: payloads are kept of packets that are recorded");
    }
    if params.payloads && !flows.iter().any(FlowGroup::is_over_stack) {
        return needs(
            "a flow over a real stack, such as stack = \"quinn\": the payloads of other flows are not simulated",
        );
    }
    Ok(())
}

/// Validates the windows.
pub(crate) fn check_windows(windows: &[Window], at: &Cursor<'_>, end: Time) -> Result<(), Fault> {
    let mut names = Names::default();
    for (index, window) in windows.iter().enumerate() {
        let at = at.item(index);
        names.add(&window.name, "window", &at.get("name"))?;
        if window.to <= window.from {
            return Err(at.get("to").not_allowed(format!("after `from`, which is {}", window.from)));
        }
        if window.to > end {
            return Err(at.get("to").not_allowed(format!("at most the end of the run at {end}")));
        }
    }
    Ok(())
}

/// Names that must differ, with the lines that they come from.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, Option<u32>>);

impl Names {
    /// Takes a name, or reports where it is already used.
    pub(crate) fn add(&mut self, name: &str, what: &str, at: &Cursor<'_>) -> Result<(), Fault> {
        if name.is_empty() {
            return Err(at.not_allowed("a name that is not empty"));
        }
        match self.0.insert(name.to_owned(), at.line()) {
            None => Ok(()),
            Some(first) => {
                let line = first.map(|line| format!(" (line {line})")).unwrap_or_default();
                Err(at.fault(format!("{name:?} is the name of another {what}{line}: names must differ")))
            }
        }
    }

    /// True if the name is taken.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Takes a name that is known to be free.
    pub(crate) fn take(&mut self, name: String) {
        self.0.insert(name, None);
    }
}
