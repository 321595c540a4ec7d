//! The parameters of TFRC.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Bytes;

use super::controller::Tfrc;
use crate::controller::{CongestionControl, ControllerParams};
use crate::loss_history::MOST_INTERVALS;
use crate::sample::FlowInit;

/// RFC 3390: the initial window is at most this, unless two segments are more.
const RFC3390_BYTES: Bytes = Bytes::new(4380);

/// Parameters of TFRC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 5348", "x-title" = "TFRC"))]
pub struct TfrcParams {
    /// How many segments an ACK of the TCP acknowledges that the equation describes (section 3.1 recommends 1).
    #[schemars(range(min = 1, max = 8))]
    pub b: u32,
    /// The equation's retransmission timeout in round-trip times (section 3.1: `t_RTO` = 4 R).
    #[schemars(range(min = 1.0, max = 100.0))]
    pub t_rto_factor: f64,
    /// How many loss intervals the mean counts (section 5.4: 8).
    #[schemars(range(min = 2, max = 16))]
    pub n: u32,
    /// Whether a long interval without losses makes the older ones weigh less (section 5.5, optional there). On, as in the paper
    /// and in the simulator of the authors.
    pub history_discounting: bool,
    /// Whether departures follow the round trip: slower while it is longer than its mean (section 4.5: SHOULD).
    pub oscillation_prevention: bool,
    /// The rate until the first feedback.
    pub initial_rate: InitialRate,
}

/// What the sender sends in the first round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialRate {
    /// The initial window of RFC 3390: two to four segments, about 4380 bytes (RFC 5348 section 4.2).
    #[default]
    Rfc3390,
    /// The flow's initial window, which is ten segments in RFC 6928.
    Iw,
}

impl InitialRate {
    /// Returns how much may leave in a round trip.
    pub(super) fn window(self, init: &FlowInit) -> Bytes {
        match self {
            InitialRate::Rfc3390 => (init.mss * 4).min((init.mss * 2).max(RFC3390_BYTES)),
            InitialRate::Iw => init.iw,
        }
    }
}

impl Default for TfrcParams {
    fn default() -> TfrcParams {
        TfrcParams {
            b: 1,
            t_rto_factor: 4.0,
            n: 8,
            history_discounting: true,
            oscillation_prevention: true,
            initial_rate: InitialRate::Rfc3390,
        }
    }
}

impl Params for TfrcParams {
    const NAME: &'static str = "tfrc";
    const SUMMARY: &'static str =
        "TFRC (RFC 5348): the rate of TCP's throughput equation at the mean of the last loss intervals";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(1..=8).contains(&self.b) {
            return Err(OutOfRange::new("b", self.b, "1 to 8"));
        }
        if !(1.0..=100.0).contains(&self.t_rto_factor) {
            return Err(OutOfRange::new("t_rto_factor", self.t_rto_factor, "1 to 100"));
        }
        if !(2..=MOST_INTERVALS as u32).contains(&self.n) {
            return Err(OutOfRange::new("n", self.n, "2 to 16"));
        }
        Ok(())
    }
}

impl ControllerParams for TfrcParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Tfrc::new(self, &init))
    }
}
