//! DualPI2's parameters ([`super`]), named as in tc. In place of tc's switches in pairs there is one each that is off by
//! default: `overflow` (else `drop_on_overload`), `drop_enqueue` (else `drop_dequeue`), `any_ect` (else `l4s_ect`).
//! `split_gso` has no meaning for single packets.

use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability, count};

use super::native::{Native, Ramp, Step};
use super::slot::Slot;
use super::{DualPi2, DualPi2Scheduler};
use crate::aqm::{CoupledParams, Likelihood, PiGains};
use crate::discipline::QueueDiscipline;
use crate::ecn::EcnMode;
use crate::limit::Limit;
use crate::params::{AqmInit, AqmParams, AqmSlot, QueueInit, QueueParams, QueuePlace};
use crate::queue_length::QueueLength;
use crate::spec::Parts;

/// The description of DualPI2 to follow where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DualPi2Variant {
    /// Linux: coins, a step in the low-latency queue in addition to the coupled marks, no signal from p' in a backlog
    /// of less than two packets, and weighted round robin with a credit.
    #[default]
    Linux,
    /// RFC 9332 appendix A: evenly spaced signals without coins, in the low-latency queue the larger of the coupled
    /// probability and that of a ramp, and weighted round robin by packets.
    Rfc,
}

/// DualPI2's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "RFC 9332; Linux sch_dualpi2; tc-dualpi2(8)",
    "x-title" = "DualPI2",
    "x-traits" = ["marks"]
))]
#[expect(clippy::struct_excessive_bools, reason = "tc's switches, independent of each other")]
pub struct DualPi2Params {
    /// Whether to follow the RFC or Linux where they differ.
    pub variant: DualPi2Variant,
    /// How much memory all packets may take: their lengths, and 256 bytes for each. Off by default: in Linux it is twice
    /// the MTU for each packet of `limit`, which full packets never reach.
    pub memlimit: Option<Bytes>,
    /// The queueing delay at which the queue is held; by default 15 ms.
    pub target: Option<Duration>,
    /// How often p' is updated; by default 16 ms as in Linux, 15 ms in the RFC.
    pub tupdate: Option<Duration>,
    /// The gain of the distance from the target, in Hz; by default 41/256 as in Linux, 0.15 in the RFC.
    pub alpha: Option<f64>,
    /// The gain of the delay's change, in Hz; by default 819/256 as in Linux, 3 in the RFC.
    pub beta: Option<f64>,
    /// The longest round trip: gives the four numbers above, together with `typical_rtt`, or with a sixth of itself.
    pub max_rtt: Option<Duration>,
    /// The typical round trip: gives the four numbers above, together with `max_rtt`, or with six times itself.
    pub typical_rtt: Option<Duration>,
    /// k: packets in the low-latency queue are marked with k p', others with p'^2.
    pub coupling_factor: f64,
    /// The sojourn time above which packets in the low-latency queue are marked, or a number of packets ("5 packets") in
    /// that queue; by default 1 ms. Variant `linux` only.
    pub step_thresh: Option<QueueLength>,
    /// The length of the low-latency queue below which arriving packets are spared `step_thresh`.
    #[serde(deserialize_with = "count::packets")]
    #[schemars(extend("x-unit" = "packets"))]
    pub min_qlen_step: u32,
    /// The sojourn time up to which the low-latency queue's ramp is 0; by default 800 us. Variant `rfc` only.
    pub minth: Option<Duration>,
    /// The extent of the ramp, from `minth` to the sojourn time at which it is 1; 0 s is a step; by default 400 us. Variant
    /// `rfc` only.
    pub range: Option<Duration>,
    /// The length of the low-latency queue up to which the ramp is 0; by default 1 packet. Variant `rfc` only.
    #[serde(deserialize_with = "count::packets")]
    #[schemars(extend("x-unit" = "packets"))]
    pub th_len: Option<u32>,
    /// Whether packets that understand marks are never dropped by p', which then stops at 1/k: a full queue drops.
    pub overflow: bool,
    /// Whether p' signals to arriving packets instead of leaving ones. Variant `linux` only.
    pub drop_enqueue: bool,
    /// Whether all ECN-capable packets go to the low-latency queue instead of those with ECT(1) or CE.
    pub any_ect: bool,
    /// The share that the classic queue gets while both have packets: of bytes with `wrr-credit`, of packets with `wrr`.
    /// By default 10 % as in Linux, 1/16 in the RFC.
    pub classic_protection: Option<Probability>,
    /// How the queues take turns; by default `wrr-credit` as in Linux, `wrr` in the RFC.
    pub scheduler: Option<DualPi2Scheduler>,
    /// How much longer the classic queue's head must have waited with `time-shifted-fifo`.
    pub tshift: Duration,
    /// How a probability becomes signals; by default `coin` as in Linux, `recur` in the RFC.
    pub random: Option<Likelihood>,
    /// The longest packet with its overhead. Linux uses 1514 B on Ethernet.
    pub mtu: Bytes,
    /// Whether packets with the MDS identifier go to the classic queue, and get SCE there with tau p'^2. If not, the queue
    /// does not know MDS: what carries ECT(1) or CE goes to the low-latency queue.
    pub mds: bool,
    /// The MD-scaling constant.
    pub tau: NonZeroU32,
}

