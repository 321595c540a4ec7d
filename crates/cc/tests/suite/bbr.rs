//! The BBR family on any network: whatever happens, windows and paces stay within what they can be.

use proptest::collection::vec;
use proptest::prelude::*;
use windtunnel_cc::{
    AckSample, Bbr2Params, Bbr3Params, Bbr3Variant, BbrParams, CaState, CongestionControl, CongestionEvent,
    ControllerParams, Departure, EcnFeedback, Feedback, FlowInit, LossFinder, LostSegment, Marked, Pacing,
    PathView, RateSample, Trigger,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use crate::driver::MSS;

/// Something that happens to a connection.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ack { after_us: u64, segments: u64, marks: u64, interval_us: u64, app_limited: bool, rtt_us: Option<u64> },
    Lose { segments: u64 },
    Timeout { new_episode: bool },
    Recovered,
    Undo,
    Idle { ms: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let rtt_us = prop::option::of(1..2_000_000_u64);
    prop_oneof![
        40 => (0..300_000_u64, 0..200_u64, 0..200_u64, 0..1_000_000_u64, any::<bool>(), rtt_us).prop_map(
            |(after_us, segments, marks, interval_us, app_limited, rtt_us)| {
                let marks = marks.min(segments);
                Event::Ack { after_us, segments, marks, interval_us, app_limited, rtt_us }
            }
        ),
        4 => (1..50_u64).prop_map(|segments| Event::Lose { segments }),
        2 => any::<bool>().prop_map(|new_episode| Event::Timeout { new_episode }),
        4 => Just(Event::Recovered),
        1 => Just(Event::Undo),
        1 => (0..20_000_u64).prop_map(|ms| Event::Idle { ms }),
    ]
}

/// The connection around a controller.
struct Connection {
    cc: Box<dyn CongestionControl>,
    now: Time,
    delivered: Bytes,
    lost: Bytes,
    state: CaState,
}

impl Connection {
    fn path(&self, in_flight: Bytes) -> PathView {
        PathView {
            now: self.now,
            mss: MSS,
            srtt: Duration::from_millis(40),
            min_rtt: Duration::from_millis(30),
            in_flight,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA + in_flight,
        }
    }

    fn enter(&mut self, state: CaState, path: &PathView) {
        if self.state != state || state == CaState::Loss {
            self.state = state;
            self.cc.on_state(state, path);
        }
    }

    fn happen(&mut self, event: Event) {
        let path = self.path(self.cc.cwnd());
        match event {
            Event::Ack { after_us, segments, marks, interval_us, app_limited, rtt_us } => {
                self.now += Duration::from_micros(after_us);
                let (before, amount) = (self.delivered, MSS * segments);
                self.delivered += amount;
                let departure = Departure {
                    sent: self.now,
                    in_flight: MSS * 20,
                    delivered: before,
                    lost: self.lost,
                    app_limited,
                };
                let interval = Duration::from_micros(interval_us);
                let rate = (segments > 0 && interval_us > 0).then(|| RateSample {
                    rate: Rate::of(amount, interval),
                    interval,
                    delivered: amount,
                    lost: Bytes::ZERO,
                    departure,
                });
                let ack = AckSample {
                    acked: amount,
                    newly_delivered: amount,
                    delivered: self.delivered,
                    lost: self.lost,
                    prior_in_flight: path.in_flight,
                    rtt: rtt_us.map(Duration::from_micros),
                    rate,
                    ecn: EcnFeedback {
                        ce: Marked { bytes: MSS * marks, packets: marks as u32 },
                        ..EcnFeedback::default()
                    },
                    app_limited,
                    cwnd_limited: !app_limited,
                    ..AckSample::default()
                };
                let path = self.path(path.in_flight.saturating_sub(amount));
                self.cc.on_ack(&ack, &path);
            }
            Event::Lose { segments } => {
                for n in 0..segments {
                    self.lost += MSS;
                    let departure = Departure {
                        sent: self.now,
                        in_flight: MSS * 20,
                        delivered: self.delivered,
                        lost: Bytes::ZERO,
                        app_limited: false,
                    };
                    let segment = LostSegment {
                        seq: Seq::FIRST_DATA + MSS * n,
                        payload: MSS,
                        departure,
                        lost: self.lost,
                        found_by: LossFinder::Ack,
                    };
                    self.cc.on_lost(&segment, &path);
                }
                if self.state < CaState::Cwr {
                    let event = CongestionEvent {
                        trigger: Trigger::Loss,
                        window: self.cc.cwnd(),
                        lost: MSS * segments,
                        rtt: None,
                    };
                    self.cc.on_congestion(&event, &path);
                    self.enter(CaState::Recovery, &path);
                }
            }
            Event::Timeout { new_episode } => {
                let path = self.path(Bytes::ZERO);
                self.cc.on_rto(new_episode, &path);
                self.enter(CaState::Loss, &path);
            }
            Event::Recovered => {
                self.cc.on_recovered(&path);
                self.enter(CaState::Open, &path);
            }
            Event::Undo => self.cc.on_undo(&path),
            Event::Idle { ms } => {
                self.now += Duration::from_millis(ms);
                let path = self.path(Bytes::ZERO);
                self.cc.on_tx_start(Duration::from_millis(ms), &path);
            }
        }
    }
}

fn family() -> Vec<Box<dyn ControllerParams>> {
    vec![
        Box::new(BbrParams::default()),
        Box::new(BbrParams { ack_aggregation: false, policer_detection: false, pacing_margin: false }),
        Box::new(Bbr3Params::default()),
        Box::new(Bbr3Params { variant: Bbr3Variant::Draft06, ..Bbr3Params::default() }),
        Box::new(Bbr3Params { variant: Bbr3Variant::Linux, ..Bbr3Params::default() }),
        Box::new(Bbr3Params {
            variant: Bbr3Variant::Linux,
            ecn_low: true,
            ecn_max_rtt: Duration::from_millis(50),
            ..Bbr3Params::default()
        }),
        Box::new(Bbr2Params::default()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A window of at least a segment, a pace that is a rate, and the same names of numbers, after any events.
    #[test]
    fn stays_within_bounds(events in vec(event(), 1..400), seed in any::<u64>()) {
        for params in family() {
            let cc = params.build(FlowInit { seed, ..FlowInit::new(MSS) });
            let mut connection = Connection {
                cc,
                now: Time::ZERO + Duration::from_millis(40),
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                state: CaState::Open,
            };
            let path = connection.path(Bytes::ZERO);
            connection.cc.on_negotiated(Feedback::Counts);
            connection.cc.on_established(&path);
            let names = |cc: &dyn CongestionControl| {
                let mut names = Vec::new();
                cc.probe(&mut |name, _| names.push(name));
                names
            };
            let first = names(&*connection.cc);
            for event in &events {
                connection.happen(*event);
                let control = connection.cc.control();
                prop_assert!(control.cwnd >= MSS, "{} after {event:?}", control.cwnd);
                prop_assert!(matches!(control.pacing, Pacing::Rate(rate) if rate > Rate::ZERO), "{:?}", control.pacing);
                prop_assert!(control.send_quantum.is_some_and(|quantum| quantum >= MSS));
            }
            prop_assert_eq!(first, names(&*connection.cc));
        }
    }
}
