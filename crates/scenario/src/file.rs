//! What a scenario file may say: its tables as types, from which both the parser and the JSON Schema come.
//!
//! Algorithms (`cc`, `slow_start`, `queue`) are a name or a table whose other keys depend on its `kind`; they are
//! read apart, with the [`crate::Registry`].

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use windtunnel_sim::StateRecording;
use windtunnel_sim::{DequeuePoint, Window};
use windtunnel_tcp::TcpParams;
use windtunnel_units::{Bytes, Duration, Time};

use crate::model::{Active, Change, Ect, Endpoints};
use crate::schema::{
    AckValue, ApplicationValue, ControllerValue, EcnValue, ImpairmentValue, InitialWindowValue, OneOrMany,
    QueueValue, RateValue,
};

/// A scenario of windtunnel: flows over queues and links.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "windtunnel scenario")]
#[schemars(extend("oneOf" = [{ "required": ["bottleneck", "flow"] }, { "required": ["link", "flow"] }]))]
pub(crate) struct File {
    /// A title for plots and reports.
    #[serde(default)]
    pub(crate) title: String,
    /// When the run ends.
    pub(crate) duration: Duration,
    /// Where all random numbers come from.
    #[serde(default = "default_seed")]
    #[schemars(range(max = i64::MAX))]
    pub(crate) seed: u64,
    /// How real the end systems are.
    #[serde(default)]
    pub(crate) endpoints: Endpoints,
    /// The largest IP packet.
    #[serde(default = "default_mtu")]
    pub(crate) mtu: Bytes,
    /// The mechanisms of all TCP connections (with `endpoints = "linux"`); a flow's own `tcp` comes first.
    #[serde(default = "elsewhere", rename = "tcp")]
    #[schemars(with = "Option<TcpParams>")]
    pub(crate) _tcp: IgnoredAny,
    /// The one bottleneck of a dumbbell. Either this or `[[link]]`.
    pub(crate) bottleneck: Option<BottleneckTable>,
    /// The way of the ACKs in a dumbbell. Without it they return without queueing.
    pub(crate) reverse: Option<ReverseTable>,
    /// The nodes of a graph.
    #[serde(default)]
    pub(crate) node: Vec<NodeTable>,
    /// The links of a graph. Either these or `[bottleneck]`.
    #[serde(default)]
    pub(crate) link: Vec<LinkTable>,
    /// The flows.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) flow: Vec<FlowTable>,
    /// What is recorded.
    #[serde(default)]
    pub(crate) record: RecordTable,
    /// Measurement windows: results are also given for each of them.
    #[serde(default)]
    pub(crate) window: Vec<Window>,
}

/// A link that needs no name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BottleneckTable {
    /// The rate at the begin of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    #[serde(rename = "rate", default = "elsewhere")]
    #[schemars(with = "RateValue", required)]
    pub(crate) _rate: IgnoredAny,
    /// Link-layer headers of each packet, in bytes of the rate (the 14 bytes of Ethernet, say).
    #[serde(default)]
    pub(crate) overhead: Bytes,
    /// What happens to packets behind the link: names, or tables with `kind`. Needs `endpoints = "linux"`.
    #[serde(default = "elsewhere", rename = "impair")]
    #[schemars(with = "OneOrMany<ImpairmentValue>")]
    pub(crate) _impair: IgnoredAny,
    /// The propagation delay behind the link, one way. Part of the `rtt` of its flows.
    #[serde(default)]
    pub(crate) delay: Duration,
    /// The queue in front of the link: a name, or a table with `kind`.
    #[serde(default = "elsewhere", rename = "queue")]
    #[schemars(with = "QueueValue")]
    pub(crate) _queue: IgnoredAny,
    /// Changes of the rate, in order of time.
    #[serde(default)]
    pub(crate) changes: Vec<Change>,
    /// When a packet leaves its queue; if left out, `end` with ideal endpoints (as in the MDS document), else `start`.
    pub(crate) dequeue_point: Option<DequeuePoint>,
}

/// The way of the ACKs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReverseTable {
    /// The rate at the begin of the run; if left out, ACKs do not queue.
    #[serde(default = "elsewhere", rename = "rate")]
    #[schemars(with = "Option<RateValue>")]
    pub(crate) _rate: IgnoredAny,
    /// Link-layer headers of each packet, in bytes of the rate.
    #[serde(default)]
    pub(crate) overhead: Bytes,
    /// The propagation delay behind the link, one way. Part of the `rtt` of its flows.
    #[serde(default)]
    pub(crate) delay: Duration,
    /// What happens to packets behind the link: names, or tables with `kind`. Needs `endpoints = "linux"`.
    #[serde(default = "elsewhere", rename = "impair")]
    #[schemars(with = "OneOrMany<ImpairmentValue>")]
    pub(crate) _impair: IgnoredAny,
    /// The queue in front of the link: a name, or a table with `kind`.
    #[serde(default = "elsewhere", rename = "queue")]
    #[schemars(with = "QueueValue")]
    pub(crate) _queue: IgnoredAny,
    /// Changes of the rate, in order of time.
    #[serde(default)]
    pub(crate) changes: Vec<Change>,
    /// When a packet leaves its queue; if left out, `end` with ideal endpoints (as in the MDS document), else `start`.
    pub(crate) dequeue_point: Option<DequeuePoint>,
}

