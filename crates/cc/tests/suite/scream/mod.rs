//! SCReAM's rules, as draft-ietf-ccwg-rfc8298bis-screamv2-01 and spec/congestion-control section 3.27 have them.

use proptest::collection::vec;
use proptest::prelude::*;
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, ControllerParams, Delivery, Departure, EcnFeedback,
    ExitReason, Feedback, FlowInit, LossFinder, LostSegment, Marked, MediaFrame, Pacing, PathView, Phase,
    ScreamParams, SentSegment, Trigger,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

mod optional;

/// The draft's segment.
const MSS: u64 = 1000;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A sender reduced to what the controller hears.
struct Flow {
    cc: Box<dyn CongestionControl>,
    now: Time,
    srtt: Duration,
    in_flight: u64,
}

impl Flow {
    /// A flow with much in flight for two round trips, 10 s after the start of the run.
    fn new(params: &ScreamParams, srtt: Duration) -> Flow {
        let cc = params.build(FlowInit::new(Bytes::new(MSS)));
        let mut flow = Flow { cc, now: Time::ZERO + Duration::from_secs(10), srtt, in_flight: 10_000_000 };
        flow.send();
        flow.now += srtt;
        flow.send();
        flow
    }

    fn path(&self) -> PathView {
        PathView {
            now: self.now,
            mss: Bytes::new(MSS),
            srtt: self.srtt,
            min_rtt: self.srtt,
            in_flight: Bytes::new(self.in_flight),
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA + Bytes::new(self.in_flight),
        }
    }

    fn send(&mut self) {
        let sent = SentSegment { seq: Seq::FIRST_DATA, payload: Bytes::new(MSS), retransmission: false };
        self.cc.on_sent(&sent, &self.path());
    }

    /// A report of this many segments, some of them marked, after a queueing delay of `qdelay` beyond 50 ms.
    fn report(&mut self, delivered: u32, marked: u32, qdelay: Duration) {
        let of = |packets: u32| Marked { bytes: Bytes::new(MSS * u64::from(packets)), packets };
        let ecn = EcnFeedback { ce: of(marked), ..EcnFeedback::default() };
        let path = self.path();
        let delivery = Delivery { delivered: of(delivered), ecn, ..Delivery::default() };
        self.cc.on_delivery(&delivery, &path);
        if marked > 0 {
            self.congestion(Trigger::Ce);
        }
        let ack = AckSample {
            newly_delivered: of(delivered).bytes,
            one_way: Some(ms(50) + qdelay),
            ecn,
            ..AckSample::default()
        };
        self.cc.on_ack(&ack, &path);
    }

    fn congestion(&mut self, trigger: Trigger) -> bool {
        let event = CongestionEvent { trigger, window: self.cc.cwnd(), lost: Bytes::ZERO, rtt: None };
        self.cc.on_congestion(&event, &self.path())
    }

    fn lose(&mut self) -> bool {
        self.find_loss();
        self.congestion(Trigger::Loss)
    }

    fn find_loss(&mut self) {
        let departure = Departure {
            sent: Time::ZERO,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
        };
        let (seq, payload) = (Seq::FIRST_DATA, Bytes::new(MSS));
        let found_by = LossFinder::Ack;
        self.cc.on_lost(&LostSegment { seq, payload, departure, lost: payload, found_by }, &self.path());
    }

    /// Unmarked segments without a queue, until the window is above `wnd`.
    fn grow_above(&mut self, wnd: f64) {
        while self.get("ref_wnd_bytes") <= wnd {
            self.report(10, 0, Duration::ZERO);
        }
    }

    fn frame(&mut self, size: u64, waited: Duration, most: Rate) {
        let frame = MediaFrame {
            size: Bytes::new(size),
            period: ms(20),
            waited,
            least: Rate::from_bits_per_sec(10_000),
            most,
        };
        self.cc.on_frame(&frame, &self.path());
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

    fn pace(&self) -> f64 {
        match self.cc.pacing() {
            Pacing::Rate(rate) => rate.bits_per_sec() as f64,
            Pacing::Gain(gain) => panic!("a rate, not {gain}"),
        }
    }
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-6, "{value}, not {expected}");
}

