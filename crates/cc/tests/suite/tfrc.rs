//! What TFRC makes of the events of its connection (RFC 5348; spec/congestion-control section 3.25).

use proptest::collection::vec;
use proptest::prelude::*;
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, ControllerParams, Departure, EcnFeedback, ExitReason,
    Feedback, FlowInit, InitialRate, LossFinder, LostSegment, Marked, Pacing, PathView, Phase, SentSegment,
    TfrcParams, Trigger,
};
use windtunnel_units::{Bytes, Duration, Seq, Time};

use crate::driver::MSS;

const RTT: Duration = Duration::from_millis(100);

/// A connection that is always told what its segments became.
struct Connection {
    cc: Box<dyn CongestionControl>,
    now: Time,
    rtt: Duration,
    delivered: Bytes,
    lost: Bytes,
    app_limited: bool,
}

impl Connection {
    fn of(params: &TfrcParams) -> Connection {
        let cc = params.build(FlowInit::new(MSS));
        let now = Time::ZERO + RTT;
        let (delivered, lost) = (Bytes::ZERO, Bytes::ZERO);
        let mut connection = Connection { cc, now, rtt: RTT, delivered, lost, app_limited: false };
        let path = connection.path();
        connection.cc.on_established(&path);
        connection
    }

    fn new() -> Connection {
        Connection::of(&TfrcParams::default())
    }

    fn path(&self) -> PathView {
        PathView {
            now: self.now,
            mss: MSS,
            srtt: self.rtt,
            min_rtt: self.rtt,
            in_flight: MSS * 10,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA + MSS * 10,
        }
    }

    fn send(&mut self) {
        let segment = SentSegment { seq: Seq::FIRST_DATA, payload: MSS, retransmission: false };
        let path = self.path();
        self.cc.on_sent(&segment, &path);
    }

    fn ack_of(&mut self, after: Duration, segments: u64, ce: u32) {
        self.now += after;
        self.delivered += MSS * segments;
        let ack = AckSample {
            newly_delivered: MSS * segments,
            delivered: self.delivered,
            lost: self.lost,
            rtt: Some(self.rtt),
            ecn: EcnFeedback { ce: Marked { bytes: MSS, packets: ce }, ..EcnFeedback::default() },
            app_limited: self.app_limited,
            ..AckSample::default()
        };
        let path = self.path();
        self.cc.on_ack(&ack, &path);
    }

    fn ack(&mut self, after: Duration, segments: u64) {
        self.ack_of(after, segments, 0);
    }

    /// Round trips in which `segments` arrive one by one, evenly spaced; a segment leaves with each ACK.
    fn rounds(&mut self, rounds: u64, segments: u64) {
        for _ in 0..rounds * segments {
            self.ack(self.rtt / segments, 1);
            self.send();
        }
    }

    /// A segment that left a round trip ago is found lost.
    fn lose(&mut self) {
        self.lost += MSS;
        let departure = Departure {
            sent: Time::ZERO + self.now.since_start().saturating_sub(self.rtt),
            in_flight: MSS,
            delivered: self.delivered,
            lost: self.lost - MSS,
            app_limited: false,
        };
        let (seq, payload, lost) = (Seq::FIRST_DATA, MSS, self.lost);
        let segment = LostSegment { seq, payload, departure, lost, found_by: LossFinder::Ack };
        let path = self.path();
        self.cc.on_lost(&segment, &path);
    }

    fn congestion(&mut self, trigger: Trigger) -> bool {
        let event =
            CongestionEvent { trigger, window: self.cc.cwnd(), lost: Bytes::ZERO, rtt: Some(self.rtt) };
        let path = self.path();
        self.cc.on_congestion(&event, &path)
    }

    fn probe(&self, name: &str) -> f64 {
        let mut number = None;
        self.cc.probe(&mut |key, value| {
            if key == name {
                number = Some(value);
            }
        });
        number.expect("a number of TFRC")
    }

    /// The allowed rate in segments per 100 ms.
    fn rate(&self) -> f64 {
        self.probe("allowed_bit_per_s") / 80.0 / MSS.as_f64()
    }

    fn is_in_slow_start(&self) -> bool {
        self.cc.control().phase == Phase::SlowStart
    }
}

fn assert_near(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= share * expected, "{value}, not {expected}");
}

