//! What a scenario file may say: its tables as types, from which both the parser and the JSON Schema come.
//!
//! Algorithms (`cc`, `slow_start`, `queue`) are a name or a table whose other keys depend on its `kind`; they are
//! read apart, with the [`crate::Registry`].

use std::borrow::Cow;
use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use windtunnel_cc::Ignored;
use windtunnel_sim::{LinkParams, LinkRate, RecordParams, Window};
use windtunnel_tcp::TcpParams;
use windtunnel_units::{Bytes, Duration, Time};

use crate::model::{Active, Claim, Ect, Endpoints};
use crate::schema::{
    AckValue, ApplicationValue, ControllerValue, EcnValue, ElementValue, InitialWindowValue, OneOrMany,
    PresetValue, QueueValue, ReceiverControllerValue, StackValue,
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
    #[serde(default, rename = "tcp")]
    pub(crate) _tcp: Elsewhere<Option<TcpParams>>,
    /// The only bottleneck of a dumbbell. Use either this or `[[link]]`.
    pub(crate) bottleneck: Option<Elsewhere<BottleneckTable>>,
    /// The return path of the ACKs in a dumbbell. Without it, ACKs return without queueing.
    pub(crate) reverse: Option<Elsewhere<ReverseTable>>,
    /// The nodes of a graph.
    #[serde(default)]
    pub(crate) node: Vec<NodeTable>,
    /// The links of a graph. Use either these or `[bottleneck]`.
    #[serde(default)]
    pub(crate) link: Vec<Elsewhere<LinkTable>>,
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
    /// Keys of a link with published numbers, by name (`windtunnel list presets`). A key that the link states itself takes
    /// precedence, as a whole.
    #[serde(default)]
    preset: Elsewhere<PresetValue>,
    /// The queue in front of the link: a name, or a table with `kind`.
    #[serde(default)]
    queue: Elsewhere<QueueValue>,
    /// What happens to packets behind the link: names, or tables with `kind`. Needs `endpoints = "linux"`.
    #[serde(default)]
    impair: Elsewhere<OneOrMany<ElementValue>>,
    #[serde(flatten)]
    params: LinkParams,
}

/// A link without a name.
#[derive(Debug, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [{ "anyOf": [{ "required": ["rate"] }, { "required": ["preset"] }] }]))]
#[expect(dead_code, reason = "its schema is all that is needed of it")]
pub(crate) struct BottleneckTable {
    /// The rate at the start of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    /// Required, unless a preset states it.
    rate: Option<LinkRate>,
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
#[schemars(extend("allOf" = [{ "anyOf": [{ "required": ["rate"] }, { "required": ["preset"] }] }]))]
#[expect(dead_code, reason = "its schema is all that is needed of it")]
pub(crate) struct LinkTable {
    #[serde(flatten)]
    ends: LinkPlace,
    /// The rate at the start of the run, or `{ trace = "file" }`: a file of transmission opportunities (Mahimahi).
    /// Required, unless a preset states it.
    rate: Option<LinkRate>,
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
    #[serde(default, rename = "cc")]
    pub(crate) _cc: Elsewhere<Option<ControllerValue>>,
    /// The stack that carries the flow: a name, or a table with `kind`. The default is that of the scenario's `endpoints`.
    /// With the stack of another crate, `cc` is one of its own controllers, or `{ windtunnel = ... }`: one of those here
    /// inside it.
    #[serde(default, rename = "stack")]
    pub(crate) _stack: Elsewhere<Option<StackValue>>,
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
    #[serde(default, rename = "app")]
    pub(crate) _app: Elsewhere<ApplicationValue>,
    /// Whether departures are paced. By default they are with ideal endpoints, and with the slow start ESSP.
    pub(crate) pacing: Option<bool>,
    /// Whether the flow's packets are ECN-capable; a name selects how its receiver reports marks. The MDS response
    /// needs ECN. By default packets are ECN-capable with ideal endpoints, and with the MDS response.
    #[serde(default, rename = "ecn")]
    pub(crate) _ecn: Elsewhere<Option<EcnValue>>,
    /// The code point of its ECN-capable packets.
    #[serde(default, rename = "ect")]
    pub(crate) _ect: Elsewhere<Option<Ect>>,
    /// The MDS identifier: the DSCP of the data packets of a flow with MDS, once it is negotiated. By default 43.
    #[serde(default, rename = "mds_dscp")]
    #[schemars(range(min = 1, max = 63))]
    pub(crate) _mds_dscp: Elsewhere<Option<u8>>,
    /// The mechanisms of the flow's TCP; they override those of the scenario's `tcp`.
    #[serde(default, rename = "tcp")]
    pub(crate) _tcp: Elsewhere<Option<TcpParams>>,
    /// Misbehaviour: the flow does not answer marks, losses, or either, and grows as ever. Retransmissions stay.
    pub(crate) unresponsive: Option<Ignored>,
    /// The initial window: `"10 packets"`, or a number of segments. The default is 10 (RFC 6928), or 1 with `tahoe` and
    /// `reno1990`.
    #[serde(default, rename = "iw")]
    pub(crate) _iw: Elsewhere<InitialWindowValue>,
    /// How its receiver acknowledges: a policy, or a table.
    #[serde(default, rename = "ack")]
    pub(crate) _ack: Elsewhere<AckValue>,
    /// The name of a connection: the flow is one of its subflows, as all flows with the same name are, each on its own
    /// path, and all that `count` makes. Their controllers (`lia`, `olia`, `balia`) know each other; all others
    /// remain uncoupled. Subflows always have data to send, up to the end of the run.
    pub(crate) connection: Option<String>,
    /// rLEDBAT (RFC 9840): its receiver runs this controller, and limits the sender by the window that it offers, whatever
    /// the sender's own controller is: a name, or a table with `kind`. It needs timestamps.
    #[serde(default, rename = "rledbat")]
    pub(crate) _rledbat: Elsewhere<Option<ReceiverControllerValue>>,
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

/// A value that is read elsewhere, with the registry: the tables have its schema, which is that of `T`, and its key.
pub(crate) struct Elsewhere<T>(PhantomData<T>);

impl<T> Debug for Elsewhere<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}

impl<T> Default for Elsewhere<T> {
    fn default() -> Elsewhere<T> {
        Elsewhere(PhantomData)
    }
}

impl<'de, T> Deserialize<'de> for Elsewhere<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Elsewhere<T>, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Elsewhere::default())
    }
}

impl<T: JsonSchema> JsonSchema for Elsewhere<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
