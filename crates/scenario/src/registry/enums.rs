//! The families whose parameters are still variants of an enum.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windtunnel_cc::{
    AimdParams, AvoidanceConfig, ConventionalParams, CubicParams, EsspParams, HystartParams, HystartPpParams,
    MdsParams, RenoParams, ResponseConfig, ScalableParams, SlowStartConfig, StandardParams,
};
use windtunnel_qdisc::{
    BrickWallParams, DelticMdsParams, DelticParams, Deltim2Params, DeltimParams, FifoParams, PieParams,
    QueueConfig, RampParams, RedParams,
};

use super::family::{Described, Entry, Family};
use crate::parse::deserialize::fields;

/// Algorithms without parameters have this in place of them.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct NoParams {}

macro_rules! family {
    ($register:ident, $config:ident: $($name:literal $aliases:tt $variant:ident($params:ty) $summary:literal,)*) => {
        pub(super) fn $register(family: &mut Family<$config>) {
            $(
                let entry = Entry {
                    name: $name.into(),
                    aliases: &$aliases,
                    summary: $summary.into(),
                    keys: fields::<$params>().iter().copied().map(std::borrow::Cow::Borrowed).collect(),
                    read: Box::new(|table| table.read_own_fields::<$params>().map($config::$variant)),
                    schema: Box::new(<$params>::json_schema),
                };
                family.register(entry).expect("built-in names differ");
            )*
        }

        impl Described for $config {
            #[allow(unreachable_patterns, clippy::allow_attributes)]
            fn kind(&self) -> &str {
                match self { $($config::$variant(_) => $name,)* _ => "none" }
            }

            #[allow(unreachable_patterns, clippy::allow_attributes)]
            fn parameters(&self) -> Map<String, Value> {
                match self { $($config::$variant(params) => crate::print::object(params),)* _ => Map::new() }
            }
        }
    };
}

family!(avoidances, AvoidanceConfig:
    "reno" [] Reno(RenoParams)
        "One segment per round trip, half of cwnd on congestion: AIMD(1, 0.5)",
    "aimd" [] Aimd(AimdParams)
        "Additive increase by a segments per round trip, multiplicative decrease to b",
    "cubic" [] Cubic(CubicParams)
        "Growth along a cubic of the time since the last response, at least as fast as Reno",
    "scalable" [] Scalable(ScalableParams)
        "Growth in proportion to cwnd: recovery takes the same number of round trips at any rate",
);

family!(slow_starts, SlowStartConfig:
    "standard" [] Standard(StandardParams)
        "cwnd doubles each round trip until congestion is signalled",
    "hystart" [] Hystart(HystartParams)
        "HyStart: ends when the round trip grows, or when a train of ACKs is as long as the path",
    "hystart-pp" ["hystart++", "hystartpp"] HystartPp(HystartPpParams)
        "HyStart++: ends when the round trip grows, after a conservative phase",
    "essp" [] Essp(EsspParams)
        "Extended Slow Start with Pacing: slows down in stages while the queue is still short",
);

family!(responses, ResponseConfig:
    "conventional" [] Conventional(ConventionalParams)
        "Multiplicative decrease on a loss or CE, once per round trip",
    "mds" [] Mds(MdsParams)
        "Multiplicative Decrease Scaling: the tau-th root of the decrease for each SCE",
);

family!(queues, QueueConfig:
    "fifo" ["pfifo", "bfifo"] Fifo(FifoParams)
        "First in, first out; signals only by the limit",
    "brickwall" ["brick-wall", "brick_wall"] BrickWall(BrickWallParams)
        "Marks every packet that waited longer than a threshold",
    "ramp" [] Ramp(RampParams)
        "Marks with a probability that rises with the sojourn time",
    "pie" [] Pie(PieParams)
        "Proportional Integral controller Enhanced: drops or marks on enqueue, towards a target delay",
    "red" [] Red(RedParams)
        "Random Early Detection: drops or marks with a probability that rises with the average queue",
    "deltic" [] Deltic(DelticParams)
        "Delay Time Control: one controller each for SCE, CE and drop",
    "deltic-mds" ["deltic_mds"] DelticMds(DelticMdsParams)
        "Delay Time Control with oscillators for SCE and CE linked by tau",
    "deltim" [] Deltim(DeltimParams)
        "Delay Time Minimisation: one packet as the set point, idle time slows the marks",
    "deltim2" [] Deltim2(Deltim2Params)
        "Delay Time Minimisation on the standing queue, updated at intervals",
);

/// The one slow start without parameters.
pub(super) fn no_slow_start() -> Entry<SlowStartConfig> {
    Entry {
        name: "none".into(),
        aliases: &[],
        summary: "Congestion avoidance from the first ACK on".into(),
        keys: Vec::new(),
        read: Box::new(|_| Ok(SlowStartConfig::None)),
        schema: Box::new(NoParams::json_schema),
    }
}
