//! The parameters of NADA, by the RFC's names (section 6.3, table 2), in lower case.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use super::controller::Nada;
use crate::check::positive;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// Parameters of NADA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 8698", "x-title" = "NADA", "x-traits" = ["delay"]))]
pub struct NadaParams {
    /// The weight of the flow's priority: flows share in proportion to it.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub prio: f64,
    /// The congestion signal of a flow of priority 1 at its highest rate.
    pub xref: Duration,
    /// The scale of gradual updates.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub kappa: f64,
    /// The weight of the signal's change in gradual updates.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub eta: f64,
    /// The longest round trip for which gradual updates are stable.
    pub tau: Duration,
    /// The interval of updates.
    pub delta: Duration,
    /// The largest growth in an accelerated update.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gamma_max: f64,
    /// The queue that accelerated ramp-up may build.
    pub qbound: Duration,
    /// The queueing delay up to which there is no queue.
    pub qeps: Duration,
    /// The queueing delay from which on it is warped while losses come regularly.
    pub qth: Duration,
    /// The exponent of warping.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub lambda: f64,
    /// After how many mean intervals a loss is overdue.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub multiloss: f64,
    /// What a share of losses of 1 % counts for.
    pub dloss: Duration,
    /// What a share of marks of 1 % counts for.
    pub dmark: Duration,
}

impl Default for NadaParams {
    fn default() -> NadaParams {
        let ms = Duration::from_millis;
        NadaParams {
            prio: 1.0,
            xref: ms(10),
            kappa: 0.5,
            eta: 2.0,
            tau: ms(500),
            delta: ms(100),
            gamma_max: 0.5,
            qbound: ms(50),
            qeps: ms(10),
            qth: ms(50),
            lambda: 0.5,
            multiloss: 7.0,
            dloss: ms(10),
            dmark: ms(2),
        }
    }
}

impl Params for NadaParams {
    const NAME: &'static str = "nada";
    const SUMMARY: &'static str = "NADA: a rate for media from delay, losses and marks in one number";

    fn check(&self) -> Result<(), OutOfRange> {
        positive("prio", self.prio)?;
        positive("kappa", self.kappa)?;
        for (key, value, most) in [
            ("prio", self.prio, 100.0),
            ("kappa", self.kappa, 10.0),
            ("eta", self.eta, 10.0),
            ("gamma_max", self.gamma_max, 1.0),
            ("lambda", self.lambda, 10.0),
            ("multiloss", self.multiloss, 100.0),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(OutOfRange::new(key, value, format!("0 to {most}")));
            }
        }
        for (key, time) in [("xref", self.xref), ("tau", self.tau), ("delta", self.delta), ("qth", self.qth)]
        {
            if time.is_zero() || time > Duration::SECOND * 10 {
                return Err(OutOfRange::new(key, time, "more than 0 s and at most 10 s"));
            }
        }
        Ok(())
    }
}

impl ControllerParams for NadaParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Nada::new(self.clone(), init))
    }
}