/// Section 4.2: `W_init / R`, with the window of RFC 3390: min(4 MSS, max(2 MSS, 4380 bytes)); or the flow's own.
#[test]
fn initial_rate() {
    for (mss, window, initial_rate) in [
        (536, 2144, InitialRate::Rfc3390),
        (1460, 4380, InitialRate::Rfc3390),
        (9000, 18_000, InitialRate::Rfc3390),
        (1460, 14_600, InitialRate::Iw),
    ] {
        let mss = Bytes::new(mss);
        let params = TfrcParams { initial_rate, ..TfrcParams::default() };
        let mut cc = params.build(FlowInit::new(mss));
        let Pacing::Rate(before) = cc.pacing() else { panic!("TFRC has a rate") };
        assert_eq!(before.bits_per_sec(), mss.bits(), "a segment per second without a round trip");
        cc.on_established(&PathView { mss, ..Connection::new().path() });
        let Pacing::Rate(rate) = cc.pacing() else { panic!("TFRC has a rate") };
        assert_eq!(rate.bits_per_sec(), 80 * window);
    }
}

/// A SYN that was sent twice measured no round trip: the first ACK of data does.
#[test]
fn the_first_round_trip_can_come_with_data() {
    let params = TfrcParams::default();
    let mut connection = Connection { cc: params.build(FlowInit::new(MSS)), ..Connection::new() };
    let path = PathView { srtt: Duration::ZERO, ..connection.path() };
    connection.cc.on_established(&path);
    assert!(connection.rate().is_nan());
    connection.ack(RTT, 1);
    assert_near(connection.rate(), 4380.0 / 1448.0, 1e-9);
}

/// Section 6.3.1: the first loss event leaves the rate at which data arrived before it, whatever the interval before it was.
#[test]
fn the_first_interval_gives_the_rate_that_arrived() {
    for segments in [5, 20, 50] {
        let mut connection = Connection::new();
        connection.rounds(10, segments);
        assert!(connection.is_in_slow_start());
        assert_near(connection.rate(), 2.0 * segments as f64, 0.01);
        connection.lose();
        connection.ack(RTT / segments, 1);
        assert!(!connection.is_in_slow_start());
        assert_eq!(connection.cc.slow_start_exit(), Some(ExitReason::Loss));
        assert_near(connection.rate(), segments as f64, 0.01);
    }
}

/// Section 6.3.1: if the first packets are lost, nothing arrived: half a segment per round trip, a loss event rate of 20.64 %.
#[test]
fn the_first_packets_are_lost() {
    let mut connection = Connection::new();
    connection.lose();
    assert_near(connection.probe("loss_event_rate"), 0.2064, 0.001);
}

/// Section 6.1: a new loss event is reported at once; section 5.2: further losses within a round trip change nothing.
#[test]
fn a_loss_event_is_answered_at_once_and_once() {
    let mut connection = Connection::new();
    connection.rounds(10, 20);
    connection.lose();
    connection.ack(Duration::from_millis(1), 1);
    let answered = connection.rate();
    for _ in 0..20 {
        connection.lose();
        connection.ack(Duration::from_millis(4), 1);
    }
    assert_near(connection.probe("loss_events"), 1.0, 0.0);
    assert_near(connection.rate(), answered, 0.1);
    connection.ack(Duration::from_millis(25), 1);
    connection.lose();
    assert_near(connection.probe("loss_events"), 2.0, 0.0);
}

/// Section 5.1: packets that arrive after all are no losses.
#[test]
fn a_spurious_loss_is_taken_back() {
    let mut connection = Connection::new();
    connection.rounds(10, 20);
    connection.lose();
    connection.ack(RTT / 20, 1);
    assert!(!connection.is_in_slow_start());
    let path = connection.path();
    connection.cc.on_undo(&path);
    assert_near(connection.probe("undos"), 1.0, 0.0);
    connection.rounds(2, 20);
    assert!(connection.is_in_slow_start() && connection.probe("loss_event_rate") == 0.0);
    assert_near(connection.rate(), 40.0, 0.1);
}

/// Section 5.1: a mark is a loss event of the newest packet. RFC 3168's echo repeats it for a round trip and is heard once; with counts each
/// ACK says what is new.
#[test]
fn marks() {
    for exact in [false, true] {
        let mut connection = Connection::new();
        connection.cc.on_negotiated(if exact { Feedback::Counts } else { Feedback::Classic });
        connection.rounds(10, 20);
        for _ in 0..20 {
            assert!(connection.congestion(Trigger::Ce), "CWR is to be sent");
            connection.ack_of(RTT / 20, 1, 1);
        }
        assert_near(connection.probe("loss_events"), 1.0, 0.0);
        assert_eq!(connection.cc.slow_start_exit(), Some(ExitReason::Ce));
        // With the loss event's own packet: 20 packets.
        assert_near(connection.probe("open_interval_packets"), 20.0, 0.0);
        connection.rounds(1, 20);
        connection.congestion(Trigger::Ce);
        connection.ack_of(RTT / 20, 1, 1);
        assert_near(connection.probe("loss_events"), 2.0, 0.0);
    }
}

