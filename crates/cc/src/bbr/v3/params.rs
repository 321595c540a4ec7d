//! The parameters of BBR's second and third versions.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration};

use super::controller::Bbr3;
use super::ecn::EcnRule;
use super::rules::Rules;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;
use crate::saved_path::SavedPath;

/// Whose rules are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bbr3Variant {
    /// draft-ietf-ccwg-bbr, editor's copy at commit 007dbe1fd591: one filter of the least round trip, and a search after 10 s.
    #[default]
    Draft,
    /// draft-ietf-ccwg-bbr-06, as posted: a search after 5 s.
    #[serde(rename = "draft-06")]
    Draft06,
    /// The branch of Linux that Google has published.
    Linux,
}

/// How the draft's rules answer CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CeAnswer {
    /// A marked segment counts as a lost one.
    Loss,
    /// Not at all, which the draft forbids to packets that claim ECN.
    None,
}

/// For what the window of the draft's rules has room in hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OffloadBudget {
    /// Three bursts: in the host, in its interface, and at the receiver.
    Tcp,
    /// One burst.
    Quic,
}

/// A point of the draft's text that can be taken in another way than it is here (docs/packs/bbr3-text-points.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextPoint {
    /// `InflightAtLoss` may give less than was in flight before the lost segment: its `lost_prefix` may be negative.
    LostPrefix,
    /// `HandleRestartFromIdle` starts the interval of aggregation, and its amount delivered goes on.
    IdleAggregation,
    /// `MaxBwFilter` covers this cycle and the two before, as a filter over a difference of two does.
    ThreeCycles,
    /// Drain's window has the long-term bound, as the table of the states' parameters says.
    DrainBound,
}

impl TextPoint {
    const fn name(self) -> &'static str {
        match self {
            TextPoint::LostPrefix => "lost-prefix",
            TextPoint::IdleAggregation => "idle-aggregation",
            TextPoint::ThreeCycles => "three-cycles",
            TextPoint::DrainBound => "drain-bound",
        }
    }
}

/// Parameters of BBR's third version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-ietf-ccwg-bbr at 007dbe1, and -06; Linux branch google/bbr v3",
    "x-title" = "BBR3",
    "x-traits" = ["model"]
))]
pub struct Bbr3Params {
    /// Whose rules are used.
    pub variant: Bbr3Variant,
    /// How CE is answered, with the draft's rules alone: "loss" if it is not given.
    pub ce: Option<CeAnswer>,
    /// Whose hosts the window has room for, with the draft's rules alone: "tcp" if it is not given.
    pub offload: Option<OffloadBudget>,
    /// The sender asks for as many ACKs as the draft advises for each mode: four per round trip or more while it probes, one per
    /// quarter of the window in `DOWN` and `CRUISE`. With the draft's rules alone.
    pub ack_frequency: bool,
    /// Careful Resume (RFC 9959): what was acknowledged in a round trip of an earlier connection, with `saved_rtt`. Startup then
    /// goes on at half of that rate. With the draft's rules alone, as the next two.
    pub saved_cwnd: Option<Bytes>,
    /// `saved_rtt`: the least round trip of that connection.
    pub saved_rtt: Option<Duration>,
    /// `max_jump`: the most that `saved_rtt` may carry after the jump; if left out, half of `saved_cwnd` alone limits it.
    pub max_jump: Option<Bytes>,
    /// The point of the draft's text that is taken literally; with the draft's rules alone.
    pub literal: Option<TextPoint>,
    /// The route's queues mark early (Linux: `ip route ... features ecn_low`), so CE is answered in proportion to its share;
    /// with `variant = "linux"` alone.
    pub ecn_low: bool,
    /// The longest round trip at which CE is answered; zero for any (Linux's `ecn_max_rtt_us`).
    pub ecn_max_rtt: Duration,
}

impl Default for Bbr3Params {
    fn default() -> Bbr3Params {
        Bbr3Params {
            variant: Bbr3Variant::default(),
            ce: None,
            offload: None,
            ack_frequency: false,
            saved_cwnd: None,
            saved_rtt: None,
            max_jump: None,
            literal: None,
            ecn_low: false,
            ecn_max_rtt: Duration::from_millis(5),
        }
    }
}

