//! DCTCP's step: where it marks, and its paper's model of the loop that it closes (Alizadeh et al. 2010).

use std::collections::VecDeque;

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{Limit, QueueLength, QueueSpec, Signal, StepParams, StepPoint};
use windtunnel_units::{Bytes, Duration, Rate};
use windtunnel_wire::Ecn;

use crate::bench::{Bench, Kind};

const CE: Outcome = Outcome::Marked(Signal::Ce);

fn step(threshold: QueueLength, at: StepPoint) -> QueueSpec {
    QueueSpec::new(StepParams { threshold, at })
}

/// How many of ten packets of 1500 B that arrive at once are marked on arrival, at 10 Mbit/s (1.2 ms for each).
fn marked_on_arrival(threshold: QueueLength, kind: Kind) -> (Vec<u64>, u64) {
    let mut bench = Bench::new(&step(threshold, StepPoint::Enqueue), Limit::Unlimited);
    (0..10).for_each(|_| bench.arrive(0, kind));
    let marked = (0..10).filter(|_| bench.dequeue(0).unwrap().ecn == Ecn::Ce).collect();
    (marked, bench.stats().drops_aqm)
}

/// A packet is marked if it finds more than K: with K = 4 packets, 6000 B or their 4.8 ms, the sixth and all after it.
/// What does not understand CE is dropped (and here delivered with CE).
#[test]
fn on_arrival() {
    let after_five: Vec<u64> = (5..10).collect();
    for threshold in [
        QueueLength::Packets(4),
        QueueLength::Bytes(Bytes::new(6_000)),
        QueueLength::Bytes(Bytes::new(7_499)),
        QueueLength::Time(Duration::from_micros(4_800)),
    ] {
        for (kind, drops) in [(Kind::Ect0, 0), (Kind::Mds, 0), (Kind::Ect1, 5), (Kind::NotEct, 5)] {
            assert_eq!(
                marked_on_arrival(threshold, kind),
                (after_five.clone(), drops),
                "{threshold} {kind:?}"
            );
        }
    }
    // One less is found by one packet more.
    assert_eq!(marked_on_arrival(QueueLength::Bytes(Bytes::new(5_999)), Kind::Ect0).0[0], 4);
    assert_eq!(marked_on_arrival(QueueLength::Time(Duration::from_nanos(4_799_999)), Kind::Ect0).0[0], 4);
    assert_eq!(marked_on_arrival(QueueLength::Packets(0), Kind::Ect0).0, (1..10).collect::<Vec<_>>());
}

/// On departure: a packet is marked if it leaves more than K behind, or has waited for longer.
#[test]
fn on_departure() {
    for (threshold, last) in [
        (QueueLength::Packets(4), 4),
        (QueueLength::Bytes(Bytes::new(6_000)), 4),
        (QueueLength::Bytes(Bytes::new(5_999)), 5),
    ] {
        let mut bench = Bench::new(&step(threshold, StepPoint::Dequeue), Limit::Unlimited);
        (0..10).for_each(|_| bench.arrive(0, Kind::Ect0));
        let marked = (0..10).filter(|_| bench.dequeue(1).unwrap().outcome == CE);
        assert_eq!(marked.collect::<Vec<_>>(), (0..=last).collect::<Vec<u64>>(), "{threshold}");
    }
    let threshold = QueueLength::Time(Duration::from_millis(1));
    let mut bench = Bench::new(&step(threshold, StepPoint::Dequeue), Limit::Unlimited);
    (0..2).for_each(|_| bench.arrive(0, Kind::Ect0));
    assert_eq!([bench.outcome(1_000_000), bench.outcome(1_000_001)], [Outcome::Passed, CE]);
}

/// Thresholds as scenarios write them.
#[test]
fn thresholds() {
    for (text, threshold) in [
        ("20 packets", QueueLength::Packets(20)),
        ("1 packet", QueueLength::Packets(1)),
        ("30 kB", QueueLength::Bytes(Bytes::new(30_000))),
        ("1 ms", QueueLength::Time(Duration::from_millis(1))),
    ] {
        assert_eq!((text.parse(), threshold.to_string()), (Ok(threshold), text.to_owned()));
    }
    for wrong in ["", "20", "1.5 packets", "-1 packets", "-1 ms", "1e16 packets", "5 Mbit/s", "packets"] {
        assert!(wrong.parse::<QueueLength>().is_err(), "{wrong}");
    }
}

