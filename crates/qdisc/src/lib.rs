//! Queues: what decides, and what stores.
//!
//! Two traits, because there are two ideas. An [`Aqm`] decides (pass, mark, drop) and owns no packet; a
//! [`QueueDiscipline`] stores and schedules packets and asks an `Aqm`. An AQM written once runs alone,
//! per flow under fair queueing, inside a dual queue, and on a real interface.
//!
//! Packets are conserved: they leave a queue by [`QueueDiscipline::dequeue`] or by [`QueueCx::drop`],
//! which counts them and names a reason. Code points change in [`ecn`] alone.
//!
//! [`QueueConfig`] is the list of all queues of this crate with their parameters, and builds them.

mod aqm;
mod check;
mod config;
mod discipline;
pub mod ecn;
mod fifo;
mod random;

pub use aqm::{
    Aqm, BrickWall, BrickWallParams, Deltic, DelticMds, DelticMdsParams, DelticParams, Deltim, Deltim2,
    Deltim2Params, DeltimParams, LinkedOscillators, LinkedVerdicts, NoAqm, PacketView, Pie, PieBurstMode,
    PieParams, PieRandom, PieVariant, QueueView, Ramp, RampParams, Red, RedIdle, RedParams, RedRandom,
    Signal, Verdict,
};
pub use config::{FifoParams, QueueConfig};
pub use discipline::{Backlog, DropReason, Dropped, Incident, QueueCx, QueueDiscipline, QueueStats};
pub use fifo::{Fifo, Limit};
pub use windtunnel_units::OutOfRange;
