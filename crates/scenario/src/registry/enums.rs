//! The families whose parameters are still variants of an enum.

use schemars::JsonSchema;
use serde_json::{Map, Value};
use windtunnel_qdisc::{
    BrickWallParams, DelticMdsParams, DelticParams, Deltim2Params, DeltimParams, FifoParams, PieParams,
    QueueConfig, RampParams, RedParams,
};

use super::family::{Described, Entry, Family};
use crate::parse::deserialize::fields;

macro_rules! family {
    ($register:ident, $config:ident: $($name:literal $aliases:tt $variant:ident($params:ty) $summary:literal,)*) => {
        pub(super) fn $register(family: &mut Family<$config>) {
            $(
                let entry = Entry {
                    name: $name.into(),
                    aliases: &$aliases,
                    summary: $summary.into(),
                    keys: fields::<$params>().iter().copied().map(std::borrow::Cow::Borrowed).collect(),
                    read: std::sync::Arc::new(|table| table.read_own_fields::<$params>().map($config::$variant)),
                    schema: std::sync::Arc::new(<$params>::json_schema),
                    foreign: false,
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
