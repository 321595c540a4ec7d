//! The decision: active queue management without a queue.

mod blue;
mod brick_wall;
mod cobalt;
pub(crate) mod cobalt_law;
mod cobalt_sce;
pub(crate) mod cobalt_schedule;
mod codel;
mod codel_af;
mod codel_mds;
mod coupled;
mod delta_sigma;
mod deltic;
mod deltic_mds;
mod deltim;
mod deltim2;
mod ds_selector;
mod jitter;
mod likelihood;
mod mds;
mod mds_credit;
mod mds_verdict;
mod none;
mod nth;
mod oscillators;
mod pi;
mod pi2;
mod pi2_params;
mod pie;
mod pie_mds;
mod pie_params;
mod pie_rate;
mod ramp;
mod red;
mod red_average;
mod red_mds;
mod red_params;
mod sce_ramp;
mod step;
mod timer_wheel;

pub(crate) use coupled::{CoupledLaw, CoupledParams};
pub use ds_selector::DsSelector;
pub use likelihood::{Draws, Likelihood, Recur};
pub use mds::WithMds;
pub use mds_credit::MdsCredit;
pub use mds_verdict::{Accumulate, MdsVerdicts};
pub use none::NoAqm;
pub use oscillators::{LinkedOscillators, LinkedVerdicts};
pub(crate) use pi::{PiController, PiGains};
pub use pi2::Pi2;
pub use pie::Pie;
pub use red::Red;
pub(crate) use red_average::Decay;
pub(crate) use red_params::weight;
pub use sce_ramp::{Ramped, SceRamp, SceRampParams, WithSceRamp};

use std::fmt::Debug;

use windtunnel_algorithm::kinds;
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId};

use crate::ecn::Class;
use crate::hand_on::hand_on_aqm;
use crate::kinds::Kinds;

kinds! {
    pub(crate) fn visit(Kinds::aqm);
    brick_wall: BrickWallParams;
    step: StepParams;
    nth: NthParams;
    ramp: RampParams;
    red_params: RedParams;
    codel: CodelParams;
    cobalt: CobaltParams;
    codel_af: CodelAfParams;
    pie_params: PieParams;
    pi2_params: Pi2Params;
    deltic: DelticParams;
    deltic_mds: DelticMdsParams;
    deltim: DeltimParams;
    deltim2: Deltim2Params;
    pie_mds: PieMdsParams;
    red_mds: RedMdsParams;
    codel_mds: CodelMdsParams;
}

/// What an AQM may know of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketView {
    /// Its length on the wire.
    pub size: Bytes,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// Its Differentiated Services code point.
    pub dscp: Dscp,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Which signals it understands.
    pub class: Class,
    /// How long it has been in the queue.
    pub sojourn: Duration,
    /// The packet replaces one that the AQM has just dropped: the same departure, another packet.
    pub replaces: bool,
}

impl PacketView {
    /// True if a CE verdict can reach the receiver as a mark; otherwise it is a drop.
    #[inline]
    pub const fn markable(&self) -> bool {
        self.class.is_markable()
    }
}

/// What an AQM may know of its queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// The simulated clock.
    pub now: Time,
    /// Packets in the AQM's band, without the arriving packet on enqueue and without the leaving packet on dequeue.
    pub packets: usize,
    /// Their bytes.
    pub bytes: Bytes,
    /// The bytes in all bands of the discipline, without the same packet.
    pub all_bytes: Bytes,
    /// How long the packet at the head of the band has waited; on dequeue that is the next packet.
    pub head_waiting: Option<Duration>,
    /// The rate at which the link drains the queue now.
    pub rate: Rate,
}

/// A congestion signal in the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Some Congestion Experienced: ECT(1).
    Sce,
    /// Congestion Experienced.
    Ce,
}

/// An AQM's decision about a packet. [`crate::ecn::EcnPolicy::apply`] translates it for the packet's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Leave it as it is.
    Pass,
    /// Mark it.
    Mark(Signal),
    /// Lose it.
    Drop,
}

/// Active queue management: it decides, but owns no packets.
pub trait Aqm: Debug + Send {
    /// A packet arrives.
    fn on_enqueue(&mut self, _packet: &PacketView, _queue: &QueueView) -> Verdict {
        Verdict::Pass
    }

    /// A packet was lost because it did not fit. With loss-free endpoints the packet is delivered, and
    /// [`Aqm::on_enqueue`] was called for it before.
    fn on_full(&mut self, _now: Time) {}

    /// A packet leaves.
    fn on_dequeue(&mut self, _packet: &PacketView, _queue: &QueueView) -> Verdict {
        Verdict::Pass
    }

    /// The link is free but no packet is left to send: the band is empty, or all its packets have just been dropped.
    fn on_empty(&mut self, _now: Time) {}

    /// The band lost this many of its oldest packets, because it held the most bytes in a full discipline.
    fn on_shed(&mut self, _packets: u32, _now: Time) {}

    /// A packet that it had let in was lost from its band to make room.
    fn on_lost(&mut self, _flow: FlowId) {}

    /// A packet of this flow bypassed its band, because its flow is sparse.
    fn on_sparse(&mut self, _flow: FlowId, _now: Time) {}

    /// Whether it decides on arrival alone: then a shaper leaves the packet in the queue until it may go
    /// ([`crate::QueueDiscipline::peeks`]).
    fn is_on_arrival(&self) -> bool {
        false
    }

    /// Whether the packet that left last was above the AQM's target by a rule of its own; nothing if it has none. It
    /// chooses the branch of an SCE ramp ([`SceRamp`]).
    fn over_target(&self) -> Option<bool> {
        None
    }

    /// When [`Aqm::on_timer`] wants to be called next (periodic control laws). The time changes only in that call.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The time asked for by [`Aqm::next_timer`] has come.
    fn on_timer(&mut self, _queue: &QueueView) {}

    /// Reports named internal numbers to recorders through `out(name, value)`. The names and their order never change,
    /// because recorders learn them once. A number that does not exist at the moment is NaN. A name ends in its unit,
    /// if it has one.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

impl Aqm for Box<dyn Aqm> {
    hand_on_aqm! {
        self => (**self);
        on_enqueue on_full on_dequeue on_empty on_shed on_lost on_sparse is_on_arrival over_target next_timer on_timer probe
    }
}

/// Every one of the `count` keys that `params` shares with its law has its value there, too, and not its default. How the
/// law draws is its own matter.
#[cfg(test)]
fn assert_law_has_keys<P: serde::Serialize>(
    params: &P,
    default: &P,
    law: &impl serde::Serialize,
    count: usize,
) {
    let table = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|value| value.as_object().cloned()).expect("a table")
    };
    let (values, default) = (table(serde_json::to_value(params)), table(serde_json::to_value(default)));
    let law = table(serde_json::to_value(law));
    let shared: Vec<&String> =
        values.keys().filter(|&key| law.contains_key(key) && key != "random").collect();
    assert_eq!(shared.len(), count);
    for key in shared {
        assert!(law[key] == values[key] && values[key] != default[key], "{key}: {}", law[key]);
    }
    assert_eq!(law["ecn"], serde_json::Value::Bool(true));
}
