//! Links and their queues.

use windtunnel_qdisc::OutOfRange;
use windtunnel_qdisc::ecn::EcnMode;
use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::algorithm;
use super::cursor::Cursor;
use super::fault::Fault;
use super::limit::limit;
use crate::file::{BottleneckTable, LinkTable};
use crate::kinds;
use crate::model::{Change, DequeuePoint, Link, Queue};

/// The queue of a link that names none.
pub(crate) const DEFAULT_QUEUE: &str = "fifo";

/// No link is faster: above it, packets would take no time at the clock's resolution.
const FASTEST: Rate = Rate::from_bits_per_sec(10_000_000_000_000);

/// No path is longer.
pub(crate) const LONGEST_DELAY: Duration = Duration::from_secs(1000);

/// The keys of a queue's table beside `kind` and the parameters of the algorithm.
pub(crate) const QUEUE_KEYS: &[&str] = &["limit", "ecn_mode"];

/// What all links have.
pub(crate) struct Line {
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    pub(crate) changes: Vec<Change>,
    pub(crate) dequeue_point: DequeuePoint,
}

impl From<BottleneckTable> for Line {
    fn from(table: BottleneckTable) -> Line {
        let BottleneckTable { rate, delay, changes, dequeue_point, .. } = table;
        Line { rate, delay, changes, dequeue_point }
    }
}

impl From<LinkTable> for Line {
    fn from(table: LinkTable) -> Line {
        let LinkTable { rate, delay, changes, dequeue_point, .. } = table;
        Line { rate, delay, changes, dequeue_point }
    }
}

impl Line {
    /// Validates the link whose table is `at`. `bdp_rtt` is the round-trip time that multiples of the bandwidth-delay
    /// product are meant for, if there is one.
    pub(crate) fn resolve(
        self,
        at: &Cursor<'_>,
        name: String,
        ends: Option<(usize, usize)>,
        bdp_rtt: Option<Duration>,
        end: Time,
    ) -> Result<Link, Fault> {
        let Line { rate, delay, changes, dequeue_point } = self;
        check_rate(rate, &at.get("rate"))?;
        if delay > LONGEST_DELAY {
            return Err(at.get("delay").not_allowed(format!("at most {LONGEST_DELAY}")));
        }
        check_changes(&changes, &at.get("changes"), end)?;
        let queue = queue(&at.get("queue"), bdp_rtt.map(|rtt| rate * rtt))?;
        Ok(Link { name, ends, rate, delay, queue, changes, dequeue_point })
    }
}

fn check_rate(rate: Rate, at: &Cursor<'_>) -> Result<(), Fault> {
    if rate == Rate::ZERO || rate > FASTEST {
        return Err(at.not_allowed(format!("more than 0 bit/s and at most {FASTEST}")));
    }
    Ok(())
}

fn check_changes(changes: &[Change], at: &Cursor<'_>, end: Time) -> Result<(), Fault> {
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

fn queue(at: &Cursor<'_>, bdp: Option<Bytes>) -> Result<Queue, Fault> {
    let config = if at.is_given() {
        algorithm::read(at, kinds::QUEUES, "a queue", QUEUE_KEYS)?.1
    } else {
        (kinds::find(kinds::QUEUES, DEFAULT_QUEUE, at, "a queue")?.read)(at)?
    };
    config.check().map_err(|OutOfRange { key, allowed, .. }| at.get(key).not_allowed(allowed))?;
    let mode_at = at.get("ecn_mode");
    let ecn_mode = if mode_at.is_given() { mode_at.read()? } else { EcnMode::default() };
    Ok(Queue { config, limit: limit(&at.get("limit"), bdp)?, ecn_mode })
}