fn l4s() -> ScreamParams {
    ScreamParams { is_l4s: true, ..ScreamParams::default() }
}

/// "Reference Window Increase": 1000 bytes of a window of 3000 add 1000 * 1000/3000 * (1 + 0.02 * 3) = 353.3; with a round trip of
/// half the virtual one, half of that. Marked bytes add nothing.
#[test]
fn a_segment_adds_its_part_of_a_segment() {
    for srtt in [25, 100] {
        let mut flow = Flow::new(&ScreamParams::default(), ms(srtt));
        flow.report(1, 0, Duration::ZERO);
        assert_near(flow.get("ref_wnd_bytes"), 3000.0 + 353.333_333);
    }
    let mut marked = Flow::new(&l4s(), ms(25));
    marked.report(1, 1, Duration::ZERO);
    assert_near(marked.get("ref_wnd_bytes"), 3000.0);
    let mut short = Flow::new(&ScreamParams::default(), Duration::from_micros(12_500));
    short.report(1, 0, Duration::ZERO);
    assert_near(short.get("ref_wnd_bytes"), 3000.0 + 353.333_333 / 2.0);
}

/// The window grows to at most a segment more than 1.5 times what was in flight.
#[test]
fn growth_ends_where_little_is_in_flight() {
    let mut flow = Flow::new(&ScreamParams::default(), ms(25));
    flow.now += ms(25);
    flow.in_flight = 4000;
    flow.send();
    flow.now += ms(25);
    flow.send();
    for _ in 0..100 {
        flow.report(1, 0, Duration::ZERO);
    }
    let wnd = flow.get("ref_wnd_bytes");
    assert!((6500.0..=7000.0).contains(&wnd), "at most 1000 + 1.5 * 4000, less than one step below: {wnd}");
}

/// Growth in proportion starts again gradually: 50 of 100 round trips after a loss it is half of 2 %.
#[test]
fn growth_in_proportion_returns_in_a_hundred_round_trips() {
    let mut flow = Flow::new(&ScreamParams::default(), ms(25));
    flow.grow_above(100_000.0);
    flow.lose();
    flow.now += ms(25) * 50;
    let wnd = flow.get("ref_wnd_bytes");
    flow.report(1, 0, Duration::ZERO);
    // The window is 30 % below the inflection point: (8 * 0.3)^2 > 1, which restricts nothing.
    let growth = 1000.0 * (1000.0 / wnd) * (1.0 + 0.02 * wnd / 1000.0 * 0.5);
    assert_near(flow.get("ref_wnd_bytes") - wnd, growth);
}

/// `BETA_LOSS` and `BETA_ECN`, and at most one answer in the shorter of a round trip and 25 ms. A loss that comes too early is
/// answered when that has passed.
#[test]
fn losses_and_classic_marks() {
    let mut flow = Flow::new(&ScreamParams::default(), ms(50));
    flow.grow_above(200_000.0);
    let wnd = flow.get("ref_wnd_bytes");
    assert!(flow.lose());
    assert_near(flow.get("ref_wnd_bytes"), 0.7 * wnd);
    assert_near(flow.get("ref_wnd_i_bytes"), wnd);
    flow.now += ms(24);
    assert!(!flow.lose());
    flow.now += ms(1);
    flow.report(0, 0, Duration::ZERO);
    assert_near(flow.get("ref_wnd_bytes"), 0.49 * wnd);
    flow.now += ms(25);
    flow.report(1, 1, Duration::ZERO);
    assert_near(flow.get("ref_wnd_bytes"), 0.8 * 0.49 * wnd);
    // It has not grown since.
    assert_near(flow.get("ref_wnd_i_bytes"), wnd);
    for _ in 0..100 {
        flow.now += ms(25);
        flow.lose();
    }
    assert_near(flow.get("ref_wnd_bytes"), 3000.0);
}

