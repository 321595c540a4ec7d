//! SEARCH (slow start exit at right choke point): slow start that notices that the delivery rate no longer grows.
//!
//! draft-chung-ccwg-search-09. What was sent one round trip ago is delivered now, as long as the bottleneck carries it.
//! SEARCH counts bytes sent and acknowledged in bins of a tenth of 3.5 first round trips ([`bins`]), and compares what
//! arrived in the last ten bins with what left in the ten bins one present round trip earlier. Once it falls short by
//! more than a quarter (0.26: noise stays below), the path is full. Delay that jitters, as on Wi-Fi, does not matter.
//!
//! cwnd is far beyond the path's capacity by then, so that slow start goes on to a *drain phase*: cwnd falls to what
//! arrived in the last first round trip, while one segment may leave for every three that arrive. Then it ends. The
//! authors' code has that phase (version 4.0 for FreeBSD; that for Linux lets one leave for sixteen); neqo ends at once
//! (`drain = 0`).
//!
//! Where the sources differ: the draft takes the fraction of a bin from the next bin; the authors' code and neqo take
//! it from the one before, as here; the draft leaves open whether a gap without ACKs starts the measurement anew, and
//! neqo's limit of ten bins is used here (`reset`). The target never raises cwnd. A loss, a CE or the N-th SCE ends
//! slow start in either phase; later slow starts are standard.

mod bins;

use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration};

use super::standard::Standard;
use super::{
    ExitResponse, Regrowth, SlowStart, SlowStartGrowth, SlowStartParams, SlowStartVerdict, StandardParams,
};
use crate::Style;
use crate::check;
use crate::control::ExitReason;
use crate::sample::{AckSample, FlowInit, PathView};

use bins::Bins;

/// Parameters of SEARCH.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-chung-ccwg-search-09", "x-title" = "SEARCH"))]
pub struct SearchParams {
    /// The share by which deliveries fall short of what was sent a round trip ago where slow start ends (`THRESH`).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
    /// While cwnd falls to what the path delivers in a round trip, one segment leaves for this many acknowledged; 0 ends slow
    /// start with cwnd as it is.
    #[schemars(extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub drain: u32,
    /// Whether the measurement starts anew, with a new round trip, after more than ten bins without an ACK.
    pub reset: bool,
    /// The amount by which an ACK grows cwnd; by default what it acknowledges, counted as the endpoints do.
    pub growth: Option<SlowStartGrowth>,
    /// What slow start does to cwnd when it ends other than by the drain phase; the default depends on the endpoints.
    pub exit: Option<ExitResponse>,
}

impl Default for SearchParams {
    fn default() -> SearchParams {
        SearchParams { threshold: 0.26, drain: 3, reset: true, growth: None, exit: None }
    }
}

impl Params for SearchParams {
    const NAME: &'static str = "search";
    const SUMMARY: &'static str = "SEARCH: ends when the path delivers less than was sent a round trip ago";

    fn check(&self) -> Result<(), OutOfRange> {
        check::kept_fraction("threshold", self.threshold)
    }
}

impl SlowStartParams for SearchParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn SlowStartParams>> {
        let StandardParams { growth, exit, .. } = self.standard().of_style(style);
        Some(Arc::new(SearchParams { growth, exit, ..self.clone() }))
    }

    fn build(&self, flow: &FlowInit, tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(Search {
            standard: Standard::new(self.standard(), tau.get()),
            params: self.clone(),
            iw: flow.iw,
            bins: None,
            norm: f64::NAN,
            drain: None,
        })
    }
}

impl SearchParams {
    /// Returns the slow start that SEARCH ends.
    fn standard(&self) -> StandardParams {
        StandardParams { growth: self.growth, exit: self.exit, ..StandardParams::default() }
    }
}

/// SEARCH.
#[derive(Clone, Debug)]
struct Search {
    params: SearchParams,
    standard: Standard,
    /// The initial window: the least target.
    iw: Bytes,
    /// None before the first ACK, and after a reset until the next.
    bins: Option<Bins>,
    /// `norm_diff` at the last bin at which it could be computed.
    norm: f64,
    /// The drain phase, once it has begun.
    drain: Option<Drain>,
}

/// The drain phase.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// The window at which it ends: `targeted_cwnd` of the authors' code.
    target: Bytes,
    /// Bytes delivered that no segment has left for.
    delivered: Bytes,
}

impl Drain {
    /// Returns the window after an ACK: what is in flight and what may leave for it, but no less than the target.
    fn cwnd(&mut self, cwnd: Bytes, per_segment: u32, ack: &AckSample, path: &PathView) -> Bytes {
        self.delivered += ack.newly_delivered;
        let price = path.mss * u64::from(per_segment);
        let leave = self.delivered / price;
        self.delivered = self.delivered % price.get();
        (path.in_flight + path.mss * leave).max(self.target).min(cwnd)
    }
}

impl Search {
    /// Counts the ACK. Returns true if the deliveries have fallen behind.
    fn falls_behind(&mut self, rtt: Duration, path: &PathView) -> bool {
        let Some(bins) = &mut self.bins else {
            self.bins = Bins::new(rtt, path);
            return false;
        };
        let Some(passed) = bins.passed(path.now) else { return false };
        if self.params.reset && passed > bins::WINDOW {
            self.bins = None;
            return false;
        }
        bins.advance(passed, path);
        let Some(norm) = bins.norm(rtt) else { return false };
        self.norm = norm;
        norm >= self.params.threshold
    }
}

impl SlowStart for Search {
    fn on_ce(&mut self, cwnd: &mut Bytes, rtt: Option<Duration>, path: &PathView) -> SlowStartVerdict {
        self.standard.on_ce(cwnd, rtt, path)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        const REASON: ExitReason = ExitReason::Other("delivery rate");
        if let Some(drain) = &mut self.drain {
            *cwnd = drain.cwnd(*cwnd, self.params.drain, ack, path);
            return if *cwnd <= drain.target {
                SlowStartVerdict::Exit(REASON)
            } else {
                SlowStartVerdict::Stay
            };
        }
        let full = ack.rtt.is_some_and(|rtt| self.falls_behind(rtt, path));
        match (full, &self.bins) {
            (true, _) if self.params.drain == 0 => SlowStartVerdict::Exit(REASON),
            (true, Some(bins)) => {
                let target = bins.delivered_in_first_rtt().max(self.iw);
                self.drain = Some(Drain { target, delivered: Bytes::ZERO });
                SlowStartVerdict::Stay
            }
            _ => self.standard.on_ack(cwnd, ack, path),
        }
    }

    fn exit_cwnd(&self, cwnd: Bytes, rtt: Option<Duration>, path: &PathView) -> Bytes {
        if self.drain.is_some() { cwnd } else { self.standard.exit_cwnd(cwnd, rtt, path) }
    }

    fn exits_by_md(&self) -> bool {
        self.standard.exits_by_md()
    }

    fn regrow(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Regrowth {
        self.standard.regrow(cwnd, ack, path)
    }

    fn timed_out(&mut self, path: &PathView) {
        self.standard.timed_out(path);
    }

    fn limit(&self, window: Bytes) -> Bytes {
        self.standard.limit(window)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.standard.probe(out);
        out("search_norm", self.norm);
        out("search_bins", self.bins.as_ref().map_or(f64::NAN, Bins::count));
        out("search_target_bytes", self.drain.map_or(f64::NAN, |drain| drain.target.as_f64()));
    }
}

#[cfg(test)]
mod tests;
