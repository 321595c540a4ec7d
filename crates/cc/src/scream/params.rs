//! The parameters of SCReAM, by the draft's names.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration};

use super::controller::Scream;
use crate::check::{kept_fraction, positive};
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// Parameters of SCReAM version 2.
#[expect(clippy::struct_excessive_bools, reason = "independent parts of the draft")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-ietf-ccwg-rfc8298bis-screamv2-01",
    "x-title" = "SCReAM",
    "x-traits" = ["delay", "media"]
))]
pub struct ScreamParams {
    /// Marks are answered in proportion to their share, and packets carry ECT(1).
    pub is_l4s: bool,
    /// The queueing delay at which the window is halved in a round trip of `virtual_rtt`.
    pub qdelay_target_lo: Duration,
    /// The most that the target can grow to where other flows fill the queue.
    pub qdelay_target_hi: Duration,
    /// Whether the target grows where other flows fill the queue.
    pub competing_flows_compensation: bool,
    /// The least reference window.
    pub min_ref_wnd: Bytes,
    /// What part of the reference window a loss leaves.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub beta_loss: f64,
    /// What part of it a classic CE leaves.
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub beta_ecn: f64,
    /// By how much the reference window may exceed what was in flight.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub bytes_in_flight_head_room: f64,
    /// Round trips after congestion until growth in proportion to the window is unrestricted.
    #[schemars(extend("x-unit" = "round trips"))]
    pub post_congestion_delay_rtt: u32,
    /// The fraction of itself by which the reference window grows in a round trip, in addition to one segment.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mul_increase_factor: f64,
    /// The round-trip time that flows with a shorter one behave as if they had.
    pub virtual_rtt: Duration,
    /// Whether a queueing delay that varies restricts growth and what may be in flight.
    pub reduce_jitter: bool,
    /// How much may be in flight at least, as a multiple of the reference window.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub ref_wnd_overhead_min: f64,
    /// How much may be in flight at most, as a multiple of the reference window.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub ref_wnd_overhead_max: f64,
    /// The pace relative to the target rate.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub packet_pacing_headroom: f64,
    /// The average loss rate up to which losses are those of the link, and are not answered while the queueing delay is
    /// short. 0: each loss is answered. The draft's optional part has 0.01.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_rate_threshold: f64,
    /// The average loss rate above which losses with a short queueing delay are those of a policer: the reference window
    /// stays below 0.9 of what it was. 1: never. Version -01 of the draft has 0.1; its next version drops the part.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_rate_threshold_policer: f64,
    /// A quarter of the answer to L4S marks and to delay is given while the target rate is below this part of the rate
    /// acknowledged. 0: the whole answer is always given. The draft's optional part has 0.8.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub acked_bitrate_margin: f64,
    /// Whether a queueing delay that is never short is a clock that drifts: its base is then measured again.
    pub clock_drift_compensation: bool,
}

impl Default for ScreamParams {
    fn default() -> ScreamParams {
        ScreamParams {
            is_l4s: false,
            qdelay_target_lo: Duration::from_millis(60),
            qdelay_target_hi: Duration::from_millis(400),
            competing_flows_compensation: true,
            min_ref_wnd: Bytes::new(3000),
            beta_loss: 0.7,
            beta_ecn: 0.8,
            bytes_in_flight_head_room: 1.5,
            post_congestion_delay_rtt: 100,
            mul_increase_factor: 0.02,
            virtual_rtt: Duration::from_millis(25),
            reduce_jitter: false,
            ref_wnd_overhead_min: 1.5,
            ref_wnd_overhead_max: 3.0,
            packet_pacing_headroom: 1.5,
            loss_rate_threshold: 0.0,
            loss_rate_threshold_policer: 1.0,
            acked_bitrate_margin: 0.0,
            clock_drift_compensation: false,
        }
    }
}

impl Params for ScreamParams {
    const NAME: &'static str = "scream";
    const SUMMARY: &'static str =
        "SCReAM version 2: a window from delay, marks and losses that sets the rate of media";

    fn check(&self) -> Result<(), OutOfRange> {
        kept_fraction("beta_loss", self.beta_loss)?;
        kept_fraction("beta_ecn", self.beta_ecn)?;
        for (key, factor) in [
            ("bytes_in_flight_head_room", self.bytes_in_flight_head_room),
            ("ref_wnd_overhead_min", self.ref_wnd_overhead_min),
            ("ref_wnd_overhead_max", self.ref_wnd_overhead_max),
            ("packet_pacing_headroom", self.packet_pacing_headroom),
        ] {
            positive(key, factor)?;
            if !(1.0..=10.0).contains(&factor) {
                return Err(OutOfRange::new(key, factor, "1 to 10"));
            }
        }
        if self.ref_wnd_overhead_max < self.ref_wnd_overhead_min {
            let (key, value) = ("ref_wnd_overhead_max", self.ref_wnd_overhead_max);
            return Err(OutOfRange::new(key, value, "at least `ref_wnd_overhead_min`"));
        }
        for (key, part) in [
            ("mul_increase_factor", self.mul_increase_factor),
            ("loss_rate_threshold", self.loss_rate_threshold),
            ("loss_rate_threshold_policer", self.loss_rate_threshold_policer),
            ("acked_bitrate_margin", self.acked_bitrate_margin),
        ] {
            if !(0.0..=1.0).contains(&part) {
                return Err(OutOfRange::new(key, part, "0 to 1"));
            }
        }
        let (loss, policer) = (self.loss_rate_threshold, self.loss_rate_threshold_policer);
        if policer < loss {
            let (key, least) = ("loss_rate_threshold_policer", "at least `loss_rate_threshold`");
            return Err(OutOfRange::new(key, policer, least));
        }
        if loss <= 0.0 && policer < 1.0 {
            let (key, more) = ("loss_rate_threshold", "more than 0 with `loss_rate_threshold_policer`");
            return Err(OutOfRange::new(key, loss, more));
        }
        for (key, time) in [("qdelay_target_lo", self.qdelay_target_lo), ("virtual_rtt", self.virtual_rtt)] {
            if time.is_zero() || time > Duration::SECOND {
                return Err(OutOfRange::new(key, time, "more than 0 s and at most 1 s"));
            }
        }
        if self.qdelay_target_hi < self.qdelay_target_lo || self.qdelay_target_hi > Duration::SECOND * 10 {
            let (key, value) = ("qdelay_target_hi", self.qdelay_target_hi);
            return Err(OutOfRange::new(key, value, "at least `qdelay_target_lo` and at most 10 s"));
        }
        if self.min_ref_wnd == Bytes::ZERO || self.min_ref_wnd > Bytes::new(1_000_000_000) {
            return Err(OutOfRange::new("min_ref_wnd", self.min_ref_wnd, "1 byte to 1 GB"));
        }
        if self.post_congestion_delay_rtt == 0 {
            return Err(OutOfRange::new("post_congestion_delay_rtt", 0, "1 or more"));
        }
        Ok(())
    }
}

impl ControllerParams for ScreamParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Scream::new(self.clone(), init))
    }
}
