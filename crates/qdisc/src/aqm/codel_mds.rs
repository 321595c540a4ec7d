//! CoDel-MDS: CoDel whose signals are the periods of two linked oscillators.
//!
//! Source: spec/queues-and-signalling section 16.3, on RFC 8289 and "Multiplicative Decrease Scaling". CoDel signals at
//! the frequency `sqrt(count) / interval` while every packet waits longer than the target. Here, conventional packets are
//! owed signals at that frequency from the first such packet on, and MDS packets SCE at tau times that
//! ([`MdsCredit`]); every signal to conventional packets, whatever the packet is, raises `count`. So tau SCE are
//! spread over the interval before the first CE or drop, and signals come 100, 170.7, 228.4 ms (sums of
//! `interval / sqrt(count)`) after the first packet above the target, as COBALT's do. CoDel has this frequency and no
//! probability, which MDS around another AQM needs ([`super::mds`]).
//!
//! A packet below the target ends the episode, and what is owed stands still. CoDel would forget how long conventional
//! packets have waited; but MDS packets have been signalled for that time, and had many episodes been too short for a
//! first CE, only they would have been. An episode that follows within 16 intervals continues with the signals of the last
//! one as its count.
//!
//! With `codel_exact`, conventional packets are signalled as by CoDel: first when an interval is over, which does not
//! raise the count, and what was owed is forgotten after an episode. What MDS packets were paid for it is their debt.
//!
//! Where fewer than `tau * sqrt(count) / interval` packets leave, SCE are not enough and CE pays for tau of them: with the
//! defaults below 640 packets/s, 8 Mbit/s, from the first interval on.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, tau};
use windtunnel_units::{Bytes, Duration, OutOfRange, Time};

use super::codel::{Codel, CodelParams, CodelVariant};
use super::mds_credit::MdsCredit;
use super::oscillators::LinkedVerdicts;
use crate::aqm::{Aqm, PacketView, QueueView, Verdict};
use crate::limit::Limit;
use crate::params::{AqmInit, BuildAqm};
use crate::shared_keys::shared_keys;

/// CoDel's parameters, named as in tc, and tau.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "RFC 8289; Multiplicative Decrease Scaling",
    "x-title" = "CoDel-MDS",
    "x-traits" = ["marks", "target", "codel"]
))]
pub struct CodelMdsParams {
    /// Whether to follow the RFC or Linux where they differ.
    pub variant: CodelVariant,
    /// The sojourn time that a standing queue may have.
    pub target: Duration,
    /// How long packets may wait longer than the target; about the longest usual round trip.
    pub interval: Duration,
    /// The queue length up to which nothing is signalled. Linux uses 1514 B on Ethernet, where headers count.
    pub mtu: Bytes,
    /// The MD-scaling constant: how many SCE opportunities equal one CE opportunity. MDS flows must use the same value.
    pub tau: NonZeroU32,
    /// Whether conventional packets are signalled when CoDel signals: the first signal of an episode does not raise the
    /// frequency.
    pub codel_exact: bool,
}

shared_keys! {
    CodelMdsParams { tau: tau::DEFAULT, codel_exact: false }

    /// The CoDel that has the same target and interval.
    fn law: CodelParams = CodelParams { ecn: true, ..CodelParams::default() } => {
        variant, target, interval, mtu,
    }
}

impl Params for CodelMdsParams {
    const NAME: &'static str = "codel-mds";
    const ALIASES: &'static [&'static str] = &["codel_mds"];
    const SUMMARY: &'static str = "CoDel with oscillators for SCE and CE linked by tau";

    fn check(&self) -> Result<(), OutOfRange> {
        Params::check(&self.law())?;
        tau::check("tau", self.tau)
    }
}

impl BuildAqm for CodelMdsParams {
    type Aqm = CodelMds;

    const LIMIT: Limit = <CodelParams as BuildAqm>::LIMIT;
    const SCE_RAMP: bool = false;

    fn aqm(&self, _init: &AqmInit) -> CodelMds {
        CodelMds::new(self)
    }
}

