//! SCE next to any AQM: a ramp in sojourn time below, astride or above the AQM's target.
//!
//! Source: draft-morton-tsvwg-sce; the mail "SCE ramps" (tsvwg, 2019); `sch_cake` of the SCE tree;
//! spec/queues-and-signalling section 15.2. The ramp rises from 0 at a floor `lo` to `knee` at the AQM's target, and
//! from there to 1 at a ceiling `hi`:
//!
//! ```text
//! 1  |            ____    the published ramps, with the target T:
//!    |           /          below     knee 1, from T/2 to T              tc: sce
//!    |          /           astride   knee 1/N, from T/2 over T to 2 T   tc: sce-thresh N
//! k  |        _/            above     knee 0, from T to 2 T              tc: sce-single
//! 0  |______-'
//!         lo   T  hi
//! ```
//!
//! The AQM decides first, and CE and drops come before SCE. The branch above the knee belongs to packets that the AQM
//! itself counts as above its target, where it says so ([`Aqm::over_target`]); others stay on the lower branch, however
//! long they have waited, because a slow link alone makes them wait.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windtunnel_algorithm::{AnyParams, Params};
use windtunnel_units::{Duration, OutOfRange, Probability};

use super::likelihood::{Draws, Likelihood};

use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::discipline::QueueDiscipline;
use crate::ecn::EcnMode;
use crate::fifo::Fifo;
use crate::hand_on::hand_on_aqm;
use crate::limit::Limit;
use crate::params::{AqmInit, AqmParams, BuildAqm, QueueInit, QueueParams, QueuePlace};
use crate::spec::Parts;

/// SCE marks next to an AQM, with a probability that rises with the sojourn time: a table with `thresh`, `single`,
/// `target`, `lo`, `hi`, `knee` and `random`. Without any of them it is tc's `sce`: from half of the AQM's target to
/// the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-morton-tsvwg-sce; sch_cake of the SCE tree"))]
pub struct SceRampParams {
    /// tc's `sce-thresh`: one packet in this many is marked at the target; above 1024, none. The default is 1.
    pub thresh: Option<u32>,
    /// tc's `sce-single`: none is marked at the target, and the ramp is above it.
    pub single: bool,
    /// The sojourn time of the knee; the default is the target of the AQM.
    pub target: Option<Duration>,
    /// The sojourn time up to which nothing is marked; the default is half of the target.
    pub lo: Option<Duration>,
    /// The sojourn time from which everything is marked; the default is twice the knee.
    pub hi: Option<Duration>,
    /// The probability at the knee, instead of `thresh` and `single`.
    pub knee: Option<Probability>,
    /// How the probability becomes marks.
    pub random: Likelihood,
}

impl SceRampParams {
    /// Larger ones are tc's `sce-single`.
    const MOST_THRESH: u32 = 1_024;

    fn knee(&self) -> f64 {
        match (self.knee, self.thresh.unwrap_or(1)) {
            (Some(knee), _) => knee.get(),
            (None, thresh) if self.single || thresh > SceRampParams::MOST_THRESH => 0.0,
            (None, thresh) => 1.0 / f64::from(thresh),
        }
    }

    /// The ramp for an AQM with this target.
    ///
    /// # Errors
    /// A value for which there is no ramp.
    pub fn ramp(&self, target: Option<Duration>) -> Result<SceRamp, OutOfRange> {
        const SET: &str = "left out with `knee`, which takes its place";
        const NONE: &str = "the sojourn time of the knee, because the AQM has no target of its own";
        match (self.knee, self.thresh) {
            (_, Some(0)) => return Err(OutOfRange::new("thresh", 0, "at least 1")),
            (Some(_), Some(thresh)) => return Err(OutOfRange::new("thresh", thresh, SET)),
            (Some(_), None) if self.single => return Err(OutOfRange::new("single", true, SET)),
            (None, Some(thresh)) if self.single => {
                return Err(OutOfRange::new("thresh", thresh, "left out with `single`"));
            }
            _ => {}
        }
        let target = self.target.or(target).ok_or(OutOfRange::missing("target", NONE))?;
        if target.is_zero() {
            return Err(OutOfRange::new("target", target, "more than 0 s"));
        }
        let knee = self.knee();
        let lo = self.lo.unwrap_or(target / 2);
        if lo >= target && knee > 0.0 {
            return Err(OutOfRange::new(
                "lo",
                lo,
                "less than the target, unless nothing is marked at the target (`single`)",
            ));
        }
        let turn = target.max(lo);
        let hi = self.hi.unwrap_or(turn * 2);
        if hi < turn || (hi == turn && knee < 1.0) {
            return Err(OutOfRange::new("hi", hi, "more than `lo` and the target"));
        }
        Ok(SceRamp::new(lo, (turn, knee), hi))
    }
}

