//! Links and their queues.

use std::sync::Arc;

use windtunnel_qdisc::ecn::EcnMode;
use windtunnel_qdisc::{OutOfRange, QueueInit, QueueSpec};
use windtunnel_sim::DequeuePoint;
use windtunnel_sim::element::ElementParams;
use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::cursor::Cursor;
use super::document::Value;
use super::fault::Fault;
use super::limit::limit;
use super::rate::link_rate;
use crate::file::{BottleneckTable, LinkTable, ReverseTable};
use crate::model::{Change, Endpoints, Link, LinkRate, Queue};
use crate::registry::Registry;

/// The queue of a link that names none.
pub(crate) const DEFAULT_QUEUE: &str = "fifo";

/// The maximum rate of a link: above it, packets would take no time at the clock's resolution.
const FASTEST: Rate = Rate::from_bits_per_sec(10_000_000_000_000);

/// The maximum length of link-layer headers.
const MOST_OVERHEAD: Bytes = Bytes::new(1000);

/// The maximum propagation delay.
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(1000);

/// The keys that all kinds of links share.
pub(crate) struct Line {
    overhead: Bytes,
    delay: Duration,
    changes: Vec<Change>,
    dequeue_point: Option<DequeuePoint>,
    /// Without a rate packets do not queue.
    rate_is_optional: bool,
}

impl From<BottleneckTable> for Line {
    fn from(table: BottleneckTable) -> Line {
        let BottleneckTable { overhead, delay, changes, dequeue_point, .. } = table;
        Line { overhead, delay, changes, dequeue_point, rate_is_optional: false }
    }
}

impl From<ReverseTable> for Line {
    fn from(table: ReverseTable) -> Line {
        let ReverseTable { overhead, delay, changes, dequeue_point, .. } = table;
        Line { overhead, delay, changes, dequeue_point, rate_is_optional: true }
    }
}

impl From<LinkTable> for Line {
    fn from(table: LinkTable) -> Line {
        let LinkTable { overhead, delay, changes, dequeue_point, .. } = table;
        Line { overhead, delay, changes, dequeue_point, rate_is_optional: false }
    }
}

/// What a link must know of its scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'f> {
    pub(crate) endpoints: Endpoints,
    /// The end of the run.
    pub(crate) end: Time,
    /// The scenario's file. Other files are searched for in its directory.
    pub(crate) file: Option<&'f str>,
    pub(crate) registry: &'f Registry,
}

impl Line {
    /// Validates the link whose table is `at`. `bdp_rtt` is the round-trip time for multiples of the bandwidth-delay
    /// product, if there is one.
    pub(crate) fn resolve(
        self,
        at: &Cursor<'_>,
        name: String,
        ends: Option<(usize, usize)>,
        bdp_rtt: Option<Duration>,
        of: Surroundings<'_>,
    ) -> Result<Link, Fault> {
        let rate = link_rate(&at.get("rate"), of.file, self.rate_is_optional)?;
        if let LinkRate::Unlimited = rate {
            for key in ["queue", "overhead", "delay", "changes", "dequeue_point"] {
                let key = at.get(key);
                if key.is_given() {
                    return Err(key.fault("belongs to a link with a `rate`"));
                }
            }
        }
        let Line { overhead, delay, changes, dequeue_point, .. } = self;
        if overhead > MOST_OVERHEAD {
            return Err(at.get("overhead").not_allowed(format!("at most {MOST_OVERHEAD}")));
        }
        if delay > LONGEST_DELAY {
            return Err(at.get("delay").not_allowed(format!("at most {LONGEST_DELAY}")));
        }
        let impair = impairments(&at.get("impair"), of)?;
        check_changes(&changes, &at.get("changes"), &rate, of.end)?;
        let bdp = match (&rate, bdp_rtt) {
            (LinkRate::Fixed(rate), Some(rtt)) => Some(*rate * rtt),
            _ => None,
        };
        let queue = queue(&at.get("queue"), bdp, of.registry)?;
        let dequeue_point = dequeue_point.unwrap_or(match of.endpoints {
            Endpoints::Ideal => DequeuePoint::End,
            Endpoints::Linux => DequeuePoint::Start,
        });
        Ok(Link { name, ends, rate, overhead, delay, impair, queue, changes, dequeue_point })
    }
}

/// Reads what happens behind a link: one impairment, or a list of them, in the order in which packets pass them.
fn impairments(at: &Cursor<'_>, of: Surroundings<'_>) -> Result<Vec<Arc<dyn ElementParams>>, Fault> {
    if !at.is_given() {
        return Ok(Vec::new());
    }
    if of.endpoints == Endpoints::Ideal {
        return Err(at.fault("needs endpoints = \"linux\": ideal endpoints know no loss and no reordering"));
    }
    let mut all = match at.value() {
        Some(Value::List(items)) => {
            (0..items.len()).map(|i| of.registry.impairments.read(&at.item(i))).collect::<Result<_, _>>()?
        }
        _ => vec![of.registry.impairments.read(at)?],
    };
    all.sort_by_key(|element| element.stage());
    Ok(all)
}

pub(crate) fn check_rate(rate: Rate, at: &Cursor<'_>) -> Result<(), Fault> {
    if rate == Rate::ZERO || rate > FASTEST {
        return Err(at.not_allowed(format!("more than 0 bit/s and at most {FASTEST}")));
    }
    Ok(())
}

fn check_changes(changes: &[Change], at: &Cursor<'_>, rate: &LinkRate, end: Time) -> Result<(), Fault> {
    if let LinkRate::Trace { .. } = rate
        && at.is_given()
    {
        return Err(at.fault("does not go with a trace, which changes the rate itself"));
    }
    let mut last = None;
    for (index, change) in changes.iter().enumerate() {
        let at = at.item(index);
        check_rate(change.rate, &at.get("rate"))?;
        if last.is_some_and(|last| change.at <= last) {
            return Err(at
                .get("at")
                .not_allowed("changes are in order of time, each later than the one before"));
        }
        if change.at >= end {
            return Err(at.get("at").not_allowed(format!("before the end of the run at {end}")));
        }
        last = Some(change.at);
    }
    Ok(())
}

fn queue(at: &Cursor<'_>, bdp: Option<Bytes>, registry: &Registry) -> Result<Queue, Fault> {
    let config = if at.is_given() {
        registry.queues.read(at)?
    } else {
        registry.queues.find(DEFAULT_QUEUE, at)?.read(at)?
    };
    let slots = config.slots().iter().map(|slot| {
        let at = at.get(slot.key);
        at.is_given().then(|| registry.aqms.read(&at)).transpose()
    });
    let spec = QueueSpec { aqms: slots.collect::<Result<_, Fault>>()?, params: config };
    spec.check().map_err(|OutOfRange { key, allowed, .. }| at.get(key).not_allowed(allowed))?;
    let mode_at = at.get("ecn_mode");
    let ecn_mode = if mode_at.is_given() { mode_at.read()? } else { EcnMode::default() };
    let limit_at = at.get("limit");
    let limit = if limit_at.is_given() { limit(&limit_at, bdp)? } else { spec.params.default_limit() };
    let age_at = at.get("age");
    let age = if age_at.is_given() { age_at.read()? } else { QueueInit::AGE };
    Ok(Queue { spec, limit, ecn_mode, age })
}