/// Section 4.4: the rate halves after four round trips without feedback, and again after four more. It is checked when
/// packets leave.
#[test]
fn silence() {
    let mut connection = Connection::new();
    connection.rounds(10, 20);
    let (before, window) = (connection.rate(), connection.cc.cwnd());
    // From the last feedback on, which was within the last round trip.
    connection.now += RTT * 2;
    connection.send();
    assert_near(connection.rate(), before, 0.0);
    connection.now += RTT * 2;
    connection.send();
    assert_near(connection.rate(), before / 2.0, 1e-9);
    connection.now += RTT * 3;
    connection.send();
    assert_near(connection.rate(), before / 2.0, 1e-9);
    connection.now += RTT;
    connection.send();
    assert_near(connection.rate(), before / 4.0, 1e-9);
    assert_eq!(connection.cc.cwnd(), window, "the rate alone limits: 8 R X of the last feedback");
    assert_near(window.as_f64() / MSS.as_f64(), 8.0 * before, 1e-3);
}

/// Section 5.1 and RFC 3168: an ACK's mark alone is an event where marks are counted; where they are echoed, the
/// sender's answer to the echo is one, and not where they are counted.
#[test]
fn marks_are_heard_in_one_way() {
    for (heard, from_ack, from_echo) in [(Feedback::Classic, 0.0, 1.0), (Feedback::Counts, 1.0, 0.0)] {
        for (echo, events) in [(false, from_ack), (true, from_echo)] {
            let mut connection = Connection::new();
            connection.cc.on_negotiated(heard);
            connection.rounds(10, 20);
            if echo {
                connection.congestion(Trigger::Ce);
            }
            connection.ack_of(RTT / 20, 1, u32::from(!echo));
            assert_near(connection.probe("loss_events"), events, 0.0);
        }
    }
    let mut connection = Connection::new();
    connection.rounds(10, 20);
    connection.congestion(Trigger::Loss);
    connection.ack(RTT / 20, 1);
    assert_near(connection.probe("loss_events"), 0.0, 0.0);
}

/// Only what was lost in the last recovery is taken back: an event before it remains. The mean interval is 1/p.
#[test]
fn recovery_keeps_the_events_before_it() {
    for (recovered, events) in [(true, 1.0), (false, 0.0)] {
        let mut connection = Connection::new();
        let path = connection.path();
        connection.rounds(10, 20);
        connection.lose();
        connection.rounds(5, 20);
        if recovered {
            connection.cc.on_recovered(&path);
        }
        connection.lose();
        assert_near(connection.probe("loss_events"), 2.0, 0.0);
        connection.cc.on_undo(&path);
        assert_near(connection.probe("loss_events"), events, 0.0);
        if recovered {
            let interval = connection.probe("loss_interval_packets");
            assert_near(interval, 1.0 / connection.probe("loss_event_rate"), 1e-12);
        }
    }
}

/// Section 4.4: the nofeedback timer runs from feedback, which the ACK of half a round trip after the start is not.
/// The retransmission timer looks at it, too.
#[test]
fn the_timer_runs_from_feedback() {
    let mut connection = Connection::new();
    let before = connection.rate();
    connection.send();
    connection.ack(RTT / 2, 1);
    connection.send();
    connection.now += RTT * 7 / 2 - Duration::from_nanos(1);
    let path = connection.path();
    connection.cc.on_rto(true, &path);
    assert_near(connection.rate(), before, 0.0);
    connection.now += Duration::from_nanos(1);
    let path = connection.path();
    connection.cc.on_rto(false, &path);
    assert_near(connection.rate(), before / 2.0, 1e-9);
}

/// Section 4.4: an idle sender keeps what it may start with, however long it is idle.
#[test]
fn idle() {
    let mut connection = Connection::new();
    connection.rounds(10, 20);
    for _ in 0..3 {
        connection.now += Duration::from_secs(100_000);
        let path = connection.path();
        connection.cc.on_tx_start(Duration::from_secs(100_000), &path);
        let initial = 4380.0 / 1448.0;
        assert!((initial..=2.0 * initial).contains(&connection.rate()), "{}", connection.rate());
    }
}

