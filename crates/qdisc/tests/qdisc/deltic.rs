//! DelTiC and DelTiC-MDS, computed by hand from spec/mds section 4.

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{DelticMdsParams, DelticParams, Limit, QueueSpec, Signal};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

/// One packet arrives and leaves.
fn pass(bench: &mut Bench, arrives_ns: u64, leaves_ns: u64) -> Outcome {
    bench.arrive(arrives_ns, Kind::Mds);
    bench.outcome(leaves_ns)
}

fn state(bench: &Bench) -> [i64; 3] {
    ["acc", "mds_osc", "osc"].map(|name| bench.probe(name))
}

/// A DelTiC-MDS queue, target 5 ms (R = 200), after a first packet with a sojourn time of 10 ms:
/// `delta` = 10 ms, `sigma` = 5 ms * 10 ms = 50 us, phase = 2.01 * 10 ms * 200 = 4.02 s, which is CE.
fn after_ten_ms() -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(DelticMdsParams::default()), Limit::Unlimited);
    assert_eq!(pass(&mut bench, 0, 10 * MS), Outcome::Marked(Signal::Ce));
    assert_eq!(state(&bench), [2_010_000_000, 4_020_000_000 - 64_000_000_000, 562_812_500]);
    bench
}

/// After more than a second, a sojourn time below the target forgets the accumulator: `delta` = -6 ms then
/// makes it negative, and everything starts again.
#[test]
fn below_the_target_a_long_gap_is_forgiven() {
    for arrives in [1_007 * MS, 3_000 * MS] {
        let mut bench = after_ten_ms();
        assert_eq!(pass(&mut bench, arrives, arrives + 4 * MS), Outcome::Passed);
        assert_eq!(state(&bench), [0, 0, 500_000_000]);
    }
}

/// Otherwise the gap counts as one second: `delta` = -4 ms, `sigma` = 1 ms, so 0.6 s less; phase =
/// 1.41 * 200 = 282 s, twice an overrun: `acc -= acc/16` for each oscillator.
#[test]
fn above_the_target_a_long_gap_is_one_second() {
    for arrives in [1_004 * MS, 1_500 * MS, 3_000 * MS] {
        let mut bench = after_ten_ms();
        assert_eq!(pass(&mut bench, arrives, arrives + 6 * MS), Outcome::Drop);
        let acc = 1_410_000_000 - 88_125_000;
        assert_eq!(state(&bench), [acc - 82_617_187, 158_020_000_000, 3_969_062_500]);
    }
}

/// Below half the target the oscillators stand still, though the accumulator does not: 2.5 ms is half.
#[test]
fn oscillators_stand_still_below_half_the_target() {
    // (2.499999 - 10) ms and -2.500001 ms * 10.2 ms: -7.5255 ms * 200.
    let mut bench = after_ten_ms();
    let [acc, mds, conventional] = state(&bench);
    assert_eq!(pass(&mut bench, 17_700_001, 20_200_000), Outcome::Passed);
    assert_eq!(state(&bench), [acc - (7_500_001 + 25_500) * 200, mds, conventional]);
    // (2.5 - 10) ms and -2.5 ms * 10.2 ms; phase = 0.5049 * 10.2 ms * 200.
    let mut bench = after_ten_ms();
    assert_eq!(pass(&mut bench, 17_700_000, 20_200_000), Outcome::Passed);
    let left = acc - (7_500_000 + 25_500) * 200;
    assert_eq!(left, 504_900_000);
    assert_eq!(state(&bench), [left, mds + 1_029_996_000, conventional + 1_029_996_000 / 64]);
}

