//! The rules of GCC in a controller alone, as draft-ietf-rmcat-gcc-02 and spec/ccwg-2026 section K.4 have them.

use windtunnel_cc::{
    AckSample, ArrivedPacket, CongestionControl, ControllerParams, Delivery, Departure, ExitReason, FlowInit,
    GccFilter, GccParams, LossFinder, LostSegment, Marked, MediaFrame, Pacing, PathView, Phase,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

const MSS: u64 = 1200;
/// The path: without a queue, data take 20 ms, and reports come back after 30 ms.
const WAY: f64 = 20.0;
const BACK: f64 = 30.0;
/// A frame in milliseconds.
const PERIOD: f64 = 33.0;

fn at(ms: f64) -> Time {
    Time::from_nanos((ms * 1e6).round() as u64)
}

fn span(ms: f64) -> Duration {
    at(ms).since_start()
}

fn path(now: f64, rtt: f64) -> PathView {
    PathView {
        now: at(now),
        mss: Bytes::new(MSS),
        srtt: span(rtt),
        min_rtt: span(WAY + BACK),
        in_flight: Bytes::ZERO,
        una: Seq::FIRST_DATA,
        nxt: Seq::FIRST_DATA,
    }
}

/// A controller, and a link that serves its frames. A report leaves when the last packet of a frame has arrived.
struct Call {
    cc: Box<dyn CongestionControl>,
    /// Bits in a millisecond.
    capacity: f64,
    now: f64,
    /// When the link has served all that was sent.
    idle: f64,
    /// This number of a hundred packets is lost.
    lost: u32,
    packets: u32,
    longest: f64,
}

impl Call {
    fn new(params: &GccParams, kbps: f64) -> Call {
        let cc = params.build(FlowInit::new(Bytes::new(MSS)));
        Call { cc, capacity: kbps, now: 0.0, idle: 0.0, lost: 0, packets: 0, longest: 0.0 }
    }

    fn rate(&self) -> f64 {
        self.cc.target_bitrate().expect("it has a rate").bits_per_sec() as f64
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

    /// Frames for this many seconds. Each is spread over its period, as the pace has it, and its last packet is reported.
    fn run(&mut self, seconds: f64) {
        let end = self.now + 1e3 * seconds;
        while self.now < end {
            let bits = self.rate() * PERIOD / 1e3;
            let packets = (bits / 8.0 / MSS as f64).ceil() as u32;
            self.now += PERIOD;
            // The queue is what the link could not serve while the frame left.
            self.idle = (self.idle + bits / self.capacity).max(self.now);
            let queue = self.idle - self.now;
            self.longest = self.longest.max(queue);
            let lost = (self.packets..self.packets + packets).filter(|n| n % 100 < self.lost).count() as u32;
            self.packets += packets;
            self.report(bits / 8.0, packets - lost, lost, WAY + queue);
        }
    }

    fn report(&mut self, bytes: f64, arrived: u32, lost: u32, way: f64) {
        let (rtt, bytes) = (way + BACK, Bytes::from_f64(bytes));
        let path = path(self.now + rtt, rtt);
        let delivered = Marked { bytes, packets: arrived };
        self.cc.on_delivery(&Delivery { delivered, ..Delivery::default() }, &path);
        (0..lost).for_each(|_| self.lose(&path));
        let ack = AckSample {
            newly_delivered: bytes,
            rtt: Some(span(rtt)),
            one_way: Some(span(way)),
            ..AckSample::default()
        };
        self.cc.on_ack(&ack, &path);
    }

    fn lose(&mut self, path: &PathView) {
        let departure = Departure {
            sent: Time::ZERO,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
        };
        let (seq, payload, found_by) = (Seq::FIRST_DATA, Bytes::new(MSS), LossFinder::Ack);
        self.cc.on_lost(&LostSegment { seq, payload, departure, lost: payload, found_by }, path);
    }

    fn frame(&mut self, least: u64, most: u64) {
        let frame = MediaFrame {
            size: Bytes::new(1000),
            period: span(PERIOD),
            waited: Duration::ZERO,
            least: Rate::from_bits_per_sec(least),
            most: Rate::from_bits_per_sec(most),
        };
        self.cc.on_frame(&frame, &path(self.now, 50.0));
    }
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-6, "{value}, not {expected}");
}

/// Far from the capacity nothing but the draft's growth counts: 5 % at each report of losses, once in a second, because the
/// delay-based estimate grows by 8 %. The latter is bounded by 1.5 times what arrives.
#[test]
fn the_loss_based_controller_leads_the_start() {
    let mut call = Call::new(&GccParams::default(), 1e6);
    call.run(10.5);
    assert_near(call.get("loss_based_bits_per_s"), 300e3 * libm::pow(1.05, 10.0));
    assert_near(call.rate(), call.get("loss_based_bits_per_s").trunc());
    let delay_based = call.get("delay_based_bits_per_s");
    assert!((delay_based / (300e3 * libm::pow(1.08, 10.4)) - 1.0).abs() < 0.02, "{delay_based}");
    call.run(60.0);
    let bound = 1.5 * call.get("received_bits_per_s");
    assert!(call.get("delay_based_bits_per_s") <= bound * 1.1, "of the last update");
}

/// Both filters find the capacity of 2 Mbit/s: the estimate stays between beta squared of it and little more, and the queue
/// stays below what the detector can miss: 8 % of growth in each second of its time to react, and the threshold.
#[test]
fn finds_the_capacity() {
    for filter in [GccFilter::Kalman, GccFilter::Trendline] {
        let mut call = Call::new(&GccParams { filter, ..GccParams::default() }, 2000.0);
        call.run(60.0);
        call.longest = 0.0;
        let (mut least, mut most, mut sum) = (f64::INFINITY, 0.0_f64, 0.0);
        for _ in 0..600 {
            call.run(0.1);
            (least, most) = (least.min(call.rate()), most.max(call.rate()));
            sum += call.rate() / 600.0;
        }
        assert!(least > 0.85 * 0.85 * 2e6 && most < 1.15 * 2e6, "{filter:?}: {least} to {most}");
        assert!(sum > 0.85 * 2e6, "{filter:?}: {sum}");
        assert!(call.longest < 60.0, "{filter:?}: {} ms", call.longest);
    }
}

/// With 5 of 100 packets lost the loss-based estimate stays; with 20 it falls by a tenth in each second.
#[test]
fn losses() {
    let mut call = Call::new(&GccParams::default(), 1e6);
    call.run(30.0);
    call.lost = 5;
    call.run(5.0);
    let before = call.get("loss_based_bits_per_s");
    call.run(20.0);
    assert_near(call.get("loss_based_bits_per_s"), before);
    assert!((call.get("loss_share") - 0.05).abs() < 0.02);
    call.lost = 20;
    call.run(2.0);
    let before = call.get("loss_based_bits_per_s");
    call.run(5.0);
    let after = call.get("loss_based_bits_per_s") / before;
    assert!((libm::pow(0.85, 5.0)..libm::pow(0.95, 5.0)).contains(&after), "{after}");
}

/// A wait without feedback tells that all was lost, and a wait with nothing in flight tells nothing.
#[test]
fn a_timeout_halves_the_loss_based_estimate() {
    let mut call = Call::new(&GccParams::default(), 1e6);
    let path = path(1000.0, 50.0);
    (0..10).for_each(|_| call.lose(&path));
    call.cc.on_rto(true, &path);
    assert_near(call.get("loss_based_bits_per_s"), 150e3);
    call.cc.on_rto(false, &path);
    assert_near(call.get("loss_based_bits_per_s"), 150e3);
    assert_near(call.rate(), 150e3);
}

/// The encoder's range bounds both estimates, and the pace is the rate times its factor. The window holds two seconds of it.
#[test]
fn the_encoders_range() {
    let params = GccParams { pacing_factor: 2.5, ..GccParams::default() };
    let mut call = Call::new(&params, 1e6);
    assert_near(call.rate(), 300e3);
    assert_eq!(call.cc.cwnd(), Bytes::new(75_000));
    assert_eq!(call.cc.pacing(), Pacing::Rate(Rate::from_bits_per_sec(750_000)));
    call.frame(1_000_000, 2_000_000);
    assert_near(call.rate(), 1e6);
    call.run(60.0);
    assert_near(call.rate(), 2e6);
    call.frame(1000, 10_000);
    assert_near(call.rate(), 10e3);
    assert_eq!(call.cc.cwnd(), Bytes::new(12_000), "ten segments");
    let control = call.cc.control();
    assert_eq!(
        (control.phase, call.cc.slow_start_exit()),
        (Phase::CongestionAvoidance, Some(ExitReason::Unused))
    );
}

/// Without a one-way delay the round trip counts; a report without either tells of arrivals alone.
#[test]
fn without_one_way_delays() {
    let mut call = Call::new(&GccParams::default(), 1e6);
    let mut decreased = false;
    for n in 0..100 {
        let path = path(50.0 + PERIOD * f64::from(n), 50.0);
        // The queue grows by 3 ms with each frame.
        let rtt = (n % 10 != 9).then(|| span(50.0 + 3.0 * f64::from(n)));
        let ack = AckSample { newly_delivered: Bytes::new(1000), rtt, ..AckSample::default() };
        call.cc.on_ack(&ack, &path);
        decreased |= call.get("rate_state") < 0.0;
    }
    assert!(call.get("trend_ms") > 100.0 && decreased, "{}", call.get("trend_ms"));
    assert!((call.get("received_bits_per_s") / (8e6 / PERIOD) - 1.0).abs() < 0.05);
}

/// A transport that tells each arrival is believed alone: packets 5 ms apart, each a group, whose delay grows by 0.5 ms. Each
/// packet has 1200 bytes in 5.5 ms.
#[test]
fn each_arrival_counts() {
    let mut call = Call::new(&GccParams::default(), 1e6);
    for n in 0..400_u32 {
        let (sent, arrived) = (at(5.0 * f64::from(n)), at(20.0 + 5.5 * f64::from(n)));
        let path = path(50.0 + 5.5 * f64::from(n), 50.0);
        call.cc.on_arrival(&ArrivedPacket { sent, arrived, payload: Bytes::new(MSS) }, &path);
        if n % 4 == 3 {
            let ack = AckSample {
                newly_delivered: Bytes::new(4 * MSS),
                rtt: Some(span(50.0)),
                ..AckSample::default()
            };
            call.cc.on_ack(&ack, &path);
        }
    }
    assert_near(call.get("received_bits_per_s"), 9600.0 / 0.0055);
    // The mean of the variation counts for sixty groups.
    assert!((call.get("trend_ms") / 30.0 - 1.0).abs() < 0.01, "{}", call.get("trend_ms"));
}
