//! The names of all algorithms, each with its constructor: the one place where a name becomes an algorithm.
//!
//! A new algorithm is one line here. Its parameters, their defaults, units and descriptions come from its `Params`
//! struct; so do the messages about wrong ones, `windtunnel list`, and the JSON Schema.

use std::any::Any;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windtunnel_algorithm::Params;
use windtunnel_cc::{
    AimdParams, AvoidanceConfig, ConventionalParams, CubicParams, EsspParams, HystartParams, HystartPpParams,
    MdsParams, RenoParams, ResponseConfig, ScalableParams, SlowStartConfig, StandardParams,
};
use windtunnel_qdisc::{
    BrickWallParams, DelticMdsParams, DelticParams, Deltim2Params, DeltimParams, FifoParams, PieParams,
    QueueConfig, RampParams, RedParams,
};
use windtunnel_sim::application::{
    ApplicationConfig, CbrParams, MediaParams, OnOffParams, PoissonParams, ProbeParams,
    RequestResponseParams, TransferParams,
};
use windtunnel_sim::element::{
    AckThinningParams, AggregationParams, CorruptionParams, DscpBleacherParams, DuplicationParams,
    EcnBleacherParams, ElementParams, GilbertElliottParams, JitterParams, LossParams, OptionStripperParams,
    OutageParams, PeriodicLossParams, ReorderingParams, ScriptedLossParams, ScriptedReorderingParams,
    TunnelEntryParams, TunnelExitParams,
};
use windtunnel_tcp::LossDetection;

use crate::parse::cursor::Cursor;
use crate::parse::deserialize::fields;
use crate::parse::fault::Fault;
use crate::parse::nearest::nearest;

/// An algorithm that a scenario can name. `C` is the configuration that is made of it.
#[derive(Debug)]
pub(crate) struct Kind<C: 'static> {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) summary: &'static str,
    /// The keys of its parameters, aliases included.
    pub(crate) keys: fn() -> &'static [&'static str],
    /// Reads its parameters among the keys of a table.
    pub(crate) read: fn(&Cursor<'_>) -> Result<C, Fault>,
    /// Its parameters in a configuration, if that is of this kind.
    pub(crate) params: fn(&C) -> Option<Map<String, Value>>,
    /// The schema of its parameters.
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
}

/// Algorithms without parameters have this in place of them.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct NoParams {}

macro_rules! kind {
    ($name:literal $(| $alias:literal)*, $config:ident::$variant:ident($params:ty), $summary:literal) => {
        Kind {
            name: $name,
            aliases: &[$($alias),*],
            summary: $summary,
            keys: fields::<$params>,
            read: |table| table.read_own_fields::<$params>().map($config::$variant),
            params: |config| if let $config::$variant(params) = config { Some(object(params)) } else { None },
            schema: <$params>::json_schema,
        }
    };
    ($name:literal, $config:ident::$variant:ident, $summary:literal) => {
        Kind {
            name: $name,
            aliases: &[],
            summary: $summary,
            keys: fields::<NoParams>,
            read: |_| Ok($config::$variant),
            params: |config| if let $config::$variant = config { Some(Map::new()) } else { None },
            schema: NoParams::json_schema,
        }
    };
}

/// Congestion controllers. Each of them also takes a slow start and a response; `-mds` after its name is short for the
/// MDS response.
pub(crate) const CONTROLLERS: &[Kind<AvoidanceConfig>] = &[
    kind!(
        "reno",
        AvoidanceConfig::Reno(RenoParams),
        "One segment per round trip, half of cwnd on congestion: AIMD(1, 0.5)"
    ),
    kind!(
        "aimd",
        AvoidanceConfig::Aimd(AimdParams),
        "Additive increase by a segments per round trip, multiplicative decrease to b"
    ),
    kind!(
        "cubic",
        AvoidanceConfig::Cubic(CubicParams),
        "Growth along a cubic of the time since the last response, at least as fast as Reno"
    ),
    kind!(
        "scalable",
        AvoidanceConfig::Scalable(ScalableParams),
        "Growth in proportion to cwnd: recovery takes the same number of round trips at any rate"
    ),
];

/// The initial window of RFC 6928 in segments.
pub(crate) const DEFAULT_IW: u32 = 10;

