//! Vivace's rules, as sections 3 and 4 of the paper (NSDI 2018) and spec/congestion-control section 3.26 have them, over a line
//! with a queue that the test calculates.

use std::collections::VecDeque;

use windtunnel_cc::{
    AckSample, CongestionControl, ControllerParams, Departure, ExitReason, FlowInit, LossFinder, LostSegment,
    Pacing, PathView, Phase, RandomStream, SentSegment, VivaceParams, VivaceUtility,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use crate::driver::MSS;

const BASE: Duration = Duration::from_millis(50);

/// A packet on its way: when it left and when its ACK arrives; lost ones are found at that time too.
#[derive(Clone, Copy, Debug)]
struct Flying {
    sent: Time,
    ack: Time,
    lost: bool,
}

/// A sender that always has data, a line with a queue of one round trip, and immediate ACKs.
#[derive(Debug)]
struct Line {
    cc: Box<dyn CongestionControl>,
    capacity: Rate,
    /// This share of the packets is lost, at random.
    lossy: f64,
    random: RandomStream,
    /// The application sends no faster than this.
    application: Option<Rate>,
    now: Time,
    sent: u64,
    done: u64,
    free: Time,
    next: Time,
    flying: VecDeque<Flying>,
    /// Paces, each when it was first used.
    paces: Vec<(Time, Rate)>,
}

impl Line {
    fn new(params: &VivaceParams, seed: u64, capacity: Rate) -> Line {
        let cc = params.build(FlowInit { seed, ..FlowInit::new(MSS) });
        let now = Time::ZERO + BASE;
        let mut line = Line {
            cc,
            capacity,
            lossy: 0.0,
            random: RandomStream::new(seed),
            application: None,
            now,
            sent: 0,
            done: 0,
            free: now,
            next: now,
            flying: VecDeque::new(),
            paces: Vec::new(),
        };
        let path = line.path(BASE);
        line.cc.on_established(&path);
        line
    }

    fn seq(packets: u64) -> Seq {
        Seq::FIRST_DATA + MSS * packets
    }

    fn path(&self, srtt: Duration) -> PathView {
        PathView {
            now: self.now,
            mss: MSS,
            srtt,
            min_rtt: BASE,
            in_flight: MSS * self.flying.len() as u64,
            una: Line::seq(self.done),
            nxt: Line::seq(self.sent),
        }
    }

    fn pace(&self) -> Rate {
        let Pacing::Rate(rate) = self.cc.pacing() else { panic!("Vivace sets a rate") };
        rate
    }

    fn depart(&mut self) {
        self.now = self.next;
        self.sent += 1;
        let dropped = self.free.since(self.now) > BASE;
        if !dropped {
            self.free = self.free.max(self.now) + self.capacity.transfer_time(MSS);
        }
        let lost = dropped || self.random.uniform() < self.lossy;
        self.flying.push_back(Flying { sent: self.now, ack: self.free + BASE, lost });
        let segment = SentSegment { seq: Line::seq(self.sent - 1), payload: MSS, retransmission: false };
        let path = self.path(BASE);
        self.cc.on_sent(&segment, &path);
        let pace = self.pace();
        if self.paces.last().is_none_or(|last| last.1 != pace) {
            self.paces.push((self.now, pace));
        }
        let rate = self.application.map_or(pace, |most| most.min(pace));
        self.next = self.now + rate.transfer_time(MSS);
    }

    fn acknowledge(&mut self, packet: Flying) {
        self.now = packet.ack;
        self.done += 1;
        let rtt = packet.ack - packet.sent;
        let path = self.path(rtt);
        if packet.lost {
            let departure = Departure {
                sent: packet.sent,
                in_flight: MSS,
                delivered: MSS,
                lost: MSS,
                app_limited: false,
            };
            let seq = Line::seq(self.done - 1);
            let (payload, found_by) = (MSS, LossFinder::Ack);
            self.cc.on_lost(&LostSegment { seq, payload, departure, lost: MSS, found_by }, &path);
        } else {
            let ack = AckSample { newly_delivered: MSS, rtt: Some(rtt), ..AckSample::default() };
            self.cc.on_ack(&ack, &path);
        }
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let fits = MSS * (self.flying.len() as u64 + 1) <= self.cc.cwnd();
            let ack = self.flying.front().map(|packet| packet.ack);
            match ack {
                Some(ack) if ack <= self.next || !fits => {
                    if ack > end {
                        break;
                    }
                    let packet = self.flying.pop_front().expect("it is the first");
                    self.acknowledge(packet);
                    self.next = self.next.max(self.now);
                }
                _ if self.next > end => break,
                _ => self.depart(),
            }
        }
        self.now = end;
    }

    /// The mean base rate of the next seconds, in Mbit/s.
    fn mean_rate(&mut self, seconds: u32) -> f64 {
        let samples = (0..10 * seconds).map(|_| {
            self.run(Duration::from_millis(100));
            self.probe("base_rate_mbps")
        });
        samples.sum::<f64>() / f64::from(10 * seconds)
    }

    fn probe(&self, name: &str) -> f64 {
        let mut number = f64::NAN;
        self.cc.probe(&mut |key, value| {
            if key == name {
                number = value;
            }
        });
        number
    }
}

