//! Standard slow start: cwnd grows by what was acknowledged.
//!
//! RFC 5681 section 3.1, by default with RFC 3465's byte counting without limit, in the form of spec/mds section 5: it
//! ends at a CE, or at the N-th SCE. With base reduction, growth is divided by `1 + K(n)` after n SCE, where K are the
//! Leonardo numbers, so that a flow with MDS slows down as the queue starts to signal. Slow start then also ends when
//! `cwnd / (1 + K(n))`, the growth in a round trip, is at most a segment.

use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration, Seq};

use super::{Exit, ExitResponse, Regrowth, SlowStart, SlowStartParams, SlowStartVerdict, leonardo};
use crate::Style;
use crate::check;
use crate::control::ExitReason;
use crate::sample::{AckSample, FlowInit, PathView};

/// The amount by which an ACK grows cwnd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStartGrowth {
    /// The bytes that it acknowledges (RFC 3465, L without limit).
    #[default]
    Acked,
    /// The bytes that it acknowledges, at most one segment (RFC 5681).
    PerAck,
    /// Half of the bytes that it acknowledges.
    HalfAcked,
    /// The whole segments that it delivers, without limit (Linux).
    Linux,
    /// The bytes that it acknowledges, at most `l` segments (RFC 3465), or one segment in the window after a timeout.
    Abc,
}

impl SlowStartGrowth {
    fn of(self, ack: &AckSample, mss: Bytes, l: NonZeroU32) -> Bytes {
        ack.growth(match self {
            SlowStartGrowth::Acked => ack.acked,
            SlowStartGrowth::PerAck => ack.acked.min(mss),
            SlowStartGrowth::HalfAcked => ack.acked / 2,
            SlowStartGrowth::Linux => ack.newly_delivered,
            SlowStartGrowth::Abc => ack.acked.min(mss * u64::from(l.get())),
        })
    }
}

/// Parameters of standard slow start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 5681; RFC 3465"))]
pub struct StandardParams {
    /// The amount by which an ACK grows cwnd; by default what it acknowledges, counted as the endpoints do.
    pub growth: Option<SlowStartGrowth>,
    /// L: the most segments by which an ACK grows cwnd with `abc` growth (RFC 3465 section 2.2: 2).
    #[serde(alias = "L")]
    pub l: NonZeroU32,
    /// Whether growth is divided by 1 + K(n) after n SCE, and by 2 before the first SCE.
    pub base_reduction: bool,
    /// How many SCE end slow start; half of tau by default.
    pub exit_sce: Option<u32>,
    /// What slow start does to cwnd when it ends; the default depends on the endpoints.
    pub exit: Option<ExitResponse>,
    /// The pacing gain of departures.
    #[schemars(range(min = 0.0))]
    pub pacing_gain: f64,
}

impl Default for StandardParams {
    fn default() -> StandardParams {
        StandardParams {
            growth: None,
            l: const { NonZeroU32::new(2).unwrap() },
            base_reduction: false,
            exit_sce: None,
            exit: None,
            pacing_gain: 1.0,
        }
    }
}

impl Params for StandardParams {
    const NAME: &'static str = "standard";
    const SUMMARY: &'static str = "cwnd doubles each round trip until congestion is signalled";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.exit_sce == Some(0) {
            return Err(OutOfRange::new("exit_sce", 0, "1 or more"));
        }
        check::positive("pacing_gain", self.pacing_gain)
    }
}

impl SlowStartParams for StandardParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn SlowStartParams>> {
        let mut resolved = self.clone();
        resolved.resolve(style);
        Some(Arc::new(resolved))
    }

    fn build(&self, _flow: &FlowInit, tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(Standard::new(self.clone(), tau.get()))
    }
}

impl StandardParams {
    /// Returns RFC 5681's parameters: at most a segment of growth with each ACK, and the multiplicative decrease on CE.
    pub fn classic() -> StandardParams {
        StandardParams {
            growth: Some(SlowStartGrowth::PerAck),
            exit: Some(ExitResponse::Md),
            ..StandardParams::default()
        }
    }

    /// Returns the parameters with the values of a style.
    pub(super) fn of_style(mut self, style: Style) -> StandardParams {
        self.resolve(style);
        self
    }

    fn resolve(&mut self, style: Style) {
        self.growth.get_or_insert(match style {
            Style::Document => SlowStartGrowth::Acked,
            Style::Linux => SlowStartGrowth::Linux,
        });
        self.exit.get_or_insert(ExitResponse::usual(style));
    }
}

/// Standard slow start.
#[derive(Clone, Debug)]
pub(crate) struct Standard {
    params: StandardParams,
    growth: SlowStartGrowth,
    /// SND.NXT at the last timeout: an ACK up to this may report segments sent before the timeout.
    timeout: Seq,
    exit_sce: u32,
    exit: Exit,
    /// The number of SCE so far.
    sce: u32,
}

impl Standard {
    /// Creates the slow start of a flow in which tau SCE equal one CE.
    pub(crate) fn new(params: StandardParams, tau: u32) -> Standard {
        let exit_sce = params.exit_sce.unwrap_or(tau / 2).max(1);
        let exit = Exit::new(params.exit.unwrap_or_default());
        let growth = params.growth.unwrap_or_default();
        Standard { params, growth, timeout: Seq::SYN, exit_sce, exit, sce: 0 }
    }

    fn divisor(&self) -> u64 {
        if self.params.base_reduction { 1 + leonardo::k(self.sce as usize) } else { 1 }
    }
}

impl SlowStart for Standard {
    fn on_ce(&mut self, _cwnd: &mut Bytes, _rtt: Option<Duration>, _path: &PathView) -> SlowStartVerdict {
        SlowStartVerdict::Exit(ExitReason::Ce)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        self.exit.observe(path);
        self.sce = self.sce.saturating_add(ack.ecn.sce.packets);
        if self.sce >= self.exit_sce {
            return SlowStartVerdict::Exit(ExitReason::Sce);
        }
        let divisor = self.divisor();
        if self.params.base_reduction && *cwnd / divisor <= path.mss {
            return SlowStartVerdict::Exit(ExitReason::Growth);
        }
        *cwnd += self.growth.of(ack, path.mss, self.params.l) / divisor;
        SlowStartVerdict::Stay
    }

    fn regrow(&mut self, _cwnd: Bytes, ack: &AckSample, path: &PathView) -> Regrowth {
        let growth = match self.growth {
            SlowStartGrowth::Abc if path.una <= self.timeout => SlowStartGrowth::PerAck,
            growth => growth,
        };
        Regrowth::By(growth.of(ack, path.mss, self.params.l))
    }

    fn limit(&self, window: Bytes) -> Bytes {
        let grown = if self.growth == SlowStartGrowth::HalfAcked { window / 2 } else { window };
        window + grown / self.divisor()
    }

    fn timed_out(&mut self, path: &PathView) {
        self.timeout = path.nxt;
    }

    fn exit_cwnd(&self, cwnd: Bytes, rtt: Option<Duration>, path: &PathView) -> Bytes {
        self.exit.cwnd(cwnd, rtt, path)
    }

    fn exits_by_md(&self) -> bool {
        self.exit.is_md()
    }

    fn pacing_gain(&self) -> f64 {
        self.params.pacing_gain
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("slow_start_sce", f64::from(self.sce));
    }
}
