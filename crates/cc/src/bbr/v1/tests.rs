//! The rules of BBR's first version one by one, by the steps of spec/congestion-control section 3.22.
//!
//! The path has 1000 packets per second and 100 ms: a product of 100 packets. At that pace a burst counts as two
//! packets, so that the budget for bursts is six, and `Inflight(1)` is 106.

mod window;

use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

use super::super::fixed::{Bandwidth, Gain};
use super::super::max_filter::MaxFilter;
use super::controller::{Bbr, Facts, Mode};
use super::params::BbrParams;
use crate::control::{ExitReason, Phase};
use crate::controller::CongestionControl;
use crate::needs::Feedback;
use crate::sample::{AckSample, Departure, FlowInit, LossFinder, LostSegment, PathView, RateSample};
use crate::state::CaState;

const MSS: Bytes = Bytes::new(1000);
const RTT: Duration = Duration::from_millis(100);
/// When the flow is established, in microseconds; the tick is a millisecond.
const START: u64 = 1_000_000;

fn per_second(packets: u64) -> Bandwidth {
    Bandwidth::of(packets, 1_000_000)
}

fn time(micros: u64) -> Time {
    Time::ZERO + Duration::from_micros(micros)
}

fn path(micros: u64, in_flight: u64) -> PathView {
    PathView {
        now: time(micros),
        mss: MSS,
        srtt: RTT,
        min_rtt: RTT,
        in_flight: MSS * in_flight,
        una: Seq::FIRST_DATA,
        nxt: Seq::FIRST_DATA + MSS * in_flight,
    }
}

/// A flow that knows its path.
fn flow(mode: Mode) -> Bbr {
    let mut bbr = Bbr::new(BbrParams::default(), FlowInit::new(MSS));
    bbr.on_established(&path(START, 0));
    bbr.max_bw = MaxFilter::new(per_second(1000));
    bbr.full = true;
    bbr.mode = mode;
    bbr.update_gains();
    bbr.pacing_rate = 1_000_000;
    bbr.cwnd = 100;
    bbr
}

fn facts<'a>(ack: &'a AckSample, path: &'a PathView) -> Facts<'a> {
    Facts {
        ack,
        path,
        acked: ack.newly_delivered / MSS,
        losses: ack.newly_lost / MSS,
        in_flight: path.in_flight / MSS,
    }
}

/// A sample of this many bytes at `rate` packets per second.
fn sample(before: Bytes, amount: Bytes, rate: u64) -> RateSample {
    let interval = Duration::from_micros(amount.get() * 1_000 / rate);
    RateSample {
        rate: Rate::of(amount, interval),
        interval,
        delivered: amount,
        lost: Bytes::ZERO,
        departure: Departure {
            sent: Time::ZERO,
            in_flight: MSS,
            delivered: before,
            lost: Bytes::ZERO,
            app_limited: false,
        },
    }
}

/// A flow and the counters of its connection.
struct Connection {
    bbr: Bbr,
    now: u64,
    delivered: Bytes,
    lost: Bytes,
}

impl Connection {
    fn new(bbr: Bbr) -> Connection {
        Connection { bbr, now: START, delivered: Bytes::ZERO, lost: Bytes::ZERO }
    }

    /// An ACK of `packets` of 1000 per second, none sent in this round; `change` alters it.
    fn ack(&mut self, after: u64, packets: u64, change: impl FnOnce(&mut AckSample, &mut PathView)) {
        self.now += after;
        let amount = MSS * packets;
        let rate = (packets > 0).then(|| sample(Bytes::ZERO, amount, 1000));
        let mut path = path(self.now, 0);
        let mut ack = AckSample {
            acked: amount,
            newly_delivered: amount,
            rtt: Some(RTT),
            rate,
            ..AckSample::default()
        };
        change(&mut ack, &mut path);
        self.delivered += amount;
        self.lost += ack.newly_lost;
        (ack.delivered, ack.lost) = (self.delivered, self.lost);
        self.bbr.on_ack(&ack, &path);
    }

