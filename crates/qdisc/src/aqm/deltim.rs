//! DelTiM, Delay Time Minimisation: a set point of one packet in the queue.
//!
//! Source: "Multiplicative Decrease Scaling", DelTiM AQM; spec/mds section 4. A DelTiC without a target: the error is
//! the time that the *next* packet has already waited, or zero if there is none. The marking frequency therefore rises
//! as soon as two packets are queued. The error never lowers it once the queue is short; idle time does. When a packet
//! ends an idle spell, the frequency is scaled by the share of the last burst that the link was busy.
//!
//! `burst` sets both the loop's gain, `1 s / burst`, and the window in which idle time counts. 5 ms tolerates the
//! bursts of a paced sender and its slow start. `burst` does not limit the delay.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Duration, OutOfRange, Time};

use super::delta_sigma::{DeltaSigma, SECOND, nanos};
use super::jitter::JitterEstimator;
use super::oscillators::DEFAULT_TAU;
use crate::aqm::{Aqm, LinkedOscillators, PacketView, QueueView, Verdict};
use crate::check;
use crate::params::{AqmInit, BuildAqm};

/// Burst and tau.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Multiplicative Decrease Scaling, DelTiM AQM",
    "x-title" = "DelTiM",
    "x-traits" = ["marks"]
))]
pub struct DeltimParams {
    /// The burst to tolerate; a shorter one keeps the queue shorter, possibly at the cost of utilisation.
    pub burst: Duration,
    /// The MD-scaling constant: how many SCE opportunities equal one CE opportunity. MDS flows must use the same value.
    pub tau: NonZeroU32,
}

impl Default for DeltimParams {
    fn default() -> DeltimParams {
        DeltimParams { burst: Duration::from_millis(5), tau: DEFAULT_TAU }
    }
}

impl Params for DeltimParams {
    const NAME: &'static str = "deltim";
    const SUMMARY: &'static str =
        "Delay Time Minimisation: one packet as the set point, idle time slows the marks";

    fn check(&self) -> Result<(), OutOfRange> {
        check::set_point("burst", self.burst)
    }
}

impl BuildAqm for DeltimParams {
    type Aqm = Deltim;

    const SCE_RAMP: bool = false;

    fn aqm(&self, _init: &AqmInit) -> Deltim {
        Deltim::new(self)
    }
}

/// Applies idle scaling: returns the accumulator `acc` after a time `active` with packets and then a time `idle`
/// without. The accumulator keeps the busy share of the last `burst`; the part of the burst before both times counts as
/// busy.
pub(super) fn scale_for_idle(acc: i64, idle: i64, active: i64, burst: i64) -> i64 {
    let idle = idle.min(burst);
    let active = active.min(burst - idle);
    let part = (active + idle) as f64 / burst as f64;
    let busy = active as f64 / (active + idle) as f64;
    let acc = acc as f64;
    (acc * busy * part + acc * (1.0 - part)) as i64
}

/// DelTiM's variables.
#[derive(Clone, Debug)]
pub struct Deltim {
    burst: i64,
    control: DeltaSigma,
    oscillators: LinkedOscillators,
    jitter: JitterEstimator,
    last_dequeue: Time,
    /// How long the queue had been empty, until the first packet after that leaves.
    idle: i64,
    /// How long the queue was not empty before it was last empty.
    active: i64,
    active_since: Time,
}

impl Deltim {
    /// DelTiM with `params`.
    pub fn new(params: &DeltimParams) -> Deltim {
        Deltim {
            burst: nanos(params.burst),
            control: DeltaSigma::new(params.burst, 0),
            oscillators: LinkedOscillators::new(params.tau),
            jitter: JitterEstimator::default(),
            last_dequeue: Time::ZERO,
            idle: 0,
            active: 0,
            active_since: Time::ZERO,
        }
    }
}

impl Aqm for Deltim {
    #[inline]
    fn on_enqueue(&mut self, _packet: &PacketView, queue: &QueueView) -> Verdict {
        if queue.packets == 0 {
            self.idle = nanos(queue.now.since(self.last_dequeue));
            self.active_since = queue.now;
            self.jitter.restart(queue.now);
        }
        Verdict::Pass
    }

    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let now = queue.now;
        let dt = nanos(now.since(self.last_dequeue));
        if self.idle > 0 {
            self.control.acc = scale_for_idle(self.control.acc, self.idle, self.active, self.burst);
        } else {
            let error = queue.head_waiting.map_or(0, |waiting| self.jitter.adjust(now, waiting));
            self.control.advance(error, dt.min(SECOND));
        }
        // The frequency applies to a busy link: no signal becomes due while no packet is queued.
        let verdicts = self.oscillators.advance(self.control.phase(dt - self.idle));
        self.control.relent(verdicts.overruns);
        if queue.packets == 0 {
            self.active = nanos(now.since(self.active_since));
        }
        self.idle = 0;
        self.last_dequeue = now;
        verdicts.of(packet.class)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("acc", self.control.acc as f64);
        self.oscillators.probe(out);
    }
}