/// A sender as the paper has it (section 3.1): one segment more per round trip, and at a mark `1 - alpha / 2` of the window, at
/// most once per round trip; alpha is the mean fraction of marks. The model takes alpha as constant, so that the gain of the mean is
/// 1/256 here; with the paper's 1/16, alpha falls by a third between two marks, and its mean is a tenth to a fifth higher.
struct Sender {
    window: f64,
    in_flight: u32,
    alpha: f64,
    /// ACKs of this round trip: how many it has, how many have come, and how many with a mark.
    round: u32,
    acked: u32,
    marked: u32,
    /// ACKs until a mark may reduce the window again.
    reduced: u32,
}

impl Sender {
    fn new(window: f64) -> Sender {
        let round = window as u32;
        Sender { window, in_flight: 0, alpha: 0.0, round, acked: 0, marked: 0, reduced: 0 }
    }

    fn acked(&mut self, marked: bool) {
        self.in_flight -= 1;
        self.acked += 1;
        self.marked += u32::from(marked);
        self.reduced = self.reduced.saturating_sub(1);
        if self.acked == self.round {
            let fraction = f64::from(self.marked) / f64::from(self.acked);
            self.alpha += (fraction - self.alpha) / 256.0;
            (self.round, self.acked, self.marked) = (self.in_flight.max(1), 0, 0);
        }
        if marked && self.reduced == 0 {
            self.reduced = self.in_flight + 1;
            self.window *= 1.0 - self.alpha / 2.0;
        } else {
            self.window += 1.0 / self.window;
        }
    }
}

/// What a sender does with a link of one packet per 12 us (1 Gbit/s) and `rtt` packets of base round trip: the mean alpha,
/// and the least and the longest queue, in the second half of the time.
fn closed_loop(rtt: u64, k: usize) -> (f64, usize, usize) {
    const SLOT: u64 = 12_000;
    const SLOTS: u64 = 600_000;
    let mut bench = Bench::new(&step(QueueLength::Packets(k), StepPoint::Enqueue), Limit::Unlimited);
    bench.cx.rate = Rate::from_mbps(1_000);
    let mut sender = Sender::new(rtt as f64);
    let mut acks = VecDeque::new();
    let (mut alpha, mut least, mut longest) = (0.0, usize::MAX, 0);
    for slot in 0..SLOTS {
        while acks.front().is_some_and(|&(at, _)| at <= slot) {
            let (_, marked) = acks.pop_front().unwrap();
            sender.acked(marked);
        }
        while f64::from(sender.in_flight) < sender.window.floor() {
            bench.arrive(slot * SLOT, Kind::Ect0);
            sender.in_flight += 1;
        }
        bench.cx.incidents.clear();
        if slot >= SLOTS / 2 {
            alpha += sender.alpha;
            least = least.min(bench.backlog().packets);
            longest = longest.max(bench.backlog().packets);
        }
        if let Some(left) = bench.dequeue(slot * SLOT) {
            acks.push_back((slot + rtt, left.ecn == Ecn::Ce));
        }
    }
    (alpha / (SLOTS / 2) as f64, least, longest)
}

/// The paper's fluid model (section 3.3) for one flow: it has marks in one round trip of each sawtooth, when its window
/// passes `W* = C RTT + K`. Then `alpha^2 (1 - alpha/4) = (2 W* + 1) / (W* + 1)^2`, about `2 / W*`; the queue oscillates by
/// `(W* + 1) alpha / 2`, and at its longest is `K + 1`, here with the packet that is sent. Alpha is within 3 %, lengths are
/// whole packets.
#[test]
fn fluid_model() {
    for (rtt, k) in [(100, 40), (200, 60), (400, 65)] {
        let (alpha, least, longest) = closed_loop(rtt, k);
        let critical = rtt as f64 + k as f64;
        let square = (2.0 * critical + 1.0) / ((critical + 1.0) * (critical + 1.0));
        // alpha^2 (1 - alpha / 4) = square, by iteration.
        let expected = (0..50).fold(square.sqrt(), |alpha: f64, _| (square / (1.0 - alpha / 4.0)).sqrt());
        assert!((expected / (2.0 / critical).sqrt() - 1.0).abs() < 0.02);
        assert!((alpha / expected - 1.0).abs() < 0.03, "{rtt} {k}: alpha {alpha}, expected {expected}");
        assert_eq!(longest, k + 2, "{rtt} {k}");
        let (swing, amplitude) = ((longest - least) as f64, (critical + 1.0) * expected / 2.0);
        assert!((swing - amplitude).abs() <= 1.0, "{rtt} {k}: {swing}, expected {amplitude}");
    }
}
