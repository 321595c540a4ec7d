//! The verification procedure for MDS disciplines (spec/queues-and-signalling section 16.5, step 1), and the vectors of
//! section 16.2.
//!
//! A control law is frozen at the probability `p` of a conventional signal, and packets of both kinds pass. What each kind
//! gets per packet is weighed in SCE, a CE or a drop as tau: the ratio must be 1.

use std::num::NonZeroU32;

use windtunnel_algorithm::RandomStream;
use windtunnel_qdisc::ecn::Class;
use windtunnel_qdisc::{
    Accumulate, Aqm, CodelMds, CodelMdsParams, Incident, Likelihood, Limit, LinkedOscillators,
    LinkedVerdicts, MdsCredit, MdsVerdicts, PacketView, PieMdsParams, QueueSpec, QueueView, RedMdsParams,
    Signal, Verdict,
};
use windtunnel_units::{Bytes, Duration, Probability, Rate, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId};

use crate::bench::{Bench, Kind};

const PASS: Verdict = Verdict::Pass;
const SCE: Verdict = Verdict::Mark(Signal::Sce);
const CE: Verdict = Verdict::Mark(Signal::Ce);
const DROP: Verdict = Verdict::Drop;

/// From the law's least to half of the packets, through the saturation of tau 32 and 64 (3.1 and 1.56 %) and the ECN
/// limits of PIE and PI2.
const PROBABILITIES: [f64; 9] = [0.001, 0.003, 0.01, 0.0156, 0.02, 0.05, 0.1, 0.25, 0.5];

fn tau(n: u32) -> NonZeroU32 {
    n.try_into().unwrap()
}

/// What packets of the two kinds have got.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    mds: [u64; 2],
    conventional: [u64; 2],
}

impl Weights {
    fn count(&mut self, is_mds: bool, verdict: Verdict, tau: NonZeroU32) {
        let weight = match verdict {
            Verdict::Pass => 0,
            Verdict::Mark(Signal::Sce) => 1,
            Verdict::Mark(Signal::Ce) | Verdict::Drop => u64::from(tau.get()),
        };
        let kind = if is_mds { &mut self.mds } else { &mut self.conventional };
        kind[0] += 1;
        kind[1] += weight;
    }

    /// The weight per MDS packet over the weight per conventional packet.
    fn ratio(&self) -> f64 {
        let per_packet = |[packets, weight]: [u64; 2]| weight as f64 / packets as f64;
        per_packet(self.mds) / per_packet(self.conventional)
    }

    /// The bound of the procedure for n packets: 2 %, or what chance makes of `n p / 2` conventional signals, whose
    /// number has a relative standard deviation of at most `1 / sqrt(n p / 2)`, three times over. The weight of the MDS
    /// packets varies less, because it is made of tau times as many signals until they saturate.
    #[track_caller]
    fn agree(&self, p: f64, what: &str) {
        let n = (self.mds[0] + self.conventional[0]) as f64;
        let bound = 0.02_f64.max(3.0 / (n * p / 2.0).sqrt());
        assert!(
            (self.ratio() - 1.0).abs() <= bound,
            "{what}, p = {p}: {} with a bound of {bound}",
            self.ratio()
        );
    }
}

/// Whether packets are MDS packets: drawn with probability 1/2, or every second one.
fn kinds(random: bool) -> impl FnMut() -> bool {
    let (mut stream, mut last) = (RandomStream::new(16), false);
    move || {
        last = if random { stream.uniform() < 0.5 } else { !last };
        last
    }
}

/// What `n` packets get, whose kind `is_mds` says.
fn weigh(
    n: u32,
    tau: NonZeroU32,
    mut is_mds: impl FnMut() -> bool,
    mut verdict: impl FnMut(Class) -> Verdict,
) -> Weights {
    let mut weights = Weights::default();
    for _ in 0..n {
        let is_mds = is_mds();
        let verdict = verdict(if is_mds { Class::Sce } else { Class::Conventional });
        assert!(is_mds || verdict != SCE, "SCE to a conventional packet");
        weights.count(is_mds, verdict, tau);
    }
    weights
}

