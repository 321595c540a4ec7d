//! The parameters of GCC, by the draft's names (table 1).

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Duration, Rate};

use super::controller::Gcc;
use crate::check::kept_fraction;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// What turns the variation of the delay into a trend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GccFilter {
    /// The draft's Kalman filter: the mean variation for each group.
    #[default]
    Kalman,
    /// WebRTC's: the slope of a line through the delays of the last 20 groups.
    Trendline,
}

impl GccFilter {
    /// `K_u` and `K_d` of the draft, and of WebRTC, for each millisecond.
    const fn gains(self) -> (f64, f64) {
        match self {
            GccFilter::Kalman => (0.01, 0.000_18),
            GccFilter::Trendline => (0.0087, 0.039),
        }
    }
}

/// Parameters of Google Congestion Control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-ietf-rmcat-gcc-02", "x-title" = "GCC", "x-traits" = ["delay", "media"]))]
pub struct GccParams {
    /// What turns the variation of the delay into a trend.
    pub filter: GccFilter,
    /// Both estimates at first.
    pub start_rate: Rate,
    /// Packets that leave within this time are a group.
    pub burst_time: Duration,
    /// The variance of the state's noise (filter `kalman` only).
    #[schemars(range(min = 0.0, max = 1.0), extend("x-unit" = "ms^2"))]
    pub q: f64,
    /// The gain of the measured noise variance, for 30 groups in a second (filter `kalman` only).
    #[schemars(range(min = 0.001, max = 0.1))]
    pub chi: f64,
    /// The number of groups for which an estimate counts at most. The draft's text has 1, with which no queue but a sudden one is
    /// detected; all implementations have 60.
    #[schemars(range(min = 1, max = 1000))]
    pub max_deltas: u32,
    /// The threshold of over-use at first.
    pub del_var_th: Duration,
    /// How long the trend must be above the threshold.
    pub overuse_time_th: Duration,
    /// How fast the threshold rises to a larger trend, for each millisecond; the filter's default is 0.01, or 0.0087 (trendline).
    #[schemars(range(min = 0.0, max = 0.01))]
    pub k_u: Option<f64>,
    /// How fast it falls to a smaller one; the filter's default is 0.00018, or 0.039 (trendline). 0 for both keeps the threshold.
    #[schemars(range(min = 0.0, max = 0.1))]
    pub k_d: Option<f64>,
    /// The window of the received bitrate (T).
    pub rate_window: Duration,
    /// What over-use leaves, of the rate that arrives.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub beta: f64,
    /// The interval of rate control; a new signal is answered at once.
    pub update_interval: Duration,
    /// The interval of the reports to the loss-based controller.
    pub loss_interval: Duration,
    /// The pace relative to the rate.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub pacing_factor: f64,
}

impl GccParams {
    /// `K_u` and `K_d`.
    pub(super) fn gains(&self) -> (f64, f64) {
        let (k_u, k_d) = self.filter.gains();
        (self.k_u.unwrap_or(k_u), self.k_d.unwrap_or(k_d))
    }
}

impl Default for GccParams {
    fn default() -> GccParams {
        GccParams {
            filter: GccFilter::Kalman,
            start_rate: Rate::from_bits_per_sec(300_000),
            burst_time: Duration::from_millis(5),
            q: 0.001,
            chi: 0.01,
            max_deltas: 60,
            del_var_th: Duration::from_micros(12_500),
            overuse_time_th: Duration::from_millis(10),
            k_u: None,
            k_d: None,
            rate_window: Duration::from_millis(500),
            beta: 0.85,
            update_interval: Duration::from_millis(100),
            loss_interval: Duration::SECOND,
            pacing_factor: 1.0,
        }
    }
}

impl Params for GccParams {
    const NAME: &'static str = "gcc";
    const ALIASES: &'static [&'static str] = &["goog-cc"];
    const SUMMARY: &'static str = "Google Congestion Control, as in WebRTC: a rate for media from the trend of the delay, and from losses";

    fn check(&self) -> Result<(), OutOfRange> {
        kept_fraction("beta", self.beta)?;
        let (k_u, k_d) = self.gains();
        for (key, value, range, text) in [
            ("q", self.q, 0.0..=1.0, "0 to 1"),
            ("chi", self.chi, 0.001..=0.1, "0.001 to 0.1"),
            ("k_u", k_u, 0.0..=0.01, "0 to 0.01"),
            ("k_d", k_d, 0.0..=0.1, "0 to 0.1"),
            ("pacing_factor", self.pacing_factor, 1.0..=10.0, "1 to 10"),
        ] {
            if !range.contains(&value) {
                return Err(OutOfRange::new(key, value, text));
            }
        }
        let ms = Duration::from_millis;
        for (key, time, least, most, range) in [
            ("burst_time", self.burst_time, ms(1), ms(100), "1 ms to 100 ms"),
            ("del_var_th", self.del_var_th, ms(6), ms(600), "6 ms to 600 ms"),
            ("overuse_time_th", self.overuse_time_th, ms(1), ms(1000), "1 ms to 1 s"),
            ("rate_window", self.rate_window, ms(100), ms(10_000), "100 ms to 10 s"),
            ("update_interval", self.update_interval, ms(1), ms(1000), "1 ms to 1 s"),
            ("loss_interval", self.loss_interval, ms(1), ms(10_000), "1 ms to 10 s"),
        ] {
            if !(least..=most).contains(&time) {
                return Err(OutOfRange::new(key, time, range));
            }
        }
        if !(1..=1000).contains(&self.max_deltas) {
            return Err(OutOfRange::new("max_deltas", self.max_deltas, "1 to 1000"));
        }
        if self.start_rate == Rate::ZERO {
            return Err(OutOfRange::new("start_rate", self.start_rate, "more than 0 bit/s"));
        }
        Ok(())
    }
}

impl ControllerParams for GccParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Gcc::new(self, init))
    }
}
