//! Links and their queues.

use windtunnel_qdisc::{QueuePlace, Selector};
use windtunnel_sim::element::ElementParams;
use windtunnel_sim::{Change, During, LinkParams, LinkRate, Moment};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::cursor::Cursor;
use super::deserialize::fields;
use super::document::Value;
use super::fault::Fault;
use super::files::Files;
use super::interrupt::Interrupt;
use super::limit::{Bdp, Crossing};
use super::preset::{self, PRESET};
use super::queue::queue;
use super::rate::link_rate;
use crate::model::{Endpoints, Impairment, Link, Queue};
use crate::registry::Registry;

/// The maximum rate of a link: above it, packets would take no time at the clock's resolution.
const FASTEST: Rate = Rate::from_bits_per_sec(10_000_000_000_000);

/// The maximum delay of a path, and of its parts.
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(1000);

/// How often something may return: each time is an event of the plan.
const MOST_PERIODS: u64 = 100_000;

/// The keys of every link that are not [`LinkParams`]: a file or the registry is needed to read them, or they stand for
/// others.
const OTHER_KEYS: [&str; 4] = [PRESET, "rate", "queue", "impair"];

/// What a link must know of its scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'f> {
    pub(crate) endpoints: Endpoints,
    /// The largest IP packet.
    pub(crate) mtu: Bytes,
    /// The end of the run.
    pub(crate) end: Time,
    /// How many flows there are, each member of a group counted.
    pub(crate) flows: u64,
    /// The files that the scenario may name.
    pub(crate) files: &'f Files<'f>,
    pub(crate) interrupt: Interrupt<'f>,
    pub(crate) registry: &'f Registry,
}

/// A link's name, the nodes at its ends in a graph, and the keys of its table that state them.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) ends: Option<(usize, usize)>,
    pub(crate) keys: &'static [&'static str],
}

/// Reads the link whose table is `at`. `crossing` are the flows for multiples of the bandwidth-delay product, if they are
/// known.
pub(crate) fn link(
    at: &Cursor<'_>,
    Place { name, ends, keys }: Place,
    rate_is_optional: bool,
    crossing: Option<Crossing>,
    of: Surroundings<'_>,
) -> Result<Link, Fault> {
    of.interrupt.check()?;
    at.expect_table()?;
    at.expect_keys(&[keys, &OTHER_KEYS, fields::<LinkParams>()].concat())?;
    preset::refuse(&at.get(PRESET))?;
    let mut params: LinkParams = at.read_own_fields()?;
    let rate = link_rate(&at.get("rate"), of.files, rate_is_optional)?;
    if rate.is_none() {
        for key in ["queue"].iter().chain(fields::<LinkParams>()) {
            let key = at.get(key);
            if key.is_given() {
                return Err(key.fault("belongs to a link with a `rate`"));
            }
        }
    }
    params.check().map_err(|error| at.out_of_range(error))?;
    params.resolve(of.endpoints == Endpoints::Ideal);
    let elements = elements(&at.get("impair"), of)?;
    let bdp = match (&rate, crossing) {
        (Some(LinkRate::Fixed(rate)), Some(crossing)) => Some(Bdp::new(*rate, crossing)),
        _ => None,
    };
    let around = QueuePlace { overhead: params.overhead, linux: of.endpoints == Endpoints::Linux };
    let queue = queue(&at.get("queue"), bdp, around, of.registry)?;
    check_changes(&params.changes, &at.get("changes"), rate.as_ref(), &queue, of)?;
    Ok(Link { name, ends, rate, params, queue, elements })
}

/// Reads what happens behind a link: one element, or a list of them, in the order in which packets pass them.
fn elements(at: &Cursor<'_>, of: Surroundings<'_>) -> Result<Vec<Impairment>, Fault> {
    if !at.is_given() {
        return Ok(Vec::new());
    }
    if of.endpoints == Endpoints::Ideal {
        return Err(at.fault("needs endpoints = \"linux\": ideal endpoints know no loss and no reordering"));
    }
    let mut all = match at.value() {
        Some(Value::List(items)) => {
            (0..items.len()).map(|i| element(&at.item(i), of)).collect::<Result<_, _>>()?
        }
        _ => vec![element(at, of)?],
    };
    all.sort_by_key(|element| element.stage());
    Ok(all)
}

/// Reads one element, and which packets it concerns.
fn element(at: &Cursor<'_>, of: Surroundings<'_>) -> Result<Impairment, Fault> {
    let element = of.registry.elements.read(at, of.registry)?;
    let during = during(&at.get("during"), &*element, of.end)?;
    let only_at = at.get("only");
    if !only_at.is_given() {
        return Ok(Impairment { element, only: None, during });
    }
    if element.tunnel_end().is_some() {
        return Err(
            only_at.fault("does not go with the end of a tunnel, through which all packets of a route pass")
        );
    }
    let only: Selector = only_at.read()?;
    only.check("only").map_err(|error| at.out_of_range(error))?;
    let flows_at = only_at.get("flows");
    for (index, flow) in only.flows.iter().enumerate() {
        if u64::from(*flow) >= of.flows {
            let allowed = format!("the number of a flow: there are {}, numbered from 0 on", of.flows);
            return Err(flows_at.item(index).not_allowed(allowed));
        }
    }
    Ok(Impairment { element, only: Some(only), during })
}

