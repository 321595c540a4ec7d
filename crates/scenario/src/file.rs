//! What a scenario file may say: its tables as types, from which both the parser and the JSON Schema come.
//!
//! Algorithms (`cc`, `slow_start`, `queue`) are a name or a table whose other keys depend on its `kind`; they are
//! read apart, with the [`crate::Registry`].

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use windtunnel_cc::Ignored;
use windtunnel_sim::{LinkParams, LinkRate, RecordParams, Window};
use windtunnel_tcp::TcpParams;
use windtunnel_units::{Bytes, Duration, Time};

use crate::model::{Active, Claim, Ect, Endpoints};
use crate::schema::{
    AckValue, ApplicationValue, ControllerValue, EcnValue, ElementValue, InitialWindowValue, OneOrMany,
    QueueValue,
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
    #[schemars(with = "Option<BottleneckTable>")]
    pub(crate) bottleneck: Option<IgnoredAny>,
    /// The return path of the ACKs in a dumbbell. Without it, ACKs return without queueing.
    #[schemars(with = "Option<ReverseTable>")]
    pub(crate) reverse: Option<IgnoredAny>,
    /// The nodes of a graph.
    #[serde(default)]
    pub(crate) node: Vec<NodeTable>,
    /// The links of a graph. Use either these or `[bottleneck]`.
    #[serde(default)]
    #[schemars(with = "Vec<LinkTable>")]
    pub(crate) link: Vec<IgnoredAny>,
    /// The flows.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub(crate) flow: Vec<FlowTable>,
    /// What is recorded.
    #[serde(default)]
    pub(crate) record: RecordParams,
    /// Measurement windows: results are also given for each of them.
    #[serde(default)]
    pub(crate) window: Vec<Window>,
    /// Statements about the results, each decided when the run is done.
    #[serde(default)]
    pub(crate) claim: Vec<Claim>,
}

/// The keys of every link. Only their schema is used: [`LinkParams`] are read as they are, and the others with the
/// registry.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "its schema is all that is needed of it")]
pub(crate) struct LinkKeys {
    /// The queue in front of the link: a name, or a table with `kind`.
    #[serde(default = "elsewhere")]
    #[schemars(with = "QueueValue")]
    queue: IgnoredAny,
    /// What happens to packets behind the link: names, or tables with `kind`. Needs `endpoints = "linux"`.
    #[serde(default = "elsewhere")]
    #[schemars(with = "OneOrMany<ElementValue>")]
    impair: IgnoredAny,
    #[serde(flatten)]
    params: LinkParams,
}

/// A link without a name.
#[derive(Debug, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its schema is all that is needed of it")]
pub(crate) struct BottleneckTable {
    /// The rate at the start of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    rate: LinkRate,
    #[serde(flatten)]
    keys: LinkKeys,
}

/// The return path of the ACKs.
#[derive(Debug, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its schema is all that is needed of it")]
pub(crate) struct ReverseTable {
    /// The rate at the start of the run; without it, ACKs do not queue.
    rate: Option<LinkRate>,
    #[serde(flatten)]
    keys: LinkKeys,
}

/// A link of a graph, in one direction.
#[derive(Debug, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its schema is all that is needed of it")]
pub(crate) struct LinkTable {
    #[serde(flatten)]
    ends: LinkPlace,
    /// The rate at the start of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    rate: LinkRate,
    #[serde(flatten)]
    keys: LinkKeys,
}

/// The name of a link and its place in a graph.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct LinkPlace {
    /// Its name.
    pub(crate) name: String,
    /// The node at which the link starts.
    pub(crate) from: String,
    /// The node at which the link ends.
    pub(crate) to: String,
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
    /// The name of the host that sends, for queues that are fair to hosts: flows with the same name share it. By default
    /// each flow has a host of its own.
    pub(crate) sender_host: Option<String>,
    /// The same for the host that receives.
    pub(crate) receiver_host: Option<String>,
    /// When it starts.
    #[serde(default)]
    pub(crate) start: Time,
    /// When the flow stops sending; by default it sends until the run ends.
    pub(crate) stop: Option<Time>,
    /// Several spans of time in which the flow sends, instead of `start` and `stop`.
    pub(crate) active: Option<Vec<Active>>,
    /// The number of identical flows.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
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
    /// The MDS identifier: the DSCP of the data packets of a flow with MDS, once it is negotiated. By default 43.
    #[serde(default = "elsewhere", rename = "mds_dscp")]
    #[schemars(with = "Option<u8>", range(min = 1, max = 63))]
    pub(crate) _mds_dscp: IgnoredAny,
    /// The mechanisms of the flow's TCP; they override those of the scenario's `tcp`.
    #[serde(default = "elsewhere", rename = "tcp")]
    #[schemars(with = "Option<TcpParams>")]
    pub(crate) _tcp: IgnoredAny,
    /// Misbehaviour: the flow does not answer marks, losses, or either, and grows as ever. Retransmissions stay.
    pub(crate) unresponsive: Option<Ignored>,
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
