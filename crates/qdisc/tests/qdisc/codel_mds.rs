//! CoDel-MDS: when it signals (spec/queues-and-signalling section 16.3). That both kinds of packets get their share is in
//! [`crate::mds`].

use windtunnel_qdisc::ecn::Class;
use windtunnel_qdisc::{Aqm, CodelMds, CodelMdsParams, CodelVariant, PacketView, QueueView, Signal, Verdict};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId};

const MS: u64 = 1_000_000;
/// The time between departures, 0.1 ms.
const GAP: u64 = 100_000;

/// A packet leaves that has waited for `sojourn_ms`.
fn leave(codel: &mut CodelMds, at_ns: u64, sojourn_ms: u64, class: Class) -> Verdict {
    let sojourn = Duration::from_millis(sojourn_ms);
    let packet = PacketView {
        size: Bytes::new(1500),
        flow: FlowId::new(0),
        dscp: Dscp::DEFAULT,
        ecn: Ecn::Ect0,
        class,
        sojourn,
        replaces: false,
    };
    let queue = QueueView {
        now: Time::from_nanos(at_ns),
        packets: 100,
        bytes: Bytes::new(150_000),
        all_bytes: Bytes::new(150_000),
        head_waiting: Some(sojourn),
        rate: Rate::from_mbps(100),
    };
    codel.on_dequeue(&packet, &queue)
}

/// The times of signals to packets of `class` that leave above the target from `from` until `until` (ms), in ms after
/// `from`, with the signals.
fn signals(codel: &mut CodelMds, class: Class, from: u64, until: u64) -> Vec<(f64, Verdict)> {
    let times = (from * MS..until * MS).step_by(GAP as usize);
    let signal = |at| match leave(codel, at, 20, class) {
        Verdict::Pass => None,
        verdict => Some(((at - from * MS) as f64 / 1e6, verdict)),
    };
    times.filter_map(signal).collect()
}

fn codel(codel_exact: bool) -> CodelMds {
    CodelMds::new(&CodelMdsParams { codel_exact, ..CodelMdsParams::default() })
}

fn count(codel: &CodelMds) -> f64 {
    let mut count = None;
    codel.probe(&mut |name, value| count = count.or((name == "count").then_some(value)));
    count.unwrap()
}

/// Sums of 100 ms / sqrt(count), the first for the first of `counts`.
fn schedule(counts: impl Iterator<Item = u32>) -> Vec<f64> {
    let mut sum = 0.0;
    let next = |count: u32| {
        sum += 100.0 / f64::from(count).sqrt();
        sum
    };
    counts.map(next).collect()
}

/// A signal comes with the first departure at or after its time, at most a gap later. How late it is counts at the
/// frequency before it, so that all later signals are late too, by the part by which the frequency has risen; after the
/// first signal of `codel_exact` by all of it, because the phase starts there.
#[track_caller]
fn on_time(signals: &[(f64, Verdict)], expected: &[f64], codel_exact: bool) {
    let gap = GAP as f64 / 1e6;
    let mut late = if codel_exact { gap } else { 0.0 };
    let (mut last, mut last_span) = (0.0, f64::INFINITY);
    for ((at, verdict), &expected) in signals.iter().zip(expected) {
        let span = expected - last;
        if last_span.is_finite() {
            late += gap * (1.0 - span / last_span).max(0.0);
        }
        (last, last_span) = (expected, span);
        assert_eq!(*verdict, Verdict::Mark(Signal::Ce));
        assert!((-1e-6..=late + gap + 1e-6).contains(&(at - expected)), "{at} ms for {expected} ms");
    }
}

/// Conventional packets are signalled at 100, 170.7, 228.4, 278.4 ms after the first packet above the target, as by
/// COBALT; with `codel_exact` as by CoDel, at 100, 200, 270.7, 328.4 ms.
#[test]
fn schedule_of_conventional_packets() {
    let cobalt = schedule(1..20);
    assert!((cobalt[1] - 170.7).abs() < 0.05 && (cobalt[3] - 278.4).abs() < 0.05);
    let exact = schedule([1].into_iter().chain(1..20));
    for (codel_exact, expected) in [(false, cobalt), (true, exact)] {
        for class in [Class::Conventional, Class::NotEct, Class::L4s] {
            let signals = signals(&mut codel(codel_exact), class, 0, 700);
            on_time(&signals, &expected, codel_exact);
            assert!(signals.len() > 8, "{}", signals.len());
        }
    }
}