/// The probability of an SCE mark, by the sojourn time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceRamp {
    lo: Duration,
    /// The sojourn time at which the branches meet, and the probability there.
    turn: Duration,
    knee: f64,
    /// By how much the probability rises per nanosecond, on either branch.
    lower: f64,
    upper: f64,
}

impl SceRamp {
    /// A ramp from `lo` over the knee, a sojourn time and a probability, to `hi`.
    fn new(lo: Duration, (turn, knee): (Duration, f64), hi: Duration) -> SceRamp {
        let slope = |rise: f64, from: Duration, to: Duration| {
            if rise > 0.0 { rise / (to - from).as_nanos_f64() } else { 0.0 }
        };
        SceRamp { lo, turn, knee, lower: slope(knee, lo, turn), upper: slope(1.0 - knee, turn, hi) }
    }

    /// The published ramp: from half of the target over `knee`, the probability at the target, to twice the target.
    pub(crate) fn around(target: Duration, knee: f64) -> SceRamp {
        SceRamp::new(target / 2, (target, knee), target * 2)
    }

    /// Whether a packet is above the knee, where the AQM has no rule of its own.
    #[inline]
    pub fn is_above(&self, sojourn: Duration) -> bool {
        sojourn > self.turn
    }

    /// The probability for a packet that waited for `sojourn`; `over_target`: the AQM counts it as above its target.
    #[inline]
    pub fn probability(&self, sojourn: Duration, over_target: bool) -> f64 {
        if sojourn <= self.lo {
            return 0.0;
        }
        let p = if over_target {
            self.knee + self.upper * (sojourn.as_nanos_f64() - self.turn.as_nanos_f64())
        } else {
            self.lower * (sojourn - self.lo).as_nanos_f64()
        };
        p.clamp(0.0, 1.0)
    }
}

/// An AQM with an SCE ramp.
#[derive(Clone, Debug)]
pub struct WithSceRamp<A> {
    aqm: A,
    ramp: SceRamp,
    draws: Draws,
    /// The probability for the packet that left last.
    p: f64,
}

impl<A: Aqm> Aqm for WithSceRamp<A> {
    hand_on_aqm! { self => self.aqm; on_enqueue on_full on_empty on_shed on_lost on_sparse over_target next_timer on_timer }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let verdict = self.aqm.on_dequeue(packet, queue);
        let over_target = self.aqm.over_target().unwrap_or_else(|| self.ramp.is_above(packet.sojourn));
        self.p = self.ramp.probability(packet.sojourn, over_target);
        let sce = self.draws.happens(self.p);
        if verdict == Verdict::Pass && sce { Verdict::Mark(Signal::Sce) } else { verdict }
    }

    /// The AQM's numbers, and the ramp's probability.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.probe(out);
        out("sce_p", self.p);
    }
}

/// The parameters of an AQM with an SCE ramp.
#[derive(Clone, Debug)]
pub struct Ramped<P> {
    aqm: P,
    sce: SceRampParams,
}

impl<P: BuildAqm> Ramped<P> {
    /// The key of the ramp's parameters in the AQM's table.
    pub const KEY: &'static str = "sce";

    /// An AQM with a ramp.
    pub const fn new(aqm: P, sce: SceRampParams) -> Ramped<P> {
        Ramped { aqm, sce }
    }

    fn with_ramp(&self, init: &AqmInit) -> WithSceRamp<P::Aqm> {
        let ramp = self.sce.ramp(self.aqm.target()).expect("checked parameters");
        // The AQM's own stream has the seed itself.
        let draws = self.sce.random.draws(!init.seed);
        WithSceRamp { aqm: self.aqm.aqm(init), ramp, draws, p: 0.0 }
    }
}

impl<P: BuildAqm> AnyParams for Ramped<P> {
    fn name(&self) -> &str {
        P::NAME
    }

    fn to_map(&self) -> Map<String, Value> {
        let mut map = self.aqm.to_map();
        if let Ok(Value::Object(mut sce)) = serde_json::to_value(&self.sce) {
            sce.retain(|_, value| !value.is_null());
            map.insert(Ramped::<P>::KEY.to_owned(), Value::Object(sce));
        }
        map
    }

    fn check(&self) -> Result<(), OutOfRange> {
        Params::check(&self.aqm)?;
        self.sce.ramp(self.aqm.target()).map(|_| ())
    }
}

impl<P: BuildAqm> Ramped<P> {
    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Ramped<P> {
        Ramped { aqm: self.aqm.clone().placed(place, is_given), sce: self.sce.clone() }
    }
}

impl<P: BuildAqm> AqmParams for Ramped<P> {
    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn AqmParams>> {
        Some(Arc::new(Ramped::placed(self, place, is_given)))
    }