/// `l4s_alpha`: shares of 1 give 1/8 and then 1/8 + 7/8 * 1/8; an unmarked share leaves 127/128. Updates are 10 ms apart.
#[test]
fn the_average_rises_fast_and_falls_slowly() {
    let mut flow = Flow::new(&l4s(), ms(50));
    flow.report(4, 4, Duration::ZERO);
    assert_near(flow.get("l4s_alpha"), 0.125);
    flow.now += ms(9);
    flow.report(4, 4, Duration::ZERO);
    assert_near(flow.get("l4s_alpha"), 0.125);
    flow.now += ms(1);
    flow.report(4, 4, Duration::ZERO);
    assert_near(flow.get("l4s_alpha"), 0.234_375);
    flow.now += ms(10);
    flow.report(4, 0, Duration::ZERO);
    assert_near(flow.get("l4s_alpha"), 0.234_375 * 127.0 / 128.0);

    let mut flow = Flow::new(&l4s(), ms(50));
    flow.report(4, 2, Duration::ZERO);
    assert_near(flow.get("l4s_alpha"), 0.5 / 8.0);
}

/// In L4S mode the window falls by half of the average, divided by the round trips of 25 ms in a round trip. Near the inflection
/// point, with less than a quarter of the target's delay, only a quarter of that.
#[test]
fn marks_are_answered_in_proportion() {
    for (srtt, parts) in [(25, 1.0), (100, 4.0)] {
        for (qdelay, near) in [(ms(20), 1.0), (Duration::ZERO, 0.25)] {
            let mut flow = Flow::new(&l4s(), ms(srtt));
            flow.grow_above(100_000.0);
            // The average and the delay are those of the reports before.
            let mut wnd = 0.0;
            for (marked, alpha) in [(0, 0.0), (10, 0.125), (10, 0.234_375)] {
                wnd = flow.get("ref_wnd_bytes");
                flow.now += ms(25);
                flow.report(10, marked, qdelay);
                assert!((flow.get("l4s_alpha") - alpha).abs() < 1e-12);
            }
            // The first answer took 1/16 or 1/64: (8/16)^2 is a quarter, and the other is less.
            assert_near(flow.get("ref_wnd_bytes"), wnd * (1.0 - 0.234_375 / 2.0 / parts * near));
        }
    }
}

/// A window that was not answered for long is first cut to what was in flight in the round trip before.
#[test]
fn a_window_that_was_not_used_is_cut() {
    let mut flow = Flow::new(&l4s(), ms(25));
    flow.grow_above(100_000.0);
    for _ in 0..2 {
        flow.now += ms(25);
        flow.in_flight = 40_000;
        flow.send();
    }
    flow.report(1, 0, ms(20));
    flow.now += ms(25);
    flow.report(10, 10, ms(20));
    assert_near(flow.get("ref_wnd_bytes"), 40_000.0 * (1.0 - 0.125 / 2.0));
}

/// The queueing delay counts as marks, from 30 ms to 60 ms. The average rises by a quarter of the difference: 120 ms give 30 ms, at which
/// nothing happens, then 52.5 ms, which is 0.75 of the way, and 69.4 ms, which is beyond it.
#[test]
fn delay_counts_as_marks() {
    for (srtt, parts) in [(25, 1.0), (100, 4.0)] {
        let mut flow = Flow::new(
            &ScreamParams { competing_flows_compensation: false, ..ScreamParams::default() },
            ms(srtt),
        );
        flow.grow_above(100_000.0);
        for alpha in [0.0, 0.75, 1.0] {
            let wnd = flow.get("ref_wnd_bytes");
            flow.now += ms(25);
            flow.report(0, 0, ms(120));
            assert_near(flow.get("ref_wnd_bytes"), wnd * (1.0 - alpha / 2.0 / parts));
        }
    }
}

