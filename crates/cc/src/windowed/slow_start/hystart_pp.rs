//! HyStart++: slow start that notices rising delay.
//!
//! RFC 9406 section 4. Each round's round trips are compared with those of the previous round. When the minimum of at
//! least 8 samples has risen by an eighth (but by no less than 4 ms, below which is noise, and no more than 16 ms,
//! above which is a queue), growth is cut to a quarter: conservative slow start (CSS). If the delay falls again, the
//! rise was spurious and slow start resumes; after five rounds of CSS it ends. The constants are the RFC's (section
//! 4.3). A CE, the N-th SCE, or a loss ends it in either phase; later slow starts are standard.

use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration, Seq};

use super::{Exit, ExitResponse, SlowStart, SlowStartParams, SlowStartVerdict};
use crate::Style;
use crate::check;
use crate::control::ExitReason;
use crate::sample::{AckSample, FlowInit, PathView};

/// Parameters of HyStart++.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9406", "x-title" = "HyStart++"))]
pub struct HystartPpParams {
    /// The minimum rise of delay that counts.
    pub min_rtt_thresh: Duration,
    /// The maximum rise of delay that is required.
    pub max_rtt_thresh: Duration,
    /// Delay must rise by the last round's minimum divided by this.
    #[schemars(range(min = 1))]
    pub min_rtt_divisor: u32,
    /// The samples that a round needs before its delay counts.
    pub n_rtt_sample: u32,
    /// The divisor of growth in conservative slow start.
    #[schemars(range(min = 1))]
    pub css_growth_divisor: u32,
    /// The number of rounds of conservative slow start.
    pub css_rounds: u32,
    /// The most segments by which an ACK grows cwnd when departures are not paced.
    #[serde(alias = "L")]
    pub l: u32,
    /// How many SCE end slow start; half of tau by default.
    pub exit_sce: Option<u32>,
    /// What slow start does to cwnd when it ends; the default depends on the endpoints.
    pub exit: Option<ExitResponse>,
    /// The pacing gain of departures.
    #[schemars(range(min = 0.0))]
    pub pacing_gain: f64,
}

impl Default for HystartPpParams {
    fn default() -> HystartPpParams {
        HystartPpParams {
            min_rtt_thresh: Duration::from_millis(4),
            max_rtt_thresh: Duration::from_millis(16),
            min_rtt_divisor: 8,
            n_rtt_sample: 8,
            css_growth_divisor: 4,
            css_rounds: 5,
            l: 8,
            exit_sce: None,
            exit: None,
            pacing_gain: 1.0,
        }
    }
}

impl Params for HystartPpParams {
    const NAME: &'static str = "hystart-pp";
    const ALIASES: &'static [&'static str] = &["hystart++", "hystartpp"];
    const SUMMARY: &'static str = "HyStart++: ends when the round trip grows, after a conservative phase";

    fn check(&self) -> Result<(), OutOfRange> {
        let counts = [
            ("min_rtt_divisor", self.min_rtt_divisor),
            ("n_rtt_sample", self.n_rtt_sample),
            ("css_growth_divisor", self.css_growth_divisor),
            ("l", self.l),
            ("exit_sce", self.exit_sce.unwrap_or(1)),
        ];
        for (key, value) in counts {
            if value == 0 {
                return Err(OutOfRange::new(key, value, "1 or more"));
            }
        }
        if self.min_rtt_thresh > self.max_rtt_thresh {
            return Err(OutOfRange::new("min_rtt_thresh", self.min_rtt_thresh, "at most max_rtt_thresh"));
        }
        check::positive("pacing_gain", self.pacing_gain)
    }
}

impl SlowStartParams for HystartPpParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn SlowStartParams>> {
        let mut resolved = self.clone();
        resolved.resolve(style);
        Some(Arc::new(resolved))
    }

    fn build(&self, flow: &FlowInit, tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(HystartPp::new(self.clone(), tau.get(), flow.paced))
    }
}

