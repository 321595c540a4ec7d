//! A control of the page has moved: the change, written into the scenario's text.
//!
//! A change at the start of the run replaces what the text says. A later one is written down with its time, so that what has
//! happened before stays: a link's `changes`, an element's `during`, the `start` and `stop` of flows. A flow gets another
//! controller as a user gets one, with the next connection: it stops, and one like it starts.

use std::fmt;

use serde::Deserialize;
use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, Value};
use windtunnel_scenario::{Link, LinkParams, Scenario};
use windtunnel_units::{Duration, Time};

use crate::queue;
use crate::text::{self, Entries, Tables};

/// What the reader has changed. Quantities are texts with their units, as scenarios have them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Edit {
    /// The rate of a link.
    Rate {
        /// Its name.
        link: String,
        /// The new rate.
        value: String,
    },
    /// The limit of a link's queue.
    Limit {
        /// The link's name.
        link: String,
        /// The new limit.
        value: String,
    },
    /// The round-trip time of the first flow's path without queues; others change by as much.
    Rtt {
        /// The link whose delay changes.
        link: String,
        /// The new round-trip time.
        value: Duration,
    },
    /// The queue of a link.
    Queue {
        /// The link's name.
        link: String,
        /// The kind of the new queue.
        kind: String,
    },
    /// Independent losses behind a link.
    Loss {
        /// The link's name.
        link: String,
        /// Their probability; with `"0 %"` there are none.
        value: String,
    },
    /// The controller of a `[[flow]]`.
    Controller {
        /// The number of the `[[flow]]`.
        flow: usize,
        /// Its new controller.
        kind: String,
    },
    /// One more flow.
    AddFlow {
        /// The number of the `[[flow]]` that it is like.
        like: usize,
    },
    /// A `[[flow]]` stops.
    StopFlow {
        /// Its number.
        flow: usize,
    },
}

/// The text has no place for a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditError(String);

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EditError {}

pub(crate) fn missing(what: impl fmt::Display) -> EditError {
    EditError(format!("the text has no {what}"))
}

impl Edit {
    /// The text of `scenario` with the change at the time `at`.
    ///
    /// # Errors
    /// If the text has no place for it. What only the scenario's rules forbid is in the new text, and reading it says so.
    pub fn apply(&self, text: &str, scenario: &Scenario, at: Time) -> Result<String, EditError> {
        let mut document: DocumentMut = text.parse().map_err(|_| missing("valid TOML"))?;
        match self {
            Edit::Rate { link, value } => change_link(&mut document, link, at, "rate", value)?,
            Edit::Limit { link, value } => set_limit(&mut document, scenario, link, value, at)?,
            Edit::Rtt { link, value } => set_rtt(&mut document, scenario, link, *value, at)?,
            Edit::Queue { link, kind } => queue::replace(table_of(&mut document, link)?, kind.into(), at)?,
            Edit::Loss { link, value } => set_loss(table_of(&mut document, link)?, value, at)?,
            Edit::Controller { flow, kind } => replace(&mut document, *flow, kind, at)?,
            Edit::AddFlow { like } => add(&mut document, *like, at)?,
            Edit::StopFlow { flow } => stop(&mut document, *flow, at)?,
        }
        Ok(document.to_string())
    }
}

fn table_of<'d>(document: &'d mut DocumentMut, link: &str) -> Result<&'d mut dyn TableLike, EditError> {
    text::link(document, link).ok_or_else(|| missing(format_args!("table of the link `{link}`")))
}

/// A link has another value from `at` on.
fn change_link(
    document: &mut DocumentMut,
    link: &str,
    at: Time,
    key: &'static str,
    value: &str,
) -> Result<(), EditError> {
    let table = table_of(document, link)?;
    if at == Time::ZERO {
        text::set(table, key, value);
        return Ok(());
    }
    let mut changes = Tables::of(table, "changes").ok_or_else(|| missing("list of `changes`"))?;
    for index in 0..changes.len() {
        let Some(change) = changes.get(index) else { continue };
        match text::time(change, "at") {
            Some(time) if time == at => {
                text::set(change, key, value);
                return Ok(());
            }
            Some(time) if time > at => {
                changes.insert(index, Entries::default().with("at", text::written(at)).with(key, value));
                return Ok(());
            }
            _ => {}
        }
    }
    let last = changes.len();
    changes.insert(last, Entries::default().with("at", text::written(at)).with(key, value));
    Ok(())
}