    fn build(&self, init: &AqmInit) -> Box<dyn Aqm> {
        Box::new(self.with_ramp(init))
    }
}

impl<P: BuildAqm> QueueParams for Ramped<P> {
    fn default_limit(&self) -> Limit {
        P::LIMIT
    }

    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn QueueParams>> {
        Some(Arc::new(Ramped::placed(self, place, is_given)))
    }

    /// As the AQM does, but not as one of the kernel, which knows no SCE.
    fn default_ecn_mode(&self, _aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        match P::ECN_MODE {
            EcnMode::Rfc3168 => EcnMode::Mds,
            mode => mode,
        }
    }

    fn build(&self, _parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        Box::new(Fifo::new(self.with_ramp(&init.aqm()), init.ecn, init.limit))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use windtunnel_units::{Bytes, Rate, Time};
    use windtunnel_wire::{Dscp, Ecn, FlowId};

    use super::*;
    use crate::ecn::Class;

    /// An AQM that says what it is told.
    #[derive(Debug)]
    struct Told {
        calls: Sender<&'static str>,
        over: bool,
    }

    impl Told {
        fn say(&self, call: &'static str) {
            self.calls.send(call).expect("the test listens");
        }
    }

    impl Aqm for Told {
        fn on_enqueue(&mut self, _packet: &PacketView, _queue: &QueueView) -> Verdict {
            self.say("enqueue");
            Verdict::Drop
        }

        fn on_full(&mut self, _now: Time) {
            self.say("full");
        }

        fn on_dequeue(&mut self, _packet: &PacketView, _queue: &QueueView) -> Verdict {
            self.say("dequeue");
            Verdict::Drop
        }

        fn on_empty(&mut self, _now: Time) {
            self.say("empty");
        }

        fn on_shed(&mut self, _packets: u32, _now: Time) {
            self.say("shed");
        }

        fn on_lost(&mut self, _flow: FlowId) {
            self.say("lost");
        }

        fn on_sparse(&mut self, _flow: FlowId, _now: Time) {
            self.say("sparse");
        }

        fn over_target(&self) -> Option<bool> {
            Some(self.over)
        }

        fn next_timer(&self) -> Option<Time> {
            Some(Time::from_nanos(7))
        }

        fn on_timer(&mut self, _queue: &QueueView) {
            self.say("timer");
        }

        fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
            out("over", f64::from(u8::from(self.over)));
        }
    }

    /// Calls everything once; returns the verdicts and what it reports.
    fn call(aqm: &mut impl Aqm) -> ([Verdict; 2], Vec<(&'static str, f64)>) {
        let (now, flow) = (Time::ZERO, FlowId::new(0));
        let packet = PacketView {
            size: Bytes::new(1_500),
            flow,
            dscp: Dscp::DEFAULT,
            ecn: Ecn::Ect0,
            class: Class::Conventional,
            sojourn: Duration::ZERO,
            replaces: false,
        };
        let queue = QueueView {
            now,
            packets: 0,
            bytes: Bytes::ZERO,
            all_bytes: Bytes::ZERO,
            head_waiting: None,
            rate: Rate::ZERO,
        };
        let verdicts = [aqm.on_enqueue(&packet, &queue), aqm.on_dequeue(&packet, &queue)];
        aqm.on_full(now);
        aqm.on_empty(now);
        aqm.on_shed(1, now);
        aqm.on_lost(flow);
        aqm.on_sparse(flow, now);
        aqm.on_timer(&queue);
        let mut probed = Vec::new();
        aqm.probe(&mut |name, value| probed.push((name, value)));
        (verdicts, probed)
    }

    /// A boxed AQM with a ramp is told all that an AQM alone is told, and its answers are handed on.
    #[test]
    fn every_call_is_handed_on() {
        for over in [false, true] {
            let (calls, told) = channel();
            let aqm: Box<dyn Aqm> = Box::new(Told { calls, over });
            let ramp = SceRamp::around(Duration::from_millis(5), 1.0);
            let mut aqm = WithSceRamp { aqm, ramp, draws: Likelihood::Coin.draws(1), p: 0.0 };
            let answers = call(&mut aqm);
            let probed = vec![("over", f64::from(u8::from(over))), ("sce_p", 0.0)];
            assert_eq!(answers, ([Verdict::Drop; 2], probed));
            assert_eq!((aqm.over_target(), aqm.next_timer()), (Some(over), Some(Time::from_nanos(7))));
            let calls: Vec<&str> = told.try_iter().collect();
            assert_eq!(calls, ["enqueue", "dequeue", "full", "empty", "shed", "lost", "sparse", "timer"]);
        }
    }
}
