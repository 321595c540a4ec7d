//! C4's states, as the editors' copy of August 2026 and spec/ccwg-2026 section G have them. The curves of its thresholds are tested
//! next to the code.

use windtunnel_cc::{
    AckSample, C4Ce, C4Delay, C4Params, CongestionControl, ControllerParams, Departure, EcnFeedback,
    ExitReason, FlowInit, LossFinder, LostSegment, Marked, Pacing, PathView, Phase, RateSample,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use crate::driver::MSS;

const RTT: Duration = Duration::from_millis(40);
const MTU: Bytes = Bytes::new(1500);
const INITIAL: u32 = 0;
const RESUMING: u32 = 1;
const RECOVERY: u32 = 2;
const CRUISING: u32 = 3;
const PROBING: u32 = 4;
const PUSHING: u32 = 5;

/// A connection in which each ACK is that of a packet that left at the ACK before it, so that it ends an era.
struct Flow {
    cc: Box<dyn CongestionControl>,
    now: Time,
    rtt: Duration,
    in_flight: Bytes,
    app_limited: bool,
    /// Packets of an ACK, and those of them that are marked.
    packets: u32,
    marked: u32,
}

impl Flow {
    fn new(params: &C4Params) -> Flow {
        let cc = params.build(FlowInit::new(MSS));
        let mut flow = Flow {
            cc,
            now: Time::ZERO + RTT,
            rtt: RTT,
            in_flight: MSS,
            app_limited: false,
            packets: 10,
            marked: 0,
        };
        let path = flow.path();
        flow.cc.on_established(&path);
        flow
    }

    /// One that has left Initial at 1 MB/s, after a Recovery: it cruises.
    fn cruising(params: &C4Params) -> Flow {
        let mut flow = Flow::new(params);
        for _ in 0..4 {
            flow.ack(1e6);
        }
        flow.settle(1e6);
        assert_eq!(flow.state(), CRUISING);
        flow
    }

    fn path(&self) -> PathView {
        PathView {
            now: self.now,
            mss: MSS,
            srtt: self.rtt,
            min_rtt: RTT,
            in_flight: self.in_flight,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA + self.in_flight,
        }
    }

    /// An ACK after a round trip, whose sample is `rate` in bytes per second.
    fn ack(&mut self, rate: f64) {
        let sent = self.now;
        self.now += self.rtt;
        let delivered = MSS * u64::from(self.packets);
        let departure = Departure {
            sent,
            in_flight: self.in_flight,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: self.app_limited,
        };
        let rate = Rate::from_bits_per_sec((8.0 * rate) as u64);
        let ce = Marked { bytes: MSS * u64::from(self.marked), packets: self.marked };
        let ack = AckSample {
            acked: delivered,
            newly_delivered: delivered,
            rtt: Some(self.rtt),
            rate: Some(RateSample { rate, interval: self.rtt, delivered, lost: Bytes::ZERO, departure }),
            ecn: EcnFeedback { ce, ..EcnFeedback::default() },
            app_limited: self.app_limited,
            ..AckSample::default()
        };
        let path = self.path();
        self.cc.on_ack(&ack, &path);
    }

    fn lose(&mut self, found_by: LossFinder) {
        let departure = Departure {
            sent: self.now,
            in_flight: MSS,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
        };
        let segment = LostSegment { seq: Seq::FIRST_DATA, payload: MSS, departure, lost: MSS, found_by };
        let path = self.path();
        self.cc.on_lost(&segment, &path);
    }

    /// Recovery passes.
    fn settle(&mut self, rate: f64) {
        assert_eq!(self.state(), RECOVERY);
        self.ack(rate);
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

    fn state(&self) -> u32 {
        self.probe("state") as u32
    }

    /// The nominal rate in bytes per second.
    fn rate(&self) -> f64 {
        self.probe("nominal_rate_mbps") / 8e-6
    }

    fn max_rtt(&self) -> f64 {
        self.probe("max_rtt_s")
    }

    fn pace(&self) -> f64 {
        match self.cc.pacing() {
            Pacing::Rate(rate) => rate.bits_per_sec() as f64 / 8.0,
            Pacing::Gain(_) => unreachable!("C4 sets a rate"),
        }
    }

    fn window(&self) -> f64 {
        self.cc.cwnd().as_f64()
    }
}

fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{value}, not {expected}");
}

/// Before a rate is known the window is the initial one, and nothing waits. Then alpha is 2, the window grows by what is
/// acknowledged, by an eighth of that in a flat era and a 64th in the second, and the third ends the state. M is then half of the window
/// over the rate, and what is in flight beyond that rate times the least round trip is drained.
#[test]
fn initial_ends_after_three_flat_eras() {
    let mut flow = Flow::new(&C4Params::default());
    assert_eq!((flow.cc.cwnd(), flow.cc.pacing()), (MSS * 10, Pacing::Rate(Rate::ZERO)));
    flow.packets = 100;
    let acked = 100.0 * MSS.as_f64();
    flow.ack(1e6);
    let mut expected = MSS.as_f64() * 10.0 + acked;
    assert_near(flow.window(), expected);
    assert_near(flow.pace(), 2e6);
    for divisor in [1.0, 8.0, 64.0] {
        assert_eq!((flow.state(), flow.cc.control().phase), (INITIAL, Phase::SlowStart));
        flow.in_flight = Bytes::new(60_000);
        flow.ack(1e6);
        expected += acked / divisor;
    }
    assert_eq!((flow.state(), flow.cc.control().phase), (RECOVERY, Phase::CongestionAvoidance));
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Other("flat rate")));
    assert_near(flow.max_rtt(), (expected - acked / 64.0) / 2.0 / 1e6);
    assert_near(flow.probe("alpha"), 7.0 / 8.0);
}

