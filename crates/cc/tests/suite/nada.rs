//! NADA's rules, as RFC 8698 and spec/ccwg-2026 section K.2 have them: a controller alone, with reports that a test makes.

use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, ControllerParams, Delivery, Departure, EcnFeedback,
    Feedback, FlowInit, LossFinder, LostSegment, Marked, MediaFrame, NadaParams, Needs, Pacing, PacingNeed,
    PathView, Phase, Trigger,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

const MSS: u64 = 1000;
/// A report each 10 ms tells of one segment: 800 kbit/s arrive.
const PERIOD: u64 = 10;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A sender reduced to what the controller hears, over a round trip of 100 ms.
struct Flow {
    cc: Box<dyn CongestionControl>,
    now: Time,
    sent: u64,
    una: u64,
}

impl Flow {
    /// A source of 150 kbit/s to 1.5 Mbit/s.
    fn new(params: &NadaParams) -> Flow {
        let cc = params.build(FlowInit::new(Bytes::new(MSS)));
        let mut flow = Flow { cc, now: Time::ZERO + Duration::SECOND, sent: 0, una: 0 };
        flow.frame(150_000, 1_500_000, Duration::ZERO);
        flow
    }

    fn path(&self) -> PathView {
        PathView {
            now: self.now,
            mss: Bytes::new(MSS),
            srtt: ms(100),
            min_rtt: ms(100),
            in_flight: Bytes::ZERO,
            una: Seq::FIRST_DATA + Bytes::new(self.una),
            nxt: Seq::FIRST_DATA + Bytes::new(self.sent),
        }
    }

    fn frame(&mut self, least: u64, most: u64, waited: Duration) {
        let (least, most) = (Rate::from_bits_per_sec(least), Rate::from_bits_per_sec(most));
        let frame = MediaFrame { size: Bytes::new(4000), period: ms(33), waited, least, most };
        self.cc.on_frame(&frame, &self.path());
    }

    /// A report of one segment after a queueing delay beyond 50 ms, of a loss before it and of a mark on it.
    fn report(&mut self, queued: Duration, lost: bool, marked: bool) {
        self.now += ms(PERIOD);
        self.sent += MSS;
        self.una += MSS;
        let of = |packets: u32| Marked { bytes: Bytes::new(MSS * u64::from(packets)), packets };
        let ecn = EcnFeedback { ce: of(u32::from(marked)), ..EcnFeedback::default() };
        let path = self.path();
        self.cc.on_delivery(&Delivery { delivered: of(1), ecn, ..Delivery::default() }, &path);
        if lost {
            let departure = Departure {
                sent: self.now,
                in_flight: Bytes::ZERO,
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                app_limited: false,
            };
            let payload = Bytes::new(MSS);
            let seq = Seq::FIRST_DATA;
            let found_by = LossFinder::Ack;
            self.cc.on_lost(&LostSegment { seq, payload, departure, lost: payload, found_by }, &path);
        }
        if marked {
            let event = CongestionEvent {
                trigger: Trigger::Ce,
                window: Bytes::new(MSS),
                lost: Bytes::ZERO,
                rtt: None,
            };
            self.cc.on_congestion(&event, &path);
        }
        self.cc.on_ack(&AckSample { one_way: Some(ms(50) + queued), ecn, ..AckSample::default() }, &path);
    }

    fn reports(&mut self, count: u64, queued: Duration) {
        for _ in 0..count {
            self.report(queued, false, false);
        }
    }

    fn get(&self, name: &str) -> f64 {
        let mut number = f64::NAN;
        self.cc.probe(&mut |key, value| {
            if key == name {
                number = value;
            }
        });
        number
    }

    fn rate(&self) -> f64 {
        self.get("reference_rate_bits_per_s")
    }
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
}

/// It paces, and hears losses, deliveries and one-way delays; marks are heard in whatever way the transport tells them.
#[test]
fn needs() {
    let expected = Needs {
        pacing: PacingNeed::Always,
        feedback: Feedback::Classic,
        loss_reports: true,
        delivery_reports: true,
        one_way: true,
        own_window: true,
        media: true,
        ..Needs::default()
    };
    assert_eq!(NadaParams::default().needs(), expected);
}

/// Section 4.3: the rate is the source's lowest at first, and is the same for the encoder and for departures while nothing waits.
/// 100 ms later (`DELTA`) it is what arrives and 50 / 320 of it, and that stays while as much arrives. A queue of 10 ms (`QEPS`) ends
/// the ramp-up for half a second (`LOGWIN`).
#[test]
fn ramp_up() {
    let mut flow = Flow::new(&NadaParams::default());
    assert_near(flow.rate(), 150e3);
    assert_eq!(flow.cc.target_bitrate(), Some(Rate::from_bits_per_sec(150_000)));
    flow.reports(10, Duration::ZERO);
    assert_near(flow.rate(), 150e3);
    flow.report(Duration::ZERO, false, false);
    assert_near(flow.rate(), 800e3 * (1.0 + 50.0 / 320.0));
    assert_eq!(flow.cc.pacing(), Pacing::Rate(Rate::from_bits_per_sec(925_000)));
    flow.reports(100, ms(9));
    assert_near(flow.rate(), 925e3);
    assert_eq!(flow.cc.control().phase, Phase::SlowStart);
    flow.report(ms(10), false, false);
    flow.reports(10, Duration::ZERO);
    assert_eq!(flow.cc.control().phase, Phase::CongestionAvoidance);
    flow.reports(60, Duration::ZERO);
    assert_eq!(flow.cc.control().phase, Phase::SlowStart);
}

