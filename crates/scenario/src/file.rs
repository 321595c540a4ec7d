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
    /// The seed of all random numbers.
    #[serde(default = "default_seed")]
    #[schemars(range(max = i64::MAX))]
    pub(crate) seed: u64,
    /// How realistic the end systems are.
    #[serde(default)]
    pub(crate) endpoints: Endpoints,
    /// The largest IP packet.
    #[serde(default = "default_mtu")]
    pub(crate) mtu: Bytes,
    /// The mechanisms of all TCP connections (with `endpoints = "linux"`); a flow's own `tcp` takes precedence.
    #[serde(default = "elsewhere", rename = "tcp")]
    #[schemars(with = "Option<TcpParams>")]
    pub(crate) _tcp: IgnoredAny,
    /// The only bottleneck of a dumbbell. Use either this or `[[link]]`.
    pub(crate) bottleneck: Option<BottleneckTable>,
    /// The return path of the ACKs in a dumbbell. Without it, ACKs return without queueing.
    pub(crate) reverse: Option<ReverseTable>,
    /// The nodes of a graph.
    #[serde(default)]
    pub(crate) node: Vec<NodeTable>,
    /// The links of a graph. Use either these or `[bottleneck]`.
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

/// A link without a name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BottleneckTable {
    /// The rate at the start of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    #[serde(rename = "rate", default = "elsewhere")]
    #[schemars(with = "RateValue", required)]
    pub(crate) _rate: IgnoredAny,
    /// The bytes of link-layer headers that each packet adds on the link (14 for Ethernet, for example).
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
    /// When a packet leaves its queue; the default is `end` with ideal endpoints (as in the MDS document), otherwise
    /// `start`.
    pub(crate) dequeue_point: Option<DequeuePoint>,
}

/// The return path of the ACKs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReverseTable {
    /// The rate at the start of the run; without it, ACKs do not queue.
    #[serde(default = "elsewhere", rename = "rate")]
    #[schemars(with = "Option<RateValue>")]
    pub(crate) _rate: IgnoredAny,
    /// The bytes of link-layer headers that each packet adds on the link.
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
    /// When a packet leaves its queue; the default is `end` with ideal endpoints (as in the MDS document), otherwise
    /// `start`.
    pub(crate) dequeue_point: Option<DequeuePoint>,
}

/// A link of a graph, in one direction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTable {
    /// Its name.
    pub(crate) name: String,
    /// The node at which the link starts.
    pub(crate) from: String,
    /// The node at which the link ends.
    pub(crate) to: String,
    /// The rate at the start of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    #[serde(rename = "rate", default = "elsewhere")]
    #[schemars(with = "RateValue", required)]
    pub(crate) _rate: IgnoredAny,
    /// The bytes of link-layer headers that each packet adds on the link (14 for Ethernet, for example).
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
    /// When a packet leaves its queue; the default is `end` with ideal endpoints (as in the MDS document), otherwise
    /// `start`.
    pub(crate) dequeue_point: Option<DequeuePoint>,
}

/// A node of a graph.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeTable {
    /// Its name.
    pub(crate) name: String,
}

/// A flow, or several identical flows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowTable {
    /// Its name; the default is that of its controller. With `count`, the flows are called `name-1`, `name-2`, ...
    pub(crate) name: Option<String>,
    /// The congestion controller: a name (with `-mds` appended for the MDS response), or a table with `kind`.
    /// Applications over UDP have no controller; all others need one.
    #[serde(default = "elsewhere", rename = "cc")]
    #[schemars(with = "Option<ControllerValue>")]
    pub(crate) _cc: IgnoredAny,
    /// The round-trip time of the path without queues, link delays included. In a graph, the default is the sum of the
    /// delays of the links.
    pub(crate) rtt: Option<Duration>,
    /// The node that sends (graphs).
    pub(crate) from: Option<String>,
    /// The node that receives (graphs).
    pub(crate) to: Option<String>,
    /// The links of the data's route, by name (graphs). The default is the route with the fewest links from `from` to
    /// `to`; of equal routes, the first in the order of the file.
    pub(crate) path: Option<Vec<String>>,
    /// The links of the ACKs' route (graphs). The default is the route with the fewest links back. If there is no route
    /// back, ACKs return without queueing.
    pub(crate) reverse: Option<Vec<String>>,
    /// When it starts.
    #[serde(default)]
    pub(crate) start: Time,
    /// When the flow stops sending; by default it sends until the run ends.
    pub(crate) stop: Option<Time>,
    /// Several spans of time in which the flow sends, instead of `start` and `stop`.
    pub(crate) active: Option<Vec<Active>>,
    /// The number of identical flows.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub(crate) count: u32,
    /// The time between the starts of the `count` flows.
    #[serde(default)]
    pub(crate) stagger: Duration,
    /// What its application does: a name, or a table with `kind`. By default it always has data to send.
    #[serde(default = "elsewhere", rename = "app")]
    #[schemars(with = "ApplicationValue")]
    pub(crate) _app: IgnoredAny,
    /// Whether departures are paced. By default they are with ideal endpoints, and with the slow start ESSP.
    pub(crate) pacing: Option<bool>,
    /// Whether the flow's packets are ECN-capable; a name selects how its receiver reports marks. The MDS response
    /// needs ECN. By default packets are ECN-capable with ideal endpoints, and with the MDS response.
    #[serde(default = "elsewhere", rename = "ecn")]
    #[schemars(with = "Option<EcnValue>")]
    pub(crate) _ecn: IgnoredAny,
    /// The code point of its ECN-capable packets.
    #[serde(default = "elsewhere", rename = "ect")]
    #[schemars(with = "Option<Ect>")]
    pub(crate) _ect: IgnoredAny,
    /// The mechanisms of the flow's TCP; they override those of the scenario's `tcp`.
    #[serde(default = "elsewhere", rename = "tcp")]
    #[schemars(with = "Option<TcpParams>")]
    pub(crate) _tcp: IgnoredAny,
    /// The initial window: `"10 packets"`, or a number of segments. The default is 10 (RFC 6928), or 1 with `tahoe` and
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
    /// The minimum distance of single events (sojourn times, windows, marks) that are kept in each series; with 0 s,
    /// none are kept. The default is a 20,000th of the run, at least 100 us.
    pub(crate) points: Option<Duration>,
    /// When the internal numbers of controllers and queues are recorded.
    pub(crate) state: StateRecording,
    /// Whether every dequeue and every ACK is kept. Use this for short runs, because memory grows with their number.
    pub(crate) events: bool,
    /// Whether every packet is kept at its sender, before and after each queue, and at its receiver, as captures need
    /// it. Use this for short runs, because memory grows with their number.
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
