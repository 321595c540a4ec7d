//! Paced chirping, segment by segment (spec/congestion-control section 2.5), on a path of 100 ms without a queue
//! unless a test says otherwise.

use std::collections::VecDeque;
use std::sync::Arc;

use windtunnel_cc::{
    AckSample, CongestionControl, ControllerParams, ExitReason, PacedChirpingParams, Pacing, PathView, Phase,
    SentSegment, Style, WindowedConfig,
};
use windtunnel_units::{Duration, Seq, Time};

use crate::driver::{MSS, init};

const RTT: Duration = Duration::from_millis(100);
const US: Duration = Duration::from_micros(1);
const NS: Duration = Duration::from_nanos(1);

/// A sender whose segments leave at the pace that the controller sets, when the test says so.
struct Chirper {
    cc: Box<dyn CongestionControl>,
    rtt: Duration,
    now: Time,
    /// When the pace lets the next segment leave.
    next: Time,
    una: Seq,
    nxt: Seq,
    /// When each segment in flight left.
    flight: VecDeque<Time>,
}

impl Chirper {
    fn new(params: PacedChirpingParams, rtt: Duration) -> Chirper {
        let mut config = WindowedConfig { slow_start: Arc::new(params), ..WindowedConfig::default() };
        config.resolve(Style::Linux);
        let cc = config.build(init(MSS * 10));
        let (una, nxt) = (Seq::FIRST_DATA, Seq::FIRST_DATA);
        Chirper { cc, rtt, now: Time::ZERO, next: Time::ZERO, una, nxt, flight: VecDeque::new() }
    }

    /// The module's values on a path of 100 ms.
    fn usual() -> Chirper {
        Chirper::new(PacedChirpingParams::default(), RTT)
    }

    fn path(&self) -> PathView {
        let (rtt, una, nxt) = (self.rtt, self.una, self.nxt);
        PathView { now: self.now, mss: MSS, srtt: rtt, min_rtt: rtt, in_flight: nxt - una, una, nxt }
    }

    /// The gap behind the segment that leaves next, in microseconds.
    fn gap(&self) -> u64 {
        let Pacing::Rate(rate) = self.cc.pacing() else { panic!("chirps have gaps") };
        (rate.transfer_time(MSS).as_nanos() + 500) / 1000
    }

    fn leave(&mut self, seq: Seq, retransmission: bool) {
        let path = self.path();
        self.cc.on_sent(&SentSegment { seq, payload: MSS, retransmission }, &path);
    }

    /// The next segments leave as soon as they may. Returns the gaps behind them.
    fn send(&mut self, segments: usize) -> Vec<u64> {
        let one = |chirper: &mut Chirper| {
            chirper.now = chirper.now.max(chirper.next);
            let (gap, seq) = (chirper.gap(), chirper.nxt);
            chirper.nxt = seq + MSS;
            chirper.leave(seq, false);
            chirper.flight.push_back(chirper.now);
            chirper.next = chirper.now + US * gap;
            gap
        };
        (0..segments).map(|_| one(self)).collect()
    }

    /// An ACK of this number of segments arrives.
    fn acknowledge(&mut self, segments: u64) {
        self.una = self.una + MSS * segments;
        let acked = MSS * segments;
        let ack = AckSample { acked, newly_delivered: acked, rtt: Some(self.rtt), ..AckSample::default() };
        let path = self.path();
        self.cc.on_ack(&ack, &path);
    }

    /// The ACKs of the oldest segments come, each a round trip after its segment left. Returns the window, in
    /// segments.
    fn hear(&mut self, segments: usize) -> u64 {
        for _ in 0..segments {
            self.now = self.flight.pop_front().expect("something is in flight") + self.rtt;
            self.acknowledge(1);
        }
        self.cc.cwnd() / MSS
    }