fn mbps(rate: Rate) -> f64 {
    rate.as_mbps()
}

/// The first rate is the initial window per round trip. It doubles for one interval, of a round trip to 1.1 of it, and while the
/// sender waits for the result it sends at half of that.
#[test]
fn the_start_doubles() {
    let mut line = Line::new(&VivaceParams::default(), 1, Rate::from_mbps(1000));
    line.run(BASE * 12);
    let first = mbps(Rate::of(MSS * 10, BASE));
    let rates: Vec<f64> = line.paces.iter().map(|pace| mbps(pace.1) / first).collect();
    let expected = [1.0, 0.5, 2.0, 1.0, 4.0, 2.0, 8.0, 4.0];
    for (rate, expected) in rates.iter().zip(expected) {
        assert!((rate - expected).abs() < 1e-3, "{rates:?}");
    }
    for pair in line.paces[1..8].windows(2) {
        let span = (pair[1].0 - pair[0].0).ratio(BASE);
        assert!((0.85..1.35).contains(&span), "{span}");
    }
}

/// The start ends when utility falls, at half the rate: the last one that was better. Of 20 Mbit/s, from 2.3 on: 18.5.
#[test]
fn the_start_ends_when_utility_falls() {
    let mut line = Line::new(&VivaceParams::default(), 1, Rate::from_mbps(20));
    while line.cc.control().phase == Phase::SlowStart {
        line.run(Duration::from_millis(1));
    }
    assert!((line.probe("base_rate_mbps") - 8.0 * mbps(Rate::of(MSS * 10, BASE))).abs() < 1e-3);
    assert_eq!(line.cc.slow_start_exit(), Some(ExitReason::Other("utility")));
    assert!(line.probe("utility") < 0.0);
}

/// Probes are pairs of 1.05 and 0.95 times the base rate. Either comes first, depending on the flow's own stream.
#[test]
fn pairs_come_in_random_order() {
    let order = |seed| {
        let mut line = Line::new(&VivaceParams::default(), seed, Rate::from_mbps(20));
        while line.cc.control().phase == Phase::SlowStart {
            line.run(Duration::from_millis(1));
        }
        let base = line.probe("base_rate_mbps");
        line.run(BASE * 4);
        let shares = line.paces.iter().map(|pace| mbps(pace.1) / base);
        let pair: Vec<f64> =
            shares.filter(|share| ((share - 1.0).abs() - 0.05).abs() < 1e-6).take(2).collect();
        assert!((pair[0] + pair[1] - 2.0).abs() < 1e-6, "{pair:?}");
        pair[0] > pair[1]
    };
    let ups = (0..20).filter(|seed| order(*seed)).count();
    assert!((4..=16).contains(&ups), "{ups} of 20");
    assert_eq!(order(7), order(7));
}