/// A million packets at each probability. Kinds in random order: sums by class or shared, and coins. Alternating kinds:
/// sums by class, and coins. The same above the ECN limit, where drops take the place of CE.
#[test]
fn probabilities() {
    let ways = [
        (Likelihood::Recur, Accumulate::Class, [true, false].as_slice()),
        (Likelihood::Recur, Accumulate::Shared, &[true]),
        (Likelihood::Coin, Accumulate::Class, &[true, false]),
    ];
    for (random, accumulate, orders) in ways {
        for &order in orders {
            for (i, p) in PROBABILITIES.into_iter().enumerate() {
                let (tau, ce) = (tau([64, 32][i % 2]), if p > 0.1 { DROP } else { CE });
                let mut verdicts = MdsVerdicts::new(tau, random, accumulate, 1);
                let weights = weigh(1_000_000, tau, kinds(order), |class| verdicts.decide(p, class, ce));
                weights.agree(p, &format!("{random:?} {accumulate:?}, random order {order}"));
            }
        }
    }
}

/// The hazard of shared sums with strictly alternating kinds, as the section states it: at p = 0.001 the ratio is 0.5,
/// and at p = 0.5 one kind gets no signal at all.
#[test]
fn shared_sums_lock_to_alternating_kinds() {
    let weights = |p: f64| {
        let mut verdicts = MdsVerdicts::new(tau(64), Likelihood::Recur, Accumulate::Shared, 1);
        weigh(100_000, tau(64), kinds(false), |class| verdicts.decide(p, class, CE))
    };
    let ratio = weights(0.001).ratio();
    assert!((ratio - 0.5).abs() < 0.01, "{ratio}");
    let locked = weights(0.5);
    assert!(locked.mds[1] == 0 || locked.conventional[1] == 0, "{locked:?}");
}

/// The linked oscillators of DelTiC-MDS and DelTiM, driven by a frozen frequency: kinds in random order.
#[test]
fn oscillators() {
    for p in PROBABILITIES {
        let mut oscillators = LinkedOscillators::new(tau(64));
        let phase = Duration::from_nanos_f64(64.0 * p * 1e9);
        let weights = weigh(1_000_000, tau(64), kinds(true), |class| oscillators.advance(phase).of(class));
        weights.agree(p, "oscillators");
    }
}

/// Whole disciplines: a packet arrives as one leaves, of flow 0 with the identifier or of flow 1 without, so that the
/// backlog stays and the law with it. Each packet of 1000 B takes 1 ms.
fn standing(bench: &mut Bench, from_ms: u64, n: u32) -> Weights {
    let mut is_mds = kinds(true);
    let mut weights = Weights::default();
    for i in 0..n {
        let at = (from_ms + u64::from(i)) * 1_000_000;
        bench.dequeue(at);
        let mds = is_mds();
        let packet = bench.packet(u32::from(!mds), 1_000, if mds { Kind::Mds } else { Kind::Ect0 });
        bench.cx.incidents.clear();
        bench.enqueue(at, packet);
        let verdict = match bench.cx.incidents.last() {
            None => PASS,
            Some(Incident::Marked { signal, .. }) => Verdict::Mark(*signal),
            Some(Incident::Dropped(_)) => DROP,
        };
        weights.count(mds, verdict, tau(64));
    }
    weights
}

/// RED-MDS with its average held in the middle of the band, where the probability is half of `probability`.
#[test]
fn red() {
    for random in [Likelihood::Recur, Likelihood::Coin] {
        for p in [0.01, 0.05, 0.5] {
            let params = RedMdsParams {
                min: Some(Bytes::new(30_000)),
                max: Some(Bytes::new(90_000)),
                probability: Probability::clamped(2.0 * p),
                random,
                ..RedMdsParams::default()
            };
            let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
            for _ in 0..60 {
                let packet = bench.packet(0, 1_000, Kind::NotEct);
                bench.enqueue(0, packet);
            }
            // The average has a weight of 1/32: after 1000 packets it is as long as the queue that an arrival finds.
            standing(&mut bench, 1, 1_000);
            let weights = standing(&mut bench, 1_001, 100_000);
            let held = bench.probed("p").unwrap();
            assert!((held / p - 1.0).abs() < 0.05, "{held}");
            weights.agree(held, &format!("RED, {random:?}"));
        }
    }
}