    /// The next segment leaves, or the next ACK comes, whichever is first.
    fn step(&mut self) {
        let fits = MSS * (self.flight.len() as u64 + 1) <= self.cc.cwnd();
        if fits && self.flight.front().is_none_or(|sent| self.next <= *sent + self.rtt) {
            self.send(1);
        } else {
            self.hear(1);
        }
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

    /// The estimate in microseconds, the chirps that it knows, and the chirps in a round.
    fn state(&self) -> (f64, f64, f64) {
        (self.probe("chirp_gap_us"), self.probe("chirp_count"), self.probe("chirps_per_round"))
    }
}

/// The first two chirps have five segments: gaps from 2 * 200 us, each smaller by 2 * 200/5 = 80 us, 1120 us in all.
/// The guard interval fills half of the round trip: 50 - 1.12 ms; it is at least the estimate, where half of 2 ms is
/// less than a chirp.
#[test]
fn the_gaps_of_the_first_chirps() {
    for (rtt, guard) in [(RTT, 48_880), (Duration::from_millis(2), 200)] {
        let mut flow = Chirper::new(PacedChirpingParams::default(), rtt);
        let chirp = [400, 320, 240, 160, guard];
        assert_eq!(flow.send(10), [chirp, chirp].concat(), "{rtt}");
    }
}

/// The window is what is outstanding and what is left of the round. The second round starts once chirp 0 is analysed
/// and the first round is sent, whichever is later. Segments that the window still lets leave belong to no chirp.
#[test]
fn the_window_holds_the_round() {
    let mut flow = Chirper::usual();
    flow.send(3);
    assert_eq!(flow.hear(1), 2 + 7);
    flow.send(2);
    assert_eq!(flow.hear(4), 5, "chirp 1 is still to be sent");
    assert_eq!(flow.state(), (180.0, 1.0, 2.0));
    flow.send(5);
    assert_eq!(flow.hear(1), 4 + 16, "two chirps of eight");

    let mut flow = Chirper::usual();
    flow.send(12);
    assert_eq!(flow.hear(4), 8, "the first chirp is not complete");
    assert_eq!(flow.hear(1), 7 + 16);
}

/// Without a queue a chirp's estimate is its last gap. The first one, of 160 us, makes the gap (200 + 160)/2 = 180
/// us, the second 170. Chirps 2 and 3 have eight segments, later ones 16: at 180 us a step of 45 us, a length of 1575
/// us. The third round starts with the first ACK of the second; from chirp 6 on, each has twice as many chirps.
#[test]
fn rounds_grow_from_the_sixth_chirp_on() {
    let mut flow = Chirper::usual();
    flow.send(10);
    assert_eq!(flow.hear(5), 5 + 16);
    let chirp = [360, 315, 270, 225, 180, 135, 90, 50_000 - 1575];
    assert_eq!(flow.send(8), chirp);
    assert_eq!(flow.hear(5), 8 + 8);
    assert_eq!(flow.state(), (170.0, 2.0, 2.0));
    assert_eq!(flow.send(8), chirp, "the gaps are those known when the chirp before was sent");
    flow.acknowledge(0);
    assert_eq!(flow.cc.cwnd(), MSS * 16, "nothing of this round is acknowledged");
    assert_eq!(flow.hear(1), 15 + 32);
    assert_eq!(flow.gap(), 340);

    // The third round: its first chirp is analysed before the second leaves.
    flow.send(16);
    assert_eq!(flow.hear(15 + 16), 16);
    flow.send(16);
    flow.acknowledge(0);
    assert_eq!(flow.cc.cwnd() / MSS, 16 + 4 * 16);
    assert_eq!((flow.state().1, flow.state().2), (5.0, 4.0));
    flow.send(4 * 16);
    flow.hear(16);
    assert_eq!(flow.hear(1), 63 + 8 * 16, "eight chirps");
}

/// A link that takes 1 ms for a segment: the queue grows from the first segment on, so each chirp's estimate is its
/// first gap of 400 us. The gap becomes 300 us and 350 us.
#[test]
fn a_queue_from_the_start_raises_the_gap() {
    let mut flow = Chirper::usual();
    flow.send(10);
    for (gap, start) in [(300.0, flow.flight[0]), (350.0, flow.flight[5])] {
        for segment in 1..=5 {
            flow.now = start + RTT + Duration::from_millis(segment);
            flow.flight.pop_front();
            flow.acknowledge(1);
        }
        assert!((flow.state().0 - gap).abs() < 1e-9, "{:?}", flow.state());
    }
}

/// When the chirps of a round are as long as a round trip, T = minRTT/gap segments leave at the gap, with a window of
/// 2 T and at least ten segments. Their ACKs end slow start at what is then in flight, at least two segments.
///
/// From 10 ms: two chirps of 20 + 16 + 12 + 8 = 56 ms; the estimate of 8 ms makes 9 ms, T = 11. From 30 ms: one chirp
/// of 168 ms; 24 ms makes 27 ms, T = 3.
#[test]
fn chirps_that_fill_a_round_trip_end_it() {
    for (first_ms, gap_ms, product, window) in [(10, 9, 11, 22), (30, 27, 3, 10)] {
        for data_end in [false, true] {
            let gap = Duration::from_millis(first_ms);
            let mut flow = Chirper::new(PacedChirpingParams { gap, ..PacedChirpingParams::default() }, RTT);
            while flow.state().1 < 1.0 {
                assert!(flow.gap() >= first_ms * 400, "no rate is found yet");
                flow.step();
            }
            assert_eq!((flow.cc.cwnd() / MSS, flow.gap()), (window, gap_ms * 1000));
            let start = flow.una;
            while flow.cc.control().phase == Phase::SlowStart {
                assert_eq!((flow.cc.cwnd() / MSS, flow.gap()), (window, gap_ms * 1000), "it stays");
                if data_end && flow.nxt - start == MSS * product {
                    flow.hear(1);
                } else {
                    flow.step();
                }
            }
            assert_eq!(flow.una - start, MSS * product);
            assert_eq!(flow.cc.cwnd() / MSS, if data_end { 2 } else { flow.flight.len().max(2) as u64 });
            assert_eq!(flow.cc.control().ssthresh, flow.cc.cwnd());
            assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Other("chirps fill a round trip")));
        }
    }
}