/// CoDel-MDS's variables.
#[derive(Clone, Debug)]
pub struct CodelMds {
    law: CodelParams,
    exact: bool,
    credit: MdsCredit,
    /// Since when packets are above the target.
    above_since: Option<Time>,
    /// Both kinds of packets are owed signals; with `codel_exact`, only once an interval is over.
    signalling: bool,
    /// Signals since the frequency was lowest, and as it was when signalling started.
    count: u32,
    first_count: u32,
    /// When the last episode with a signal ended, and the count with which the next one continues.
    last_episode: Option<(Time, u32)>,
    last_dequeue: Time,
}

impl CodelMds {
    /// CoDel-MDS with `params`.
    pub fn new(params: &CodelMdsParams) -> CodelMds {
        let mut credit = MdsCredit::new(params.tau);
        credit.owe_conventional(0.0);
        CodelMds {
            law: params.law(),
            exact: params.codel_exact,
            credit,
            above_since: None,
            signalling: false,
            count: 1,
            first_count: 1,
            last_episode: None,
            last_dequeue: Time::ZERO,
        }
    }

    /// The conventional signals that come with `dt`, which counts for a second at most, at the frequency of `count`.
    #[inline]
    fn due(&self, dt: Duration, count: u32) -> f64 {
        dt.min(Duration::SECOND).ratio(self.law.interval) * libm::sqrt(f64::from(count))
    }

    /// Signalling starts, with the count of the last episode if that ended within 16 intervals.
    fn start(&mut self, now: Time) {
        let memory = self.law.interval * Codel::MEMORY;
        let continued = self.last_episode.filter(|&(ended, _)| now < ended + memory);
        self.count = continued.map_or(1, |(_, count)| count);
        self.first_count = self.count;
        self.signalling = true;
    }

    /// No packet is above the target any more. An episode without a signal leaves the memory of the last one alone.
    fn rest(&mut self, now: Time) {
        if self.above_since.take().is_none() {
            return;
        }
        let signalled = self.signalling && (self.exact || self.count > self.first_count);
        if signalled {
            self.last_episode = Some((now, (self.count - self.first_count).max(1)));
        }
        self.signalling = false;
        if self.exact {
            self.credit.forgive();
        }
        self.credit.rest();
    }

    /// The verdicts on a packet above the target that leaves `dt` after the last one.
    #[inline]
    fn verdicts(&mut self, now: Time, dt: Duration) -> LinkedVerdicts {
        let Some(since) = self.above_since else {
            self.above_since = Some(now);
            if !self.exact {
                self.start(now);
            }
            return self.credit.advance(0.0);
        };
        if !self.signalling {
            return self.wait(since, now, dt);
        }
        let verdicts = self.credit.advance(self.due(dt, self.count));
        if verdicts.conventional != Verdict::Pass {
            self.count = self.count.saturating_add(1);
        }
        verdicts
    }

    /// The same in the first interval of an episode with `codel_exact`: MDS packets are paid its tau SCE, and conventional
    /// packets at its end.
    fn wait(&mut self, since: Time, now: Time, dt: Duration) -> LinkedVerdicts {
        let mds = self.credit.to_mds(self.due(dt, 1));
        let is_over = self.law.is_past(since + self.law.interval, now);
        self.credit.owe_conventional(if is_over { 1.0 } else { now.since(since).ratio(self.law.interval) });
        if is_over {
            self.start(now);
        }
        let conventional = if is_over { self.credit.to_conventional(0.0) } else { Verdict::Pass };
        LinkedVerdicts { mds, conventional, overruns: 0 }
    }
}

impl Aqm for CodelMds {
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let dt = queue.now.since(self.last_dequeue);
        self.last_dequeue = queue.now;
        if self.law.is_above_target(packet, queue) {
            self.verdicts(queue.now, dt).of(packet.class)
        } else {
            self.rest(queue.now);
            Verdict::Pass
        }
    }

    fn on_empty(&mut self, now: Time) {
        self.rest(now);
    }

    fn on_shed(&mut self, packets: u32, _now: Time) {
        if self.signalling {
            self.count = self.count.saturating_add(packets);
        } else if let Some((_, count)) = &mut self.last_episode {
            *count = count.saturating_add(packets);
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.count));
        out("signalling", f64::from(u8::from(self.signalling)));
        self.credit.probe(out);
    }
}