/// "Media Rate Control": 8 * 30000 / 0.1 s, less 20 bytes in 1020, less a sixth.
#[test]
fn the_target_is_the_window_per_round_trip() {
    let params = ScreamParams { min_ref_wnd: Bytes::new(30_000), ..ScreamParams::default() };
    let most = Rate::from_mbps(1000);
    let target = |flow: &Flow| flow.get("target_bitrate_bits_per_s");
    let mut flow = Flow::new(&params, ms(100));
    flow.cc.on_established(&flow.path());
    let plain = 2.4e6 * 1000.0 / 1020.0;
    assert_near(target(&flow), plain / 1.2);
    // A frame of the nominal size, and one that waits for its whole period: (20 - 5) / 20 / 16.
    flow.frame(100, ms(5), most);
    flow.frame(100, ms(20), most);
    flow.cc.on_established(&flow.path());
    assert_near(flow.get("rate_adjust_factor"), 0.75 / 16.0);
    assert_near(target(&flow), plain / (1.2 + 0.75 / 16.0));
    // A frame of twice the size: 1/64 of the deviation, 1. Nothing waits: -1/4 of a period, /16.
    let nominal = (target(&flow) * 0.02 / 8.0).round();
    flow.frame(2 * nominal as u64, Duration::ZERO, most);
    assert!((flow.get("frame_size_dev") - 1.0 / 64.0).abs() < 1e-4);
    assert_near(flow.get("rate_adjust_factor"), 0.5 / 16.0);

    // A window of three segments: a third less a tenth is more than a fifth.
    let mut small = Flow::new(&ScreamParams::default(), ms(100));
    small.cc.on_established(&small.path());
    assert_near(target(&small), 0.8 * 240e3 * 1000.0 / 1020.0 / 1.2);
    small.frame(100, Duration::ZERO, Rate::from_bits_per_sec(100_000));
    small.cc.on_established(&small.path());
    // The encoder's highest.
    assert_near(target(&small), 100e3);
}

/// "Packet Pacing": 1.5 times the target, which counts as 50 kbit/s at least; six times at the encoder's highest rate, and three
/// times at nine tenths of it. 1 Mbit/s before anything is known.
#[test]
fn the_pace_is_above_the_target() {
    let params = ScreamParams { min_ref_wnd: Bytes::new(30_000), ..ScreamParams::default() };
    let target: f64 = 2.4e6 * 1000.0 / 1020.0 / 1.2;
    for (most, factor) in [(1e9, 1.5), (target / 0.9, 3.0), (target, 6.0), (target / 2.0, 6.0)] {
        let mut flow = Flow::new(&params, ms(100));
        assert_near(flow.pace(), 1e6);
        // The nominal size at the encoder's lowest rate.
        flow.frame(25, ms(5), Rate::from_bits_per_sec(most as u64));
        flow.cc.on_established(&flow.path());
        let expected = factor * target.min(most);
        assert!((flow.pace() / expected - 1.0).abs() < 1e-4, "{most}: {}", flow.pace());
    }
    let mut slow = Flow::new(&ScreamParams::default(), ms(900));
    slow.cc.on_established(&slow.path());
    assert_near(slow.pace(), 75e3);
}

/// Three times the window may be in flight, and with `REDUCE_JITTER` less where the delay varies.
#[test]
fn what_may_be_in_flight() {
    let steady = Flow::new(&ScreamParams::default(), ms(25));
    assert_eq!(steady.cc.cwnd(), Bytes::new(9000));
    let mut varying = Flow::new(&ScreamParams { reduce_jitter: true, ..ScreamParams::default() }, ms(25));
    for n in 0..200 {
        varying.now += ms(25);
        varying.report(0, 0, ms(if n % 4 == 0 { 29 } else { 0 }));
    }
    assert!(varying.get("ref_wnd_delay_scale") < 1e-12);
    assert_eq!(varying.cc.cwnd(), Bytes::new(4500));
}

/// Without reports everything is lost, and the window starts again from the least.
#[test]
fn a_timeout_restarts() {
    let mut flow = Flow::new(&ScreamParams::default(), ms(50));
    flow.grow_above(100_000.0);
    let path = flow.path();
    flow.cc.on_rto(true, &path);
    assert_near(flow.get("ref_wnd_bytes"), 3000.0);
}

