//! RED as a whole: against a second implementation of the law, and at the equilibrium that can be calculated.

use proptest::prelude::*;
use windtunnel_qdisc::{Limit, QueueSpec, RedParams, RedRandom};
use windtunnel_units::{Bytes, Probability, Time};

use crate::bench::{Bench, Kind, random_gaps};
use crate::overload::Load;

fn bench(params: RedParams, seed: u64) -> Bench {
    let mut bench = Bench::with_seed(&QueueSpec::new(params), Limit::Packets(1_000), seed);
    bench.cx.deliver_drops = false;
    bench
}

/// 5 and 15 packets of 1500 bytes, the thresholds of the first experiments; W = 2^-4.
fn params() -> RedParams {
    RedParams {
        min: Some(Bytes::new(7_500)),
        max: Some(Bytes::new(22_500)),
        avpkt: Bytes::new(1_500),
        burst: Some(12),
        ..RedParams::default()
    }
}

/// Section 3 read from top to bottom. It receives what the queue did, and whether a packet was signalled; the random
/// numbers belong to the queue. All that the law knows about them is the range that the outcomes so far leave.
#[derive(Debug)]
struct Straight {
    gentle: bool,
    adaptive: bool,
    avg: f64,
    count: i64,
    max_p: f64,
    /// The largest `count * p` of this gap that did not end it: R is above.
    passed: f64,
    idle_since: Option<u64>,
}

const W: f64 = 1.0 / 16.0;
const MIN: f64 = 7_500.0;
const MAX: f64 = 22_500.0;
/// 1500 bytes at 10 Mbit/s.
const PACKET_NS: f64 = 1_200_000.0;

impl Straight {
    fn new(params: &RedParams) -> Straight {
        Straight {
            gentle: params.gentle,
            adaptive: params.adaptive,
            avg: 0.0,
            count: -1,
            max_p: 0.02,
            passed: 0.0,
            idle_since: Some(0),
        }
    }

    fn idle(&self, now: u64) -> Option<f64> {
        self.idle_since.filter(|&since| since < now).map(|since| (now - since) as f64 / PACKET_NS)
    }

    /// A packet found `backlog` bytes on arrival, and was signalled or not. Returns whether the law allows that.
    fn arrived(&mut self, now: u64, backlog: u64, signalled: bool) -> bool {
        if let Some(m) = self.idle(now) {
            self.avg *= libm::pow(1.0 - W, m);
            self.idle_since = Some(now);
        } else {
            self.avg += W * (backlog as f64 - self.avg);
        }
        if !signalled {
            self.idle_since = None;
        }
        let p = if self.avg < MIN {
            self.count = -1;
            return !signalled;
        } else if self.avg < MAX {
            self.max_p * (self.avg - MIN) / (MAX - MIN)
        } else if self.gentle && self.avg < 2.0 * MAX {
            self.max_p + (1.0 - self.max_p) * (self.avg - MAX) / MAX
        } else {
            self.count = -1;
            return signalled;
        };
        self.count += 1;
        if self.count == 0 {
            self.passed = 0.0;
            return !signalled;
        }
        let reached = self.count as f64 * p;
        if signalled {
            // R is above what has passed: this packet is beyond R, or it would have passed as well.
            let may = reached >= self.passed;
            self.count = 0;
            self.passed = 0.0;
            may
        } else {
            self.passed = self.passed.max(reached);
            // R is below 1.
            reached < 1.0
        }
    }

    fn departed(&mut self, now: u64, size: u64, backlog: u64) {
        if backlog == 0 {
            self.idle_since = Some(now + size * 800);
        }
    }

    fn timer(&mut self, now: u64) {
        let avg = self.avg * self.idle(now).map_or(1.0, |m| libm::pow(1.0 - W, m));
        if !self.adaptive {
            return;
        }
        if avg > MIN + 0.6 * (MAX - MIN) && self.max_p <= 0.5 {
            self.max_p += (0.25 * self.max_p).min(0.01);
        } else if avg < MIN + 0.4 * (MAX - MIN) && self.max_p >= 0.01 {
            self.max_p *= 0.9;
        }
    }
}