impl Default for DualPi2Params {
    fn default() -> DualPi2Params {
        DualPi2Params {
            variant: DualPi2Variant::default(),
            memlimit: None,
            target: None,
            tupdate: None,
            alpha: None,
            beta: None,
            max_rtt: None,
            typical_rtt: None,
            coupling_factor: 2.0,
            step_thresh: None,
            min_qlen_step: 0,
            minth: None,
            range: None,
            th_len: None,
            overflow: false,
            drop_enqueue: false,
            any_ect: false,
            classic_protection: None,
            scheduler: None,
            tshift: Duration::from_millis(50),
            random: None,
            mtu: Bytes::new(1_500),
            mds: false,
            tau: windtunnel_algorithm::tau::DEFAULT,
        }
    }
}

impl DualPi2Params {
    /// tc's ratio of the longest to the typical round trip.
    const MAX_TO_TYPICAL: u64 = 6;

    /// The typical and the longest round trip, if any is given.
    fn rtts(&self) -> Option<(Duration, Duration)> {
        match (self.typical_rtt, self.max_rtt) {
            (None, None) => None,
            (Some(typical), Some(longest)) => Some((typical, longest)),
            (Some(typical), None) => Some((typical, typical * DualPi2Params::MAX_TO_TYPICAL)),
            (None, Some(longest)) => Some((longest / DualPi2Params::MAX_TO_TYPICAL, longest)),
        }
    }

    pub(super) fn gains(&self) -> PiGains {
        let own = match (self.rtts(), self.variant) {
            (Some((typical, longest)), _) => PiGains::for_paths(typical, longest),
            (None, DualPi2Variant::Linux) => PiGains::LINUX,
            (None, DualPi2Variant::Rfc) => PiGains::RFC,
        };
        PiGains {
            target: self.target.unwrap_or(own.target),
            tupdate: self.tupdate.unwrap_or(own.tupdate),
            alpha: self.alpha.unwrap_or(own.alpha),
            beta: self.beta.unwrap_or(own.beta),
        }
    }

    pub(super) fn coupled(&self) -> CoupledParams {
        let own = match self.variant {
            DualPi2Variant::Linux => Likelihood::Coin,
            DualPi2Variant::Rfc => Likelihood::Recur,
        };
        CoupledParams {
            coupling_factor: self.coupling_factor,
            drops_on_overload: !self.overflow,
            random: self.random.unwrap_or(own),
            tau: self.tau,
        }
    }

    pub(super) fn scheduler(&self) -> DualPi2Scheduler {
        self.scheduler.unwrap_or(match self.variant {
            DualPi2Variant::Linux => DualPi2Scheduler::WrrCredit,
            DualPi2Variant::Rfc => DualPi2Scheduler::Wrr,
        })
    }