/// An echo that lasts until the sender answers it (RFC 3168) is one mark in a round; counts are each their own.
#[test]
fn echoes_of_a_round_are_one_mark() {
    let mut flow = Flow::new(&ScreamParams::default(), ms(50));
    flow.grow_above(100_000.0);
    flow.cc.on_negotiated(Feedback::Classic);
    // SND.UNA is beyond the SYN from the first ACK on.
    let acked = |flow: &mut Flow| {
        let event =
            CongestionEvent { trigger: Trigger::Ce, window: flow.cc.cwnd(), lost: Bytes::ZERO, rtt: None };
        let path = PathView { una: Seq::FIRST_DATA + Bytes::new(MSS), ..flow.path() };
        flow.cc.on_congestion(&event, &path)
    };
    assert!(acked(&mut flow));
    flow.now += ms(30);
    assert!(!acked(&mut flow), "the data in flight at the answer are not acknowledged yet");
}

/// L4S packets carry ECT(1) and count marks; others do neither.
#[test]
fn needs_follow_the_mode() {
    let (classic, scalable) = (ScreamParams::default().needs(), l4s().needs());
    assert_eq!((classic.feedback, classic.scalable, classic.media), (Feedback::Classic, false, true));
    assert_eq!((scalable.feedback, scalable.scalable), (Feedback::Counts, true));
}

/// Bytes count as acknowledged up to the highest unit that arrived, lost ones included: 400 and 600 make the 1000
/// that add 353.3. A loss that was found counts at the next report, though no reduction was announced.
#[test]
fn lost_segments_count() {
    let mut flow = Flow::new(&ScreamParams::default(), ms(50));
    let path = flow.path();
    let of = |bytes| Marked { bytes: Bytes::new(bytes), packets: 1 };
    flow.cc.on_delivery(&Delivery { delivered: of(400), ..Delivery::default() }, &path);
    let ack = AckSample { newly_lost: Bytes::new(600), one_way: Some(ms(50)), ..AckSample::default() };
    flow.cc.on_ack(&ack, &path);
    assert_near(flow.get("ref_wnd_bytes"), 3000.0 + 1000.0 / 3.0 * 1.06);

    let mut flow = Flow::new(&ScreamParams::default(), ms(50));
    flow.grow_above(20_000.0);
    let before = flow.get("ref_wnd_bytes");
    flow.find_loss();
    flow.now += ms(50);
    flow.report(0, 0, Duration::ZERO);
    assert_near(flow.get("ref_wnd_bytes"), 0.7 * before);
}

/// The window does not grow while the target is the encoder's highest rate. There is no slow start to leave, and pace
/// and phase are those of congestion avoidance.
#[test]
fn the_encoders_highest_rate_ends_growth() {
    for (most, grows) in [(Rate::from_mbps(100), true), (Rate::from_bits_per_sec(20_000), false)] {
        let mut flow = Flow::new(&ScreamParams::default(), ms(50));
        flow.frame(1, ms(5), most);
        flow.report(0, 0, Duration::ZERO);
        let before = flow.get("ref_wnd_bytes");
        flow.report(1, 0, Duration::ZERO);
        assert_eq!(flow.get("ref_wnd_bytes") > before, grows, "{most}");
        let control = flow.cc.control();
        assert_eq!((control.pacing, control.phase), (flow.cc.pacing(), Phase::CongestionAvoidance));
        assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Unused));
    }
}

/// Rule 8: two frames of twice the nominal size leave 1/64 and 1/64 of what remains to 1 as deviation, and two that
/// waited for a period 3/4/16 each as adjustment.
#[test]
fn frames_lower_the_target() {
    let mut flow = Flow::new(&ScreamParams::default(), ms(100));
    flow.grow_above(30_000.0);
    let nominal = flow.get("target_bitrate_bits_per_s") * 0.02 / 8.0;
    for _ in 0..2 {
        flow.frame((2.0 * nominal) as u64, ms(20), Rate::from_mbps(100));
    }
    flow.report(0, 0, Duration::ZERO);
    let wnd = flow.get("ref_wnd_bytes");
    let (adjustment, deviation) = (2.0 * 0.75 / 16.0, (1.0 + 63.0 / 64.0) / 64.0);
    let expected = 8.0 * wnd / 0.1 * 1000.0 / 1020.0 / (1.2 + adjustment + deviation);
    let target = flow.get("target_bitrate_bits_per_s");
    assert!((target / expected - 1.0).abs() < 1e-4, "{target}, not {expected}");
}