impl HystartPpParams {
    fn resolve(&mut self, style: Style) {
        self.exit.get_or_insert(ExitResponse::usual(style));
    }

    /// Returns by how much the round's minimum RTT must exceed the last round's (`RttThresh`).
    fn rise(&self, last_round: Duration) -> Duration {
        (last_round / u64::from(self.min_rtt_divisor)).clamp(self.min_rtt_thresh, self.max_rtt_thresh)
    }
}

/// HyStart++.
#[derive(Clone, Debug)]
pub(crate) struct HystartPp {
    params: HystartPpParams,
    paced: bool,
    exit_sce: u32,
    exit: Exit,
    vars: HystartVars,
}

/// The variables of RFC 9406 section 4.2.
#[derive(Clone, Copy, Debug)]
struct HystartVars {
    /// `windowEnd`: the sequence number whose acknowledgement ends the round.
    window_end: Seq,
    /// `lastRoundMinRTT` and `currentRoundMinRTT`.
    last_round_min: Option<Duration>,
    round_min: Option<Duration>,
    /// `rttSampleCount`: samples in this round.
    samples: u32,
    css: Option<Css>,
    /// The number of SCE so far.
    sce: u32,
}

/// Conservative slow start (RFC 9406 section 4.2).
#[derive(Clone, Copy, Debug)]
struct Css {
    /// `cssBaselineMinRtt`: the round's minimum RTT when CSS was entered.
    baseline: Duration,
    /// Completed rounds, including the partial round in which CSS was entered.
    rounds: u32,
}

impl HystartPp {
    /// Creates the HyStart++ of a flow in which tau SCE equal one CE.
    pub(crate) fn new(params: HystartPpParams, tau: u32, paced: bool) -> HystartPp {
        let exit_sce = params.exit_sce.unwrap_or(tau / 2).max(1);
        let exit = Exit::new(params.exit.unwrap_or_default());
        let vars = HystartVars {
            window_end: Seq::SYN,
            last_round_min: None,
            round_min: None,
            samples: 0,
            css: None,
            sce: 0,
        };
        HystartPp { params, paced, exit_sce, exit, vars }
    }

    /// Takes an RTT sample; enters or leaves CSS.
    fn sample(&mut self, rtt: Duration) {
        let vars = &mut self.vars;
        vars.samples += 1;
        let round_min = vars.round_min.map_or(rtt, |min| min.min(rtt));
        vars.round_min = Some(round_min);
        if vars.samples < self.params.n_rtt_sample {
            return;
        }
        match (vars.css, vars.last_round_min) {
            (Some(css), _) if round_min < css.baseline => vars.css = None,
            (None, Some(last)) if round_min >= last + self.params.rise(last) => {
                vars.css = Some(Css { baseline: round_min, rounds: 0 });
            }
            _ => {}
        }
    }

    /// Starts a round. Returns true if this ended the last round of CSS.
    fn begin_round(&mut self, nxt: Seq) -> bool {
        let vars = &mut self.vars;
        vars.last_round_min = vars.round_min.take();
        vars.samples = 0;
        vars.window_end = nxt;
        vars.css.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= self.params.css_rounds
        })
    }

    fn growth(&self, acked: Bytes, mss: Bytes) -> Bytes {
        let growth = if self.paced { acked } else { acked.min(mss * u64::from(self.params.l)) };
        if self.vars.css.is_some() { growth / u64::from(self.params.css_growth_divisor) } else { growth }
    }
}

impl SlowStart for HystartPp {
    fn on_ce(&mut self, _cwnd: &mut Bytes, _rtt: Option<Duration>, _path: &PathView) -> SlowStartVerdict {
        SlowStartVerdict::Exit(ExitReason::Ce)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        self.exit.observe(path);
        self.vars.sce = self.vars.sce.saturating_add(ack.ecn.sce.packets);
        if self.vars.sce >= self.exit_sce {
            return SlowStartVerdict::Exit(ExitReason::Sce);
        }
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        *cwnd += self.growth(ack.growth(ack.acked), path.mss);
        if path.una > self.vars.window_end && self.begin_round(path.nxt) {
            return SlowStartVerdict::Exit(ExitReason::Delay);
        }
        SlowStartVerdict::Stay
    }

