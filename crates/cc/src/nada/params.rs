//! The parameters of NADA, by the RFC's names (section 4.1, table 2), in lower case.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use super::controller::Nada;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// The longest time that a parameter can have.
const LONGEST: Duration = Duration::from_secs(10);

/// Parameters of NADA. `RMIN` and `RMAX` are the range of the media source; of other data they are 150 kbit/s and 1.5 Mbit/s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 8698", "x-title" = "NADA", "x-traits" = ["delay", "media"]))]
pub struct NadaParams {
    /// The weight of the flow's priority: flows with the same highest rate share in proportion to it.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub prio: f64,
    /// The congestion signal of a flow of priority 1 at its highest rate.
    pub xref: Duration,
    /// The scale of gradual updates.
    #[schemars(range(min = 0.01, max = 10.0))]
    pub kappa: f64,
    /// The weight of the signal's change in gradual updates.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub eta: f64,
    /// The longest round trip for which gradual updates are stable.
    pub tau: Duration,
    /// The least interval of updates, and that which is expected.
    pub delta: Duration,
    /// The largest growth in an accelerated update.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gamma_max: f64,
    /// The queue that accelerated ramp-up may build.
    pub qbound: Duration,
    /// The queueing delay from which on there is a queue, so that ramp-up ends.
    pub qeps: Duration,
    /// The queueing delay from which on it is warped while losses come regularly.
    pub qth: Duration,
    /// The exponent of warping.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub lambda: f64,
    /// After how many mean intervals a loss is overdue, so that warping ends.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub multiloss: f64,
    /// What a share of losses of 1 % counts for; with zero losses count for nothing.
    pub dloss: Duration,
    /// What a share of marks of 1 % counts for; with zero marks count for nothing.
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
        if !(0.01..=100.0).contains(&self.prio) {
            return Err(OutOfRange::new("prio", self.prio, "0.01 to 100"));
        }
        if !(0.01..=10.0).contains(&self.kappa) {
            return Err(OutOfRange::new("kappa", self.kappa, "0.01 to 10"));
        }
        for (key, factor) in [("eta", self.eta), ("lambda", self.lambda)] {
            if !(0.0..=10.0).contains(&factor) {
                return Err(OutOfRange::new(key, factor, "0 to 10"));
            }
        }
        if !(0.0..=1.0).contains(&self.gamma_max) {
            return Err(OutOfRange::new("gamma_max", self.gamma_max, "0 to 1"));
        }
        if !(0.0..=100.0).contains(&self.multiloss) {
            return Err(OutOfRange::new("multiloss", self.multiloss, "0 to 100"));
        }
        for (key, time) in [
            ("xref", self.xref),
            ("tau", self.tau),
            ("delta", self.delta),
            ("qbound", self.qbound),
            ("qeps", self.qeps),
            ("qth", self.qth),
        ] {
            if time.is_zero() || time > LONGEST {
                return Err(OutOfRange::new(key, time, "more than 0 s and at most 10 s"));
            }
        }
        for (key, time) in [("dloss", self.dloss), ("dmark", self.dmark)] {
            if time > LONGEST {
                return Err(OutOfRange::new(key, time, "at most 10 s"));
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
