//! The parameters of Prague, by the names of the L4S team's module where it has them.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use super::controller::Prague;
use super::fallback::WithFallback;
use super::linux_2020::Linux2020;
use super::udp::UdpPrague;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// Whose rules are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PragueVariant {
    /// The average starts at 0, and the first mark halves the window (the module's default).
    #[default]
    Linux,
    /// The average starts at 1, so that the first marks are answered as by Reno, and the virtual round trip is the time from answer
    /// to answer.
    Draft,
    /// UDP Prague (`prague_cc.cpp`): the same time from answer to answer, a start from 100 kbit/s instead of slow start, and a larger
    /// increase after rounds without a signal.
    Udp,
    /// The module of August 2020 (0.5), whose measurements heistp/l4s-tests published: the average starts at 1, nothing is
    /// independent of the round trip, and no rate governs.
    #[serde(rename = "linux-2020")]
    Linux2020,
}

/// What the increase and the decrease are applied to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PragueMode {
    /// The window (the module's 0).
    Window,
    /// The rate (1).
    Rate,
    /// The rate of a flow that has seen marks and whose window is small, else the window (2).
    #[default]
    Switch,
}

/// Parameters of Prague.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-briscoe-iccrg-prague-congestion-control; L4S team, tcp_prague.c 0.7 and 0.5, udp_prague e8e3435",
    "x-traits" = ["scalable"]
))]
pub struct PragueParams {
    /// Whose rules are used.
    pub variant: PragueVariant,
    /// What the increase and the decrease are applied to.
    pub prague_cwnd_mode: PragueMode,
    /// The largest window of a switching flow that is governed by its rate.
    #[schemars(extend("x-unit" = "packets of 1500 bytes"))]
    pub prague_cwnd_transit: u32,
    /// The round-trip time that flows with a shorter one behave as if they had.
    pub prague_rtt_target: Duration,
    /// Rounds after slow start before that.
    #[schemars(extend("x-unit" = "rounds"))]
    pub prague_rtt_transition: u32,
    /// The largest burst lasts 2 to minus this power of a second.
    #[schemars(range(max = 30))]
    pub prague_burst_shift: u32,
    /// Marks are answered as by Reno: for a bottleneck that marks as RFC 3168 does.
    pub classic_fallback: bool,
}

impl Default for PragueParams {
    fn default() -> PragueParams {
        PragueParams {
            variant: PragueVariant::default(),
            prague_cwnd_mode: PragueMode::default(),
            prague_cwnd_transit: 4,
            prague_rtt_target: Duration::from_millis(25),
            prague_rtt_transition: 4,
            prague_burst_shift: 12,
            classic_fallback: false,
        }
    }
}

impl Params for PragueParams {
    const NAME: &'static str = "prague";
    const SUMMARY: &'static str =
        "Scalable control for L4S: DCTCP's average, independent of the round trip, paced";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.prague_rtt_target.is_zero() || self.prague_rtt_target > Duration::SECOND {
            return Err(OutOfRange::new(
                "prague_rtt_target",
                self.prague_rtt_target,
                "more than 0 s and at most 1 s",
            ));
        }
        if self.prague_burst_shift > 30 {
            return Err(OutOfRange::new("prague_burst_shift", self.prague_burst_shift, "0 to 30"));
        }
        match self.variant {
            PragueVariant::Linux | PragueVariant::Draft => Ok(()),
            PragueVariant::Udp => self.check_udp(),
            PragueVariant::Linux2020 => self.check_2020(),
        }
    }
}

impl PragueParams {
    /// UDP Prague chooses its mode by the round trip, and knows no time before it is independent.
    fn check_udp(&self) -> Result<(), OutOfRange> {
        let usual = PragueParams::default();
        self.check_no_modes("absent: UDP Prague chooses rate or window by the round trip")?;
        if self.prague_rtt_transition != usual.prague_rtt_transition {
            let allowed = "absent: UDP Prague is independent of the round trip from the start";
            return Err(OutOfRange::new("prague_rtt_transition", self.prague_rtt_transition, allowed));
        }
        if self.prague_burst_shift != usual.prague_burst_shift {
            let allowed = "absent: a burst of UDP Prague lasts 250 us";
            return Err(OutOfRange::new("prague_burst_shift", self.prague_burst_shift, allowed));
        }
        Ok(())
    }

    /// The module of 2020 has no rates, and uses no target.
    fn check_2020(&self) -> Result<(), OutOfRange> {
        let usual = PragueParams::default();
        self.check_no_modes("absent: the module of 2020 has no rate mode")?;
        let no_target = "absent: the module of 2020 is not independent of the round trip";
        if self.prague_rtt_target != usual.prague_rtt_target {
            return Err(OutOfRange::new("prague_rtt_target", self.prague_rtt_target, no_target));
        }
        if self.prague_rtt_transition != usual.prague_rtt_transition {
            return Err(OutOfRange::new("prague_rtt_transition", self.prague_rtt_transition, no_target));
        }
        Ok(())
    }

    /// The keys of the module's modes are not given.
    fn check_no_modes(&self, allowed: &'static str) -> Result<(), OutOfRange> {
        let usual = PragueParams::default();
        if self.prague_cwnd_mode != usual.prague_cwnd_mode {
            let mode = if self.prague_cwnd_mode == PragueMode::Rate { "rate" } else { "window" };
            return Err(OutOfRange::new("prague_cwnd_mode", mode, allowed));
        }
        if self.prague_cwnd_transit != usual.prague_cwnd_transit {
            return Err(OutOfRange::new("prague_cwnd_transit", self.prague_cwnd_transit, allowed));
        }
        Ok(())
    }
}

impl ControllerParams for PragueParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        let params = self.clone();
        match self.variant {
            PragueVariant::Linux | PragueVariant::Draft => {
                Box::new(WithFallback::new(Prague::new(params, init), init))
            }
            PragueVariant::Udp => Box::new(WithFallback::new(UdpPrague::new(params, init), init)),
            PragueVariant::Linux2020 => Box::new(WithFallback::new(Linux2020::new(params, init), init)),
        }
    }
}