/// The variation of the delay is taken with the averaged delay, once in 25 ms: a second report at the same time
/// changes nothing.
#[test]
fn jitter_is_averaged_once_in_an_interval() {
    let params = ScreamParams { reduce_jitter: true, ..ScreamParams::default() };
    let mut flow = Flow::new(&params, ms(50));
    flow.report(0, 0, Duration::ZERO);
    let once = flow.cc.cwnd();
    flow.report(0, 0, Duration::ZERO);
    assert_eq!(flow.cc.cwnd(), once);
    flow.now += ms(25);
    flow.report(0, 0, Duration::ZERO);
    assert!(flow.cc.cwnd() < once);
}

/// What happens to a flow.
#[derive(Clone, Copy, Debug)]
enum Event {
    Report { after: u64, delivered: u32, marked: u32, qdelay: u64 },
    Frame { size: u64, waited: u64 },
    Loss,
    Send(u64),
    Timeout,
    Rtt(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        20 => (0..500_u64, 0..200_u32, 0..200_u32, 0..1000_u64).prop_map(
            |(after, delivered, marked, qdelay)| Event::Report {
                after, delivered, marked: marked.min(delivered), qdelay
            }
        ),
        5 => (1..10_000_000_u64, 0..2000_u64).prop_map(|(size, waited)| Event::Frame { size, waited }),
        2 => Just(Event::Loss),
        5 => (0..1_000_000_000_u64).prop_map(Event::Send),
        1 => Just(Event::Timeout),
        1 => (0..5000_u64).prop_map(Event::Rtt),
    ]
}

proptest! {
    /// Whatever happens, with and without the optional parts, the window is at least the least, the target within the encoder's
    /// range, the share of marks between 0 and 1, the delay target within its bounds, and the pace positive.
    #[test]
    fn stays_within_its_bounds(
        (is_l4s, reduce_jitter, options) in any::<(bool, bool, bool)>(), events in vec(event(), 1..300)
    ) {
        let base = if options { optional::all() } else { ScreamParams::default() };
        let params = ScreamParams { is_l4s, reduce_jitter, ..base };
        let mut flow = Flow::new(&params, ms(50));
        flow.frame(1000, Duration::ZERO, Rate::from_mbps(20));
        for event in events {
            match event {
                Event::Report { after, delivered, marked, qdelay } => {
                    flow.now += ms(after);
                    flow.report(delivered, marked, ms(qdelay));
                }
                Event::Frame { size, waited } => flow.frame(size, ms(waited), Rate::from_mbps(20)),
                Event::Loss => { flow.lose(); }
                Event::Send(in_flight) => {
                    flow.in_flight = in_flight;
                    flow.send();
                }
                Event::Timeout => {
                    let path = flow.path();
                    flow.cc.on_rto(true, &path);
                }
                Event::Rtt(rtt) => flow.srtt = ms(rtt),
            }
            let wnd = flow.get("ref_wnd_bytes");
            prop_assert!((3000.0..=1.1e9).contains(&wnd), "{wnd}");
            prop_assert!(flow.cc.cwnd() >= Bytes::new(MSS));
            let target = flow.cc.target_bitrate().expect("it has one");
            prop_assert!((10_000..=20_000_000).contains(&target.bits_per_sec()), "{target}");
            prop_assert!((0.0..=1.0).contains(&flow.get("l4s_alpha")));
            prop_assert!((0.06..=0.4).contains(&flow.get("qdelay_target_s")));
            prop_assert!((0.0..=1.0).contains(&flow.get("ref_wnd_delay_scale")));
            prop_assert!((75e3..=120e6).contains(&flow.pace()), "{}", flow.pace());
        }
    }
}