/// A link of a graph, in one direction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTable {
    /// Its name.
    pub(crate) name: String,
    /// The node that it leads from.
    pub(crate) from: String,
    /// The node that it leads to.
    pub(crate) to: String,
    /// The rate at the begin of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    #[serde(rename = "rate", default = "elsewhere")]
    #[schemars(with = "RateValue", required)]
    pub(crate) _rate: IgnoredAny,
    /// Link-layer headers of each packet, in bytes of the rate (the 14 bytes of Ethernet, say).
    #[serde(default)]
    pub(crate) overhead: Bytes,
    /// What happens to packets behind the link: names, or tables with `kind`. Needs `endpoints = "linux"`.
    #[serde(default = "elsewhere", rename = "impair")]
    #[schemars(with = "OneOrMany<ImpairmentValue>")]
    pub(crate) _impair: IgnoredAny,
    /// The propagation delay behind the link. Part of the `rtt` of the flows that pass it.
    #[serde(default)]
    pub(crate) delay: Duration,
    /// The queue in front of the link: a name, or a table with `kind`.
    #[serde(default = "elsewhere", rename = "queue")]
    #[schemars(with = "QueueValue")]
    pub(crate) _queue: IgnoredAny,
    /// Changes of the rate, in order of time.
    #[serde(default)]
    pub(crate) changes: Vec<Change>,
    /// When a packet leaves its queue; if left out, `end` with ideal endpoints (as in the MDS document), else `start`.
    pub(crate) dequeue_point: Option<DequeuePoint>,
}

/// A node of a graph.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeTable {
    /// Its name.
    pub(crate) name: String,
}

/// A flow, or several equal ones.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowTable {
    /// Its name; if left out, that of its controller. With `count`, members are `name-1`, `name-2`, ...
    pub(crate) name: Option<String>,
    /// The congestion controller: a name (`-mds` appended: with the MDS response), or a table with `kind`. Applications over
    /// UDP have none; all others need one.
    #[serde(default = "elsewhere", rename = "cc")]
    #[schemars(with = "Option<ControllerValue>")]
    pub(crate) _cc: IgnoredAny,
    /// The round-trip time of the path without queues, link delays included. In a graph it may be left out: it is
    /// then the sum of the delays of the links.
    pub(crate) rtt: Option<Duration>,
    /// The node that sends (graphs).
    pub(crate) from: Option<String>,
    /// The node that receives (graphs).
    pub(crate) to: Option<String>,
    /// The links that data pass, by name (graphs). If left out, the route with the fewest links from `from` to `to`;
    /// of equal ones the first in the order of the file.
    pub(crate) path: Option<Vec<String>>,
    /// The links that ACKs pass (graphs). If left out, the route with the fewest links back, or none if there is no way
    /// back: then they return without queueing.
    pub(crate) reverse: Option<Vec<String>>,
    /// When it starts.
    #[serde(default)]
    pub(crate) start: Time,
    /// When it has no more to send; if left out, it sends to the end.
    pub(crate) stop: Option<Time>,
    /// Several spans of time in which it sends, instead of `start` and `stop`.
    pub(crate) active: Option<Vec<Active>>,
    /// How many such flows there are.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) count: u32,
    /// The time between the starts of the `count` flows.
    #[serde(default)]
    pub(crate) stagger: Duration,
    /// What its application does: a name, or a table with `kind`. If left out, it always has data to send.
    #[serde(default = "elsewhere", rename = "app")]
    #[schemars(with = "ApplicationValue")]
    pub(crate) _app: IgnoredAny,
    /// Departures are spaced in time. If left out: with ideal endpoints, and with the slow start ESSP.
    pub(crate) pacing: Option<bool>,
    /// Its packets are ECN-capable; a name says how its receiver reports marks. The MDS response needs ECN. If left out: with
    /// ideal endpoints, and with that response.
    #[serde(default = "elsewhere", rename = "ecn")]
    #[schemars(with = "Option<EcnValue>")]
    pub(crate) _ecn: IgnoredAny,
    /// The code point of its ECN-capable packets.
    #[serde(default = "elsewhere", rename = "ect")]
    #[schemars(with = "Option<Ect>")]
    pub(crate) _ect: IgnoredAny,
    /// The mechanisms of its TCP, over those of the scenario's `tcp`.
    #[serde(default = "elsewhere", rename = "tcp")]
    #[schemars(with = "Option<TcpParams>")]
    pub(crate) _tcp: IgnoredAny,
    /// The initial window: `"10 packets"`, or a number of segments. If left out 10 (RFC 6928), 1 with `tahoe` and
    /// `reno1990`.
    #[serde(default = "elsewhere", rename = "iw")]
    #[schemars(with = "InitialWindowValue")]
    pub(crate) _iw: IgnoredAny,
    /// How its receiver acknowledges: a policy, or a table.
    #[serde(default = "elsewhere", rename = "ack")]
    #[schemars(with = "AckValue")]
    pub(crate) _ack: IgnoredAny,
}

/// What is recorded.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RecordTable {
    /// The resolution of the time series.
    pub(crate) interval: Duration,
    /// Single events (sojourn times, windows, marks) are kept no closer than this in each series, with 0 s not at all; if
    /// left out, a 20,000th of the run, at least 100 us.
    pub(crate) points: Option<Duration>,
    /// When the internal numbers of controllers and queues are recorded.
    pub(crate) state: StateRecording,
    /// Keep every dequeue and every ACK. For short runs: memory grows with their number.
    pub(crate) events: bool,
    /// Keep every packet at its sender, before and after each queue, and at its receiver, as captures need it. For short
    /// runs: memory grows with their number.
    pub(crate) packets: bool,
}

impl Default for RecordTable {
    fn default() -> RecordTable {
        RecordTable {
            interval: Duration::from_millis(10),
            points: None,
            state: StateRecording::default(),
            events: false,
            packets: false,
        }
    }
}

fn default_seed() -> u64 {
    1
}

fn default_mtu() -> Bytes {
    Bytes::new(1500)
}

fn one() -> u32 {
    1
}

fn elsewhere() -> IgnoredAny {
    IgnoredAny
}