    /// The first ACK of a round.
    fn round(&mut self, after: u64, packets: u64, change: impl FnOnce(&mut AckSample, &mut PathView)) {
        let before = self.delivered;
        self.ack(after, packets, |ack, path| {
            ack.rate.as_mut().expect("data are delivered").departure.delivered = before;
            change(ack, path);
        });
    }

    /// A timeout finds `packets` lost.
    fn time_out(&mut self, packets: u64) {
        let path = path(self.now, 0);
        self.lost += MSS * packets;
        let departure = sample(Bytes::ZERO, MSS, 1000).departure;
        let found_by = LossFinder::RetransmissionTimer;
        let segment =
            LostSegment { seq: Seq::FIRST_DATA, payload: MSS, departure, lost: self.lost, found_by };
        self.bbr.on_lost(&segment, &path);
        self.bbr.on_rto(true, &path);
        self.bbr.on_state(CaState::Loss, &path);
    }

    fn probe(&self, name: &str) -> f64 {
        let mut number = None;
        self.bbr.probe(&mut |key, value| {
            if key == name {
                number = Some(value);
            }
        });
        number.expect("a known name")
    }
}

/// Step 3: a phase at 1 lasts more than a round trip; the probing one also until a loss, or until 125 packets, the
/// budget of six, one to be even and two for the phase are in flight at the next departure, with the burst that
/// leaves then; the draining one ends with a round trip, or at 106 packets. A packet arrives in each millisecond of
/// waiting.
#[test]
fn the_phases_of_the_cycle() {
    let cases = [
        // Phase, microseconds since its start, lost, in flight before the ACK, microseconds to the next departure;
        // the next one.
        (2, 100_000, 0, 100, 0, 2),
        (2, 100_001, 0, 100, 0, 3),
        (7, 100_001, 0, 100, 0, 0),
        (0, 100_001, 0, 132, 0, 1),
        (0, 100_001, 0, 131, 0, 0),
        (0, 100_001, 0, 134, 3_001, 0),
        (0, 100_001, 0, 135, 3_001, 1),
        (0, 100_001, 1, 0, 0, 1),
        (0, 100_000, 1, 500, 0, 0),
        (1, 0, 0, 106, 0, 2),
        (1, 0, 0, 107, 0, 1),
        (1, 100_000, 0, 107, 0, 1),
        (1, 100_001, 0, 107, 0, 2),
        (1, 0, 0, 107, 1_001, 2),
    ];
    for case in cases {
        let (phase, elapsed, lost, in_flight, wait, next) = case;
        let mut bbr = flow(Mode::ProbeBw);
        let now = 5_000_000;
        (bbr.phase, bbr.phase_since, bbr.delivered_at) = (phase, now - elapsed, now);
        bbr.update_gains();
        let ack = AckSample {
            newly_lost: MSS * lost,
            prior_in_flight: MSS * in_flight,
            next_departure: time(now + wait),
            ..AckSample::default()
        };
        let path = path(now, 0);
        bbr.update_cycle(&facts(&ack, &path));
        let since = if next == phase { now - elapsed } else { now };
        assert_eq!((bbr.phase, bbr.phase_since), (next, since), "{case:?}");
        bbr.mode = Mode::Startup;
        bbr.phase = 1;
        bbr.update_cycle(&facts(&ack, &path));
        assert_eq!(bbr.phase, 1, "no cycle in Startup");
    }
}

/// Step 3: what is in flight at the next departure: a burst of two more at a gain above 1, and one less for each
/// millisecond.
#[test]
fn what_is_in_flight_at_the_next_departure() {
    for (gain, expected) in [(320, 42), (256, 40), (192, 40)] {
        let mut bbr = flow(Mode::ProbeBw);
        bbr.pacing_gain = Gain(gain);
        let path = path(START, 0);
        let ack =
            AckSample { next_departure: path.now + Duration::from_micros(10_001), ..AckSample::default() };
        assert_eq!(bbr.in_flight_at_departure(&facts(&ack, &path), 50), expected, "{gain} / 256");
    }
}

