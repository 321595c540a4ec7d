//! The linked oscillators, step by step: spec/mds section 4. A signal is one second of phase.

use std::num::NonZeroU32;

use windtunnel_qdisc::ecn::Class;
use windtunnel_qdisc::{LinkedOscillators, LinkedVerdicts, Signal, Verdict};
use windtunnel_units::Duration;

const PASS: Verdict = Verdict::Pass;
const SCE: Verdict = Verdict::Mark(Signal::Sce);
const CE: Verdict = Verdict::Mark(Signal::Ce);
const DROP: Verdict = Verdict::Drop;

fn tau(n: u32) -> NonZeroU32 {
    n.try_into().unwrap()
}

/// The phases of both oscillators.
fn phases(oscillators: &LinkedOscillators) -> (i64, i64) {
    let mut phases = (0, 0);
    oscillators.probe(&mut |name, value| match name {
        "mds_osc" => phases.0 = value as i64,
        "osc" => phases.1 = value as i64,
        other => panic!("{other}"),
    });
    phases
}

/// Steps of phase from the start, and for each the verdicts, the overruns, and the phases afterwards in milliseconds.
fn check(steps: &[(u64, Verdict, Verdict, u8, i64, i64)]) {
    let mut oscillators = LinkedOscillators::new(tau(64));
    for (i, &(phase_ms, mds, conventional, overruns, mds_ms, conventional_ms)) in steps.iter().enumerate() {
        let verdicts = oscillators.advance(Duration::from_millis(phase_ms));
        assert_eq!(verdicts, LinkedVerdicts { mds, conventional, overruns }, "step {i}");
        assert_eq!(phases(&oscillators), (mds_ms * 1_000_000, conventional_ms * 1_000_000), "step {i}");
    }
}

/// At most one SCE for a packet; the conventional oscillator starts at half a period and is tau times slower.
#[test]
fn below_one_signal_per_packet() {
    check(&[
        (640, PASS, PASS, 0, 640, 510),
        (1_280, SCE, PASS, 0, 920, 530),
        (64, PASS, PASS, 0, 984, 531),
        (640, SCE, PASS, 0, 624, 541),
    ]);
}

/// Two signals or more for one packet: CE, which pays for tau of them.
#[test]
fn ce_stands_for_tau_sce() {
    check(&[
        (2_048, CE, PASS, 0, 2_048 - 64_000, 532),
        (29_952, PASS, CE, 0, -32_000, 0), // 532 + 468: exactly one second
        (32_000, PASS, PASS, 0, 0, 500),
        (1_984, SCE, PASS, 0, 984, 531),
    ]);
}

/// tau signals or more for one packet: drop; and an overrun if a drop does not pay for them.
#[test]
fn drops_beyond_one_ce_per_packet() {
    check(&[
        (64_000, DROP, CE, 0, 0, 500),
        (128_000, DROP, DROP, 1, 64_000, 1_500),
        (128_000, DROP, DROP, 2, 128_000, 2_500),
        (0, DROP, DROP, 1, 64_000, 1_500),
        (0, DROP, CE, 0, 0, 500),
        (0, PASS, PASS, 0, 0, 500),
        (160_000, DROP, DROP, 2, 96_000, 2_000),
    ]);
}

/// Either limit is met at equality, to the nanosecond; `i / tau` is truncated (spec/mds section 8).
#[test]
fn limits_to_the_nanosecond() {
    let start = || LinkedOscillators::new(tau(64));
    let step = |ns| start().advance(Duration::from_nanos(ns)).mds;
    assert_eq!(step(999_999_999), PASS);
    assert_eq!(step(1_000_000_000), SCE);
    assert_eq!(step(1_999_999_999), SCE);
    assert_eq!(step(2_000_000_000), CE);
    assert_eq!(step(63_999_999_999), CE);
    assert_eq!(step(64_000_000_000), DROP);
    let mut truncated = start();
    truncated.advance(Duration::from_nanos(63));
    assert_eq!(phases(&truncated), (63, 500_000_000));
    truncated.advance(Duration::from_nanos(127));
    assert_eq!(phases(&truncated), (190, 500_000_001));
}

/// With tau 1 an SCE is a CE: nothing between one SCE and a drop.
#[test]
fn smallest_tau() {
    let mut oscillators = LinkedOscillators::new(tau(1));
    assert_eq!(oscillators.advance(Duration::from_secs(1)).mds, SCE);
    assert_eq!(oscillators.advance(Duration::from_secs(2)).mds, DROP);
}

/// The oscillator whose verdict applies to each kind of packet.
#[test]
fn verdicts_by_class() {
    let verdicts = LinkedVerdicts { mds: SCE, conventional: CE, overruns: 0 };
    assert_eq!(verdicts.of(Class::Sce), SCE);
    for class in [Class::NotEct, Class::Conventional, Class::L4s] {
        assert_eq!(verdicts.of(class), CE);
    }
}

/// Two seconds of phase are a drop on the conventional oscillator: half a second at the start, and 96 s / 64. One
/// nanosecond less on it is a CE.
#[test]
fn two_seconds_are_a_drop() {
    for (phase_ns, verdict) in [(96_000_000_000, DROP), (96_000_000_000 - 64, CE)] {
        let mut oscillators = LinkedOscillators::new(tau(64));
        assert_eq!(oscillators.advance(Duration::from_nanos(phase_ns)).conventional, verdict);
    }
}
