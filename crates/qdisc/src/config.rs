//! The queues of this crate as data: a name, its parameters, and what is built from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::aqm::{
    BrickWall, BrickWallParams, Deltic, DelticMds, DelticMdsParams, DelticParams, Deltim, Deltim2,
    Deltim2Params, DeltimParams, NoAqm, Pie, PieParams, Ramp, RampParams, Red, RedParams,
};
use crate::discipline::QueueDiscipline;
use crate::ecn::EcnPolicy;
use crate::fifo::{Fifo, Limit};
use windtunnel_units::OutOfRange;

/// The plain queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Linux sch_fifo; RFC 9743 section 5.1"))]
pub struct FifoParams {
    /// Whether a full queue loses its oldest packets instead of the arriving one.
    pub headdrop: bool,
}

/// A queue with its parameters. The limit and the reading of the ECN field are the same for all kinds
/// and are given to [`QueueConfig::build`].
#[derive(Clone, Debug, PartialEq)]
pub enum QueueConfig {
    /// First in, first out.
    Fifo(FifoParams),
    /// Marks above a threshold.
    BrickWall(BrickWallParams),
    /// Marks with a probability that rises with the sojourn time.
    Ramp(RampParams),
    /// Delay Time Control with a controller for each signal.
    Deltic(DelticParams),
    /// Delay Time Control with linked oscillators.
    DelticMds(DelticMdsParams),
    /// Delay Time Minimisation.
    Deltim(DeltimParams),
    /// Delay Time Minimisation on the standing queue.
    Deltim2(Deltim2Params),
    /// A drop probability that keeps the queueing delay at a target.
    Pie(PieParams),
    /// A probability that rises with the average queue.
    Red(RedParams),
}

impl QueueConfig {
    /// Whether the parameters are within what the algorithm is defined for.
    pub fn check(&self) -> Result<(), OutOfRange> {
        match self {
            QueueConfig::Fifo(_) | QueueConfig::BrickWall(_) => Ok(()),
            QueueConfig::Ramp(params) => params.check(),
            QueueConfig::Deltic(params) => params.check(),
            QueueConfig::DelticMds(params) => params.check(),
            QueueConfig::Deltim(params) => params.check(),
            QueueConfig::Deltim2(params) => params.check(),
            QueueConfig::Pie(params) => params.check(),
            QueueConfig::Red(params) => params.check(),
        }
    }

    /// The limit of a queue of this kind that is not given one.
    pub const fn default_limit(&self) -> Limit {
        match self {
            QueueConfig::Pie(_) => PieParams::LIMIT,
            QueueConfig::Red(_) => RedParams::LIMIT,
            QueueConfig::Fifo(_)
            | QueueConfig::BrickWall(_)
            | QueueConfig::Ramp(_)
            | QueueConfig::Deltic(_)
            | QueueConfig::DelticMds(_)
            | QueueConfig::Deltim(_)
            | QueueConfig::Deltim2(_) => Limit::Unlimited,
        }
    }

    /// An empty queue. `seed` is that of the queue's own random stream.
    ///
    /// # Panics
    /// If [`QueueConfig::check`] finds fault.
    pub fn build(&self, ecn: EcnPolicy, limit: Limit, seed: u64) -> Box<dyn QueueDiscipline> {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
        match self {
            QueueConfig::Fifo(params) => {
                Box::new(Fifo::new(NoAqm, ecn, limit).with_head_drop(params.headdrop))
            }
            QueueConfig::BrickWall(params) => Box::new(Fifo::new(BrickWall::new(params.clone()), ecn, limit)),
            QueueConfig::Ramp(params) => Box::new(Fifo::new(Ramp::new(params.clone(), seed), ecn, limit)),
            QueueConfig::Deltic(params) => Box::new(Fifo::new(Deltic::new(params), ecn, limit)),
            QueueConfig::DelticMds(params) => Box::new(Fifo::new(DelticMds::new(params), ecn, limit)),
            QueueConfig::Deltim(params) => Box::new(Fifo::new(Deltim::new(params), ecn, limit)),
            QueueConfig::Deltim2(params) => Box::new(Fifo::new(Deltim2::new(params), ecn, limit)),
            QueueConfig::Pie(params) => Box::new(Fifo::new(Pie::new(params.clone(), seed), ecn, limit)),
            QueueConfig::Red(params) => {
                Box::new(Fifo::new(Red::new(params.clone(), limit, seed), ecn, limit))
            }
        }
    }
}