/// Step 5: the cycle starts at any phase but the draining one, 7 minus uniform{0..6} and one on: each of the seven in
/// a seventh of 7000 flows (1000 with a standard deviation of 29).
#[test]
fn the_cycle_starts_anywhere_but_draining() {
    let mut counts = [0; 8];
    for seed in 0..7000 {
        let mut bbr = Bbr::new(BbrParams::default(), FlowInit { seed, ..FlowInit::new(MSS) });
        bbr.delivered_at = START;
        bbr.start_cycle();
        assert_eq!((bbr.mode, bbr.phase_since), (Mode::ProbeBw, START));
        counts[bbr.phase] += 1;
    }
    for (phase, count) in counts.into_iter().enumerate() {
        let expected = if phase == 1 { 0..=0 } else { 850..=1150 };
        assert!(expected.contains(&count), "{counts:?}");
    }
}

/// Step 4: the path is full after three rounds in which the bandwidth has not grown by a quarter of what it was;
/// rounds that the application limits do not count.
#[test]
fn the_path_is_full_after_three_flat_rounds() {
    let cases: [(&[u64], Option<usize>); 4] = [
        (&[1000, 1000, 1000, 1000], Some(4)),
        (&[1000, 1100, 1200, 1250, 1300, 1400, 1500], Some(7)),
        (&[1000, 1200, 1240, 1249], Some(4)),
        (&[1000, 1250, 1600, 2000, 2500], None),
    ];
    for (rates, full_in) in cases {
        let mut bbr = flow(Mode::Startup);
        (bbr.full, bbr.max_bw) = (false, MaxFilter::new(Bandwidth::ZERO));
        let mut flow = Connection::new(bbr);
        let mut plateau = None;
        for (round, rate) in (1..).zip(rates) {
            let before = flow.delivered;
            flow.round(100_000, 100, |ack, _| ack.rate = Some(sample(before, MSS * 100, *rate)));
            flow.ack(0, 1, |_, _| {});
            flow.round(0, 1, |ack, _| {
                ack.rate.as_mut().expect("a sample").departure.app_limited = true;
            });
            plateau = plateau.or(flow.bbr.full.then_some(round));
        }
        assert_eq!(plateau, full_in, "{rates:?}");
    }
}

/// Step 5: Startup ends with the plateau, and ssthresh is `Inflight(1)`, 106 packets. Drain lasts until no more than
/// that is in flight; the burst counts on the ACK that shows the plateau, since the gain is still that of Startup.
#[test]
fn startup_drains_to_the_product() {
    for (in_flight, mode) in [(104, Mode::ProbeBw), (105, Mode::Drain)] {
        let mut bbr = flow(Mode::Startup);
        (bbr.full, bbr.full_bw, bbr.full_bw_rounds) = (false, per_second(1000), 2);
        let mut flow = Connection::new(bbr);
        assert_eq!(flow.bbr.control().phase, Phase::SlowStart);
        assert_eq!((flow.bbr.control().ssthresh, flow.bbr.slow_start_exit()), (Bytes::MAX, None));
        flow.round(100_000, 1, |_, path| path.in_flight = MSS * in_flight);
        assert_eq!(flow.bbr.mode, mode, "{in_flight} in flight");
        let control = flow.bbr.control();
        assert_eq!((control.phase, control.ssthresh), (Phase::CongestionAvoidance, MSS * 106));
        assert_eq!(flow.bbr.slow_start_exit(), Some(ExitReason::Other("bandwidth plateau")));
        if mode == Mode::Drain {
            flow.ack(1_000, 1, |_, path| path.in_flight = MSS * 107);
            assert_eq!((flow.bbr.mode, flow.probe("mode")), (Mode::Drain, 1.0));
            assert!(flow.probe("cycle_phase").is_nan());
            flow.ack(1_000, 1, |_, path| path.in_flight = MSS * 106);
            assert_eq!((flow.bbr.mode, flow.probe("mode")), (Mode::ProbeBw, 2.0));
            assert!(!flow.probe("cycle_phase").is_nan());
        }
    }
}

