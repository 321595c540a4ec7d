//! The published responses to SCE (draft-grimes-tcpm-tcpsce; spec/queues-and-signalling section 15.3).
//!
//! Each SCE takes a part of a segment from cwnd: `g / sqrt(W)` with Reno-SCE and CUBIC-SCE, so that a round trip of SCE takes
//! `g sqrt(W)`, and half a segment with DCTCP-SCE, so that it halves cwnd. Against a growth of a segment per round trip the
//! share of marks settles at `1 / (1 + g sqrt(W))` and at `2 / (W + 2)`. An ACK with SCE does not grow cwnd. The first SCE
//! ends slow start with ssthresh at half of cwnd; cwnd itself only falls by the response.
//!
//! CE keeps its meaning. Its response is gentler than to a loss because the queue that marks is short (as in ABE), and gentler
//! still, 0.875, where SCE of the last window have already lowered cwnd. "Recent" is counted in ACKs: as many as segments in
//! cwnd, plus one. An ACK that echoes both counts as CE.

use std::num::NonZeroU32;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Bytes;

use super::{Kept, Moment, Response, ResponseParams, SceRules};
use crate::check;
use crate::needs::Feedback;
use crate::sample::{Delivery, PathView};
use crate::windowed::carry::Fraction;

/// The factor that CE leaves to Reno-SCE and DCTCP-SCE, where a loss leaves half; CUBIC-SCE keeps its own decrease.
const CE_OF_RENO: f64 = 0.75;

/// The response of Reno-SCE and CUBIC-SCE: `g / sqrt(W)` for each SCE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-grimes-tcpm-tcpsce-01; github.com/chromi/sce", "x-title" = "SCE"))]
pub struct SceParams {
    /// A round trip of SCE takes g times the root of cwnd in segments; one version of Reno-SCE has 0.5.
    #[schemars(range(min = 0.0))]
    pub g: f64,
    /// The factor of cwnd that CE leaves; by default 0.75 with Reno and CUBIC's own decrease with CUBIC.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ce_md: Option<f64>,
    /// The same if an SCE was echoed within the last window of ACKs.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ce_md_recent: f64,
    /// The response to CE is spread over the round trip in which ECE is repeated, in equal parts for each segment.
    pub ce_spread: bool,
}

/// The response of DCTCP-SCE: half a segment for each SCE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-grimes-tcpm-tcpsce-01; github.com/chromi/sce",
    "x-title" = "DCTCP-SCE"
))]
pub struct DctcpSceParams {
    /// The factor of cwnd that CE leaves; by default 0.75 with Reno.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ce_md: Option<f64>,
    /// The same if an SCE was echoed within the last window of ACKs.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ce_md_recent: f64,
    /// The response to CE is spread over the round trip in which ECE is repeated, in equal parts for each segment.
    pub ce_spread: bool,
}

impl Default for SceParams {
    fn default() -> SceParams {
        SceParams { g: 1.0, ce_md: None, ce_md_recent: 0.875, ce_spread: false }
    }
}

impl Default for DctcpSceParams {
    fn default() -> DctcpSceParams {
        DctcpSceParams { ce_md: None, ce_md_recent: 0.875, ce_spread: false }
    }
}

fn check_factors(ce_md: Option<f64>, recent: f64) -> Result<(), OutOfRange> {
    ce_md.map_or(Ok(()), |md| check::kept_fraction("ce_md", md))?;
    check::kept_fraction("ce_md_recent", recent)
}

impl Params for SceParams {
    const NAME: &'static str = "sce";
    const SUMMARY: &'static str =
        "Each SCE takes a segment divided by the root of cwnd (Reno-SCE, CUBIC-SCE)";

    fn check(&self) -> Result<(), OutOfRange> {
        check::positive("g", self.g)?;
        check_factors(self.ce_md, self.ce_md_recent)
    }
}

impl Params for DctcpSceParams {
    const NAME: &'static str = "dctcp-sce";
    const SUMMARY: &'static str = "Each SCE takes half a segment of cwnd (DCTCP-SCE)";

    fn check(&self) -> Result<(), OutOfRange> {
        check_factors(self.ce_md, self.ce_md_recent)
    }
}