/// The least pace of Initial is 1,048,576 bit/s. Eras that the application limits do not count as flat.
#[test]
fn initial_waits_for_the_application() {
    let mut flow = Flow::new(&C4Params::default());
    flow.app_limited = true;
    for _ in 0..10 {
        flow.ack(50e3);
        assert_eq!(flow.state(), INITIAL);
    }
    assert_near(flow.pace(), 131_072.0);
    flow.app_limited = false;
    flow.ack(100e3);
    assert_near(flow.pace(), 200e3);
}

/// Losses end Initial once more than 20 packets arrived, a delay after two flat eras; neither lowers the rate.
#[test]
fn signals_end_initial() {
    let mut flow = Flow::new(&C4Params::default());
    flow.ack(10e6);
    flow.ack(20e6);
    flow.lose(LossFinder::Ack);
    assert_eq!(flow.state(), INITIAL, "20 packets");
    flow.ack(40e6);
    flow.lose(LossFinder::RetransmissionTimer);
    assert_eq!(flow.state(), INITIAL, "a timer alone");
    flow.lose(LossFinder::Ack);
    assert_eq!((flow.state(), flow.rate()), (RECOVERY, 40e6));
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Loss));

    let mut flow = Flow::new(&C4Params::default());
    flow.ack(1e6);
    flow.rtt = RTT * 2;
    flow.ack(1e6);
    flow.ack(1e6);
    assert_eq!(flow.state(), INITIAL, "the rate was flat for one era when the second delay came");
    flow.ack(1e6);
    assert_eq!((flow.state(), flow.rate()), (RECOVERY, 1e6));
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Delay));
}

/// Outside of Initial the window holds M and a margin of a quarter of it, or 15 ms; the quantum is 4 ms, and two packets.
#[test]
fn the_window_has_a_margin() {
    let flow = Flow::cruising(&C4Params::default());
    assert_near(flow.pace(), 1e6);
    let m = flow.max_rtt();
    assert!((flow.window() - 1e6 * (m + (m / 4.0).min(0.015))).abs() <= 1.0);
    assert_eq!(flow.cc.control().send_quantum, Some(Bytes::new(4000)));
    let slow = {
        let mut flow = Flow::new(&C4Params::default());
        flow.ack(1e5);
        flow
    };
    assert_eq!(slow.cc.control().send_quantum, Some(MTU * 2));
}

/// Two eras of Cruising, one of Probing, Recovery, and the same again if the rate did not grow.
#[test]
fn a_probe_without_more_rate_is_repeated() {
    let mut flow = Flow::cruising(&C4Params::default());
    for _ in 0..3 {
        flow.ack(1e6);
        assert_eq!(flow.state(), CRUISING);
        flow.ack(1e6);
        assert_eq!(flow.state(), PROBING);
        assert_near(flow.pace(), 17.0 / 16.0 * 1e6);
        flow.ack(1e6);
        assert_near(flow.pace(), 15.0 / 16.0 * 1e6);
        flow.settle(1e6);
        assert_eq!(flow.state(), CRUISING);
    }
}

/// While the application limits the flow, it does not probe.
#[test]
fn a_limited_flow_does_not_probe() {
    let mut flow = Flow::cruising(&C4Params::default());
    flow.app_limited = true;
    for _ in 0..10 {
        flow.ack(5e5);
        assert_eq!((flow.state(), flow.rate()), (CRUISING, 1e6));
    }
    flow.app_limited = false;
    flow.ack(1e6);
    assert_eq!(flow.state(), PROBING);
}

