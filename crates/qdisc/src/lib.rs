//! Queues: what decides, what stores, and what schedules.
//!
//! An [`Aqm`] decides (pass, mark, drop) and owns no packet. A [`Band`] stores packets. A [`Gate`] takes each packet
//! past the AQM of its band, applies the verdict and accounts for it. A [`QueueDiscipline`] schedules bands, and
//! commits to the packet that leaves next. An AQM written once runs alone ([`Fifo`]), per flow under fair queueing,
//! inside a dual queue, and on a real interface. A discipline that takes other queues (a shaper, a classful scheduler)
//! leaves packets and counters to them, and says for which band each call of one counts ([`QueueCx::within_band`]).
//!
//! Packets are conserved: they leave a queue by [`QueueDiscipline::serve`] or by [`QueueCx::drop`],
//! which counts them and names a reason. Code points change in [`ecn`] alone.
//!
//! Both families are open sets: [`AqmParams`] and [`QueueParams`] are what a new one implements, here or in another
//! crate, and [`QueueSpec`] describes a queue with all that is nested in it.

mod accounts;
mod aqm;
mod band;
mod cake;
mod check;
mod choke;
mod classful;
mod cnq;
mod discipline;
mod dualpi2;
mod dualsparse;
pub mod ecn;
mod fifo;
mod flows;
mod fq;
mod fq_codel;
mod fq_pie;
mod gate;
mod hand_on;
mod hosts;
mod kinds;
mod lfq;
mod limit;
mod params;
mod queue_length;
mod rate;
mod selector;
mod sfb;
mod sfq;
mod shared_keys;
mod sparse;
mod spec;
mod twin_af;

pub use accounts::{Accounts, Departure, DropReason, Dropped, Incident, QueueCx, QueueStats};
pub use aqm::*;
pub use band::Band;
pub use classful::*;
pub use discipline::{Backlog, QueueDiscipline};
pub use fifo::{Fifo, FifoParams};
pub use flows::FlowHash;
pub use gate::{Arrival, Gate};
pub use hosts::{FlowHosts, HostPair};
pub use kinds::Kinds;
pub use limit::{Limit, Room};
pub use params::{
    AqmInit, AqmParams, AqmSlot, BuildAqm, ChildSlot, QueueInit, QueueParams, QueuePlace, Takes,
};
pub use queue_length::QueueLength;
pub use rate::*;
pub use selector::{EcnField, Selector};
pub use spec::{ChildSpec, Parts, QueueSpec};
pub use windtunnel_units::OutOfRange;

windtunnel_algorithm::kinds! {
    fn visit_queues(Kinds::queue);
    fq_codel: FqCodelParams;
    fq_pie: FqPieParams;
    fq: FqParams;
    sfq: SfqParams;
    cake: CakeParams;
    cnq: CnqParams;
    lfq: LfqParams;
    twin_af: TwinAfParams;
    dualsparse: DualSparseParams;
    sfb: SfbParams;
    choke: ChokeParams;
    dualpi2: DualPi2Params;
}

/// Passes each built-in kind to `visitor`, in the order of listings and messages: the plain queue, AQMs, disciplines that
/// look at flows or code points, and queues around others.
pub fn visit(visitor: &mut impl Kinds) {
    visitor.queue::<FifoParams>();
    aqm::visit(visitor);
    visit_queues(visitor);
    classful::visit(visitor);
    rate::visit(visitor);
}