/// Where RED signals every packet: CE, and drops to MDS packets, which are owed tau SCE at once; all are drops with
/// `harddrop`. Below the band nothing is signalled.
#[test]
fn red_outside_of_the_band() {
    let verdicts = |harddrop: bool, queued: u32, arrivals: u32, kind: Kind| {
        let params = RedMdsParams {
            min: Some(Bytes::new(30_000)),
            max: Some(Bytes::new(90_000)),
            harddrop,
            ..RedMdsParams::default()
        };
        let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
        for _ in 0..queued {
            let packet = bench.packet(0, 1_000, Kind::NotEct);
            bench.enqueue(0, packet);
        }
        let before = bench.stats();
        for _ in 0..arrivals {
            let packet = bench.packet(0, 1_000, kind);
            bench.enqueue(0, packet);
        }
        let stats = bench.stats();
        [stats.sce, stats.ce - before.ce, stats.drops_aqm - before.drops_aqm]
    };
    assert_eq!(verdicts(false, 400, 100, Kind::Ect0), [0, 100, 0]);
    assert_eq!(verdicts(false, 400, 100, Kind::Mds), [0, 0, 100]);
    for kind in [Kind::Ect0, Kind::Mds] {
        assert_eq!(verdicts(true, 400, 100, kind), [0, 0, 100], "{kind:?}");
        assert_eq!(verdicts(true, 0, 30, kind), [0; 3], "{kind:?}");
    }
}

/// A PIE-MDS held at p = 0.02 * `steps`, with 20 packets of 1 ms behind each other: its gains are zero, and each update
/// above 250 ms, which is every 16 ms from 504 on by Linux's timer, adds 0.02.
fn held_pie(steps: u64, random: Likelihood) -> (Bench, u64) {
    let params =
        PieMdsParams { alpha: 0.0, beta: 0.0, max_burst: Duration::ZERO, random, ..PieMdsParams::default() };
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    for _ in 0..22 {
        let packet = bench.packet(0, 1_000, Kind::NotEct);
        bench.enqueue(200_000_000, packet);
    }
    bench.dequeue(490_000_000);
    let last = 504 + 16 * (steps - 1);
    bench.run_timers(last * 1_000_000);
    // Fresh packets: none has waited for 250 ms.
    while bench.dequeue((last + 1) * 1_000_000).is_some() {}
    for i in 0..20 {
        let packet = bench.packet(0, 1_000, Kind::NotEct);
        bench.enqueue((last + 1 + i) * 1_000_000, packet);
    }
    (bench, last + 21)
}

/// PIE-MDS up to and above its ECN limit of 10 %: up to it CE, above it no CE at all.
#[test]
fn pie() {
    for random in [Likelihood::Recur, Likelihood::Coin] {
        for steps in [1, 5, 6, 25] {
            let p = 0.02 * steps as f64;
            let (mut bench, from) = held_pie(steps, random);
            let before = bench.stats();
            let weights = standing(&mut bench, from, 100_000);
            assert!((bench.probed("p").unwrap() - p).abs() < 1e-9);
            weights.agree(p, &format!("PIE, {random:?}"));
            let (ce, drops) = (bench.stats().ce - before.ce, bench.stats().drops_aqm - before.drops_aqm);
            assert_eq!((ce > 0, drops > 0), if p > 0.1 { (false, true) } else { (true, false) }, "{p}");
        }
    }
}

/// What PIE spares, PIE-MDS spares: packets in the burst allowance, at low delay and low p, and in a queue of less than
/// two packets.
#[test]
fn pie_spares() {
    let (mut bench, from) = held_pie(5, Likelihood::Recur);
    let signals = |bench: &Bench| bench.stats().sce + bench.stats().ce + bench.stats().drops_aqm;
    while bench.dequeue(from * 1_000_000).is_some() {}
    let before = signals(&bench);
    for i in 0..1_000 {
        bench.arrive((from + i) * 1_000_000, Kind::Mds);
        bench.arrive((from + i) * 1_000_000, Kind::Ect0);
        while bench.dequeue((from + i) * 1_000_000).is_some() {}
    }
    assert_eq!(signals(&bench), before);
}

/// A departure every 0.1 ms of a packet that has waited for 20 ms, behind a long queue.
fn departure(packet: u64, class: Class) -> (PacketView, QueueView) {
    let waited = Duration::from_millis(20);
    let view = PacketView {
        size: Bytes::new(1500),
        flow: FlowId::new(0),
        dscp: Dscp::DEFAULT,
        ecn: Ecn::Ect0,
        class,
        sojourn: waited,
        replaces: false,
    };
    let queue = QueueView {
        now: Time::from_nanos(packet * 100_000),
        packets: 100,
        bytes: Bytes::new(150_000),
        all_bytes: Bytes::new(150_000),
        head_waiting: Some(waited),
        rate: Rate::from_mbps(100),
    };
    (view, queue)
}