/// What both share. They differ only in what one SCE takes.
trait TakesPartOfSegment: Params {
    fn cut(&self) -> Cut;
    fn to_ce(&self) -> ToCe;
}

/// The response to CE.
#[derive(Clone, Copy, Debug)]
struct ToCe {
    md: Option<f64>,
    md_recent: f64,
    is_spread: bool,
}

impl TakesPartOfSegment for SceParams {
    fn cut(&self) -> Cut {
        Cut::PerRoot(self.g)
    }

    fn to_ce(&self) -> ToCe {
        ToCe { md: self.ce_md, md_recent: self.ce_md_recent, is_spread: self.ce_spread }
    }
}

impl TakesPartOfSegment for DctcpSceParams {
    fn cut(&self) -> Cut {
        Cut::Half
    }

    fn to_ce(&self) -> ToCe {
        ToCe { md: self.ce_md, md_recent: self.ce_md_recent, is_spread: self.ce_spread }
    }
}

impl<P: TakesPartOfSegment> ResponseParams for P {
    fn feedback(&self) -> Feedback {
        Feedback::PlainSce
    }

    /// The first SCE ends slow start.
    fn tau(&self) -> NonZeroU32 {
        NonZeroU32::MIN
    }

    fn follows_deliveries(&self) -> bool {
        true
    }

    fn paces(&self) -> bool {
        true
    }

    fn sce_rules(&self) -> SceRules {
        let spreads_ce = self.to_ce().is_spread;
        SceRules { held_off: false, bars_growth: true, flattens: true, halves_ssthresh: true, spreads_ce }
    }

    fn build(&self, md: f64) -> Box<dyn Response> {
        Sce::boxed(self.cut(), md, self.to_ce())
    }
}

/// What one SCE takes from cwnd.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// This much of a segment, divided by the root of cwnd.
    PerRoot(f64),
    /// Half a segment.
    Half,
}

/// A flow that answers SCE in parts of a segment.
#[derive(Clone, Debug)]
struct Sce {
    cut: Cut,
    ce: f64,
    ce_recent: f64,
    spreads_ce: bool,
    /// The part of a byte that was not taken yet.
    fraction: Fraction,
    /// The ACKs for which the last SCE is still recent.
    recent: u64,
}

impl Sce {
    fn boxed(cut: Cut, md: f64, to_ce: ToCe) -> Box<dyn Response> {
        let ToCe { md: ce_md, md_recent: ce_recent, is_spread: spreads_ce } = to_ce;
        let ce = ce_md.unwrap_or(CE_OF_RENO.min(if md > 0.5 { md } else { CE_OF_RENO }));
        Box::new(Sce { cut, ce, ce_recent, spreads_ce, fraction: Fraction::default(), recent: 0 })
    }

    fn ce_factor(&self) -> f64 {
        if self.recent > 0 { self.ce_recent } else { self.ce }
    }

    fn less(&mut self, at: &Moment, segments: f64) -> Bytes {
        at.cwnd.saturating_sub(self.fraction.whole(at.mss.as_f64() * segments))
    }
}

impl Response for Sce {
    fn ce(&self, at: &Moment) -> Kept {
        if self.spreads_ce { Kept::Window(at.cwnd) } else { Kept::Factor(self.ce_factor()) }
    }

    fn sce(&mut self, at: &Moment) -> Option<Kept> {
        let segments = match self.cut {
            Cut::PerRoot(g) => g / libm::sqrt(at.cwnd.as_f64() / at.mss.as_f64()),
            Cut::Half => 0.5,
        };
        Some(Kept::Window(self.less(at, segments)))
    }

    fn ce_of_ack(&mut self, segments: u32, at: &Moment) -> Bytes {
        let part = 1.0 - self.ce_factor();
        self.less(at, part * f64::from(segments))
    }

    fn on_delivery(&mut self, delivery: &Delivery, cwnd: Bytes, path: &PathView) {
        self.recent =
            if delivery.ecn.sce.any() { cwnd / path.mss + 1 } else { self.recent.saturating_sub(1) };
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("recent_sce_acks", self.recent as f64);
    }
}
