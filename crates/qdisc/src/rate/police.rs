//! police: a rate policer in front of any queue.
//!
//! Source: Linux `act_police` and its manual page `tc-police`; spec/queues-and-signalling section 14.2. A token bucket
//! as that of `tbf`, without a queue: a packet for which the bucket has tokens takes them and passes. One for which it
//! has none exceeds the rate: it is lost, passes, or is marked; the bucket stays as it is, so that tokens accrue.
//!
//! Marking is this laboratory's own. A mark takes tokens, and the bucket may owe up to `hard_burst`; beyond that packets
//! are lost, so that senders that do not respond to CE are held to the rate. Twice the burst lets a sender that responds
//! a round trip later do so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, OutOfRange, Rate, Time};
use windtunnel_wire::Packet;

use super::{Policed, Policer, Ruling, TokenBucket, behind};
use crate::accounts::QueueCx;
use crate::aqm::{Signal, Verdict};
use crate::discipline::QueueDiscipline;
use crate::ecn::Class;
use crate::params::{ChildSlot, QueueInit, QueueParams};
use crate::spec::Parts;

/// What happens to a packet that exceeds the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exceed {
    /// It is lost.
    #[default]
    Drop,
    /// It passes.
    Pass,
    /// It is marked CE, or lost if it does not understand that.
    Mark,
}

/// police's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Linux act_police; tc-police(8)", "x-traits" = ["holds"]))]
pub struct PoliceParams {
    /// The rate at which the bucket fills; by default the link's.
    pub rate: Option<Rate>,
    /// The depth of the bucket: what may pass at once.
    pub burst: Bytes,
    /// The rate at which the second bucket fills; without it there is none.
    pub peakrate: Option<Rate>,
    /// The depth of the second bucket.
    pub mtu: Bytes,
    /// The least that a packet counts for.
    pub mpu: Bytes,
    /// Headers below IP, which count for each packet.
    pub overhead: Bytes,
    /// What happens to a packet that exceeds a rate.
    pub conform_exceed: Exceed,
    /// With `mark`: how many bytes of marked packets the bucket may owe; by default twice its depth.
    pub hard_burst: Option<Bytes>,
}

impl Default for PoliceParams {
    fn default() -> PoliceParams {
        PoliceParams {
            rate: None,
            burst: Bytes::new(15_000),
            peakrate: None,
            mtu: Bytes::new(1_500),
            mpu: Bytes::ZERO,
            overhead: Bytes::ZERO,
            conform_exceed: Exceed::default(),
            hard_burst: None,
        }
    }
}

impl Params for PoliceParams {
    const NAME: &'static str = "police";
    const SUMMARY: &'static str = "A rate policer in front of any queue";

    fn check(&self) -> Result<(), OutOfRange> {
        for (key, rate) in [("rate", self.rate), ("peakrate", self.peakrate)] {
            if rate == Some(Rate::ZERO) {
                return Err(OutOfRange::new(key, Rate::ZERO, "more than 0 bit/s"));
            }
        }
        for (key, depth) in [("burst", self.burst), ("mtu", self.mtu)] {
            if depth == Bytes::ZERO {
                return Err(OutOfRange::new(key, depth, "more than 0 B"));
            }
        }
        match self.hard_burst {
            Some(bytes) if self.conform_exceed != Exceed::Mark => {
                Err(OutOfRange::new("hard_burst", bytes, "left out unless `conform_exceed` is \"mark\""))
            }
            _ => Ok(()),
        }
    }
}

impl QueueParams for PoliceParams {
    fn children(&self) -> Vec<ChildSlot> {
        behind()
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let policer = Police {
            bucket: TokenBucket::new(self.rate.unwrap_or_default(), self.burst),
            peak: self.peakrate.map(|rate| TokenBucket::new(rate, self.mtu)),
            hard_burst: self.hard_burst.unwrap_or(self.burst * 2),
            params: self.clone(),
            now: Time::ZERO,
        };
        Box::new(Policed::new(policer, init.ecn, parts.build_child(init)))
    }
}

/// police's variables.
#[derive(Debug)]
struct Police {
    bucket: TokenBucket,
    peak: Option<TokenBucket>,
    hard_burst: Bytes,
    params: PoliceParams,
    /// The time of the last call.
    now: Time,
}

impl Police {
    fn cost(&self, packet: &Packet) -> Bytes {
        (packet.size() + self.params.overhead).max(self.params.mpu)
    }

    /// Whether the buckets cover a packet, if they may owe `credit`.
    fn covers(&self, cost: Bytes, credit: Bytes, now: Time) -> bool {
        self.bucket.covers(cost, credit, now) && self.peak.is_none_or(|peak| peak.covers(cost, credit, now))
    }
}

impl Policer for Police {
    fn judge(&mut self, packet: &Packet, _class: Class, cx: &QueueCx) -> Ruling {
        self.now = cx.now;
        self.bucket.set_rate(self.params.rate.unwrap_or(cx.rate), cx.now);
        let cost = self.cost(packet);
        if self.covers(cost, Bytes::ZERO, cx.now) {
            return Ruling { verdict: Verdict::Pass, is_charged: true };
        }
        let verdict = match self.params.conform_exceed {
            Exceed::Pass => return Ruling { verdict: Verdict::Pass, is_charged: false },
            Exceed::Mark if self.covers(cost, self.hard_burst, cx.now) => Verdict::Mark(Signal::Ce),
            Exceed::Drop | Exceed::Mark => Verdict::Drop,
        };
        Ruling { verdict, is_charged: true }
    }

    fn charge(&mut self, packet: &Packet, cx: &QueueCx) {
        let cost = self.cost(packet);
        self.bucket.take(cost, cx.now);
        if let Some(peak) = &mut self.peak {
            peak.take(cost, cx.now);
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("tokens_bytes", self.bucket.level(self.now).bytes());
        out("peak_tokens_bytes", self.peak.map_or(f64::NAN, |peak| peak.level(self.now).bytes()));
    }
}