/// Average and `max_p` of the queue are those of the law after every event, and every signal is one that the law
/// allows. Returns the highest average and the number of signals.
fn follows(params: RedParams, phases: &[(u64, u64, u64)], seed: u64) -> Result<(f64, u64), TestCaseError> {
    let mut law = Straight::new(&params);
    let mut bench = bench(params, seed);
    let mut random = random_gaps(seed);
    let (mut now, mut most, mut signals) = (0, 0.0_f64, 0);
    for &(ms, arrivals_us, departures_us) in phases {
        let end = now + ms * 1_000_000;
        let (mut arrival, mut departure) = (now + random(arrivals_us), now + random(departures_us));
        while now < end {
            let timer = bench.next_timer().map_or(u64::MAX, Time::as_nanos);
            now = timer.min(arrival).min(departure);
            let backlog = bench.backlog().bytes.get();
            if now == timer {
                bench.run_timers(now);
                law.timer(now);
            } else if now == arrival {
                let aqm = bench.stats().drops_aqm;
                let size = 40 + random(2) % 1_461;
                let packet = bench.packet(0, size, Kind::NotEct);
                bench.enqueue(now, packet);
                prop_assert_eq!(bench.stats().drops_full, 0);
                let signalled = bench.stats().drops_aqm > aqm;
                signals += u64::from(signalled);
                prop_assert!(law.arrived(now, backlog, signalled), "{signalled} at {now} ns: {law:?}");
                arrival = now + random(arrivals_us);
            } else {
                if bench.dequeue(now).is_some() {
                    let after = bench.backlog().bytes.get();
                    law.departed(now, backlog - after, after);
                }
                departure = now + random(departures_us);
            }
            for (name, value) in [("avg_bytes", law.avg), ("max_p", law.max_p)] {
                let got = bench.probed(name).unwrap();
                prop_assert!(
                    (got - value).abs() < 1e-6 * value.max(1.0),
                    "{name} {got}, {value} at {now} ns"
                );
            }
            most = most.max(law.avg);
        }
    }
    Ok((most, signals))
}

/// Phases of a load: length in milliseconds, and the longest gaps between arrivals and between departures in
/// microseconds.
fn phases() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    prop::collection::vec((20_u64..800, 100_u64..3_000, 100_u64..3_000), 4..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The law, for all kinds of load.
    #[test]
    fn follows_the_law(gentle: bool, adaptive: bool, phases in phases(), seed: u64) {
        follows(RedParams { gentle, adaptive, ..params() }, &phases, seed)?;
    }
}

/// The comparison covers what it should: the whole band and beyond, and many signals.
#[test]
fn a_load_that_reaches_everything() {
    let phases = [(500, 1_500, 2_000), (300, 500, 1_500), (900, 3_000, 100), (2_000, 800, 1_000)];
    for gentle in [false, true] {
        for adaptive in [false, true] {
            let (most, signals) = follows(RedParams { gentle, adaptive, ..params() }, &phases, 7).unwrap();
            let reached = if gentle { 1.3 * MAX } else { MAX };
            assert!(most > reached && signals > 300, "{gentle} {adaptive}: {most}, {signals} signals");
        }
    }
}

/// Offered 1.2 times the capacity, one packet in six is lost at equilibrium. Uniform gaps up to 1/p have mean
/// (1/p + 1) / 2, so p is 1/11; coins and sums 1/6. With `max_p` 0.4 the average is where the line has that value:
/// at min + (p / 0.4) (max - min). The band is 15 to 45 packets; 200000 packets are lost.
#[test]
fn equilibrium_of_an_overload() {
    for (random, p) in
        [(RedRandom::Uniform, 1.0 / 11.0), (RedRandom::Coin, 1.0 / 6.0), (RedRandom::Recur, 1.0 / 6.0)]
    {
        let params = RedParams {
            min: Some(Bytes::new(22_500)),
            max: Some(Bytes::new(67_500)),
            burst: Some(50),
            probability: Probability::clamped(0.4),
            random,
            ..params()
        };
        let load = Load { kind: Kind::NotEct, service_ns: 1_200_000, interval_ns: 1_000_000 };
        let mut bench = bench(params, 3);
        load.run(&mut bench, 0..100_000_000_000, |_, _| {});
        let start = bench.stats();
        let (mut sum, mut n) = (0.0, 0.0);
        load.run(&mut bench, 100_000_000_000..1_300_000_000_000, |bench, _| {
            sum += bench.probed("avg_bytes").unwrap();
            n += 1.0;
            assert!((MIN * 3.0..MAX * 3.0).contains(&bench.probed("avg_bytes").unwrap()));
        });
        let lost = (bench.stats().lost - start.lost) as f64 / (bench.stats().arrived - start.arrived) as f64;
        assert!((lost - 1.0 / 6.0).abs() < 1e-4, "{random:?}: lost {lost}");
        let expected = 22_500.0 + p / 0.4 * 45_000.0;
        assert!((sum / n / expected - 1.0).abs() < 0.01, "{random:?}: {} {expected}", sum / n);
    }
}

/// The same seed gives the same drops, another seed different ones.
#[test]
fn determinism() {
    let run = |seed| {
        let mut bench = bench(params(), seed);
        let mut left = Vec::new();
        let load = Load { kind: Kind::NotEct, service_ns: 1_200_000, interval_ns: 1_180_000 };
        load.run(&mut bench, 0..5_000_000_000, |_, packet| left.push(packet.seq));
        assert!(bench.stats().drops_aqm > 20);
        left
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