/// CoDel-MDS above its target for good. Its frequency rises by `1 / (2 interval^2)` per second, from 10 Hz, which is a
/// thousandth of the packets, through half of them at 100 s; in each tenth
/// of this time and in all of it, kinds in random order get their ratio.
#[test]
fn codel() {
    for codel_exact in [false, true] {
        let mut codel = CodelMds::new(&CodelMdsParams { codel_exact, ..CodelMdsParams::default() });
        let mut is_mds = kinds(true);
        let mut total = Weights::default();
        for tenth in 0..10_u64 {
            let mut weights = Weights::default();
            for packet in tenth * 100_000..(tenth + 1) * 100_000 {
                let mds = is_mds();
                let (view, queue) = departure(packet, if mds { Class::Sce } else { Class::Conventional });
                let verdict = codel.on_dequeue(&view, &queue);
                weights.count(mds, verdict, tau(64));
                total.count(mds, verdict, tau(64));
            }
            // The mean frequency of the tenth, 0.05 s^-1 of the packets at its end.
            weights.agree(0.05 * (tenth as f64 + 0.5), &format!("CoDel, exact {codel_exact}"));
        }
        total.agree(0.25, "CoDel");
    }
}

/// What is owed, step by step: conventional signals in, the verdicts, and both sums afterwards in MDS and in conventional
/// signals. The same steps as those of the linked oscillators.
#[test]
fn credit() {
    let steps: [(f64, Verdict, Verdict, u8, f64, f64); 8] = [
        (0.010, PASS, PASS, 0, 0.64, 0.510),
        (0.020, SCE, PASS, 0, 0.92, 0.530),
        (0.032, CE, PASS, 0, 0.92 + 2.048 - 64.0, 0.562),
        (0.468, PASS, CE, 0, 0.92 + 2.048 + 29.952 - 64.0, 0.030),
        (0.470, PASS, PASS, 0, -1.0, 0.500),
        (1.5, DROP, DROP, 0, 31.0, 1.0),
        (2.0, DROP, DROP, 2, 95.0, 2.0),
        (0.0, DROP, DROP, 0, 31.0, 1.0),
    ];
    let mut credit = MdsCredit::new(tau(64));
    for (i, (signals, mds, conventional, overruns, mds_owed, owed)) in steps.into_iter().enumerate() {
        assert_eq!(credit.advance(signals), LinkedVerdicts { mds, conventional, overruns }, "step {i}");
        let mut probed = Vec::new();
        credit.probe(&mut |name, value| probed.push((name, value)));
        for ((name, value), expected) in probed.into_iter().zip([mds_owed, owed]) {
            assert!((value - expected).abs() < 1e-9, "step {i}: {name} {value}, expected {expected}");
        }
    }
}

/// Saturation with credit, as one packet after the other is owed it: SCE up to one per packet, then CE with 64 SCE of
/// credit, and at p = 1 a drop for each. With tau 1 an SCE is a CE.
#[test]
fn saturation() {
    let of = |p: f64, n: usize| {
        let mut verdicts = MdsVerdicts::new(tau(64), Likelihood::Recur, Accumulate::Class, 1);
        (0..n).map(|_| verdicts.decide(p, Class::Sce, CE)).collect::<Vec<_>>()
    };
    assert!(of(1.0 / 64.0, 1_000).iter().all(|&verdict| verdict == SCE));
    // 2 SCE are owed with each packet: the first CE pays for 32 packets.
    let twice = of(2.0 / 64.0, 65);
    assert_eq!(
        twice.iter().enumerate().filter(|(_, v)| **v == CE).map(|(i, _)| i).collect::<Vec<_>>(),
        [0, 32, 64]
    );
    assert!(of(1.0, 100).iter().all(|&verdict| verdict == DROP));
    let mut verdicts = MdsVerdicts::new(tau(1), Likelihood::Recur, Accumulate::Class, 1);
    assert_eq!([0.5, 0.5].map(|p| verdicts.decide(p, Class::Sce, CE)), [PASS, SCE]);
}