/// A segment follows a pause if everything before it is acknowledged and it leaves more than srtt/8 after its time:
/// behind the last ACK or, within a chirp, behind the last departure. Chirps then start anew at the gap that is
/// known. The guard behind the first chirps is 48.88 ms.
#[test]
fn a_pause_starts_chirps_anew() {
    let limit = Duration::from_micros(48_880 + 12_500);
    for (heard_first, sent, heard, late, anew) in [
        (10, 0, 0, limit, false),
        (10, 0, 0, limit + NS, true),
        (9, 0, 0, limit * 4, false),
        (10, 3, 3, Duration::ZERO, true),
        (10, 3, 2, limit * 4, false),
    ] {
        let mut flow = Chirper::usual();
        flow.send(10);
        flow.hear(heard_first);
        flow.send(sent);
        flow.hear(heard);
        let (gap, count, _) = flow.state();
        flow.now += late;
        flow.send(1);
        assert_eq!(
            flow.state(),
            (gap, if anew { 0.0 } else { count }, 2.0),
            "{sent} sent, {heard} heard, {late}"
        );
        if anew {
            // The second to fourth gap around 170 us: 340 us, less 68 us each.
            assert_eq!(flow.send(3), [272, 204, 136]);
        }
    }
}

/// A retransmission is no segment of a chirp and follows no pause, however late it leaves.
#[test]
fn retransmissions_are_not_in_chirps() {
    let mut flow = Chirper::usual();
    flow.send(7);
    flow.hear(5);
    flow.now += RTT * 10;
    let una = flow.una;
    flow.leave(una, true);
    assert_eq!((flow.state(), flow.gap()), ((180.0, 1.0, 2.0), 240));
    assert_eq!(flow.send(3), [240, 160, 48_880]);
}