/// Plain DelTiC: the three controllers are independent, and the most severe signal counts. With the
/// sojourn time and the jitter that follows from it (400 ms * 400 ms = 160 ms, and so on), the phases of a
/// first packet are for 400 ms: drop ((240 + 46) ms * 8) * 400 ms * 8 = 7.3 s; for 40 ms: CE ((38.4 +
/// 0.54) ms * 40) * 40 ms * 40 = 2.5 s, and drop still; for 10 ms: SCE ((9.9 + 0.049) ms * 200) * 10 ms *
/// 200 = 4 s, and CE below half its target.
#[test]
fn the_most_severe_signal_counts() {
    for (sojourn_ms, outcome) in [
        (400, Outcome::Drop),
        (40, Outcome::Marked(Signal::Ce)),
        (10, Outcome::Marked(Signal::Sce)),
        (2, Outcome::Passed),
    ] {
        let mut bench = Bench::new(&QueueSpec::new(DelticParams::default()), Limit::Unlimited);
        assert_eq!(pass(&mut bench, 0, sojourn_ms * MS), outcome, "{sojourn_ms} ms");
    }
}

/// An interval counts as one second at most. A packet that waited no longer than the spacing of the packets waited
/// because of jitter, not because of a queue.
#[test]
fn jitter_explains_a_slow_link() {
    let mut bench = Bench::new(&QueueSpec::new(DelticParams::default()), Limit::Unlimited);
    assert_eq!(pass(&mut bench, 0, 1_000 * MS), Outcome::Passed);
    assert_eq!(state(&bench), [0, 0, 0]);
    // 1.5 s minus 1 s: delta = 0.5 s, sigma = 495 ms * 1 s; one overrun takes 1/16 of that.
    let mut bench = Bench::new(&QueueSpec::new(DelticParams::default()), Limit::Unlimited);
    assert_eq!(pass(&mut bench, 0, 1_500 * MS), Outcome::Drop);
    assert_eq!(state(&bench)[0], 199_000_000_000 - 12_437_500_000);
}

/// SCE is for packets that understand it.
#[test]
fn no_sce_without_the_identifier() {
    for kind in [Kind::Ect0, Kind::Ect1, Kind::NotEct] {
        let mut bench = Bench::new(&QueueSpec::new(DelticParams::default()), Limit::Unlimited);
        bench.arrive(0, kind);
        assert_eq!(bench.outcome(10 * MS), Outcome::Passed, "{kind:?}");
    }
}

/// A gap of exactly a second is not a long one: `delta` = -6 ms, `sigma` = -1 ms, phase = 0.61 * 200 = 122 s, of
/// which the first oscillator takes a CE and the second a drop.
#[test]
fn a_second_is_no_long_gap() {
    let mut bench = after_ten_ms();
    assert_eq!(pass(&mut bench, 1_006 * MS, 1_010 * MS), Outcome::Marked(Signal::Ce));
    let mds = 4_020_000_000 - 64_000_000_000 + 122_000_000_000 - 64_000_000_000;
    assert_eq!(state(&bench), [610_000_000, mds, 562_812_500 + 122_000_000_000 / 64 - 1_000_000_000]);
}

/// A long gap before a sojourn time of the target itself counts as one second: `delta` = -5 ms and no `sigma`, phase
/// = 1.01 * 200 = 202 s, twice an overrun. Below the target it does not count: after 1 ms, 4 ms have a `delta` of 3
/// ms alone, and no phase.
#[test]
fn a_long_gap_at_the_target() {
    let mut bench = after_ten_ms();
    assert_eq!(pass(&mut bench, 3_000 * MS, 3_005 * MS), Outcome::Drop);
    let acc = 1_010_000_000 - 63_125_000;
    assert_eq!(state(&bench), [acc - acc / 16, 78_020_000_000, 2_719_062_500]);
    let mut bench = Bench::new(&QueueSpec::new(DelticMdsParams::default()), Limit::Unlimited);
    assert_eq!(pass(&mut bench, 0, MS), Outcome::Passed);
    assert_eq!(pass(&mut bench, 3_000 * MS, 3_004 * MS), Outcome::Passed);
    assert_eq!(state(&bench), [600_000_000, 0, 500_000_000]);
}
