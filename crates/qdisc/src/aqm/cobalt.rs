//! COBALT, CoDel and BLUE Alternate: CoDel with one mechanism for its first wait and its spacing, a schedule of SCE
//! marks before that of CE, and BLUE against senders that do not respond.
//!
//! Source: `sch_cobalt` of the SCE reference repository, and the AQM inside Linux `sch_cake`;
//! spec/queues-and-signalling section 9. The law is in [`super::cobalt_law`].
//!
//! Why the constants are what they are. `rtt` and `target` are CoDel's. SCE is a gentler signal, so its schedule has
//! half the target and, with `sce = 4`, starts after a quarter of the round trip and signals four times as often; an
//! SCE opportunity waits for a packet that can carry it. A queue that holds packets for four round trips overflows,
//! whatever its limit: BLUE takes over.
//!
//! The form inside of CAKE ([`CobaltVariant::Cake`]) has no SCE schedule, since CAKE marks SCE on a ramp, hears of
//! overflows from the limit alone, and never drops the last packet of a queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Duration, OutOfRange, Time};

use super::cobalt_law::{CobaltLaw, CobaltState};
use super::cobalt_sce::SceSchedule;
use super::cobalt_schedule::{Form, Schedule};
use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::params::{AqmInit, BuildAqm};

/// The published form of COBALT to follow where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CobaltVariant {
    /// The queue of its own in the SCE reference repository.
    #[default]
    Standalone,
    /// The AQM of each flow in Linux's CAKE, without CAKE's adaptation to a low rate.
    Cake,
}

/// COBALT's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "chromi/sce sch_cobalt; Linux sch_cake",
    "x-title" = "COBALT",
    "x-traits" = ["marks", "target"]
))]
pub struct CobaltParams {
    /// The form to follow where the published ones differ.
    pub variant: CobaltVariant,
    /// How long packets may wait longer than the target; about the longest usual round trip.
    pub rtt: Duration,
    /// The sojourn time that a standing queue may have.
    pub target: Duration,
    /// How many intervals of SCE there are in one of CE; 0 turns SCE off. By default 4, and 0 with variant cake.
    pub sce: Option<u32>,
    /// The transmission time of a packet of full size, if it is known: packets that wait for up to 4 of them are never
    /// signalled.
    pub mtu_time: Duration,
}

impl Default for CobaltParams {
    fn default() -> CobaltParams {
        CobaltParams {
            variant: CobaltVariant::default(),
            rtt: Duration::from_millis(100),
            target: Duration::from_millis(5),
            sce: None,
            mtu_time: Duration::ZERO,
        }
    }
}

impl Params for CobaltParams {
    const NAME: &'static str = "cobalt";
    const SUMMARY: &'static str = "CoDel with a schedule of SCE before that of CE, and random drops against senders that do not respond";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.target.is_zero() || self.target >= self.rtt {
            return Err(OutOfRange::new("target", self.target, "more than 0 s and less than rtt"));
        }
        if self.rtt > CobaltParams::LONGEST_RTT {
            return Err(OutOfRange::new("rtt", self.rtt, "at most 1000 s"));
        }
        let sce = self.sce.unwrap_or_default();
        if self.variant == CobaltVariant::Cake && sce > 0 {
            return Err(OutOfRange::new("sce", sce, "0 with variant cake, which has no schedule of SCE"));
        }
        if u64::from(sce) > self.rtt.as_nanos() {
            return Err(OutOfRange::new("sce", sce, "at most the nanoseconds of rtt"));
        }
        if self.mtu_time > CobaltParams::LONGEST_RTT {
            return Err(OutOfRange::new("mtu_time", self.mtu_time, "at most 1000 s"));
        }
        Ok(())
    }
}

impl CobaltParams {
    /// No path has a longer round trip.
    const LONGEST_RTT: Duration = Duration::from_secs(1_000);

    /// Round trips of waiting that count as an overflow.
    const OVERFLOW: u64 = 4;

