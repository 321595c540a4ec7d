//! `HyStart` behind a bottleneck: a flow that fills a path, ACK by ACK.

use std::sync::Arc;

use std::collections::VecDeque;

use windtunnel_cc::{
    AckSample, CongestionControl, ControllerParams, CubicParams, ExitReason, FlowInit, HystartParams, Params,
    PathView, Phase, Style, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration, Seq, Time};

use crate::driver::{MSS, init};

/// The bottleneck: 1500 bytes at 100 Mbit/s, a round trip of 40 ms, and nothing is lost.
const SERVICE: Duration = Duration::from_micros(120);
const DELAY: Duration = Duration::from_millis(40);

/// A flow that always has something to send.
struct Flow {
    cc: Box<dyn CongestionControl>,
    /// When each segment in flight left, and when its ACK arrives.
    flight: VecDeque<(Time, Time)>,
    una: Seq,
}

impl Flow {
    fn new(slow_start: HystartParams, paced: bool) -> Flow {
        let slow_start = Arc::new(slow_start);
        let avoidance = Arc::new(CubicParams::default());
        let mut config = WindowedConfig { avoidance, slow_start, ..WindowedConfig::default() };
        config.resolve(Style::Linux);
        let cc = config.build(FlowInit { paced, ..init(MSS * 10) });
        let mut flow = Flow { cc, flight: VecDeque::new(), una: Seq::FIRST_DATA };
        flow.fill(Time::ZERO + DELAY);
        flow
    }

    /// Sends what cwnd allows.
    fn fill(&mut self, now: Time) {
        while MSS * (self.flight.len() as u64 + 1) <= self.cc.cwnd() {
            let free = self.flight.back().map_or(now, |(_, ack)| *ack);
            let ack = free.max(now + DELAY) + SERVICE;
            self.flight.push_back((now, ack));
        }
    }

    /// The next ACK arrives; `extra` is added to its round-trip time.
    fn ack(&mut self, extra: Duration) {
        let (sent, now) = self.flight.pop_front().expect("something is in flight");
        self.una = self.una + MSS;
        let in_flight = MSS * self.flight.len() as u64;
        let path = PathView {
            now,
            mss: MSS,
            srtt: DELAY,
            min_rtt: DELAY,
            in_flight,
            una: self.una,
            nxt: self.una + in_flight,
        };
        let rtt = Some(now.since(sent) + extra);
        let ack = AckSample { acked: MSS, newly_delivered: MSS, rtt, ..AckSample::default() };
        self.cc.on_ack(&ack, &path);
        self.fill(now);
    }

    fn seeks(&self) -> bool {
        self.cc.control().phase == Phase::SlowStart
    }

    fn segments(&self) -> u64 {
        self.cc.cwnd() / MSS
    }
}

/// spec/congestion-control section 2.2: unpaced on 100 Mbit/s and 40 ms, the train of the round of 160 segments, 19.2
/// ms, is shorter than (40.12 + 1) / 2 = 20.56 ms; the next train is longer at its 173rd ACK: 172 * 0.12 = 20.64.
/// ssthresh is then the window: 320 plus the growth from the 172 ACKs before. A buffer of one BDP (333 segments) loses
/// nothing.
#[test]
fn an_ack_train_ends_slow_start_before_the_path_overflows() {
    let mut flow = Flow::new(HystartParams::default(), false);
    let mut acks = 0;
    while flow.seeks() {
        flow.ack(Duration::ZERO);
        acks += 1;
    }
    // Rounds of 10, 20, ... 160 segments, and 173 ACKs.
    assert_eq!(acks, 10 + 20 + 40 + 80 + 160 + 173);
    assert_eq!(flow.segments(), 320 + 172);
    assert!(flow.segments() < 333 * 2);
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::AckTrain));
    assert_eq!(flow.cc.control().ssthresh, flow.cc.cwnd());
}

/// Paced, a train must last a whole round trip: 41.12 / 0.12 segments. Without any delay, the round of 320 segments is
/// too short.
#[test]
fn a_paced_train_must_be_twice_as_long() {
    let params = HystartParams { delay: false, ..HystartParams::default() };
    let mut flow = Flow::new(params, true);
    while flow.seeks() {
        flow.ack(Duration::ZERO);
    }
    // The 344th ACK of the round of 640: 343 * 0.12 = 41.16 ms.
    assert_eq!(flow.segments(), 640 + 343);
}

/// spec/congestion-control section 2.2: here a delay above 45.12 ms (an eighth more, and at least 4 ms) ends slow
/// start, and the ninth sample of the round shows it. A rise of just an eighth, 5.015 ms, does not. The minimum is that of a segment that
/// waits for no other.
#[test]
fn rising_delay_ends_slow_start() {
    let params = HystartParams { ack_train: false, ..HystartParams::default() };
    for (extra, ends) in [(Duration::from_nanos(5_015_001), true), (Duration::from_nanos(5_015_000), false)] {
        let mut flow = Flow::new(params.clone(), false);
        // Rounds of 10, 20 and 40: the queue is short at the start of each.
        (0..70).for_each(|_| flow.ack(Duration::ZERO));
        assert_eq!(flow.segments(), 80);
        (0..8).for_each(|_| flow.ack(extra));
        assert!(flow.seeks(), "eight samples are not enough");
        flow.ack(extra);
        assert_eq!(!flow.seeks(), ends, "{extra}");
        if ends {
            assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Delay));
            assert_eq!((flow.segments(), flow.cc.control().ssthresh), (88, MSS * 88), "nothing is given up");
        }
    }
}

/// Divisors and counts of zero, bounds in the wrong order, and pacing that stands still are refused, by the name of their key.
#[test]
fn refuses_what_makes_no_sense() {
    let default = HystartParams::default;
    let refused = |params: HystartParams| params.check().unwrap_err().to_string();
    assert!(default().check().is_ok());
    assert!(refused(HystartParams { delay_divisor: 0, ..default() }).contains("delay_divisor"));
    assert!(refused(HystartParams { exit_sce: Some(0), ..default() }).contains("exit_sce"));
    let (delay_min, delay_max) = (default().delay_max, default().delay_min);
    assert!(refused(HystartParams { delay_min, delay_max, ..default() }).contains("delay_min"));
    assert!(refused(HystartParams { pacing_gain: 0.0, ..default() }).contains("pacing_gain"));
}

/// Below 16 segments the delay is ignored.
#[test]
fn small_windows_are_not_watched() {
    let mut flow = Flow::new(HystartParams::default(), false);
    (0..5).for_each(|_| flow.ack(Duration::from_secs(1)));
    flow.ack(Duration::ZERO);
    assert_eq!((flow.segments(), flow.seeks()), (16, true));
    assert!(flow.cc.cwnd() > Bytes::ZERO);
}