/// tau SCE are spread evenly over the interval before the first CE, 1.5625 ms apart; in the second interval of
/// `codel_exact` also, otherwise faster by sqrt(2).
#[test]
fn sce_comes_first() {
    for (codel_exact, second) in [(false, 1.5625 / 2.0_f64.sqrt()), (true, 1.5625)] {
        let signals = signals(&mut codel(codel_exact), Class::Sce, 0, 150);
        assert!(signals.iter().all(|(_, verdict)| *verdict == Verdict::Mark(Signal::Sce)));
        let first: Vec<_> = signals.iter().filter(|(at, _)| *at <= 100.1).collect();
        assert_eq!(first.len(), 64, "{codel_exact}");
        for (i, (at, _)) in first.iter().enumerate() {
            let expected = 1.5625 * (i + 1) as f64;
            assert!((0.0..=0.1 + 1e-6).contains(&(at - expected)), "{at} ms for {expected} ms");
        }
        let rest = signals.len() - 64;
        assert!((rest as f64 - 50.0 / second).abs() <= 1.5, "{codel_exact}: {rest}");
    }
}

/// At 1 Mbit/s, 12 ms apart, 7.7 SCE are owed with each packet: CE pays for 64 of them, so that one packet in 8.3 has CE
/// from the start, and in time drops. Packets that are too few for a second count for a second.
#[test]
fn slow_links() {
    let mut slow = codel(false);
    let verdicts: Vec<Verdict> = (0..9).map(|i| leave(&mut slow, i * 12 * MS, 20, Class::Sce)).collect();
    assert_eq!(verdicts[1], Verdict::Mark(Signal::Ce));
    assert!(verdicts.iter().enumerate().all(|(i, v)| i == 1 || *v == Verdict::Pass), "{verdicts:?}");
    let mut slower = codel(false);
    leave(&mut slower, 0, 20, Class::Sce);
    assert_eq!(leave(&mut slower, 100_000 * MS, 20, Class::Sce), Verdict::Drop);
    let mut owed = 0.0;
    slower.probe(&mut |name, value| owed += if name == "mds_owed" { value } else { 0.0 });
    assert!((owed - (640.0 - 64.0)).abs() < 1e-9, "{owed}");
}

/// What is owed to conventional packets.
fn owed(codel: &CodelMds) -> f64 {
    let mut owed = f64::NAN;
    codel.probe(&mut |name, value| owed = if name == "owed" { value } else { owed });
    owed
}

/// One packet below the target, or an empty queue, ends the episode, and what is owed stands still; with `codel_exact` it
/// is forgotten. If signals start again within 16 intervals, they do so with the signals of the last episode as the count
/// (less the first with `codel_exact`); later they start anew.
#[test]
fn episodes() {
    for codel_exact in [false, true] {
        for (pause_ms, again) in [(1_400, true), (1_700, false)] {
            for empty in [false, true] {
                let mut codel = codel(codel_exact);
                let n = signals(&mut codel, Class::Conventional, 0, 700).len();
                let end = 700;
                let before = owed(&codel);
                assert!((0.2..0.8).contains(&before), "{before}");
                if empty {
                    codel.on_empty(Time::from_nanos(end * MS));
                } else {
                    assert_eq!(leave(&mut codel, end * MS, 4, Class::Conventional), Verdict::Pass);
                }
                let kept = if codel_exact { 0.0 } else { before };
                assert!((owed(&codel) - kept).abs() < 1e-9);
                let start = end + pause_ms;
                let first = if again { (n - usize::from(codel_exact)) as u32 } else { 1 };
                // `codel_exact` waits for an interval, and then continues.
                let mut expected = if codel_exact {
                    schedule([1].into_iter().chain(first..first + 4))
                } else {
                    schedule(first..first + 5)
                };
                for time in &mut expected {
                    *time -= kept * 100.0 / f64::from(first).sqrt();
                }
                let signals = signals(&mut codel, Class::Conventional, start, start + 300);
                on_time(&signals, &expected, codel_exact);
                assert!(signals.len() >= 2, "{codel_exact} {pause_ms}");
            }
        }
    }
}