/// Alone on 20 Mbit/s the rate settles below the capacity, because a probe above it makes the round trip grow. The queue holds no more
/// than three intervals of 55 ms add at 10 % too much: a base rate 5 % too high, and a probe 5 % above that.
#[test]
fn settles_below_the_capacity() {
    let mut line = Line::new(&VivaceParams::default(), 3, Rate::from_mbps(20));
    line.run(Duration::SECOND * 20);
    let (mut sum, mut most, mut queue) = (0.0, 0_f64, Duration::ZERO);
    for _ in 0..1000 {
        line.run(Duration::from_millis(20));
        let rate = line.probe("base_rate_mbps");
        sum += rate;
        most = most.max(rate);
        queue = queue.max(line.free.since(line.now));
    }
    assert!(sum / 1000.0 > 18.0, "{}", sum / 1000.0);
    assert!(most < 21.0 + 1e-9, "{most}");
    assert!(queue < Duration::from_micros(16_500), "{queue}");
}

/// Section 3.2: utility on 100 Mbit/s grows with the rate while less than 5 % are lost, and falls with it at any rate of a link if 20 %
/// are. An interval shows its loss with a standard error, 0.5 % at 1 %, so that the rate swings.
#[test]
fn losses_count_by_c() {
    let rate = |lossy: f64| {
        let params = VivaceParams { utility: VivaceUtility::Loss, ..VivaceParams::default() };
        let mut line = Line::new(&params, 3, Rate::from_mbps(100));
        line.lossy = lossy;
        line.run(Duration::SECOND * 30);
        line.mean_rate(20)
    };
    let (few, many) = (rate(0.01), rate(0.2));
    assert!(few > 90.0, "{few}");
    assert!(many < 5.0, "{many}");
}

/// An application that sends less than the rates under trial tells nothing of them: the rate stays.
#[test]
fn an_application_that_sends_less_does_not_raise_the_rate() {
    let mut line = Line::new(&VivaceParams::default(), 1, Rate::from_mbps(100));
    line.application = Some(Rate::from_mbps(7));
    line.run(Duration::SECOND * 10);
    let first = mbps(Rate::of(MSS * 10, BASE));
    assert!((line.probe("base_rate_mbps") - 4.0 * first).abs() < 1e-3, "{}", line.probe("base_rate_mbps"));
}

/// A timeout halves the rate and starts again from there; the rate never falls below eight segments per second.
#[test]
fn a_timeout_halves_the_rate() {
    let mut line = Line::new(&VivaceParams::default(), 1, Rate::from_mbps(20));
    line.run(Duration::SECOND * 5);
    let before = line.probe("base_rate_mbps");
    let path = line.path(BASE);
    line.cc.on_rto(true, &path);
    assert!((line.probe("base_rate_mbps") - before / 2.0).abs() < 1e-9);
    assert_eq!(line.cc.control().phase, Phase::SlowStart);
    for _ in 0..40 {
        line.cc.on_rto(false, &path);
    }
    assert!((line.probe("base_rate_mbps") - 8.0 * MSS.as_f64() * 8e-6).abs() < 1e-9);
    assert!(line.cc.cwnd() >= MSS * 4);
    line.run(Duration::SECOND * 5);
    let rate = line.mean_rate(5);
    assert!(rate > 17.0, "{rate}");
}

/// Whatever the round trips are, rate and window stay finite and positive.
#[test]
fn the_rate_is_bounded() {
    for utility in [VivaceUtility::Latency, VivaceUtility::Loss, VivaceUtility::Allegro] {
        let params = VivaceParams { utility, ..VivaceParams::default() };
        let mut line = Line::new(&params, 5, Rate::from_mbps(3));
        for step in 0..400_u64 {
            line.capacity = Rate::from_bits_per_sec(10_000 + (step * 7919) % 97 * 1_000_000);
            line.lossy = if step % 3 == 0 { 1.0 / (2 + step % 7) as f64 } else { 0.0 };
            line.run(Duration::from_millis(1 + step * 31 % 300));
            if step % 97 == 0 {
                let path = line.path(BASE);
                line.cc.on_rto(true, &path);
            }
            assert!(line.cc.cwnd() >= MSS * 4 && line.cc.cwnd() <= Bytes::new(MSS.get() << 20));
            let rate = line.probe("base_rate_mbps");
            assert!(rate.is_finite() && rate > 0.09 && line.pace() > Rate::ZERO, "{rate}");
        }
    }
}