fn link_of<'s>(scenario: &'s Scenario, name: &str) -> Result<&'s Link, EditError> {
    let link = scenario.links.iter().find(|link| link.name == name);
    link.ok_or_else(|| missing(format_args!("link `{name}`")))
}

/// The queue of a link has this limit from `at` on. One whose limit cannot change is replaced by another of its kind.
fn set_limit(
    document: &mut DocumentMut,
    scenario: &Scenario,
    link: &str,
    limit: &str,
    at: Time,
) -> Result<(), EditError> {
    if at > Time::ZERO && link_of(scenario, link)?.queue.may_change_its_limit() {
        return change_link(document, link, at, "limit", limit);
    }
    let table = table_of(document, link)?;
    let limited = queue::with_limit(queue::at(table, at)?, limit);
    queue::replace(table, limited, at)
}

/// The delay of a link at a time.
fn delay_at(link: &LinkParams, at: Time) -> Duration {
    let changes = link.changes.iter().filter(|change| change.at.is_some_and(|time| time <= at));
    changes.filter_map(|change| change.delay).next_back().unwrap_or(link.delay)
}

/// The first flow has this round-trip time from `at` on, and others change by as much.
fn set_rtt(
    document: &mut DocumentMut,
    scenario: &Scenario,
    link: &str,
    rtt: Duration,
    at: Time,
) -> Result<(), EditError> {
    let first = scenario.flows.first().ok_or_else(|| missing("[[flow]]"))?;
    let params = &link_of(scenario, link)?.params;
    if at == Time::ZERO && document.get("link").is_none() {
        // In a dumbbell each flow states its own.
        let mut flows = flows(document)?;
        for (index, group) in scenario.flows.iter().enumerate() {
            let Some(flow) = flows.get(index) else { continue };
            let changed = (group.route.rtt + rtt).saturating_sub(first.route.rtt);
            text::set(flow, "rtt", changed.to_string());
        }
        return Ok(());
    }
    let start = params.delay;
    let now = delay_at(params, at);
    let current = (first.route.rtt + now).saturating_sub(start);
    let shorter = current.saturating_sub(rtt);
    if shorter > now {
        // The delay in front of the link cannot change: the link takes over half of the path's, for the whole run.
        let half = scenario.flows.iter().map(|group| group.route.rtt).min().unwrap_or_default() / 2;
        if half <= start || shorter > now + (half - start) {
            return Err(EditError(format!(
                "the delay of `{link}` can fall by {now} at most, not by {shorter}"
            )));
        }
        let more = half - start;
        text::set(table_of(document, link)?, "delay", half.to_string());
        for change in params.changes.iter().filter(|change| change.delay.is_some()) {
            if let (Some(time), Some(delay)) = (change.at, change.delay) {
                change_link(document, link, time, "delay", &(delay + more).to_string())?;
            }
        }
        let delay = (now + more + rtt).saturating_sub(current);
        return change_link(document, link, at, "delay", &delay.to_string());
    }
    let delay = (now + rtt).saturating_sub(current);
    change_link(document, link, at, "delay", &delay.to_string())
}

