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
mod hosts;
mod lfq;
mod limit;
mod params;
mod queue_length;
mod rate;
mod selector;
mod sfb;
mod sfq;
mod sparse;
mod spec;
mod twin_af;

pub use accounts::{Accounts, Departure, DropReason, Dropped, Incident, QueueCx, QueueStats};
pub use aqm::{
    Accumulate, Aqm, BrickWall, BrickWallParams, Cobalt, CobaltParams, CobaltVariant, Codel, CodelAf,
    CodelAfParams, CodelMds, CodelMdsParams, CodelParams, CodelVariant, Deltic, DelticMds, DelticMdsParams,
    DelticParams, Deltim, Deltim2, Deltim2Params, DeltimParams, Draws, DsSelector, Likelihood,
    LinkedOscillators, LinkedVerdicts, MdsCredit, MdsVerdicts, NoAqm, Nth, NthParams, NthSignal, PacketView,
    Pi2, Pi2Params, Pi2Variant, Pie, PieBurstMode, PieMds, PieMdsParams, PieParams, PieRandom, PieVariant,
    QueueView, Ramp, RampParams, Ramped, Recur, Red, RedIdle, RedMds, RedMdsParams, RedParams, RedRandom,
    SceRamp, SceRampParams, Signal, Step, StepParams, StepPoint, Verdict, WithSceRamp,
};
pub use band::Band;
pub use cake::{AckFilter, Cake, CakeParams, Cells, Diffserv, FlowMode};
pub use choke::{Choke, ChokeParams};
pub use classful::{DrrParams, Filter, Prio, PrioParams, RoundRobin, WrrParams};
pub use cnq::CnqParams;
pub use discipline::{Backlog, QueueDiscipline};
pub use dualpi2::{DualPi2, DualPi2Params, DualPi2Scheduler, DualPi2Variant};
pub use dualsparse::{DualSparseParams, SparseClassifier};
pub use fifo::{Fifo, FifoParams};
pub use flows::FlowHash;
pub use fq::{Fq, FqParams};
pub use fq_codel::{FqCodel, FqCodelParams};
pub use fq_pie::FqPieParams;
pub use gate::{Arrival, Gate};
pub use hosts::{FlowHosts, HostPair};
pub use lfq::{AqmInstances, Lfq, LfqParams};
pub use limit::{Limit, Room};
pub use params::{AqmInit, AqmParams, AqmSlot, BuildAqm, ChildSlot, QueueInit, QueueParams, Takes};
pub use queue_length::QueueLength;
pub use rate::{Exceed, PoliceParams, RampPoliceParams, Tbf, TbfParams, VqPoliceParams};
pub use selector::{EcnField, Selector};
pub use sfb::{Sfb, SfbParams};
pub use sfq::{Sfq, SfqParams};
pub use spec::{ChildSpec, Parts, QueueSpec};
pub use twin_af::{TwinAf, TwinAfParams};
pub use windtunnel_units::OutOfRange;
