//! TCP-NV: once per round trip, compares the window with what the rate that it achieved needs on an empty path.
//!
//! Brakmo, "TCP-NV: congestion avoidance for data centers" (2010); Linux `net/ipv4/tcp_nv.c`; spec/congestion-control
//! section 3.15. A window that is larger than `max_win = rate * min_rtt + nv_pad` has not brought more rate, only a
//! queue: growth stops, and the window gives up 30 % of the excess. A window that is smaller by `nv_pad_buffer` grows as
//! Reno's. Losses take a fifth.
//!
//! Data centers disturb delay: offloads send and acknowledge in bursts, interrupts are moderated. NV therefore takes the
//! greatest rate of at least one round trip, averages round trips, and decides only after enough ACKs: 60 for a decrease,
//! 20 for growth, 30 to leave slow start. The least round trip is renewed about every five seconds, at a random time, so
//! that flows that started on a full queue find the empty path in turn.

mod controller;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use controller::Nv;

use super::module::InSegments;
use crate::controller::CongestionControl;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// Parameters of TCP-NV, with the names of Linux's module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Brakmo 2010", "x-title" = "NV", "x-traits" = ["delay"]))]
pub struct NvParams {
    /// Packets that may wait in queues.
    #[schemars(extend("x-unit" = "packets"))]
    pub nv_pad: u32,
    /// cwnd grows if it is smaller than the largest window allowed by this.
    #[schemars(extend("x-unit" = "packets"))]
    pub nv_pad_buffer: u32,
    /// How often the least round trip is renewed, on average.
    pub nv_reset_period: Duration,
    /// NV does not lower cwnd below this without a loss.
    #[schemars(range(min = 1), extend("x-unit" = "segments"))]
    pub nv_min_cwnd: u32,
    /// The part of the excess that is given up, in 128ths.
    #[schemars(range(max = 128))]
    pub nv_cong_dec_mult: u32,
    /// ssthresh after a decrease, in eighths of the largest window allowed.
    #[schemars(range(min = 1, max = 64))]
    pub nv_ssthresh_factor: u32,
    /// The weight of a new round trip in the average, in 256ths; 0 for no average.
    #[schemars(range(max = 256))]
    pub nv_rtt_factor: u32,
    /// What a loss leaves of cwnd, in 1024ths.
    #[schemars(range(min = 1, max = 1024))]
    pub nv_loss_dec_factor: u32,
    /// After a timeout, decisions without congestion until growth is quicker by one step; 0: timeouts do not slow growth.
    pub nv_cwnd_growth_rate_neg: u32,
    /// Decisions without congestion until growth is quicker than Reno's by one step; 0: never.
    pub nv_cwnd_growth_rate_pos: u32,
    /// ACKs before a decrease.
    #[schemars(range(max = 255))]
    pub nv_dec_eval_min_calls: u32,
    /// ACKs before growth is allowed.
    #[schemars(range(max = 255))]
    pub nv_inc_eval_min_calls: u32,
    /// ACKs before slow start ends.
    #[schemars(range(max = 255))]
    pub nv_ssthresh_eval_min_calls: u32,
    /// Round trips on a full path with too few ACKs for a decrease, after which growth stops.
    #[schemars(range(max = 255), extend("x-unit" = "round trips"))]
    pub nv_stop_rtt_cnt: u32,
    /// Round trips before a decrease.
    #[schemars(range(max = 255), extend("x-unit" = "round trips"))]
    pub nv_rtt_min_cnt: u32,
    /// The round trip of the empty path, if it is known: the least round trip counts as 80 % of it at least, and as this
    /// at most.
    pub base_rtt: Option<Duration>,
}

impl Default for NvParams {
    fn default() -> NvParams {
        NvParams {
            nv_pad: 10,
            nv_pad_buffer: 2,
            nv_reset_period: Duration::from_secs(5),
            nv_min_cwnd: 2,
            nv_cong_dec_mult: 38,
            nv_ssthresh_factor: 8,
            nv_rtt_factor: 128,
            nv_loss_dec_factor: 819,
            nv_cwnd_growth_rate_neg: 8,
            nv_cwnd_growth_rate_pos: 0,
            nv_dec_eval_min_calls: 60,
            nv_inc_eval_min_calls: 20,
            nv_ssthresh_eval_min_calls: 30,
            nv_stop_rtt_cnt: 10,
            nv_rtt_min_cnt: 2,
            base_rtt: None,
        }
    }
}

impl NvParams {
    /// Whether a value is within its bounds, for each that has some: key, value, verdict, bounds.
    fn bounded(&self) -> [(&'static str, u32, bool, &'static str); 11] {
        const BYTE: &str = "at most 255";
        let byte = |value: u32| value <= 255;
        [
            ("nv_min_cwnd", self.nv_min_cwnd, self.nv_min_cwnd >= 1, "1 or more"),
            ("nv_cong_dec_mult", self.nv_cong_dec_mult, self.nv_cong_dec_mult <= 128, "at most 128"),
            (
                "nv_ssthresh_factor",
                self.nv_ssthresh_factor,
                matches!(self.nv_ssthresh_factor, 1..=64),
                "1 to 64",
            ),
            ("nv_rtt_factor", self.nv_rtt_factor, self.nv_rtt_factor <= 256, "at most 256"),
            (
                "nv_loss_dec_factor",
                self.nv_loss_dec_factor,
                matches!(self.nv_loss_dec_factor, 1..=1024),
                "1 to 1024",
            ),
            ("nv_pad_buffer", self.nv_pad_buffer, self.nv_pad_buffer <= self.nv_pad, "at most nv_pad"),
            ("nv_dec_eval_min_calls", self.nv_dec_eval_min_calls, byte(self.nv_dec_eval_min_calls), BYTE),
            ("nv_inc_eval_min_calls", self.nv_inc_eval_min_calls, byte(self.nv_inc_eval_min_calls), BYTE),
            (
                "nv_ssthresh_eval_min_calls",
                self.nv_ssthresh_eval_min_calls,
                byte(self.nv_ssthresh_eval_min_calls),
                BYTE,
            ),
            ("nv_stop_rtt_cnt", self.nv_stop_rtt_cnt, byte(self.nv_stop_rtt_cnt), BYTE),
            ("nv_rtt_min_cnt", self.nv_rtt_min_cnt, byte(self.nv_rtt_min_cnt), BYTE),
        ]
    }
}

impl Params for NvParams {
    const NAME: &'static str = "nv";
    const SUMMARY: &'static str =
        "Compares cwnd with what the achieved rate needs on an empty path (data centers)";

    fn check(&self) -> Result<(), OutOfRange> {
        for (key, value, allowed, bounds) in self.bounded() {
            if !allowed {
                return Err(OutOfRange::new(key, value, bounds));
            }
        }
        if self.nv_reset_period.is_zero() {
            return Err(OutOfRange::new("nv_reset_period", self.nv_reset_period, "more than 0"));
        }
        if self.base_rtt == Some(Duration::ZERO) {
            return Err(OutOfRange::new("base_rtt", Duration::ZERO, "more than 0"));
        }
        Ok(())
    }
}

impl AvoidanceParams for NvParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        let random = composition.init().random();
        composition.with(InSegments::new(Nv::new(self, random)))
    }
}
