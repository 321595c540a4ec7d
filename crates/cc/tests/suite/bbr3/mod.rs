//! BBR's third and second versions by hand, after spec/congestion-control section 3.23: each test chooses the ACKs
//! and what their samples say. Amounts are segments; the round trip is 100 ms, so that a sample of n segments is a
//! rate of n per round trip and a product of n segments.

mod ack_frequency;
mod ce_as_loss;
mod columns;
mod departure;
mod literal;
mod no_sack;
mod probe;
mod probe_rtt;
mod resume;
mod short_term;
mod startup;
mod undo;
mod up;
mod window;

use windtunnel_cc::{
    AckSample, Bbr2Params, Bbr3Params, Bbr3Variant, CaState, CeAnswer, CongestionControl, CongestionEvent,
    ControllerParams, Departure, EcnFeedback, Feedback, FlowInit, LossFinder, LostSegment, Marked, Pacing,
    PathView, RateSample, Trigger,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use crate::driver::MSS;

const STARTUP: u8 = 0;
const DRAIN: u8 = 1;
const DOWN: u8 = 2;
const CRUISE: u8 = 3;
const REFILL: u8 = 4;
const UP: u8 = 5;
const PROBE_RTT: u8 = 6;

const RTT: Duration = Duration::from_millis(100);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn draft() -> Box<dyn ControllerParams> {
    Box::new(Bbr3Params::default())
}

fn draft_06() -> Box<dyn ControllerParams> {
    Box::new(Bbr3Params { variant: Bbr3Variant::Draft06, ..Bbr3Params::default() })
}

fn linux() -> Box<dyn ControllerParams> {
    Box::new(Bbr3Params { variant: Bbr3Variant::Linux, ..Bbr3Params::default() })
}

/// Linux's rules where marks count at any round trip.
fn marked() -> Box<dyn ControllerParams> {
    let variant = Bbr3Variant::Linux;
    Box::new(Bbr3Params { variant, ecn_low: true, ecn_max_rtt: Duration::ZERO, ..Bbr3Params::default() })
}

fn second() -> Box<dyn ControllerParams> {
    Box::new(Bbr2Params::default())
}

/// An ACK, and the path when it arrives.
#[derive(Clone, Copy, Debug)]
struct Ack {
    /// Time since the last one.
    after: Duration,
    /// Newly delivered.
    newly: u64,
    /// What the sample delivered, and in which time; without a time there is no sample.
    sample: u64,
    interval: Duration,
    /// What was delivered when the sampled segment left; if not given all before this ACK, so that a round starts.
    left: Option<u64>,
    /// What was in flight then, and what was lost since.
    flight_then: u64,
    lost: u64,
    app_limited: bool,
    cwnd_limited: bool,
    /// The amount in flight now.
    in_flight: u64,
    /// What was in flight before the ACK; if not given as much as now.
    before: Option<u64>,
    /// How long pacing delays the next segment.
    wait: Duration,
    rtt: Duration,
    /// Marked CE of what is newly delivered.
    marks: u64,
}

/// An ACK that delivers a round of n segments, with as many in flight.
const fn round(n: u64) -> Ack {
    Ack {
        after: RTT,
        newly: n,
        sample: n,
        interval: RTT,
        left: None,
        flight_then: n,
        lost: 0,
        app_limited: false,
        cwnd_limited: false,
        in_flight: n,
        before: None,
        wait: Duration::ZERO,
        rtt: RTT,
        marks: 0,
    }
}

/// The same, but the sampled segment left before the round.
const fn within(n: u64) -> Ack {
    Ack { left: Some(0), ..round(n) }
}

/// A lost segment: its number, what was in flight when it left, and what was lost since then, itself among it.
#[derive(Clone, Copy, Debug)]
struct Loss {
    number: u64,
    flight_then: u64,
    lost: u64,
    app_limited: bool,
}

/// A few of very many: no more than the share of losses that counts.
const fn loss(number: u64) -> Loss {
    Loss { number, flight_then: 1000, lost: 1, app_limited: false }
}

/// A connection.
struct Flow {
    cc: Box<dyn CongestionControl>,
    now: Time,
    delivered: u64,
    lost: u64,
}

impl Flow {
    /// Established after a second, with an initial window of ten segments.
    fn new(params: &dyn ControllerParams) -> Flow {
        Flow::seeded(params, 0)
    }

    fn seeded(params: &dyn ControllerParams, seed: u64) -> Flow {
        let mut cc = params.build(FlowInit { seed, ..FlowInit::new(MSS) });
        cc.on_negotiated(Feedback::Shares);
        let mut flow = Flow { cc, now: Time::from_nanos(1_000_000_000), delivered: 0, lost: 0 };
        let path = flow.path(0);
        flow.cc.on_established(&path);
        flow
    }

    fn path(&self, in_flight: u64) -> PathView {
        PathView {
            now: self.now,
            mss: MSS,
            srtt: RTT,
            min_rtt: RTT,
            in_flight: MSS * in_flight,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA + MSS * in_flight,
        }
    }

    fn ack(&mut self, ack: Ack) {
        self.now += ack.after;
        let departure = Departure {
            sent: self.now,
            in_flight: MSS * ack.flight_then,
            delivered: MSS * ack.left.unwrap_or(self.delivered),
            lost: MSS * self.lost,
            app_limited: ack.app_limited,
        };
        self.delivered += ack.newly;
        let rate = (!ack.interval.is_zero()).then(|| RateSample {
            rate: Rate::of(MSS * ack.sample, ack.interval),
            interval: ack.interval,
            delivered: MSS * ack.sample,
            lost: MSS * ack.lost,
            departure,
        });
        let ce = Marked { bytes: MSS * ack.marks, packets: ack.marks as u32 };
        let sample = AckSample {
            acked: MSS * ack.newly,
            newly_delivered: MSS * ack.newly,
            delivered: MSS * self.delivered,
            lost: MSS * self.lost,
            prior_in_flight: MSS * ack.before.unwrap_or(ack.in_flight),
            next_departure: self.now + ack.wait,
            rtt: Some(ack.rtt),
            rate,
            ecn: EcnFeedback { ce, ..EcnFeedback::default() },
            app_limited: ack.app_limited,
            cwnd_limited: ack.cwnd_limited,
            ..AckSample::default()
        };
        let path = self.path(ack.in_flight);
        self.cc.on_ack(&sample, &path);
    }

    /// A round is delivered whose sample has this rate, with a hundred segments in flight.
    fn rated(&mut self, rate: Rate, after: Duration, rtt: Duration) {
        self.now += after;
        let departure = Departure {
            sent: self.now,
            in_flight: MSS * 100,
            delivered: MSS * self.delivered,
            lost: Bytes::ZERO,
            app_limited: false,
        };
        self.delivered += 100;
        let sample = AckSample {
            acked: MSS * 100,
            newly_delivered: MSS * 100,
            delivered: MSS * self.delivered,
            rtt: Some(rtt),
            rate: Some(RateSample {
                rate,
                interval: rtt,
                delivered: MSS * 100,
                lost: Bytes::ZERO,
                departure,
            }),
            ..AckSample::default()
        };
        let path = PathView { srtt: rtt, min_rtt: rtt, ..self.path(100) };
        self.cc.on_ack(&sample, &path);
    }

    fn acks(&mut self, n: u32, ack: Ack) {
        for _ in 0..n {
            self.ack(ack);
        }
    }

    fn lose(&mut self, loss: Loss) {
        self.lost += loss.lost;
        let departure = Departure {
            sent: self.now,
            in_flight: MSS * loss.flight_then,
            delivered: Bytes::ZERO,
            lost: MSS * (self.lost - loss.lost),
            app_limited: loss.app_limited,
        };
        let segment = LostSegment {
            seq: Seq::FIRST_DATA + MSS * loss.number,
            payload: MSS,
            departure,
            lost: MSS * self.lost,
            found_by: LossFinder::Ack,
        };
        let path = self.path(loss.flight_then);
        self.cc.on_lost(&segment, &path);
    }

    fn state(&mut self, state: CaState) {
        let path = self.path(0);
        self.cc.on_state(state, &path);
    }

    fn congestion(&mut self) -> bool {
        let event = CongestionEvent { trigger: Trigger::Loss, window: self.cc.cwnd(), lost: MSS, rtt: None };
        let path = self.path(0);
        self.cc.on_congestion(&event, &path)
    }

    fn time_out(&mut self, new_episode: bool, in_flight: u64) {
        let path = self.path(in_flight);
        self.cc.on_rto(new_episode, &path);
    }

    fn undo(&mut self) {
        let path = self.path(0);
        self.cc.on_undo(&path);
    }

    fn idle(&mut self, idle: Duration) {
        self.now += idle;
        let path = self.path(0);
        self.cc.on_tx_start(idle, &path);
    }

    /// A plateau at n segments per round trip, an empty queue: CRUISE after four rounds.
    fn cruise(params: &dyn ControllerParams, n: u64) -> Flow {
        let mut flow = Flow::new(params);
        flow.acks(4, round(n));
        assert_eq!(flow.mode(), CRUISE);
        flow
    }

    /// ACKs that each end a round after 10 ms, until the probe comes, since rounds count as time does.
    fn probe(&mut self, ack: Ack) {
        for _ in 0..70 {
            self.ack(Ack { after: ms(10), ..ack });
            if self.mode() == UP {
                return;
            }
        }
        panic!("no probe: mode {}", self.mode());
    }

    /// The first probe loses so much that `bound` segments are the long-term bound, and ends.
    fn bounded(params: &dyn ControllerParams, n: u64, bound: u64) -> Flow {
        let mut flow = Flow::cruise(params, n);
        flow.probe(round(n));
        flow.lose(Loss { number: 0, flight_then: bound + 1, lost: bound, app_limited: false });
        assert_eq!((flow.mode(), flow.number("inflight_long_bytes")), (DOWN, (MSS * bound).as_f64()));
        flow
    }

    fn number(&self, wanted: &str) -> f64 {
        let mut number = None;
        self.cc.probe(&mut |name, value| {
            if name == wanted {
                number = Some(value);
            }
        });
        number.expect("a name of a number")
    }

    fn mode(&self) -> u8 {
        self.number("mode") as u8
    }

    /// The number in segments; none if there is no such bound.
    fn segments(&self, name: &str) -> Option<f64> {
        let bytes = self.number(&format!("{name}_bytes"));
        (!bytes.is_nan()).then(|| bytes / MSS.as_f64())
    }

    /// A bandwidth in segments per round trip; none if there is no such bound.
    fn bandwidth(&self, name: &str) -> Option<f64> {
        let bits = self.number(&format!("{name}_bit_per_s"));
        (!bits.is_nan()).then(|| bits / 8.0 * 0.1 / MSS.as_f64())
    }

    fn cwnd(&self) -> f64 {
        self.cc.cwnd().as_f64() / MSS.as_f64()
    }

    /// The pace in segments per round trip.
    fn pace(&self) -> f64 {
        match self.cc.control().pacing {
            Pacing::Rate(rate) => rate.bits_per_sec() as f64 / 8.0 * 0.1 / MSS.as_f64(),
            Pacing::Gain(gain) => panic!("BBR sets a rate, not a gain of {gain}"),
        }
    }
}

/// Equal but for the rounding to bytes and bits.
fn assert_near(actual: f64, expected: f64, what: &str) {
    assert!((actual - expected).abs() < 1e-3, "{what}: {actual}, not {expected}");
}

/// The same where a bound may be absent.
fn assert_bound(actual: Option<f64>, expected: Option<f64>, what: &str) {
    match (actual, expected) {
        (Some(actual), Some(expected)) => assert_near(actual, expected, what),
        _ => assert_eq!(actual, expected, "{what}"),
    }
}