    pub(super) fn classic_protection(&self) -> Probability {
        self.classic_protection.unwrap_or(match self.variant {
            DualPi2Variant::Linux => Probability::clamped(0.1),
            DualPi2Variant::Rfc => Probability::clamped(1.0 / 16.0),
        })
    }

    pub(super) fn native(&self) -> Native {
        match self.variant {
            DualPi2Variant::Linux => {
                let thresh = self.step_thresh.unwrap_or(QueueLength::Time(Duration::from_millis(1)));
                Native::Step(Step::new(thresh, self.min_qlen_step as usize))
            }
            DualPi2Variant::Rfc => Native::Ramp(Ramp {
                minth: self.minth.unwrap_or(Duration::from_micros(800)),
                range: self.range.unwrap_or(Duration::from_micros(400)),
                th_len: self.th_len.unwrap_or(1) as usize,
            }),
        }
    }

    /// The keys of the low-latency queue's own AQM that are given.
    fn native_keys(&self) -> [(&'static str, DualPi2Variant, Option<String>); 5] {
        let text = |time: Option<Duration>| time.map(|time| time.to_string());
        let min_qlen_step = (self.min_qlen_step > 0).then(|| self.min_qlen_step.to_string());
        [
            ("step_thresh", DualPi2Variant::Linux, self.step_thresh.map(|step| step.to_string())),
            ("min_qlen_step", DualPi2Variant::Linux, min_qlen_step),
            ("minth", DualPi2Variant::Rfc, text(self.minth)),
            ("range", DualPi2Variant::Rfc, text(self.range)),
            ("th_len", DualPi2Variant::Rfc, self.th_len.map(|packets| packets.to_string())),
        ]
    }

    fn check_rtts(&self) -> Result<(), OutOfRange> {
        const SET: &str = "left out with `max_rtt` or `typical_rtt`, which give it";
        let Some((typical, longest)) = self.rtts() else { return Ok(()) };
        for (key, rtt) in [("typical_rtt", self.typical_rtt), ("max_rtt", self.max_rtt)] {
            if rtt.is_some_and(|rtt| rtt < Duration::from_micros(6)) {
                return Err(OutOfRange::new(key, rtt.unwrap_or_default(), "at least 6 us"));
            }
        }
        if typical > longest {
            return Err(OutOfRange::new("typical_rtt", typical, "at most `max_rtt`"));
        }
        let spans = [("target", self.target), ("tupdate", self.tupdate)];
        if let Some((key, Some(span))) = spans.into_iter().find(|(_, span)| span.is_some()) {
            return Err(OutOfRange::new(key, span, SET));
        }
        let gains = [("alpha", self.alpha), ("beta", self.beta)];
        match gains.into_iter().find(|(_, gain)| gain.is_some()) {
            Some((key, Some(gain))) => Err(OutOfRange::new(key, gain, SET)),
            _ => Ok(()),
        }
    }

    fn check_variant(&self) -> Result<(), OutOfRange> {
        let foreign = |(_, variant, value): &(_, DualPi2Variant, Option<String>)| {
            *variant != self.variant && value.is_some()
        };
        match self.native_keys().into_iter().find(foreign) {
            Some((key, DualPi2Variant::Linux, Some(value))) => {
                Err(OutOfRange::new(key, value, "left out with variant = \"rfc\", which has a ramp"))
            }
            Some((key, DualPi2Variant::Rfc, Some(value))) => {
                Err(OutOfRange::new(key, value, "left out with variant = \"linux\", which has a step"))
            }
            _ if self.drop_enqueue && self.variant == DualPi2Variant::Rfc => Err(OutOfRange::new(
                "drop_enqueue",
                self.drop_enqueue,
                "false with variant = \"rfc\", which decides on departure",
            )),
            _ => Ok(()),
        }
    }
}

impl Params for DualPi2Params {
    const NAME: &'static str = "dualpi2";
    const SUMMARY: &'static str =
        "Coupled dual queue: a low-latency queue for L4S next to a classic one, with PI2";