/// A probe that raised the rate leads to Pushing, which lasts while each era but the first reaches 19/16 of the last; a fourth
/// era leads back to Initial, with a window of R M.
#[test]
fn a_cascade_of_pushes_leads_back_to_initial() {
    let mut flow = Flow::cruising(&C4Params::default());
    flow.ack(1e6);
    flow.ack(1e6);
    assert_eq!(flow.state(), PROBING);
    flow.ack(1e6);
    flow.settle(1.05e6);
    assert_eq!(flow.state(), PUSHING);
    assert_near(flow.pace(), 1.25 * 1.05e6);
    flow.ack(1.05e6);
    assert_eq!(flow.state(), PUSHING, "the first era measures Recovery");
    for _ in 0..2 {
        flow.ack(flow.rate() * 1.1876);
        assert_eq!(flow.state(), PUSHING);
    }
    let rate = flow.rate() * 1.25;
    flow.ack(rate);
    assert_eq!(flow.state(), INITIAL);
    assert!((flow.window() - 2.0 * rate * flow.max_rtt()).abs() < 2.0, "alpha R M is more than R M");

    let mut flow = Flow::cruising(&C4Params::default());
    flow.ack(1e6);
    flow.ack(1e6);
    flow.ack(1e6);
    flow.settle(1.05e6);
    flow.ack(1.05e6);
    flow.ack(1.05e6 * 1.18);
    assert_eq!(flow.state(), RECOVERY, "18 % are less than 3/16");
    flow.settle(1.05e6 * 1.18);
    assert_eq!(flow.state(), CRUISING, "only a probe leads to Pushing");
}

/// In Cruising a delay lowers the rate by its excess over the threshold, relative to that, and at most by a quarter; rates that
/// are measured in the Recovery that follows do not raise it. In Probing the rate stays.
#[test]
fn a_delay_lowers_the_rate_of_cruising_alone() {
    for (excess, kept) in [(0.1, 0.9), (3.0, 0.75)] {
        let mut flow = Flow::cruising(&C4Params::default());
        let m = flow.max_rtt();
        // s = 0.92 at 1 MB/s: the threshold is 0.0775 M, and no more than 25 ms.
        let threshold = m * (1.0 / 16.0 + 0.08 * 3.0 / 16.0);
        flow.rtt = Duration::from_secs_f64(m + (1.0 + excess) * threshold);
        flow.ack(1e6);
        assert_eq!(flow.state(), RECOVERY);
        assert!((flow.rate() - kept * 1e6).abs() < 10.0, "{}", flow.rate());
        flow.rtt = RTT;
        flow.settle(1e6);
        assert!((flow.rate() - kept * 1e6).abs() < 10.0);
    }
    let mut flow = Flow::cruising(&C4Params::default());
    flow.ack(1e6);
    flow.ack(1e6);
    flow.rtt = RTT * 4;
    flow.ack(1e6);
    assert_eq!((flow.state(), flow.rate()), (RECOVERY, 1e6));
    flow.rtt = RTT;
    flow.settle(1.1e6);
    assert_eq!((flow.state(), flow.rate()), (CRUISING, 1e6), "no success, and no higher rate");
}

/// Any increase keeps Initial, or a quarter more, as in the author's code.
#[test]
fn what_an_increase_is() {
    for (initial_increase, state) in [(1.0, INITIAL), (1.25, RECOVERY)] {
        let mut flow = Flow::new(&C4Params { initial_increase, ..C4Params::default() });
        for rate in [1e6, 1.01e6, 1.02e6, 1.03e6] {
            flow.ack(rate);
        }
        assert_eq!(flow.state(), state);
    }
}

/// As in the author's code, a delay is a signal only where it measures what was sent above the nominal rate.
#[test]
fn delays_after_a_push_alone() {
    let mut flow = Flow::cruising(&C4Params { delay: C4Delay::AfterPush, ..C4Params::default() });
    flow.rtt = Duration::from_millis(60);
    flow.ack(1e6);
    assert_eq!((flow.state(), flow.rate()), (CRUISING, 1e6), "after Recovery");
    flow.rtt = RTT;
    flow.ack(1e6);
    flow.ack(1e6);
    assert_eq!(flow.state(), RECOVERY, "after Probing");
    flow.rtt = RTT * 3;
    flow.ack(1.1e6);
    assert_eq!(
        (flow.state(), flow.rate()),
        (CRUISING, 1.1e6),
        "the rate grew before the signal came, which bars Pushing"
    );
}

/// Losses: a quarter, once their share exceeds 0.02 + 0.5 (1 - s), which is 6 % at 1 MB/s: one loss in a row of packets that arrived
/// weighs 1/16. At 50 kB/s the threshold is 52 %: twelve losses in a row.
#[test]
fn losses_lower_the_rate_by_a_quarter() {
    let mut flow = Flow::cruising(&C4Params::default());
    flow.lose(LossFinder::RetransmissionTimer);
    assert_eq!(flow.state(), CRUISING);
    flow.lose(LossFinder::ReorderingTimer);
    assert_eq!((flow.state(), flow.rate()), (RECOVERY, 750e3));
    flow.lose(LossFinder::Ack);
    assert_near(flow.rate(), 750e3);

    let mut flow = Flow::new(&C4Params::default());
    flow.packets = 30;
    flow.ack(50e3);
    for _ in 0..11 {
        flow.lose(LossFinder::Ack);
        assert_eq!(flow.state(), INITIAL);
    }
    flow.lose(LossFinder::Ack);
    assert_eq!(flow.state(), RECOVERY);
}

