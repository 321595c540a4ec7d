//! The MDS signalling relationship: tau SCE opportunities for every CE opportunity (spec/mds section 1),
//! also while signals escalate to CE and to drops.
//!
//! An oscillator gives opportunities, independently of the packets that can take them. Two queues with the
//! same arrivals show both sides: one with MDS packets only, one with conventional packets only. The
//! opportunities of the first are counted in SCE, where a CE or a drop counts as tau; those of the second in
//! CE or drops. Let `d = given to MDS / tau - given to conventional`. It starts at 0 and changes only when one
//! oscillator fires. With the phases in seconds (`m` from 0, `c` from 1/2), `d = c - 1/2 - m / tau`:
//!
//! * `d` falls when the conventional one fires and leaves `c >= 0`, and the MDS one fires at most an SCE,
//!   so that `m < 1` afterwards: `d >= -1/2 - 1/tau`.
//! * `d` rises when the MDS one fires and the conventional one does not, so that `c < 1`; a CE leaves
//!   `m >= 2 - tau`: `d < 3/2`.
//!
//! That is one conventional opportunity around 1/2, for any drive and at any time.

use std::num::NonZeroU32;

use proptest::prelude::*;
use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{
    DelticMdsParams, Deltim2Params, DeltimParams, Limit, LinkedOscillators, QueueSpec, RampParams, Signal,
    Verdict,
};
use windtunnel_units::Duration;

use crate::bench::{Bench, Kind};

/// Opportunities given so far.
#[derive(Clone, Copy, Debug, Default)]
struct Opportunities {
    sce: i64,
    ce: i64,
}

impl Opportunities {
    fn count(&mut self, tau: NonZeroU32, mds: Verdict, conventional: Verdict) {
        self.sce += match mds {
            Verdict::Pass => 0,
            Verdict::Mark(Signal::Sce) => 1,
            Verdict::Mark(Signal::Ce) | Verdict::Drop => i64::from(tau.get()),
        };
        self.ce += i64::from(conventional != Verdict::Pass);
    }

    /// `2 * tau * d` within its bounds. Truncation of `i / tau` moves `d` by at most a nanosecond of phase per
    /// dequeue, far less than one SCE.
    fn holds(&self, tau: NonZeroU32) -> bool {
        let tau = i64::from(tau.get());
        let twice = 2 * (self.sce - tau * self.ce);
        (-(tau + 2)..=3 * tau).contains(&twice)
    }
}

fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::Passed => Verdict::Pass,
        Outcome::Marked(signal) => Verdict::Mark(signal),
        Outcome::Drop => Verdict::Drop,
    }
}

/// One queue twice, with MDS packets and with conventional ones.
struct Twins {
    tau: NonZeroU32,
    mds: Bench,
    conventional: Bench,
    opportunities: Opportunities,
    seen: [u64; 3],
}

impl Twins {
    fn new(config: &QueueSpec, tau: NonZeroU32) -> Twins {
        let bench = || Bench::new(config, Limit::Unlimited);
        Twins {
            tau,
            mds: bench(),
            conventional: bench(),
            opportunities: Opportunities::default(),
            seen: [0; 3],
        }
    }

    fn arrive(&mut self, at_ns: u64) {
        self.mds.arrive(at_ns, Kind::Mds);
        self.conventional.arrive(at_ns, Kind::Ect0);
    }

    /// A packet leaves both queues; returns whether the relationship holds so far.
    fn leave(&mut self, at_ns: u64) -> bool {
        let (Some(mds), Some(conventional)) = (self.mds.dequeue(at_ns), self.conventional.dequeue(at_ns))
        else {
            return true;
        };
        self.opportunities.count(self.tau, verdict(mds.outcome), verdict(conventional.outcome));
        match mds.outcome {
            Outcome::Passed => {}
            Outcome::Marked(Signal::Sce) => self.seen[0] += 1,
            Outcome::Marked(Signal::Ce) => self.seen[1] += 1,
            Outcome::Drop => self.seen[2] += 1,
        }
        let state = |bench: &Bench| ["acc", "mds_osc", "osc"].map(|name| bench.probe(name));
        assert_eq!(state(&self.mds), state(&self.conventional), "the class does not change the state");
        // DelTiC-MDS restarts both oscillators when its accumulator falls below zero.
        if state(&self.mds) == [0, 0, 500_000_000] {
            self.opportunities = Opportunities::default();
        }
        self.opportunities.holds(self.tau)
    }
}

