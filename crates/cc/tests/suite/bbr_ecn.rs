//! The answer of BBR's third version to CE, by hand after spec/congestion-control section 3.23: alpha, the end of
//! Startup, the cut of the short-term bound, and when marks do not count. Each ACK ends a round.

use windtunnel_cc::{
    AckSample, Bbr3Params, Bbr3Variant, CaState, CeAnswer, CongestionControl, ControllerParams, Departure,
    EcnFeedback, ExitReason, Feedback, FlowInit, Marked, PathView, RateSample,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use crate::driver::MSS;

const STARTUP: f64 = 0.0;
const CRUISE: f64 = 3.0;
const UP: f64 = 5.0;

/// A connection whose ACKs each end a round.
struct Rounds {
    cc: Box<dyn CongestionControl>,
    now: Time,
    rtt: Duration,
    delivered: Bytes,
}

impl Rounds {
    fn new(params: &Bbr3Params, heard: Feedback, rtt: Duration) -> Rounds {
        let mut cc = params.build(FlowInit::new(MSS));
        cc.on_negotiated(heard);
        let mut rounds = Rounds { cc, now: Time::ZERO + rtt, rtt, delivered: Bytes::ZERO };
        let path = rounds.path(Bytes::ZERO);
        rounds.cc.on_established(&path);
        rounds
    }

    /// Over a path of 4 ms on which marks count.
    fn marked() -> Rounds {
        Rounds::new(&low(), Feedback::Shares, Duration::from_millis(4))
    }

    fn path(&self, in_flight: Bytes) -> PathView {
        PathView {
            now: self.now,
            mss: MSS,
            srtt: self.rtt,
            min_rtt: self.rtt,
            in_flight,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA + in_flight,
        }
    }

    /// A round delivers `segments`, `marks` of them with CE: the sender is then in CWR. The amount in flight stays
    /// the same.
    fn round(&mut self, segments: u64, marks: u32) {
        let amount = MSS * segments;
        let departure = Departure {
            sent: self.now,
            in_flight: amount,
            delivered: self.delivered,
            lost: Bytes::ZERO,
            app_limited: false,
        };
        self.now += self.rtt;
        self.delivered += amount;
        let ce = Marked { bytes: MSS * u64::from(marks), packets: marks };
        let ack = AckSample {
            acked: amount,
            newly_delivered: amount,
            delivered: self.delivered,
            prior_in_flight: amount,
            rtt: Some(self.rtt),
            rate: Some(RateSample {
                rate: Rate::of(amount, self.rtt),
                interval: self.rtt,
                delivered: amount,
                lost: Bytes::ZERO,
                departure,
            }),
            ecn: EcnFeedback { ce, ..EcnFeedback::default() },
            ..AckSample::default()
        };
        let path = self.path(amount);
        self.cc.on_state(if marks > 0 { CaState::Cwr } else { CaState::Open }, &path);
        self.cc.on_ack(&ack, &path);
    }

    /// Rounds of 16 segments until Startup and Drain are over, and the queue with them.
    fn cruise(&mut self) {
        for _ in 0..8 {
            self.round(16, 0);
        }
        assert_eq!(self.get("mode"), Some(CRUISE));
    }

    fn get(&self, wanted: &str) -> Option<f64> {
        let mut number = None;
        self.cc.probe(&mut |name, value| {
            if name == wanted {
                number = Some(value);
            }
        });
        number
    }

    /// Alpha in parts of 256.
    fn alpha(&self) -> f64 {
        self.get("ecn_alpha").expect("CE is answered") * 256.0
    }
}

fn low() -> Bbr3Params {
    Bbr3Params { variant: Bbr3Variant::Linux, ecn_low: true, ..Bbr3Params::default() }
}

/// From 256 of 256: 240 after a round without marks; then with 4 of 16 marked, 240 x 240 / 256 = 225, plus 16 x 64 /
/// 256 = 4; then with all marked, 240 x 229 / 256 = 214 (down), plus 16.
#[test]
fn alpha() {
    let mut flow = Rounds::marked();
    assert!((flow.alpha() - 256.0).abs() < 1e-9);
    for (marks, expected) in [(0, 240.0), (4, 229.0), (16, 230.0)] {
        flow.round(16, marks);
        assert!((flow.alpha() - expected).abs() < 1e-9, "{marks}: {}", flow.alpha());
    }
}

/// Two rounds in succession with half of them marked end Startup, and the long-term bound is what the last one
/// delivered.
#[test]
fn startup_ends_with_two_marked_rounds() {
    let mut flow = Rounds::marked();
    // The bandwidth doubles, so that there is no plateau; a round just below the threshold starts the count anew.
    for (segments, marks) in [(8, 0), (16, 8), (32, 15), (64, 32)] {
        flow.round(segments, marks);
        assert_eq!(flow.get("mode"), Some(STARTUP), "{segments} segments");
    }
    flow.round(128, 64);
    assert_ne!(flow.get("mode"), Some(STARTUP));
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Ce));
    assert_eq!(flow.get("inflight_long_bytes"), Some((MSS * 128).as_f64()));
}