    /// The interval of the SCE schedule, if there is one.
    pub(super) fn sce_interval(&self) -> Option<Duration> {
        let sce = match (self.sce, self.variant) {
            (Some(sce), _) => sce,
            (None, CobaltVariant::Standalone) => 4,
            (None, CobaltVariant::Cake) => 0,
        };
        (sce > 0).then(|| self.rtt / u64::from(sce))
    }

    pub(super) fn law(&self) -> CobaltLaw {
        let (form, overflow) = match self.variant {
            CobaltVariant::Standalone => (Form::Standalone, Some(self.rtt * CobaltParams::OVERFLOW)),
            CobaltVariant::Cake => (Form::Cake, None),
        };
        CobaltLaw { form, interval: self.rtt, target: self.target, mtu_time: self.mtu_time, overflow }
    }

    /// Half of the target, rounded up.
    pub(super) fn sce_target(&self) -> Duration {
        Duration::from_nanos(self.target.as_nanos().div_ceil(2))
    }
}

impl BuildAqm for CobaltParams {
    type Aqm = Cobalt;

    const SCE_RAMP: bool = false;

    fn aqm(&self, init: &AqmInit) -> Cobalt {
        Cobalt::new(self, init.seed)
    }
}

/// COBALT's variables.
#[derive(Clone, Debug)]
pub struct Cobalt {
    law: CobaltLaw,
    state: CobaltState,
    some_congestion: Option<SceSchedule>,
    random: RandomStream,
}

impl Cobalt {
    /// COBALT with these parameters and its own random stream.
    pub fn new(params: &CobaltParams, seed: u64) -> Cobalt {
        let schedule = |interval| SceSchedule::new(interval, params.sce_target());
        Cobalt {
            law: params.law(),
            state: CobaltState::new(),
            some_congestion: params.sce_interval().map(schedule),
            random: RandomStream::new(seed),
        }
    }

    fn full(&mut self, now: Time) {
        self.law.full(&mut self.state, now);
        if let Some(sce) = &mut self.some_congestion {
            sce.full(now);
        }
    }

    fn empty(&mut self, now: Time) {
        self.law.empty(&mut self.state, now);
        if let Some(sce) = &mut self.some_congestion {
            sce.empty(now, self.law.form);
        }
    }
}

impl Aqm for Cobalt {
    fn on_full(&mut self, now: Time) {
        self.full(now);
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let last = queue.packets == 0;
        if last && self.law.form == Form::Standalone {
            self.empty(queue.now);
            return Verdict::Pass;
        }
        let (form, mtu_time) = (self.law.form, self.law.mtu_time);
        let marks_sce = self
            .some_congestion
            .as_mut()
            .is_some_and(|sce| sce.marks(packet, packet.sojourn, mtu_time, queue.now, form));
        let over = self.law.is_over(packet.sojourn, 0);
        let seen = (packet.sojourn, over, packet.markable());
        let decision = self.law.decide(&mut self.state, seen, queue.now, &mut self.random);
        if let Some(sce) = &mut self.some_congestion
            && self.law.overflows(packet.sojourn)
        {
            sce.full(queue.now);
        }
        match decision.verdict(last) {
            Verdict::Pass if marks_sce => Verdict::Mark(Signal::Sce),
            verdict => verdict,
        }
    }

    fn on_empty(&mut self, now: Time) {
        self.empty(now);
    }

    fn on_shed(&mut self, _packets: u32, now: Time) {
        self.full(now);
    }

    /// Reports when the next signals are due, if packets wait too long.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let next = |schedule: &Schedule| schedule.next().map_or(f64::NAN, Time::as_secs_f64);
        let CobaltState { schedule, blue } = &self.state;
        out("count", f64::from(schedule.count()));
        out("dropping", f64::from(u8::from(schedule.is_over())));
        out("next_s", next(schedule));
        out("p_drop", blue.p_drop().get());
        let sce = self.some_congestion.as_ref().map(SceSchedule::schedule);
        out("sce_count", sce.map_or(f64::NAN, |sce| f64::from(sce.count())));
        out("sce_next_s", sce.map_or(f64::NAN, next));
    }
}