fn linked(tau: NonZeroU32) -> [QueueSpec; 3] {
    [
        QueueSpec::new(DeltimParams { tau, ..DeltimParams::default() }),
        QueueSpec::new(Deltim2Params { tau, ..Deltim2Params::default() }),
        QueueSpec::new(DelticMdsParams { tau, ..DelticMdsParams::default() }),
    ]
}

/// 10 Mbit/s with 1.2 times as much arriving: the delay rises, and signals go through SCE, CE and drop.
#[test]
fn overload_escalates_and_keeps_the_relationship() {
    for tau in [32, 64].map(|n| NonZeroU32::new(n).unwrap()) {
        for config in linked(tau) {
            let mut twins = Twins::new(&config, tau);
            let mut arrived = 0;
            for n in 1..=4_000 {
                let now = n * 1_200_000;
                while arrived * 1_000_000 < now {
                    twins.arrive(arrived * 1_000_000);
                    arrived += 1;
                }
                assert!(twins.leave(now), "{config:?}: {:?} after {n} dequeues", twins.opportunities);
            }
            assert!(twins.seen.iter().all(|&n| n > 0), "{config:?}: SCE, CE and drops: {:?}", twins.seen);
        }
    }
}

/// Gaps between events: from a nanosecond to seconds, each scale as likely.
fn gap() -> impl Strategy<Value = u64> {
    (0_u32..=9, 0_u64..10).prop_map(|(scale, digit)| digit * 10_u64.pow(scale) / 2)
}

proptest! {
    /// The oscillators alone, driven by anything from nothing to several drops per packet.
    #[test]
    fn oscillators_keep_the_relationship(
        tau in 1_u32..=128,
        drive in prop::collection::vec((0_u32..=11, 1_u64..30), 1..2_000),
    ) {
        let tau = NonZeroU32::new(tau).unwrap();
        let mut oscillators = LinkedOscillators::new(tau);
        let mut opportunities = Opportunities::default();
        for (scale, digit) in drive {
            let verdicts = oscillators.advance(Duration::from_nanos(digit * 10_u64.pow(scale)));
            opportunities.count(tau, verdicts.mds, verdicts.conventional);
            prop_assert!(opportunities.holds(tau), "{opportunities:?}");
        }
    }

    /// Whole queues with random arrivals and departures.
    #[test]
    fn queues_keep_the_relationship(
        tau in 2_u32..=128,
        events in prop::collection::vec((gap(), prop::bool::weighted(0.55)), 1..1_000),
    ) {
        let tau = NonZeroU32::new(tau).unwrap();
        for config in linked(tau) {
            let mut twins = Twins::new(&config, tau);
            let mut now = 0;
            for &(gap, arrives) in &events {
                now += gap;
                if arrives {
                    twins.arrive(now);
                } else {
                    prop_assert!(twins.leave(now), "{config:?}: {:?}", twins.opportunities);
                }
            }
        }
    }

    /// The ramp counts: with the same draws, every tau-th SCE of one queue is a CE in the other. It reports the SCE
    /// since then.
    #[test]
    fn ramp_keeps_the_relationship(tau in 1_u32..=64, sojourns in prop::collection::vec(0_u64..150, 1..1_000)) {
        let tau = NonZeroU32::new(tau).unwrap();
        let config = QueueSpec::new(RampParams { tau, ..RampParams::default() });
        let [mut mds, mut conventional] = [(), ()].map(|()| Bench::new(&config, Limit::Unlimited));
        let mut now = 0;
        for sojourn_ms in sojourns {
            mds.arrive(now, Kind::Mds);
            conventional.arrive(now, Kind::Ect0);
            now += sojourn_ms * 1_000_000;
            mds.outcome(now);
            conventional.outcome(now);
            prop_assert_eq!(mds.stats().sce / u64::from(tau.get()), conventional.stats().ce);
            prop_assert_eq!(mds.probe("opportunities") as u64, mds.stats().sce % u64::from(tau.get()));
        }
    }
}
