//! How much a queue holds: packets, bytes, time, or a multiple of the bandwidth-delay product.
//!
//! `bdp/sqrt(n)` is the product over the square root of the number of flows: the rule for a link with many long flows
//! (Appenzeller and others, "Sizing Router Buffers", SIGCOMM 2004, section 3). Sawteeth that are not
//! synchronized add up to a sum whose standard deviation grows with the square root of their number, while each of them
//! is as many times smaller as there are flows.

use windtunnel_qdisc::{Limit, QueueLength};
use windtunnel_units::parse::number_with_unit;
use windtunnel_units::{Bytes, Duration, Rate};

use super::cursor::Cursor;
use super::document::Value;
use super::fault::Fault;

/// The unit of the rule for many flows; without a number it is taken once.
const SHARED: &str = "bdp/sqrt(n)";

/// The flows that cross a link, as far as a multiple of its bandwidth-delay product depends on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// The longest of their round-trip times.
    pub(crate) longest_rtt: Duration,
    /// How many there are, whatever they send: each member of a group counts.
    pub(crate) flows: u64,
}

/// What a link's multiples of the bandwidth-delay product are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bdp {
    product: Bytes,
    flows: u64,
}

impl Bdp {
    pub(crate) fn new(rate: Rate, crossing: Crossing) -> Bdp {
        Bdp { product: rate * crossing.longest_rtt, flows: crossing.flows }
    }

    /// A multiple of the product, shared or not.
    fn times(self, number: f64, shared: bool) -> Bytes {
        // A scenario without flows is refused later, where it is the fault of a flow's key.
        let flows = if shared { self.flows.max(1) } else { 1 };
        self.product.scale(number / (flows as f64).sqrt())
    }
}

/// All units that a limit may have.
const UNITS: &[(&str, f64)] = &[
    ("packets", 1.0),
    ("packet", 1.0),
    ("bdp", 1.0),
    (SHARED, 1.0),
    ("B", 1.0),
    ("kB", 1.0),
    ("MB", 1.0),
    ("GB", 1.0),
    ("KiB", 1.0),
    ("MiB", 1.0),
    ("GiB", 1.0),
    ("ns", 1.0),
    ("us", 1.0),
    ("ms", 1.0),
    ("s", 1.0),
];

/// The largest number of packets, bytes or nanoseconds that a limit may be: no queue holds more, and all numbers up to
/// it are written and read exactly.
const LARGEST: u64 = 1_000_000_000_000_000;

/// Reads a limit. `bdp` is that of the link, if there is one.
pub(crate) fn limit(at: &Cursor<'_>, bdp: Option<Bdp>) -> Result<Limit, Fault> {
    let Some(value) = at.value() else { return Ok(Limit::Unlimited) };
    let text = match value {
        Value::Text(text) if text == "unlimited" => return Ok(Limit::Unlimited),
        Value::Text(text) if text.trim().eq_ignore_ascii_case(SHARED) => format!("1 {SHARED}"),
        Value::Text(text) => text.clone(),
        Value::Integer(_) | Value::Float(_) => value.shown(),
        _ => {
            return Err(at.not_allowed(
                "\"100 packets\", \"150 kB\", \"12 ms\", \"1.5 bdp\", \"bdp/sqrt(n)\" or \"unlimited\"",
            ));
        }
    };
    let number = number_with_unit(&text, "a queue limit", "100 packets", UNITS)
        .map_err(|error| at.fault(error.to_string()))?;
    if number <= 0.0 {
        return Err(at.not_allowed("more than nothing; \"unlimited\" for no limit"));
    }
    let limit = match text.trim_start_matches(|c: char| !c.is_ascii_alphabetic()) {
        unit if unit.to_ascii_lowercase().contains("bdp") => {
            let bdp = bdp.ok_or_else(|| {
                at.fault(
                    "`bdp` is that of a [bottleneck] with a fixed rate; elsewhere, write the limit in bytes, packets or time",
                )
            })?;
            Limit::Bytes(bdp.times(number, unit.trim().eq_ignore_ascii_case(SHARED)))
        }
        unit if unit.contains("packet") && number.fract() > 0.0 => {
            return Err(at.not_allowed("a whole number of packets"));
        }
        _ => text.parse::<QueueLength>().map_err(|error| at.fault(error))?.into(),
    };
    let amount = match limit {
        Limit::Unlimited => return Ok(limit),
        Limit::Packets(packets) => packets as u64,
        Limit::Bytes(bytes) => bytes.get(),
        Limit::Time(time) => time.as_nanos(),
    };
    if !(1..=LARGEST).contains(&amount) {
        return Err(
            at.not_allowed("at least one byte or nanosecond, and at most 10^15 of them; or \"unlimited\"")
        );
    }
    Ok(limit)
}