/// Reno as an earlier system had it: a name for its growth with the recovery that went with it.
#[derive(Debug)]
pub(crate) struct Classic {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) source: &'static str,
    pub(crate) detection: LossDetection,
    /// The initial window of its time in segments (spec/congestion-control section 1.2).
    pub(crate) iw: u32,
}

impl Classic {
    /// All of them grow as Reno does.
    pub(crate) const AVOIDANCE: &'static str = "reno";
}

/// Controllers of the time before SACK.
pub(crate) const CLASSICS: &[Classic] = &[
    Classic {
        name: "tahoe",
        summary: "Slow start after every loss",
        source: "Jacobson 1988",
        detection: LossDetection::Tahoe,
        iw: 1,
    },
    Classic {
        name: "reno1990",
        summary: "Fast recovery, ended by the first new ACK",
        source: "Jacobson 1990",
        detection: LossDetection::Reno,
        iw: 1,
    },
    Classic {
        name: "newreno",
        summary: "Fast recovery of one loss per round trip, without SACK",
        source: "RFC 6582",
        detection: LossDetection::Newreno,
        iw: DEFAULT_IW,
    },
];

/// Slow starts.
pub(crate) const SLOW_STARTS: &[Kind<SlowStartConfig>] = &[
    kind!("none", SlowStartConfig::None, "Congestion avoidance from the first ACK on"),
    kind!(
        "standard",
        SlowStartConfig::Standard(StandardParams),
        "cwnd doubles each round trip until congestion is signalled"
    ),
    kind!(
        "hystart",
        SlowStartConfig::Hystart(HystartParams),
        "HyStart: ends when the round trip grows, or when a train of ACKs is as long as the path"
    ),
    kind!(
        "hystart-pp" | "hystart++" | "hystartpp",
        SlowStartConfig::HystartPp(HystartPpParams),
        "HyStart++: ends when the round trip grows, after a conservative phase"
    ),
    kind!(
        "essp",
        SlowStartConfig::Essp(EsspParams),
        "Extended Slow Start with Pacing: slows down in stages while the queue is still short"
    ),
];

/// Responses of window-based controllers.
pub(crate) const RESPONSES: &[Kind<ResponseConfig>] = &[
    kind!(
        "conventional",
        ResponseConfig::Conventional(ConventionalParams),
        "Multiplicative decrease on a loss or CE, once per round trip"
    ),
    kind!(
        "mds",
        ResponseConfig::Mds(MdsParams),
        "Multiplicative Decrease Scaling: the tau-th root of the decrease for each SCE"
    ),
];

/// Queues.
pub(crate) const QUEUES: &[Kind<QueueConfig>] = &[
    kind!(
        "fifo" | "pfifo" | "bfifo",
        QueueConfig::Fifo(FifoParams),
        "First in, first out; signals only by the limit"
    ),
    kind!(
        "brickwall" | "brick-wall" | "brick_wall",
        QueueConfig::BrickWall(BrickWallParams),
        "Marks every packet that waited longer than a threshold"
    ),
    kind!("ramp", QueueConfig::Ramp(RampParams), "Marks with a probability that rises with the sojourn time"),
    kind!(
        "pie",
        QueueConfig::Pie(PieParams),
        "Proportional Integral controller Enhanced: drops or marks on enqueue, towards a target delay"
    ),
    kind!(
        "red",
        QueueConfig::Red(RedParams),
        "Random Early Detection: drops or marks with a probability that rises with the average queue"
    ),
    kind!(
        "deltic",
        QueueConfig::Deltic(DelticParams),
        "Delay Time Control: one controller each for SCE, CE and drop"
    ),
    kind!(
        "deltic-mds" | "deltic_mds",
        QueueConfig::DelticMds(DelticMdsParams),
        "Delay Time Control with oscillators for SCE and CE linked by tau"
    ),
    kind!(
        "deltim",
        QueueConfig::Deltim(DeltimParams),
        "Delay Time Minimisation: one packet as the set point, idle time slows the marks"
    ),
    kind!(
        "deltim2",
        QueueConfig::Deltim2(Deltim2Params),
        "Delay Time Minimisation on the standing queue, updated at intervals"
    ),
];

