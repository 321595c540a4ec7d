//! The keys of a link: what a scenario may say, what is allowed, and what the link itself reads.
//!
//! The struct is the schema: its doc comments are the descriptions, and a resolved scenario prints it as it is. The
//! rate, the queue and the elements of a link are not here, because reading them takes a file or a registry.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_qdisc::QueueLength;
use windtunnel_units::{Bytes, Duration, OutOfRange, Rate, Time, count};

use crate::rate_trace::RateTrace;
use crate::schedule::{Moment, When};

/// The maximum length of link-layer headers.
const MOST_OVERHEAD: Bytes = Bytes::new(1000);

/// The maximum propagation delay.
const LONGEST_DELAY: Duration = Duration::from_secs(1000);

/// The maximum length of a ring.
const LONGEST_RING: u32 = 1 << 16;

/// The keys of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinkParams {
    /// The bytes of link-layer headers that each packet has on the link and in its queue: 14 on Ethernet as Linux's queues
    /// count it, more where `tc` has `stab overhead`.
    pub overhead: Bytes,
    /// The propagation delay behind the link, one way. Part of the `rtt` of the flows that pass it.
    pub delay: Duration,
    /// Changes of its rate, its delay and its queue's limit; those at times are in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub changes: Vec<Change>,
    /// When a packet leaves its queue; the default is `end` with ideal endpoints (as in the MDS document) and without a
    /// `ring`, otherwise `start`.
    pub dequeue_point: Option<DequeuePoint>,
    /// How many packets the device takes out of the queue while another one is on the wire, as a driver's transmit ring
    /// does. The AQM has timed them up to then, and they do not count for the queue's limit.
    #[serde(deserialize_with = "count::packets")]
    #[schemars(extend("x-unit" = "packets"))]
    pub ring: u32,
}

/// A change of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// The time of the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// Instead of a time: the first ACK after which a flow's controller is in a state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The change returns after each such period, up to the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// The new rate, from the next packet on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The new propagation delay, of packets that enter the link from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Packets that enter after a shorter delay has begun overtake those before them. Without it they wait for them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reorder: bool,
    /// The new limit of the queue: packets, bytes, or a time at the rate of the link. Queued packets stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLength>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.rate.map(|rate| format!("rate {rate}"));
        let delay = self.delay.map(|delay| format!("delay {delay}"));
        let limit = self.limit.map(|limit| format!("limit {limit}"));
        f.write_str(&[rate, delay, limit].into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl Change {
    /// When it happens; nothing without `at` and `when`.
    pub fn moment(&self) -> Option<Moment> {
        Moment::of(self.at, self.when.as_ref())
    }
}

/// When a packet leaves its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DequeuePoint {
    /// Before its serialisation, which the sojourn time then excludes.
    #[default]
    Start,
    /// After its serialisation: it counts as queued meanwhile (spec/mds section 2).
    End,
}

/// How fast a link is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum LinkRate {
    /// This rate at the start of the run.
    Fixed(Rate),
    /// The rate of a trace of transmission opportunities.
    Trace {
        /// A file next to the scenario.
        #[serde(rename = "trace")]
        file: String,
        /// What the file says.
        #[serde(skip)]
        opportunities: Arc<RateTrace>,
    },
}

impl LinkParams {
    /// Checks that all values are within their limits. [`LinkParams::changes`] depend on the run, and are checked with
    /// it.
    ///
    /// # Errors
    /// The first value that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        if self.overhead > MOST_OVERHEAD {
            return Err(OutOfRange::new("overhead", self.overhead, "at most 1 kB"));
        }
        if self.delay > LONGEST_DELAY {
            return Err(OutOfRange::new("delay", self.delay, "at most 1000 s"));
        }
        if self.ring > LONGEST_RING {
            return Err(OutOfRange::new("ring", self.ring, "at most 65536 packets"));
        }
        if self.ring > 0 && self.dequeue_point == Some(DequeuePoint::End) {
            let why =
                "0 with dequeue_point = \"end\", where a packet stays in its queue until it was transmitted";
            return Err(OutOfRange::new("ring", self.ring, why));
        }
        Ok(())
    }

    /// Fills in the defaults that depend on the end systems. `ideal` endpoints are those of the MDS document, without
    /// loss.
    pub fn resolve(&mut self, ideal: bool) {
        let usual = if ideal && self.ring == 0 { DequeuePoint::End } else { DequeuePoint::Start };
        self.dequeue_point.get_or_insert(usual);
    }
}

impl LinkRate {
    /// The rate, or the mean of the trace: the rate that a queue knows.
    pub fn mean(&self) -> Rate {
        match self {
            LinkRate::Fixed(rate) => *rate,
            LinkRate::Trace { opportunities, .. } => opportunities.mean_rate(),
        }
    }
}