    fn exit_cwnd(&self, cwnd: Bytes, rtt: Option<Duration>, path: &PathView) -> Bytes {
        self.exit.cwnd(cwnd, rtt, path)
    }

    fn exits_by_md(&self) -> bool {
        self.exit.is_md()
    }

    fn limit(&self, window: Bytes) -> Bytes {
        let divisor = if self.vars.css.is_some() { self.params.css_growth_divisor } else { 1 };
        window + window / u64::from(divisor)
    }

    fn pacing_gain(&self) -> f64 {
        self.params.pacing_gain
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |time: Option<Duration>| time.map_or(f64::NAN, Duration::as_secs_f64);
        out("last_round_min_rtt_s", seconds(self.vars.last_round_min));
        out("round_min_rtt_s", seconds(self.vars.round_min));
        out("css_baseline_rtt_s", seconds(self.vars.css.map(|css| css.baseline)));
        out("css_rounds", self.vars.css.map_or(f64::NAN, |css| f64::from(css.rounds)));
        out("slow_start_sce", f64::from(self.vars.sce));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/congestion-control section 2.3: base 100 ms, then 120 ms is a rise, 105 ms is not; the
    /// threshold is 12.5 ms there, and stays between 4 and 16 ms.
    #[test]
    fn the_threshold_is_an_eighth_within_bounds() {
        let params = HystartPpParams::default();
        let ms = Duration::from_millis;
        assert_eq!(params.rise(ms(100)), Duration::from_micros(12_500));
        assert_eq!(params.rise(ms(20)), ms(4));
        assert_eq!(params.rise(ms(200)), ms(16));

        for (rtt, conservative) in [(120, true), (113, true), (112, false), (105, false)] {
            let mut hystart = HystartPp::new(params.clone(), 64, true);
            (0..8).for_each(|_| hystart.sample(ms(100)));
            hystart.begin_round(Seq::new(1));
            (0..7).for_each(|_| hystart.sample(ms(rtt)));
            assert!(hystart.vars.css.is_none(), "seven samples are not enough");
            hystart.sample(ms(rtt));
            assert_eq!(hystart.vars.css.is_some(), conservative, "{rtt} ms");
        }
    }

    /// RFC 9406 section 4.2: CSS ends after five rounds, and is left if the delay falls again.
    #[test]
    fn css_lasts_five_rounds_or_until_the_delay_falls() {
        let ms = Duration::from_millis;
        let mut hystart = HystartPp::new(HystartPpParams::default(), 64, true);
        (0..8).for_each(|_| hystart.sample(ms(100)));
        hystart.begin_round(Seq::new(1));
        (0..8).for_each(|_| hystart.sample(ms(130)));
        let mut resumed = hystart.clone();

        let ends: Vec<bool> = (0..5).map(|round| hystart.begin_round(Seq::new(2 + round))).collect();
        assert_eq!(ends, [false, false, false, false, true]);

        resumed.begin_round(Seq::new(2));
        (0..8).for_each(|_| resumed.sample(ms(129)));
        assert!(resumed.vars.css.is_none());
    }

    /// RFC 9406 section 4.2: growth is limited to L segments per ACK unless paced, a quarter in CSS.
    #[test]
    fn growth_is_limited_unless_paced() {
        let mss = Bytes::new(1448);
        let params = HystartPpParams::default();
        assert_eq!(HystartPp::new(params.clone(), 64, false).growth(mss * 20, mss), mss * 8);
        let mut paced = HystartPp::new(params, 64, true);
        assert_eq!(paced.growth(mss * 20, mss), mss * 20);
        paced.vars.css = Some(Css { baseline: Duration::SECOND, rounds: 0 });
        assert_eq!(paced.growth(mss * 20, mss), mss * 5);
    }
}