/// What a flow's application does.
pub(crate) const APPLICATIONS: &[Kind<ApplicationConfig>] = &[
    kind!("bulk", ApplicationConfig::Bulk, "Always has data to send"),
    kind!(
        "transfer",
        ApplicationConfig::Transfer(TransferParams),
        "So many bytes, once: measures the flow completion time"
    ),
    kind!("on-off" | "onoff", ApplicationConfig::OnOff(OnOffParams), "Periods of sending and of silence"),
    kind!(
        "request-response",
        ApplicationConfig::RequestResponse(RequestResponseParams),
        "One response after the other on one connection"
    ),
    kind!(
        "poisson",
        ApplicationConfig::Poisson(PoissonParams),
        "A new connection for each of many transfers, which arrive at random"
    ),
    kind!(
        "media",
        ApplicationConfig::Media(MediaParams),
        "Frames at a constant interval, as of a video call"
    ),
    kind!("cbr", ApplicationConfig::Cbr(CbrParams), "UDP datagrams at a constant rate, responsive or not"),
    kind!(
        "probe" | "irtt" | "ping",
        ApplicationConfig::Probe(ProbeParams),
        "Small UDP datagrams that come back: measures delay and loss"
    ),
];

/// The entry of an element: its name and summary are those of its parameters.
macro_rules! element {
    ($params:ty) => {
        Kind {
            name: <$params as Params>::NAME,
            aliases: <$params as Params>::ALIASES,
            summary: <$params as Params>::SUMMARY,
            keys: fields::<$params>,
            read: |table| {
                let params = table.read_own_fields::<$params>()?;
                Ok(Arc::new(params) as Arc<dyn ElementParams>)
            },
            params: |config| {
                let config: &dyn Any = &**config;
                config.downcast_ref::<$params>().map(object)
            },
            schema: <$params>::json_schema,
        }
    };
}

/// What happens to packets behind a link.
pub(crate) const ELEMENTS: &[Kind<Arc<dyn ElementParams>>] = &[
    element!(OutageParams),
    element!(AckThinningParams),
    element!(LossParams),
    element!(GilbertElliottParams),
    element!(PeriodicLossParams),
    element!(ScriptedLossParams),
    element!(CorruptionParams),
    element!(DuplicationParams),
    element!(AggregationParams),
    element!(JitterParams),
    element!(ReorderingParams),
    element!(ScriptedReorderingParams),
    element!(DscpBleacherParams),
    element!(EcnBleacherParams),
    element!(OptionStripperParams),
    element!(TunnelEntryParams),
    element!(TunnelExitParams),
];

/// The algorithm called `name`.
pub(crate) fn named<C>(kinds: &'static [Kind<C>], name: &str) -> Option<&'static Kind<C>> {
    kinds.iter().find(|kind| kind.name == name || kind.aliases.contains(&name))
}

/// The names of a table of algorithms, without aliases.
pub(crate) fn names<C>(kinds: &'static [Kind<C>]) -> String {
    kinds.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// The algorithm called `name`; `at` is where the name was written, `what` what it is a name of.
pub(crate) fn find<C>(
    kinds: &'static [Kind<C>],
    name: &str,
    at: &Cursor<'_>,
    what: &str,
) -> Result<&'static Kind<C>, Fault> {
    named(kinds, name).ok_or_else(|| {
        let all =
            kinds.iter().flat_map(|kind| std::iter::once(kind.name).chain(kind.aliases.iter().copied()));
        at.not_allowed(format!("{what} is one of {}", names(kinds))).with_hint(nearest(name, all))
    })
}

/// The kind of a configuration, and its parameters.
pub(crate) fn describe<C>(kinds: &'static [Kind<C>], config: &C) -> (&'static str, Map<String, Value>) {
    kinds
        .iter()
        .find_map(|kind| (kind.params)(config).map(|params| (kind.name, params)))
        .expect("every configuration has a line in its table")
}

/// Parameters as a JSON object; those that are not set are left out, as TOML knows no null.
pub(crate) fn object<T: Serialize>(params: &T) -> Map<String, Value> {
    match serde_json::to_value(params) {
        Ok(Value::Object(mut object)) => {
            object.retain(|_, value| !value.is_null());
            object
        }
        _ => Map::new(),
    }
}