impl Params for Bbr3Params {
    const NAME: &'static str = "bbr3";
    const SUMMARY: &'static str =
        "BBR, version 3: the model has bounds that losses set, and probes leave room for Reno";

    fn check(&self) -> Result<(), OutOfRange> {
        SavedPath::check(self.saved_cwnd, self.saved_rtt, self.max_jump)?;
        match self.variant {
            Bbr3Variant::Draft | Bbr3Variant::Draft06 => self.check_draft(),
            Bbr3Variant::Linux => self.check_linux(),
        }
    }
}

impl Bbr3Params {
    fn check_draft(&self) -> Result<(), OutOfRange> {
        if self.ecn_low {
            let allowed = "false, unless the rules are those of \"linux\": the draft's answer to CE is `ce`";
            return Err(OutOfRange::new("ecn_low", self.ecn_low, allowed));
        }
        if self.ecn_max_rtt != Bbr3Params::default().ecn_max_rtt {
            let allowed = "absent, unless the rules are those of \"linux\": the draft's answer to CE is `ce`";
            return Err(OutOfRange::new("ecn_max_rtt", self.ecn_max_rtt, allowed));
        }
        Ok(())
    }

    fn check_linux(&self) -> Result<(), OutOfRange> {
        if let Some(ce) = self.ce {
            let name = if ce == CeAnswer::Loss { "loss" } else { "none" };
            let allowed = "absent, unless the rules are the draft's: Linux answers CE if `ecn_low` is true";
            return Err(OutOfRange::new("ce", name, allowed));
        }
        if let Some(offload) = self.offload {
            let name = if offload == OffloadBudget::Tcp { "tcp" } else { "quic" };
            let allowed = "absent, unless the rules are the draft's: Linux has room for three bursts";
            return Err(OutOfRange::new("offload", name, allowed));
        }
        if let Some(point) = self.literal {
            let allowed = "absent, unless the rules are the draft's: it is a point of its text";
            return Err(OutOfRange::new("literal", point.name(), allowed));
        }
        if let Some(cwnd) = self.saved_cwnd {
            let allowed = "absent, unless the rules are the draft's: Linux does not resume";
            return Err(OutOfRange::new("saved_cwnd", cwnd, allowed));
        }
        if self.ack_frequency {
            let allowed = "false, unless the rules are the draft's: Linux asks for no ACKs";
            return Err(OutOfRange::new("ack_frequency", true, allowed));
        }
        Ok(())
    }
}

impl ControllerParams for Bbr3Params {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        let rules = match self.variant {
            Bbr3Variant::Draft => Rules::DRAFT,
            Bbr3Variant::Draft06 => Rules::DRAFT_06,
            Bbr3Variant::Linux => Rules::LINUX,
        };
        let quanta = if self.offload == Some(OffloadBudget::Quic) { 1.0 } else { rules.quanta };
        let ecn = EcnRule { low: self.ecn_low, max_rtt: self.ecn_max_rtt };
        let ce_as_loss = self.variant != Bbr3Variant::Linux && self.ce != Some(CeAnswer::None);
        let bbr = Bbr3::new(Rules { quanta, literal: self.literal, ..rules }, ecn, ce_as_loss, init);
        let bbr = if self.ack_frequency { bbr.asking_for_acks() } else { bbr };
        Box::new(match SavedPath::of(self.saved_cwnd, self.saved_rtt, self.max_jump) {
            Some(saved) => bbr.resuming(saved),
            None => bbr,
        })
    }
}

/// Parameters of BBR's second version, which has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Linux branch google/bbr v2alpha",
    "x-title" = "BBR2",
    "x-traits" = ["model"]
))]
pub struct Bbr2Params {}

impl Params for Bbr2Params {
    const NAME: &'static str = "bbr2";
    const SUMMARY: &'static str = "BBR, version 2: as version 3, with version 1's gains";

    fn check(&self) -> Result<(), OutOfRange> {
        Ok(())
    }
}

impl ControllerParams for Bbr2Params {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Bbr3::new(Rules::V2, EcnRule::OFF, false, init))
    }
}