    fn check(&self) -> Result<(), OutOfRange> {
        self.check_rtts()?;
        self.gains().check()?;
        self.coupled().check()?;
        self.check_variant()?;
        for (key, bytes) in [("mtu", Some(self.mtu)), ("memlimit", self.memlimit)] {
            if bytes == Some(Bytes::ZERO) {
                return Err(OutOfRange::new(key, Bytes::ZERO, "more than 0 B"));
            }
        }
        if let Some(thresh @ QueueLength::Bytes(_)) = self.step_thresh {
            return Err(OutOfRange::new("step_thresh", thresh, "a time, or a number of packets"));
        }
        // A credit is a product of this with a million.
        if self.mtu > DualPi2Params::MOST_MTU {
            return Err(OutOfRange::new("mtu", self.mtu, "at most 1 MiB"));
        }
        Ok(())
    }
}

impl DualPi2Params {
    /// Linux's.
    const MOST_MTU: Bytes = Bytes::new(1 << 20);

    const CLASSIC_SLOT: &'static str = "classic";
    const LOW_LATENCY_SLOT: &'static str = "low_latency";
}

impl QueueParams for DualPi2Params {
    /// Linux's and the RFC's.
    fn default_limit(&self) -> Limit {
        match self.variant {
            DualPi2Variant::Linux => Limit::Packets(10_000),
            DualPi2Variant::Rfc => Limit::Time(Duration::from_millis(250)),
        }
    }

    fn default_ecn_mode(&self, _aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        EcnMode::L4s
    }

    fn check_ecn_mode(&self, mode: EcnMode) -> Result<(), OutOfRange> {
        let (name, why) = match mode {
            EcnMode::L4s => return Ok(()),
            EcnMode::Mds => (
                "mds",
                "\"l4s\": to an MDS queue ECT(1) is SCE or cannot be marked, and the low-latency queue marks it CE; `mds = true` adds MDS to the classic queue",
            ),
            EcnMode::Sce => (
                "sce",
                "\"l4s\": to an SCE queue ECT(1) is a mark of its own, and here it selects the low-latency queue",
            ),
            EcnMode::Rfc3168 => (
                "rfc3168",
                "\"l4s\": RFC 3168 does not tell ECT(1) from ECT(0), which selects the queue here",
            ),
            EcnMode::None => {
                ("none", "\"l4s\": without marks there is nothing to tell the low-latency queue")
            }
        };
        Err(OutOfRange::new("ecn_mode", name, why))
    }

    fn slots(&self) -> &'static [AqmSlot] {
        &[
            AqmSlot {
                key: DualPi2Params::CLASSIC_SLOT,
                summary: "The AQM of the classic queue, in place of p'^2; p' still follows the delay, for the coupled marks.",
            },
            AqmSlot {
                key: DualPi2Params::LOW_LATENCY_SLOT,
                summary: "The low-latency queue's AQM, next to the coupled marks, in place of the step or ramp.",
            },
        ]
    }

    fn check_aqms(&self, aqms: &[Option<Arc<dyn AqmParams>>]) -> Result<(), OutOfRange> {
        if aqms[1].is_none() {
            return Ok(());
        }
        match self.native_keys().into_iter().find(|(_, _, value)| value.is_some()) {
            Some((key, _, Some(value))) => {
                Err(OutOfRange::new(key, value, "left out with `low_latency`, which takes its place"))
            }
            _ => Ok(()),
        }
    }

    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn QueueParams>> {
        let mut placed = self.clone();
        if !is_given("mtu") {
            placed.mtu += place.overhead;
        }
        Some(Arc::new(placed))
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let slot = |index: usize| {
            let aqm = parts.aqms.get(index)?.as_ref()?;
            // A stream of its own for each: 2^64 divided by the golden ratio, as for the bands of fair queues.
            let seed = init.seed.wrapping_add((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            Some(Slot::new(aqm.build(&AqmInit { seed, ..init.aqm() })))
        };
        let native = slot(1).map_or_else(|| self.native(), Native::Slot);
        Box::new(DualPi2::new(self, native, slot(0), init))
    }
}