/// Episodes that are too short for CoDel's first signal: 30 ms in every 60 ms. Conventional packets get their CE when the
/// episodes add up to an interval, with 64 SCE to MDS packets for each. With `codel_exact` conventional packets get none, and
/// MDS packets no more than in the first episode.
#[test]
fn short_episodes() {
    for codel_exact in [false, true] {
        let count = |class| {
            let mut codel = codel(codel_exact);
            let episodes = (0..200).map(|n| {
                let all = signals(&mut codel, class, n * 60, n * 60 + 30);
                assert_eq!(leave(&mut codel, (n * 60 + 30) * MS, 4, class), Verdict::Pass);
                all.len()
            });
            episodes.collect::<Vec<_>>()
        };
        let (ce, sce) = (count(Class::Conventional), count(Class::Sce));
        let [ce_sum, sce_sum] = [&ce, &sce].map(|counts| counts.iter().sum::<usize>());
        if codel_exact {
            assert_eq!((ce_sum, sce_sum, sce[0]), (0, sce[0], 19));
        } else {
            // Six seconds of them are 60 intervals. After a signal, the rest of an episode, 30 ms at most, has a frequency
            // higher by sqrt(2), which shortens the 100 ms to the next signal by 12.4 ms at most.
            assert!((60..=68).contains(&ce_sum), "{ce_sum}");
            assert!((sce_sum as f64 / 64.0 - ce_sum as f64).abs() <= 1.0, "{sce_sum} for {ce_sum}");
        }
    }
}

/// An episode without a signal leaves the memory of the last one alone; packets that a fair queue sheds count as signals
/// of the last episode, but are none of their own.
#[test]
fn memory() {
    let mut codel = codel(false);
    let n = signals(&mut codel, Class::Conventional, 0, 700).len() as f64;
    codel.on_empty(Time::from_nanos(700 * MS));
    leave(&mut codel, 800 * MS, 20, Class::Conventional);
    assert!((count(&codel) - n).abs() < 1e-9);
    codel.on_empty(Time::from_nanos(801 * MS));
    codel.on_shed(10, Time::from_nanos(801 * MS));
    leave(&mut codel, 900 * MS, 20, Class::Conventional);
    assert!((count(&codel) - n - 10.0).abs() < 1e-9);
    codel.on_shed(5, Time::from_nanos(900 * MS));
    assert!((count(&codel) - n - 15.0).abs() < 1e-9);
    // It lasts for less than 16 intervals, as CoDel's.
    for (at, expected) in [(2_300 * MS - 1, n), (2_300 * MS, 1.0)] {
        let mut codel = self::codel(false);
        signals(&mut codel, Class::Conventional, 0, 700);
        codel.on_empty(Time::from_nanos(700 * MS));
        leave(&mut codel, at, 20, Class::Conventional);
        assert!((count(&codel) - expected).abs() < 1e-9, "{at}");
    }
    let mut fresh = self::codel(false);
    fresh.on_shed(64, Time::ZERO);
    leave(&mut fresh, 0, 20, Class::Conventional);
    assert!((count(&fresh) - 1.0).abs() < 1e-9);
}

/// The target is met at equality, a queue of one packet is no queue, and the end of the first interval is Linux's (after
/// it) or the RFC's (at it).
#[test]
fn limits() {
    let mut at_target = codel(false);
    leave(&mut at_target, 0, 5, Class::Sce);
    assert_eq!(leave(&mut at_target, 2 * MS, 5, Class::Sce), Verdict::Mark(Signal::Sce));
    for (variant, first) in [(CodelVariant::Linux, 100.1), (CodelVariant::Rfc, 100.0)] {
        let mut codel =
            CodelMds::new(&CodelMdsParams { variant, codel_exact: true, ..CodelMdsParams::default() });
        let signals = signals(&mut codel, Class::Conventional, 0, 110);
        assert!((signals[0].0 - first).abs() < 1e-9, "{variant:?}: {signals:?}");
    }
    let mut short = CodelMds::new(&CodelMdsParams { mtu: Bytes::new(150_000), ..CodelMdsParams::default() });
    assert_eq!(signals(&mut short, Class::Sce, 0, 500), []);
}