/// Section 4.1: the range is the source's, which can change; its rate follows at once.
#[test]
fn the_range_is_the_sources() {
    let mut flow = Flow::new(&NadaParams::default());
    flow.reports(20, Duration::ZERO);
    for (least, most, expected) in [(150_000, 600_000, 600e3), (700_000, 900_000, 700e3)] {
        flow.frame(least, most, Duration::ZERO);
        assert_near(flow.rate(), expected);
    }
    // A window of two seconds of the highest rate.
    assert_eq!(flow.cc.cwnd(), Bytes::new(225_000));
}

/// Section 4.3, equations 5 to 7: under a queue of 20 ms the rate goes to where 10 ms * 1.5 Mbit/s / r = 20 ms, from both sides, in
/// proportion to the priority.
#[test]
fn the_fixed_point() {
    for (prio, queue, expected) in [(1.0, 20, 750e3), (0.5, 20, 375e3), (1.0, 40, 375e3), (0.5, 10, 750e3)] {
        let mut flow = Flow::new(&NadaParams { prio, ..NadaParams::default() });
        flow.reports(100, Duration::ZERO);
        flow.reports(60_000, ms(queue));
        assert!((flow.rate() / expected - 1.0).abs() < 0.001, "{} at {queue} ms", flow.rate());
        assert!((flow.get("signal_s") - queue as f64 / 1e3).abs() < 1e-9);
    }
}

/// Section 4.2: the queueing delay is the least of the last fifteen packets, above the least since the start.
#[test]
fn queueing_delay() {
    let mut flow = Flow::new(&NadaParams::default());
    flow.reports(1, ms(5));
    flow.reports(14, ms(30));
    assert!(flow.get("queued_s").abs() < 1e-9);
    flow.reports(1, ms(30));
    assert_near(flow.get("queued_s"), 0.025);
    flow.reports(20, ms(0));
    flow.reports(15, ms(30));
    assert_near(flow.get("queued_s"), 0.03);
}

/// Section 4.2: a queue of 100 ms counts whole without losses. Once a packet was lost it counts for 50 ms / e^0.5, until the next loss
/// is overdue: a hundred packets passed before the first, and seven hundred more may pass. Over a hundred more it is given up.
#[test]
fn warping_ends_when_the_next_loss_is_overdue() {
    let mut flow = Flow::new(&NadaParams { dloss: Duration::ZERO, ..NadaParams::default() });
    flow.reports(1, Duration::ZERO);
    flow.reports(97, ms(100));
    assert_near(flow.get("signal_s"), 0.1);
    flow.report(ms(100), true, false);
    let warped = 0.05 * libm::exp(-0.5);
    let mut signals = Vec::new();
    for _ in 0..1000 {
        flow.report(ms(100), false, false);
        signals.push(flow.get("signal_s"));
    }
    assert_near(signals[20], warped);
    assert_near(signals[690], warped);
    let half = signals[750];
    assert!((half - f64::midpoint(warped, 0.1)).abs() < 0.01, "{half}");
    assert_near(signals[820], 0.1);
    assert_near(signals[999], 0.1);
}

/// Section 4.2, equation 2, and 5.1: shares are those of half a second, averaged with a gain of 0.1 in each update, squared: 2 % of losses
/// are 40 ms, and of marks 8 ms.
#[test]
fn losses_and_marks_count() {
    let signal = |lost: bool| {
        let mut flow = Flow::new(&NadaParams::default());
        for n in 0..10_000 {
            let hit = n % 50 == 49;
            flow.report(Duration::ZERO, lost && hit, !lost && hit);
        }
        assert_eq!(flow.cc.control().phase == Phase::CongestionAvoidance, lost);
        flow.get("signal_s")
    };
    // One loss for each fifty arrivals: LOGWIN has 48 to 50 of them.
    let (losses, marks) = (signal(true), signal(false));
    assert!((0.036..0.041).contains(&losses), "{losses}");
    assert!((0.007..0.0085).contains(&marks), "{marks}");
    let mut flow = Flow::new(&NadaParams::default());
    for _ in 0..1000 {
        flow.report(Duration::ZERO, true, true);
    }
    assert_near(flow.get("signal_s"), 0.5);
}

/// Where TCP echoes a mark until it hears of the answer, a round trip's echoes are one mark, and it is answered.
#[test]
fn echoes_are_one_mark_in_a_round_trip() {
    let mut flow = Flow::new(&NadaParams::default());
    flow.cc.on_negotiated(Feedback::Classic);
    flow.reports(30, Duration::ZERO);
    let (una, sent) = (flow.una, flow.sent + 10 * MSS);
    let event =
        CongestionEvent { trigger: Trigger::Ce, window: Bytes::new(MSS), lost: Bytes::ZERO, rtt: None };
    let path = PathView { nxt: Seq::FIRST_DATA + Bytes::new(sent), ..flow.path() };
    assert!(flow.cc.on_congestion(&event, &path));
    for n in 1..=10 {
        let path = PathView { una: Seq::FIRST_DATA + Bytes::new(una + n * MSS), ..path };
        assert!(!flow.cc.on_congestion(&event, &path));
    }
    let path = PathView { una: Seq::FIRST_DATA + Bytes::new(una + 11 * MSS), ..path };
    assert!(flow.cc.on_congestion(&event, &path));
    assert!(!flow.cc.on_congestion(&CongestionEvent { trigger: Trigger::Loss, ..event }, &path));
}

/// After a timeout the rate is the source's lowest, and ramps up again from what arrives.
#[test]
fn a_timeout_takes_the_rate() {
    let mut flow = Flow::new(&NadaParams::default());
    flow.reports(100, Duration::ZERO);
    assert!(flow.rate() > 900e3);
    flow.now += Duration::from_secs(3);
    flow.cc.on_rto(true, &flow.path());
    assert_near(flow.rate(), 150e3);
    flow.reports(60, Duration::ZERO);
    assert_near(flow.rate(), 925e3);
}