/// A round with marks in CRUISE leaves `1 - alpha / 3` of the window as the short-term bound, and the bandwidth as it
/// is; the next marked round leaves that share of the bound.
#[test]
fn marks_lower_the_short_term_bound() {
    let mut flow = Rounds::marked();
    flow.cruise();
    assert_eq!(flow.get("inflight_short_bytes").map(f64::is_nan), Some(true));
    let mut short = flow.cc.cwnd().as_f64();
    for marks in [1, 4] {
        flow.round(16, marks);
        let cut = (flow.alpha() * 85.0 / 256.0).floor();
        short *= (256.0 - cut) / 256.0;
        let bound = flow.get("inflight_short_bytes").expect("a number");
        assert!((bound - short).abs() <= 1.0, "{bound} {short}");
        assert_eq!(flow.cc.cwnd(), Bytes::from_f64(bound), "it bounds the window");
        assert!(cut > 30.0, "the cut is more than a tenth: {cut}");
        assert_eq!(flow.get("bw_short_bit_per_s").map(f64::is_nan), Some(true));
    }
}

/// When the marks have ceased, CRUISE ends at once with a probe; without marks it lasts as many rounds as the window
/// has segments. More than half of a probe's sample marked ends the probe, and what was in flight then is the long-term
/// bound.
#[test]
fn marks_that_cease_lead_to_a_probe_and_marks_end_it() {
    let mut flow = Rounds::marked();
    flow.cruise();
    flow.round(16, 0);
    assert_eq!(flow.get("mode"), Some(CRUISE));
    flow.round(16, 4);
    flow.round(16, 0);
    flow.round(16, 0);
    assert_eq!(flow.get("mode"), Some(UP), "by way of REFILL");
    flow.round(20, 10);
    assert_eq!(flow.get("mode"), Some(UP), "half is not more than half");
    flow.round(20, 11);
    assert_ne!(flow.get("mode"), Some(UP));
    assert_eq!(flow.get("inflight_long_bytes"), Some((MSS * 20).as_f64()));
}

/// Marks do not count over more than 5 ms, or where the receiver does not report each, or if it is not asked for: the
/// state is as without any. A limit of zero is none.
#[test]
fn where_marks_do_not_count() {
    let ms = Duration::from_millis;
    let unlimited = Bbr3Params { ecn_max_rtt: Duration::ZERO, ..low() };
    let off = Bbr3Params { ecn_low: false, ..low() };
    for (params, heard, rtt, counts) in [
        (low(), Feedback::Shares, ms(5), true),
        (low(), Feedback::Counts, ms(5), true),
        (low(), Feedback::Shares, ms(6), false),
        (unlimited, Feedback::Shares, ms(100), true),
        (low(), Feedback::Classic, ms(4), false),
        (off, Feedback::Shares, ms(4), false),
    ] {
        let states = [16, 0].map(|marks| {
            let mut flow = Rounds::new(&params, heard, rtt);
            for _ in 0..12 {
                flow.round(16, marks);
            }
            let mut state = Vec::new();
            flow.cc.probe(&mut |name, value| state.push(format!("{name} {value}")));
            state
        });
        assert_eq!(states[0] != states[1], counts, "{params:?} {heard:?} {rtt:?}");
    }
}

/// What the controller asks of its flow: a receiver that reports each mark, where their share counts; that of RFC 3168, where any
/// mark is a loss; none without an answer.
#[test]
fn feedback() {
    let needs = |params: &Bbr3Params| params.build(FlowInit::new(MSS)).needs().feedback;
    assert_eq!(needs(&low()), Feedback::Shares);
    assert_eq!(needs(&Bbr3Params::default()), Feedback::Classic);
    assert_eq!(needs(&Bbr3Params { ce: Some(CeAnswer::None), ..Bbr3Params::default() }), Feedback::None);
    assert_eq!(needs(&Bbr3Params { ecn_low: false, ..low() }), Feedback::None);
}