/// Reads when an element works.
fn during(at: &Cursor<'_>, element: &dyn ElementParams, end: Time) -> Result<Option<During>, Fault> {
    if !at.is_given() {
        return Ok(None);
    }
    if element.tunnel_end().is_some() {
        return Err(at.fault("does not go with the end of a tunnel, which packets in it would miss"));
    }
    let during: During = at.read()?;
    let (from, to) = (during.from.time(), during.to.as_ref().and_then(Moment::time));
    if from.is_some_and(|from| from >= end) {
        return Err(at.get("from").not_allowed(format!("before the end of the run at {end}")));
    }
    if let (Some(from), Some(to)) = (from, to)
        && to <= from
    {
        return Err(at.get("to").not_allowed(format!("after `from`, which is {from}")));
    }
    if let Some(every) = during.every {
        let (Some(from), Some(to)) = (from, to) else {
            return Err(at.get("every").fault("needs `from` and `to` at times"));
        };
        check_period(every, from, &at.get("every"), end)?;
        if to > from + every {
            return Err(at
                .get("every")
                .not_allowed(format!("at least {}, the length of the span", to.since(from))));
        }
    }
    Ok(Some(during))
}

/// Checks how often something that is first due at `from` returns.
fn check_period(every: Duration, from: Time, at: &Cursor<'_>, end: Time) -> Result<(), Fault> {
    let least = end.since(from.min(end)) / MOST_PERIODS;
    if every.is_zero() || every < least {
        return Err(
            at.not_allowed(format!("at least {least}, so that it returns at most {MOST_PERIODS} times"))
        );
    }
    Ok(())
}

pub(crate) fn check_rate(rate: Rate, at: &Cursor<'_>) -> Result<(), Fault> {
    if rate == Rate::ZERO || rate > FASTEST {
        return Err(at.not_allowed(format!("more than 0 bit/s and at most {FASTEST}")));
    }
    Ok(())
}

fn check_changes(
    changes: &[Change],
    at: &Cursor<'_>,
    rate: Option<&LinkRate>,
    queue: &Queue,
    of: Surroundings<'_>,
) -> Result<(), Fault> {
    let mut last = None;
    for (index, change) in changes.iter().enumerate() {
        let at = at.item(index);
        if let Some(new) = change.rate {
            let at = at.get("rate");
            if let Some(LinkRate::Trace { .. }) = rate {
                return Err(at.fault("does not go with a trace, which changes the rate itself"));
            }
            check_rate(new, &at)?;
        }
        if let Some(delay) = change.delay.filter(|delay| *delay > LONGEST_DELAY) {
            return Err(at.get("delay").not_allowed(format!("at most {LONGEST_DELAY}, not {delay}")));
        }
        if change.reorder && (change.delay.is_none() || of.endpoints == Endpoints::Ideal) {
            return Err(at.get("reorder").fault("needs `delay`, and endpoints = \"linux\""));
        }
        if change.limit.is_some() && !queue.may_change_its_limit() {
            let why = format!("does not go with `{}`, whose limit cannot change", queue.spec.params.name());
            return Err(at.get("limit").fault(why));
        }
        if change.rate.is_none() && change.delay.is_none() && change.limit.is_none() {
            return Err(at.fault("changes nothing: give `rate`, `delay` or `limit`"));
        }
        check_when(change, &at, &mut last, of.end)?;
    }
    Ok(())
}

/// Checks when a change happens; `last` is the time of the one before.
fn check_when(change: &Change, at: &Cursor<'_>, last: &mut Option<Time>, end: Time) -> Result<(), Fault> {
    match (change.at, &change.when) {
        (Some(time), None) => {
            if last.replace(time).is_some_and(|last| time <= last) {
                return Err(at
                    .get("at")
                    .not_allowed("changes are in order of time, each later than the one before"));
            }
            if time >= end {
                return Err(at.get("at").not_allowed(format!("before the end of the run at {end}")));
            }
            change.every.map_or(Ok(()), |every| check_period(every, time, &at.get("every"), end))
        }
        (None, Some(_)) if change.every.is_some() => {
            Err(at.get("every").fault("needs `at`: a change that a state calls for happens once"))
        }
        (None, Some(_)) => Ok(()),
        (None, None) => {
            Err(at.get("at").fault("is required: when the change happens, or `when`, a condition"))
        }
        (Some(_), Some(_)) => Err(at.get("when").fault("is either this or `at`, not both")),
    }
}