/// The second Recovery in a row with a signal sets the rate to the largest one measured since the last; one without a signal
/// begins anew.
#[test]
fn persistent_congestion_takes_the_measured_rate() {
    let mut flow = Flow::cruising(&C4Params::default());
    flow.lose(LossFinder::Ack);
    flow.settle(400e3);
    assert_near(flow.rate(), 750e3);
    flow.ack(300e3);
    // The threshold is 18 % at 750 kB/s; the fourth loss is one of Recovery.
    for _ in 0..4 {
        flow.lose(LossFinder::Ack);
    }
    assert_near(flow.rate(), 562.5e3);
    flow.settle(350e3);
    assert_near(flow.rate(), 350e3);
}

/// A cycle without a signal, without growth and without limit by the application: the mean of the rate and the largest one
/// measured since the last Recovery.
#[test]
fn a_rate_that_is_not_reached_is_trimmed() {
    for (limited, expected) in [(false, 950e3), (true, 1e6)] {
        let mut flow = Flow::cruising(&C4Params::default());
        flow.ack(900e3);
        flow.ack(900e3);
        assert_eq!(flow.state(), PROBING);
        flow.ack(900e3);
        flow.app_limited = limited;
        flow.settle(850e3);
        assert_near(flow.rate(), expected);
    }
}

/// Marks: once seen, probes are half as high. A share above (2 - s) 3/32 is a signal; with `loss` a mark is a loss, with `none`
/// nothing.
#[test]
fn marks() {
    let mut flow = Flow::cruising(&C4Params::default());
    flow.packets = 40;
    flow.marked = 1;
    flow.ack(1e6);
    assert_eq!(flow.state(), CRUISING, "1/640 is below 0.10125");
    flow.marked = 0;
    flow.ack(1e6);
    assert_near(flow.pace(), 33.0 / 32.0 * 1e6);
    let mut flow = Flow::cruising(&C4Params::default());
    flow.marked = 5;
    flow.ack(1e6);
    assert_eq!((flow.state(), flow.rate()), (RECOVERY, 750e3));
    assert_near(flow.probe("mark_share"), 0.5);
    flow.marked = 0;
    flow.settle(7e5);
    assert_near(flow.probe("mark_share"), 0.0);
    for (ce, state) in [(C4Ce::Loss, RECOVERY), (C4Ce::None, CRUISING)] {
        let mut flow = Flow::cruising(&C4Params { ce, ..C4Params::default() });
        flow.marked = 1;
        flow.ack(1e6);
        assert_eq!(flow.state(), state);
    }
}

/// A least round trip below two fifths of M leads back to Initial at the end of a Recovery, as often as is allowed.
#[test]
fn jitter_restarts_initial() {
    for (most, state) in [(None, INITIAL), (Some(1), INITIAL), (Some(0), CRUISING)] {
        let mut flow = Flow::cruising(&C4Params { jitter_restarts: most, ..C4Params::default() });
        let m = flow.max_rtt();
        flow.rtt = Duration::from_secs_f64(5.0 * m);
        flow.ack(1e6);
        assert_eq!(flow.state(), RECOVERY);
        // What Cruising sent is measured here.
        flow.settle(1e6);
        assert!((flow.max_rtt() - 5.0 * m).abs() < 1e-6);
        assert_eq!(flow.state(), state, "{most:?}");
    }
}

/// A flow that resumes sends the earlier window in a round trip of the earlier connection, for two eras; the first one begins
/// once that window is in flight.
#[test]
fn resumes() {
    let seed_cwnd = Some(Bytes::new(800_000));
    let mut flow = Flow::new(&C4Params { seed_cwnd, seed_rtt: Some(RTT * 2), ..C4Params::default() });
    assert_eq!(flow.state(), RESUMING);
    assert_eq!(flow.cc.cwnd(), Bytes::new(800_000));
    assert_near(flow.pace(), 10e6);
    flow.ack(1e6);
    flow.ack(1e6);
    assert_eq!(flow.state(), RESUMING, "the window is not used yet");
    flow.in_flight = Bytes::new(800_000);
    flow.ack(1e6);
    assert_eq!(flow.state(), RESUMING);
    flow.ack(9e6);
    assert_eq!((flow.state(), flow.rate()), (RECOVERY, 9e6));
}