/// Losses behind a link have this probability from `at` on.
fn set_loss(link: &mut dyn TableLike, value: &str, at: Time) -> Result<(), EditError> {
    if let Some(Item::Value(Value::InlineTable(alone))) = link.get("impair") {
        let alone = Array::from_iter([alone.clone()]);
        text::set(link, "impair", alone);
    }
    let mut elements = Tables::of(link, "impair").ok_or_else(|| missing("list of elements (`impair`)"))?;
    let mut current = None;
    for index in 0..elements.len() {
        let Some(element) = elements.get(index) else { continue };
        if element.get("kind").and_then(Item::as_str) != Some("loss") {
            continue;
        }
        let during = element.get("during").and_then(Item::as_table_like);
        let [from, to] = ["from", "to"].map(|key| during.and_then(|during| text::time(during, key)));
        let from = from.unwrap_or_default();
        if from <= at && to.is_none_or(|to| to > at) {
            current = Some((index, from, to));
        }
    }
    let none = value.parse::<windtunnel_units::Probability>().is_ok_and(|p| p.get() == 0.0);
    let mut until = None;
    if let Some((index, from, to)) = current {
        if from == at && none {
            elements.remove(index);
            return Ok(());
        }
        let element = elements.get(index).ok_or_else(|| missing("element"))?;
        if from == at {
            text::set(element, "probability", value);
            return Ok(());
        }
        until = to;
        text::set(element, "during", span(from, Some(at)));
    }
    if none {
        return Ok(());
    }
    let mut new = Entries::default().with("kind", "loss").with("probability", value);
    if at > Time::ZERO || until.is_some() {
        new = new.with("during", span(at, until));
    }
    let last = elements.len();
    elements.insert(last, new);
    Ok(())
}

fn span(from: Time, to: Option<Time>) -> InlineTable {
    let mut span = InlineTable::new();
    if from > Time::ZERO {
        span.insert("from", text::written(from).into());
    }
    if let Some(to) = to {
        span.insert("to", text::written(to).into());
    }
    span
}

fn flows(document: &mut DocumentMut) -> Result<Tables<'_>, EditError> {
    Tables::of(document.as_table_mut(), "flow").ok_or_else(|| missing("[[flow]]"))
}

/// A copy of a flow's table, which gets its name from its controller.
fn copied(flow: &dyn TableLike) -> toml_edit::Table {
    let mut copy = toml_edit::Table::new();
    for (key, item) in flow.iter().filter(|(key, _)| *key != "name") {
        copy.insert(key, item.clone());
    }
    copy
}

fn push(flows: &mut Tables<'_>, mut flow: toml_edit::Table) {
    match flows {
        Tables::Headed(tables) => {
            flow.decor_mut().set_prefix("\n");
            tables.push(flow);
        }
        Tables::Inline(array) => array.push(flow.into_inline_table()),
    }
}

fn add(document: &mut DocumentMut, like: usize, at: Time) -> Result<(), EditError> {
    let mut flows = flows(document)?;
    let table = flows.get(like).ok_or_else(|| missing(format_args!("[[flow]] {like}")))?;
    let mut new = copied(table);
    new.remove("stop");
    new.remove("count");
    if at > Time::ZERO {
        text::set(&mut new, "start", text::written(at));
    }
    push(&mut flows, new);
    Ok(())
}

/// Checks that a flow has one span of time, and says whether it has begun before `at`.
fn has_begun(flow: &dyn TableLike, at: Time) -> Result<bool, EditError> {
    if flow.contains_key("active") {
        return Err(EditError("the flow states its times in `active`: change them in the text".to_owned()));
    }
    Ok(text::time(flow, "start").unwrap_or_default() < at)
}

fn stop(document: &mut DocumentMut, flow: usize, at: Time) -> Result<(), EditError> {
    let mut flows = flows(document)?;
    let alone = flows.len() == 1;
    let table = flows.get(flow).ok_or_else(|| missing(format_args!("[[flow]] {flow}")))?;
    if has_begun(table, at)? {
        text::set(table, "stop", text::written(at));
    } else if alone {
        return Err(EditError("a scenario needs at least one flow".to_owned()));
    } else {
        flows.remove(flow);
    }
    Ok(())
}

fn replace(document: &mut DocumentMut, flow: usize, kind: &str, at: Time) -> Result<(), EditError> {
    let mut flows = flows(document)?;
    let table = flows.get(flow).ok_or_else(|| missing(format_args!("[[flow]] {flow}")))?;
    if !has_begun(table, at)? {
        text::set(table, "cc", kind);
        return Ok(());
    }
    let mut next = copied(table);
    text::set(table, "stop", text::written(at));
    text::set(&mut next, "start", text::written(at));
    text::set(&mut next, "cc", kind);
    push(&mut flows, next);
    Ok(())
}