/// Above the law's ECN limit, what would be CE is a drop, for the same credit: the same packets are chosen.
#[test]
fn ecn_limit() {
    for random in [Likelihood::Recur, Likelihood::Coin] {
        for class in [Class::Sce, Class::Conventional, Class::NotEct, Class::L4s] {
            let verdicts = |ce: Verdict| {
                let mut verdicts = MdsVerdicts::new(tau(64), random, Accumulate::Class, 3);
                (0..1_000).map(|_| verdicts.decide(0.3, class, ce)).collect::<Vec<_>>()
            };
            let (below, above) = (verdicts(CE), verdicts(DROP));
            assert!(below.contains(&CE) && !above.contains(&CE));
            for (below, above) in below.into_iter().zip(above) {
                assert_eq!(above, if below == CE { DROP } else { below });
            }
        }
    }
}

/// Section 16.2's values of q at tau 64, the fraction of CE among MDS packets drawn by coins: 0.44 % at p = 2 %, 3.5 % at
/// 5 %, 8.6 % at 10 %; every other packet has SCE. Four standard deviations of 200000 draws, sqrt(q / n).
#[test]
fn coins() {
    let n = 200_000;
    for (p, q) in [(0.02, 0.0044), (0.05, 0.035), (0.1, 0.0857)] {
        let mut verdicts = MdsVerdicts::new(tau(64), Likelihood::Coin, Accumulate::Class, 5);
        let all: Vec<Verdict> = (0..n).map(|_| verdicts.decide(p, Class::Sce, CE)).collect();
        let ce = all.iter().filter(|&&verdict| verdict == CE).count() as f64 / f64::from(n);
        assert!((ce - q).abs() < 4.0 * (q / f64::from(n)).sqrt() + 0.0005, "{p}: {ce}");
        assert!(all.iter().all(|&verdict| verdict == CE || verdict == SCE));
    }
}

/// Section 16.3, under the target: of each sum at most one signal stays, and what conventional packets are owed is
/// taken from the sum of MDS packets 64-fold where CoDel forgets it. Three signals are a drop for MDS packets and
/// leave 128 of 192 SCE; with the half of the start they are one for conventional packets and leave 2.5.
#[test]
fn credit_under_the_target() {
    let probed = |credit: &MdsCredit| {
        let mut sums = Vec::new();
        credit.probe(&mut |_, value| sums.push(value));
        sums
    };
    let mut credit = MdsCredit::new(tau(64));
    credit.advance(3.0);
    assert_eq!(probed(&credit), [128.0, 2.5]);
    credit.rest();
    assert_eq!(probed(&credit), [1.0, 1.0]);
    credit.owe_conventional(0.25);
    credit.forgive();
    assert_eq!(probed(&credit), [1.0 - 16.0, 0.0]);
}

/// PIE-MDS reports what is owed to each kind, half a signal to conventional packets at the start, and with coins
/// nothing.
#[test]
fn owed() {
    for (random, owed) in [(Likelihood::Recur, [0.0, 0.5]), (Likelihood::Coin, [f64::NAN; 2])] {
        let spec = QueueSpec::new(PieMdsParams { random, ..PieMdsParams::default() });
        let bench = Bench::new(&spec, Limit::Unlimited);
        for (name, expected) in ["mds_owed", "owed"].into_iter().zip(owed) {
            let value = bench.probed(name).unwrap();
            assert!(value.to_bits() == expected.to_bits(), "{name} = {value} with {random:?}");
        }
    }
}

/// Adaptive RED-MDS moves the probability at `max` as RED does: above the middle fifth of its band, every half second
/// by a quarter of itself.
#[test]
fn red_adapts() {
    for (adaptive, max_p) in [(true, 0.02 * 1.25 * 1.25), (false, 0.02)] {
        let kb = |n: u64| Some(Bytes::new(n * 1_000));
        let params = RedMdsParams { min: kb(10), max: kb(70), adaptive, ..RedMdsParams::default() };
        let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
        for _ in 0..60 {
            let packet = bench.packet(0, 1_000, Kind::NotEct);
            bench.enqueue(0, packet);
        }
        standing(&mut bench, 1, 400);
        bench.run_timers(1_000_000_000);
        assert!((bench.probed("max_p").unwrap() - max_p).abs() < 1e-12, "{:?}", bench.probed("max_p"));
        assert_eq!(bench.next_timer(), adaptive.then_some(Time::from_nanos(1_500_000_000)));
    }
}