/// Step 6: a smaller round trip is taken, and any if the least is older than ten seconds, which also starts
/// `ProbeRTT`. Linux does not take it from an ACK that may have been delayed: that of one packet which is not full.
#[test]
fn the_least_round_trip_lasts_ten_seconds() {
    let (full, small) = (MSS, Bytes::new(500));
    let cases = [
        // Milliseconds since the least, the sample in microseconds, acknowledged, delivered in the rate sample;
        // taken.
        (5_000, 99_999, full, Some(full), true),
        (5_000, 100_000, full, Some(full), false),
        (10_000, 120_000, full, Some(full), false),
        (10_001, 120_000, full, Some(full), true),
        (10_001, 120_000, small, Some(small), false),
        (10_001, 99_999, small, Some(small), true),
        (10_001, 120_000, small, Some(full + small), true),
        (10_001, 120_000, Bytes::ZERO, Some(Bytes::ZERO), true),
        (10_001, 120_000, small, None, true),
    ];
    for case in cases {
        let (millis, rtt, acked, delivered, taken) = case;
        let mut bbr = flow(Mode::ProbeBw);
        let ack = AckSample {
            acked,
            rtt: Some(Duration::from_micros(rtt)),
            rate: delivered.map(|amount| sample(Bytes::ZERO, amount, 1000)),
            ..AckSample::default()
        };
        let path = path(START + millis * 1_000, 100);
        bbr.update_min_rtt(&facts(&ack, &path));
        let expected = if taken { (Some(rtt), 1_000 + millis) } else { (Some(100_000), 1_000) };
        assert_eq!((bbr.min_rtt, bbr.min_rtt_at), expected, "{case:?}");
        let mode = if millis > 10_000 { Mode::ProbeRtt } else { Mode::ProbeBw };
        assert_eq!((bbr.mode, bbr.control().app_limited), (mode, mode == Mode::ProbeRtt), "{case:?}");
    }
}

/// Step 6: from four packets in flight, `ProbeRTT` lasts more than 200 ms and a round. Then the window is what it was
/// before, and the flow cycles, or looks for the bandwidth if it had not found it.
#[test]
fn probing_for_the_round_trip() {
    for (full, late_round) in [(true, false), (true, true), (false, false)] {
        let mut bbr = flow(Mode::ProbeBw);
        (bbr.full, bbr.cwnd) = (full, 150);
        let mut flow = Connection::new(bbr);
        flow.ack(10_001_000, 1, |_, path| path.in_flight = MSS * 150);
        assert_eq!((flow.bbr.mode, flow.bbr.cwnd, flow.bbr.prior_cwnd), (Mode::ProbeRtt, 4, 150));
        assert_eq!((flow.probe("pacing_gain"), flow.probe("cwnd_gain")), (1.0, 1.0));
        flow.ack(300_000, 1, |_, path| path.in_flight = MSS * 5);
        assert_eq!(flow.bbr.probe_rtt_until, None, "not drained");
        flow.ack(1_000, 1, |_, path| path.in_flight = MSS * 4);
        // Ticks: 1000 at the start, 10,001 and 301 since.
        assert_eq!(flow.bbr.probe_rtt_until, Some(11_302 + 200));
        if late_round {
            flow.ack(200_000, 1, |_, _| {});
        } else {
            flow.round(100_000, 1, |_, path| path.in_flight = MSS * 4);
            flow.ack(100_000, 1, |_, _| {});
        }
        assert_eq!((flow.bbr.mode, flow.bbr.cwnd), (Mode::ProbeRtt, 4), "200 ms are not over");
        flow.ack(1_000, 1, |_, _| {});
        if late_round {
            assert_eq!(flow.bbr.mode, Mode::ProbeRtt, "the round is not over");
            flow.round(0, 1, |_, _| {});
        }
        assert_eq!(flow.bbr.mode, if full { Mode::ProbeBw } else { Mode::Startup });
        assert_eq!((flow.bbr.cwnd, flow.bbr.min_rtt_at), (151, 11_503), "with what the ACK delivered");
    }
}