/// Section 4.5: departures follow the root of the round trip over its mean. Where it doubles: 0.9 / sqrt(2) + 0.1.
#[test]
fn oscillation_prevention() {
    for oscillation_prevention in [true, false] {
        let params = TfrcParams { oscillation_prevention, ..TfrcParams::default() };
        let mut connection = Connection::of(&params);
        connection.rounds(10, 20);
        connection.rtt = RTT * 2;
        connection.ack(RTT, 20);
        let share = connection.probe("pace_bit_per_s") / connection.probe("allowed_bit_per_s");
        assert_near(share, if oscillation_prevention { 0.736_396 } else { 1.0 }, 1e-5);
        assert_near(connection.probe("mean_rtt_s"), 0.11, 1e-6);
    }
}

/// Something that happens to a connection.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ack { after_us: u64, segments: u64, ce: u32, app_limited: bool },
    Rtt { us: u64 },
    Send { after_us: u64 },
    Lose { segments: u64 },
    Mark,
    Timeout,
    Recovered,
    Undo,
    Idle { ms: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        40 => (0..300_000_u64, 0..200_u64, 0..2_u32, any::<bool>()).prop_map(
            |(after_us, segments, ce, app_limited)| Event::Ack { after_us, segments, ce, app_limited }
        ),
        4 => (0..2_000_000_u64).prop_map(|us| Event::Rtt { us }),
        10 => (0..3_000_000_u64).prop_map(|after_us| Event::Send { after_us }),
        4 => (1..50_u64).prop_map(|segments| Event::Lose { segments }),
        2 => Just(Event::Mark),
        2 => Just(Event::Timeout),
        4 => Just(Event::Recovered),
        1 => Just(Event::Undo),
        1 => (0..20_000_000_u64).prop_map(|ms| Event::Idle { ms }),
    ]
}

fn happen(connection: &mut Connection, event: Event) {
    match event {
        Event::Ack { after_us, segments, ce, app_limited } => {
            connection.app_limited = app_limited;
            connection.ack_of(Duration::from_micros(after_us), segments, ce);
        }
        Event::Rtt { us } => connection.rtt = Duration::from_micros(us),
        Event::Send { after_us } => {
            connection.now += Duration::from_micros(after_us);
            connection.send();
        }
        Event::Lose { segments } => (0..segments).for_each(|_| connection.lose()),
        Event::Mark => {
            connection.congestion(Trigger::Ce);
        }
        Event::Timeout => {
            let path = connection.path();
            connection.cc.on_rto(true, &path);
        }
        Event::Recovered => {
            let path = connection.path();
            connection.cc.on_recovered(&path);
        }
        Event::Undo => {
            let path = connection.path();
            connection.cc.on_undo(&path);
        }
        Event::Idle { ms } => {
            connection.now += Duration::from_millis(ms);
            let path = connection.path();
            connection.cc.on_tx_start(Duration::from_millis(ms), &path);
        }
    }
}

proptest! {
    /// Whatever happens, the rate is at least a segment in 64 s and the window between four segments and what TCP can announce; the loss event
    /// rate is a rate; and the same numbers are reported, none of them infinite.
    #[test]
    fn rates_stay_within_bounds(
        b in 1..=8_u32,
        n in 2..=16_u32,
        history_discounting in any::<bool>(),
        oscillation_prevention in any::<bool>(),
        counts in any::<bool>(),
        events in vec(event(), 1..300),
    ) {
        let params =
            TfrcParams { b, n, history_discounting, oscillation_prevention, ..TfrcParams::default() };
        let mut connection = Connection::of(&params);
        connection.cc.on_negotiated(if counts { Feedback::Counts } else { Feedback::Classic });
        let least = MSS.bits() / 64;
        for event in events {
            happen(&mut connection, event);
            let control = connection.cc.control();
            prop_assert!(control.cwnd >= MSS * 4 && control.cwnd <= Bytes::new(1 << 30), "{event:?}");
            let Pacing::Rate(pace) = control.pacing else { panic!("TFRC has a rate") };
            prop_assert!(pace.bits_per_sec() >= least, "{pace} after {event:?}");
            prop_assert!(connection.probe("allowed_bit_per_s") >= least as f64);
            let p = connection.probe("loss_event_rate");
            prop_assert!((0.0..=1.0).contains(&p), "{p} after {event:?}");
            let mut names = Vec::new();
            let mut finite = true;
            connection.cc.probe(&mut |name, value| {
                names.push(name);
                finite &= !value.is_infinite();
            });
            prop_assert!(finite && names.len() == 12, "{names:?} after {event:?}");
        }
    }
}
