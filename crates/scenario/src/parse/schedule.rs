//! When flows send.

use windtunnel_sim::Moment;
use windtunnel_units::Time;

use super::cursor::Cursor;
use super::fault::Fault;
use crate::file::FlowTable;
use crate::model::Active;

/// When the first flow of a group sends.
pub(super) fn schedule(table: &FlowTable, at: &Cursor<'_>, end: Time) -> Result<Vec<Active>, Fault> {
    let Some(spans) = &table.active else {
        let last_start = table.start + table.stagger * u64::from(table.count - 1);
        check_start(table.start, &at.get("start"), end)?;
        let until = table.stop.unwrap_or(end);
        if until <= table.start {
            return Err(at.get("stop").not_allowed(format!("after the start at {}", table.start)));
        }
        if last_start >= until.min(end) {
            let allowed = format!(
                "the last of {} flows would start at {last_start}, and all end at {}",
                table.count,
                until.min(end)
            );
            return Err(at.get("stagger").not_allowed(allowed));
        }
        return Ok(vec![Active { from: table.start.into(), to: table.stop.map(Moment::At) }]);
    };
    let at_spans = at.get("active");
    for other in ["start", "stop", "stagger"] {
        let other = at.get(other);
        if other.is_given() {
            return Err(other.fault("is either this or `active`, not both"));
        }
    }
    if spans.is_empty() {
        return Err(at_spans.not_allowed("at least one span { from = ..., to = ... }"));
    }
    let mut last = None;
    for (index, span) in spans.iter().enumerate() {
        let at = at_spans.item(index);
        let from = span.from.time();
        if let Some(from) = from {
            check_start(from, &at.get("from"), end)?;
        }
        // The order of a span that waits for a state is that in which things happen.
        let begins_early = match (last, from) {
            (Some(Some(last)), Some(from)) => from <= last,
            (Some(None), Some(_)) => true,
            _ => false,
        };
        if begins_early {
            return Err(at
                .get("from")
                .not_allowed("spans are in order of time, each after the end of the one before"));
        }
        let to = span.to.as_ref().map(Moment::time);
        if let (Some(from), Some(Some(to))) = (from, to)
            && to <= from
        {
            return Err(at.get("to").not_allowed(format!("after `from`, which is {from}")));
        }
        // Nothing is known of an end that waits for a state.
        last = match to {
            None => Some(None),
            Some(Some(to)) => Some(Some(to)),
            Some(None) => None,
        };
    }
    Ok(spans.clone())
}

fn check_start(start: Time, at: &Cursor<'_>, end: Time) -> Result<(), Fault> {
    if start >= end {
        return Err(at.not_allowed(format!("before the end of the run at {end}")));
    }
    Ok(())
}