/// Step 10: data after an idle time leave at the bandwidth, less the margin of 1 %, whatever the phase, and no
/// `ProbeRTT` starts with their first ACK, as the idle time has drained the path. If the application did not limit
/// the flow, nothing changes.
#[test]
fn a_restart_after_an_idle_time() {
    for app_limited in [true, false] {
        let mut bbr = flow(Mode::ProbeBw);
        bbr.phase = 0;
        bbr.update_gains();
        (bbr.app_limited, bbr.pacing_rate) = (app_limited, 1_237_500);
        let mut flow = Connection::new(bbr);
        flow.now += 10_001_000;
        flow.bbr.on_tx_start(Duration::from_secs(10), &path(flow.now, 0));
        // Bandwidths are rounded down to 16,777 of 2^-24 packets per us: 989,987 bytes per second.
        assert_eq!(flow.bbr.pacing_rate, if app_limited { 989_987 } else { 1_237_500 });
        assert_eq!(flow.bbr.delivered_at, flow.now);
        flow.ack(1_000, 1, |_, path| path.in_flight = MSS * 100);
        assert_eq!(flow.bbr.mode, if app_limited { Mode::ProbeBw } else { Mode::ProbeRtt });
        assert!(!flow.bbr.restarting);
    }
}

/// Step 10: an idle time may be the end of `ProbeRTT`.
#[test]
fn an_idle_time_ends_probe_rtt() {
    for (until, mode) in [(1_000, Mode::ProbeRtt), (999, Mode::ProbeBw)] {
        let mut bbr = flow(Mode::ProbeRtt);
        (bbr.probe_rtt_until, bbr.app_limited) = (Some(until), true);
        bbr.on_tx_start(RTT, &path(START, 0));
        assert_eq!(bbr.mode, mode);
    }
}

/// Step 1: a bandwidth counts for ten rounds after its own. A sample of an application that limits counts if it is
/// not smaller, and does not age the others out.
#[test]
fn a_bandwidth_lasts_ten_rounds() {
    let run = |rates: [u64; 2], app_limited: bool| {
        let mut bbr = flow(Mode::ProbeBw);
        bbr.max_bw = MaxFilter::new(Bandwidth::ZERO);
        let mut flow = Connection::new(bbr);
        let mut maxima = Vec::new();
        for round in 1..=13 {
            let before = flow.delivered;
            let rate = if round == 1 { rates[0] } else { rates[1] };
            flow.round(1_000, 100, |ack, _| {
                let mut rate = sample(before, MSS * 100, rate);
                rate.departure.app_limited = app_limited && round > 1;
                ack.rate = Some(rate);
            });
            assert_eq!(flow.bbr.rounds, round);
            maxima.push(flow.bbr.max_bw.get());
        }
        maxima
    };
    let (slow, fast) = (Bandwidth::of(100, 100_000), Bandwidth::of(100, 50_000));
    let mut expected = vec![fast; 11];
    expected.extend([slow, slow]);
    assert_eq!(run([2000, 1000], false), expected);
    assert_eq!(run([2000, 1000], true), [fast; 13]);
    assert_eq!(run([1000, 2000], true)[1..], [fast; 12]);
}

/// Step 9: four clean rounds, and then a fifth lost in each: the first loss, in round 5, starts an interval, which
/// ends in its fourth round, and the next four rounds later, in round 12. Then the gain is 1 at the mean of the two
/// for 48 rounds. It is 1 on the ACK itself, so that the draining phase does not end with what is in flight.
#[test]
fn a_policer_is_found_and_kept() {
    let mut bbr = flow(Mode::ProbeBw);
    (bbr.phase, bbr.max_bw) = (0, MaxFilter::new(per_second(2000)));
    bbr.update_gains();
    let mut flow = Connection::new(bbr);
    for round in 1..=60 {
        let has_policer = (12..60).contains(&round);
        if round == 12 {
            (flow.bbr.phase, flow.bbr.phase_since) = (1, flow.now + 50_000);
            flow.bbr.update_gains();
        }
        let lost = if round > 4 { MSS * 25 } else { Bytes::ZERO };
        flow.round(100_000, 100, |ack, path| {
            ack.newly_lost = lost;
            path.in_flight = MSS * 10;
        });
        let policed = flow.probe("policer_bw_bit_per_s");
        assert_eq!(policed.is_nan(), !has_policer, "round {round}");
        match round {
            1..=4 => assert_eq!(flow.bbr.phase, 0, "neither a loss nor enough in flight"),
            12..60 => {
                assert!((policed / 8e6 - 1.0).abs() < 1e-3, "{policed}");
                assert_eq!(flow.bbr.pacing_gain, Gain::ONE, "round {round}");
                assert_eq!(flow.probe("bw_bit_per_s").to_bits(), policed.to_bits());
            }
            _ => {}
        }
        if round == 12 {
            assert_eq!(flow.bbr.phase, 1);
        }
    }
    assert_eq!(flow.bbr.phase_since, flow.now, "a new cycle");
}

