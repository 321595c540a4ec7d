//! The parameters of C4.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration};

use super::controller::C4;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// What C4 does with CE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum C4Ce {
    /// The averaged share of marks is a signal of its own, and packets carry ECT(1).
    #[default]
    Share,
    /// A marked packet counts as a lost one, as where the text had no rule yet (-00).
    Loss,
    /// Packets are not ECN-capable.
    None,
}

/// When a round trip is a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum C4Delay {
    /// Whenever it exceeds the threshold.
    #[default]
    Always,
    /// Only where it measures what was sent above the nominal rate, as in the author's code.
    AfterPush,
}

/// Parameters of C4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-huitema-ccwg-c4-spec, editors' copy of August 2026 (-05)",
    "x-title" = "C4",
    "x-traits" = ["delay"]
))]
pub struct C4Params {
    /// What CE does.
    pub ce: C4Ce,
    /// When a delay is a signal.
    pub delay: C4Delay,
    /// By which factor the nominal rate must grow in an era so that the initial state goes on; any increase is 1.
    #[schemars(range(min = 1.0, max = 2.0))]
    pub initial_increase: f64,
    /// How often at most a high jitter restarts the initial state; unset: each time.
    pub jitter_restarts: Option<u32>,
    /// The window of an earlier connection on the path, from which to resume.
    pub seed_cwnd: Option<Bytes>,
    /// The round trip of that connection; unset: the handshake's.
    pub seed_rtt: Option<Duration>,
}

impl Default for C4Params {
    fn default() -> C4Params {
        C4Params {
            ce: C4Ce::default(),
            delay: C4Delay::default(),
            initial_increase: 1.0,
            jitter_restarts: None,
            seed_cwnd: None,
            seed_rtt: None,
        }
    }
}

impl Params for C4Params {
    const NAME: &'static str = "c4";
    const SUMMARY: &'static str =
        "C4: a nominal rate and the largest round trip without a queue; made for media over Wi-Fi";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(1.0..=2.0).contains(&self.initial_increase) {
            return Err(OutOfRange::new("initial_increase", self.initial_increase, "1 to 2"));
        }
        if let Some(seed) = self.seed_cwnd
            && !(1..=1 << 30).contains(&seed.get())
        {
            return Err(OutOfRange::new("seed_cwnd", seed, "1 B to 1 GiB"));
        }
        if let Some(rtt) = self.seed_rtt.filter(|rtt| rtt.is_zero()) {
            return Err(OutOfRange::new("seed_rtt", rtt, "more than 0 s"));
        }
        Ok(())
    }
}

impl ControllerParams for C4Params {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(C4::new(self.clone(), init))
    }
}