/// Step 9: timeouts end intervals too, with what they found lost: 100 of 400 packets in four rounds, twice. An undo
/// forgets the policer, and what Startup compared.
#[test]
fn timeouts_show_a_policer() {
    let mut flow = Connection::new(flow(Mode::ProbeBw));
    flow.time_out(1);
    for interval in 1..=2 {
        for _ in 0..4 {
            flow.round(100_000, 100, |_, _| {});
        }
        assert_eq!(flow.bbr.policer.bandwidth(), None);
        flow.bbr.full_bw = per_second(1000);
        flow.time_out(100);
        assert_eq!(flow.bbr.policer.bandwidth().is_some(), interval == 2);
        assert_eq!(flow.bbr.full_bw, Bandwidth::ZERO, "step 8");
    }
    (flow.bbr.full_bw, flow.bbr.full_bw_rounds) = (per_second(1000), 2);
    flow.bbr.on_undo(&path(flow.now, 0));
    assert_eq!((flow.bbr.full_bw, flow.bbr.full_bw_rounds), (Bandwidth::ZERO, 0));
    assert_eq!(flow.bbr.policer.bandwidth(), None);
}

/// Linux `tcp_bbr_cong_ops`: `cong_control` hears of every ACK, no answer to ECN, `sndbuf_expand` of 3; the policer's
/// estimate needs each loss.
#[test]
fn what_bbr_needs() {
    let needs = flow(Mode::Startup).needs();
    assert_eq!((needs.feedback, needs.send_buffer_windows), (Feedback::None, 3));
    assert!(needs.every_ack && needs.loss_reports && needs.rate_samples && needs.own_window);
}

/// The numbers by which the example test cases of the draft are checked, where this version has such a state: rounds without
/// growth, restarts, the window of `ProbeRTT` and losses that were none.
#[test]
fn numbers_of_the_drafts_test_cases() {
    let mut bbr = flow(Mode::Startup);
    (bbr.full, bbr.full_bw, bbr.full_bw_rounds) = (false, per_second(1000), 1);
    let mut flow = Connection::new(bbr);
    assert!(flow.probe("probe_rtt_cwnd_bytes").is_nan());
    flow.round(100_000, 1, |_, path| path.in_flight = MSS * 50);
    assert_eq!((flow.probe("full_bw_count"), flow.probe("in_flight_bytes")), (2.0, (MSS * 50).as_f64()));
    flow.bbr.on_undo(&path(flow.now, 0));
    assert_eq!((flow.probe("full_bw_count"), flow.probe("undos")), (0.0, 1.0));
    flow.ack(1_000, 1, |ack, _| ack.app_limited = true);
    assert_eq!((flow.probe("app_limited"), flow.probe("restarts")), (1.0, 0.0));
    for _ in 0..2 {
        flow.bbr.on_tx_start(Duration::SECOND, &path(flow.now, 0));
    }
    flow.bbr.mode = Mode::ProbeRtt;
    assert_eq!(
        (flow.probe("restarts"), flow.probe("probe_rtt_cwnd_bytes"), flow.probe("cwnd_bytes")),
        (1.0, (MSS * 4).as_f64(), (MSS * flow.bbr.cwnd).as_f64()),
        "one restart until a delivery"
    );
}
