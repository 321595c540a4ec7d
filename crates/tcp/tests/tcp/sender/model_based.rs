//! A controller with a model of the path under the TCP with loss: every hook is called, and with the right numbers.
//!
//! The path passes a segment of 1448 bytes per millisecond, 11.584 Mbit/s of payload, and takes 40 ms.

use windtunnel_cc::{
    AckSample, FlowInit, LossFinder, LostSegment, PathView, RateSample, SentSegment, Trigger,
};
use windtunnel_tcp::{CaState, Endpoint, FeedbackScheme, HEADERS, Limited, TcpParams};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{Ecn, FlowId, Packet, TcpFlags};

use super::harness::{Lab, MSS, Script, Sent, Setup, at, endpoint, lost, ms};
use crate::cruise::{Cruise, CruiseParams, Heard, Log};

const BOTTLENECK: Rate = Rate::from_bits_per_sec(11_584_000);

fn lab_with(params: CruiseParams, setup: Setup, script: Script) -> (Lab, Log) {
    let log = Log::default();
    let init = FlowInit { seed: 1, ..FlowInit::new(MSS) };
    let cc = Box::new(Cruise::new(params, init, log.clone()));
    let mut lab = Lab::with(cc, setup, script);
    lab.spacing = ms(1);
    (lab, log)
}

fn lab(script: Script) -> (Lab, Log) {
    lab_with(CruiseParams::default(), Setup::default(), script)
}

fn heard(log: &Log) -> Vec<Heard> {
    log.lock().expect("one thread").clone()
}

fn acks(log: &[Heard]) -> impl Iterator<Item = &AckSample> {
    log.iter().filter_map(|heard| if let Heard::Ack(ack) = heard { Some(ack) } else { None })
}

fn rates(log: &[Heard]) -> Vec<RateSample> {
    acks(log).filter_map(|ack| ack.rate).collect()
}

fn losses(log: &[Heard]) -> Vec<LostSegment> {
    log.iter().filter_map(|heard| if let Heard::Lost(lost) = heard { Some(*lost) } else { None }).collect()
}

fn sent(log: &[Heard]) -> Vec<(SentSegment, PathView)> {
    let sent = |heard: &Heard| if let Heard::Sent(sent, path) = heard { Some((*sent, *path)) } else { None };
    log.iter().filter_map(sent).collect()
}

/// No key asks for pacing: the controller does. In the steady state the path is full, so that the rate samples of each
/// round trip are the bottleneck's rate, and none is higher.
#[test]
fn rate_samples_are_the_bottlenecks_rate() {
    let (mut lab, log) = lab(Script::default());
    assert!(!endpoint().paced);
    lab.write_endless();
    lab.run_until(at(2000));
    assert!(lab.sender.stats().limited[Limited::Pacing as usize] > Duration::ZERO, "paced");
    let log = heard(&log);
    let late: Vec<RateSample> = rates(&log).split_off(1000);
    assert!(late.iter().all(|sample| sample.rate <= BOTTLENECK));
    let full = late.iter().filter(|sample| sample.rate == BOTTLENECK).count();
    assert!(full > late.len() / 2, "{full} of {}", late.len());
    for sample in &late {
        assert_eq!(sample.rate, Rate::of(sample.delivered, sample.interval));
        assert_eq!(sample.lost, Bytes::ZERO);
    }
    let rounds = acks(&log).filter(|ack| ack.round_start).count();
    assert!((20..=50).contains(&rounds), "{rounds} rounds of 40 ms and the queue in 2 s");
}

/// The controller hears of each departure in order, with the amount in flight after it, and of each ACK that delivers
/// something exactly once.
#[test]
fn departures_and_acks_are_heard() {
    let (mut lab, log) = lab(Script::default());
    lab.write(300);
    lab.run_to_the_end();
    let log = heard(&log);
    assert!(matches!(log[0], Heard::Established));
    assert!(matches!(log[1], Heard::TxStart(_)));
    let departures = sent(&log);
    assert_eq!(departures.len(), 300);
    for ((segment, path), seen) in departures.iter().zip(&lab.sent) {
        assert_eq!((segment.seq.get() - 1) / MSS.get() + 1, seen.segment);
        assert_eq!((segment.payload, segment.retransmission), (MSS, false));
        assert_eq!((path.now, path.in_flight), (seen.time, seen.in_flight));
    }
    assert_eq!(acks(&log).map(|ack| ack.newly_delivered).sum::<Bytes>(), MSS * 300);
}

/// What the harness saw of the `time`-th departure of segment `n`.
fn departure(lab: &Lab, n: u64, time: usize) -> &Sent {
    lab.sent.iter().filter(|sent| sent.segment == n).nth(time).expect("it was sent")
}

/// Two segments of the 200 are lost, one of them twice. Each report carries the counters of the moment at which that
/// transmission left; the losses add up; a report comes before the ACK that showed the loss; and the congestion is
/// reported once per episode, after the first loss.
#[test]
fn losses_are_reported_with_their_departures() {
    // Segments 101 and 120; the retransmission of 101 is lost as well (the script numbers transmissions).
    let (mut first, _) = lab(lost([100, 119]));
    first.write(400);
    first.run_to_the_end();
    let again = first.sent.iter().position(|sent| sent.again).expect("a retransmission") as u64;
    let (mut lab, log) = lab(lost([100, 119, again]));
    lab.write(400);
    lab.run_to_the_end();
    let log = heard(&log);
    let reports = losses(&log);
    let segments: Vec<u64> = reports.iter().map(|lost| (lost.seq.get() - 1) / MSS.get() + 1).collect();
    assert_eq!(segments, [101, 120, 101]);
    let mut total = Bytes::ZERO;
    for (report, time) in reports.iter().zip([0, 0, 1]) {
        let n = (report.seq.get() - 1) / MSS.get() + 1;
        let seen = departure(&lab, n, time);
        assert_eq!((report.payload, report.departure.sent), (MSS, seen.time));
        assert_eq!(report.departure.in_flight, seen.in_flight, "segment {n} itself included");
        assert_eq!(report.departure.lost, total_lost_before(&log, seen.time));
        assert_eq!(report.departure.delivered, delivered_before(&log, seen.time), "segment {n}");
        assert_eq!(report.found_by, LossFinder::Ack);
        total += report.payload;
        assert_eq!(report.lost, total);
        assert_eq!(report.lost_since_departure(), total - report.departure.lost);
    }
    assert_eq!(acks(&log).last().map(|ack| ack.lost), Some(MSS * 3), "the sum of all reports");
    assert_eq!(acks(&log).map(|ack| ack.newly_lost).sum::<Bytes>(), MSS * 3);
    let position = |what: fn(&Heard) -> bool| log.iter().position(what).expect("it was heard");
    let report = position(|heard| matches!(heard, Heard::Lost(_)));
    assert!(matches!(log[report + 1], Heard::Congestion(Trigger::Loss)), "{:?}", log[report + 1]);
    assert!(matches!(&log[report + 2], Heard::Ack(ack) if ack.newly_lost == MSS));
    let congestions = log.iter().filter(|heard| matches!(heard, Heard::Congestion(_))).count();
    assert_eq!(congestions, 1, "one episode");
    let recovered = position(|heard| matches!(heard, Heard::Recovered));
    assert!(recovered > log.iter().rposition(|heard| matches!(heard, Heard::Lost(_))).expect("a loss"));
}

/// What the ACKs before `time` had delivered.
fn delivered_before(log: &[Heard], time: Time) -> Bytes {
    let mut delivered = Bytes::ZERO;
    for heard in log {
        match heard {
            Heard::Ack(ack) => delivered = ack.delivered,
            Heard::Sent(_, path) if path.now >= time => return delivered,
            _ => {}
        }
    }
    delivered
}

fn total_lost_before(log: &[Heard], time: Time) -> Bytes {
    let mut lost = Bytes::ZERO;
    for heard in log {
        match heard {
            Heard::Lost(report) => lost = report.lost,
            Heard::Sent(_, path) if path.now >= time => return lost,
            _ => {}
        }
    }
    lost
}

/// The last segments are lost and no probe is sent: the retransmission timer finds them, each is reported before `on_rto`, and
/// the counts of the next ACK have them.
#[test]
fn the_retransmission_timer_reports_losses() {
    let params = TcpParams { tlp: false, ..TcpParams::default() };
    let (mut lab, log) =
        lab_with(CruiseParams::default(), Setup { params, ..Setup::default() }, lost([18, 19]));
    lab.write(20);
    lab.run_to_the_end();
    let log = heard(&log);
    let reports = losses(&log);
    assert_eq!(reports.len(), 2);
    assert!(reports.iter().all(|lost| lost.found_by == LossFinder::RetransmissionTimer));
    let rto = log.iter().position(|heard| matches!(heard, Heard::Rto { new_episode: true }));
    let last = log.iter().rposition(|heard| matches!(heard, Heard::Lost(_)));
    assert!(last < rto && rto.is_some());
    assert_eq!(acks(&log).last().map(|ack| ack.lost), Some(MSS * 2));
    assert!(matches!(log.last(), Some(Heard::Ack(_))));
    assert!(log.iter().any(|heard| matches!(heard, Heard::Recovered)), "Loss ends");
}

/// One segment is lost and one that left after it is SACKed: RACK waits for a quarter of the least round trip, and it is its
/// timer that finds the loss (RFC 8985 section 6.2 step 5).
#[test]
fn racks_timer_reports_losses() {
    let (mut lab, log) = lab(lost([18]));
    lab.write(20);
    lab.run_to_the_end();
    let log = heard(&log);
    let reports = losses(&log);
    assert_eq!(reports.iter().map(|lost| lost.found_by).collect::<Vec<_>>(), [LossFinder::ReorderingTimer]);
    let report = log.iter().position(|heard| matches!(heard, Heard::Lost(_))).expect("it was reported");
    assert!(matches!(log[report + 1], Heard::Congestion(Trigger::Loss)));
    assert_eq!(acks(&log).last().map(|ack| (ack.lost, ack.newly_lost)), Some((MSS, Bytes::ZERO)));
}

/// An ACK without new information reaches the controller as one that delivered nothing.
#[test]
fn acks_that_deliver_nothing_are_heard() {
    let (mut lab, log) = lab(Script::default());
    lab.write(20);
    lab.run_to_the_end();
    let mut packet = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
    (packet.flags, packet.ack, packet.window) = (TcpFlags::ACK, lab.sender.snd_nxt(), u16::MAX);
    (packet.ts_val, packet.ts_ecr) = (lab.now, lab.now);
    let before = acks(&heard(&log)).count();
    lab.sender.on_ack(&packet, lab.now);
    let log = heard(&log);
    let last = acks(&log).last().expect("ACKs");
    assert_eq!(acks(&log).count(), before + 1);
    assert_eq!((last.newly_delivered, last.delivered, last.rate), (Bytes::ZERO, MSS * 20, None));
}

/// The controller does not answer the loss, so that nothing is reduced and no CWR is sent, although segments are
/// ECN-capable (RFC 3168 section 6.1.2: CWR says that the window was reduced). Reno's response is announced.
#[test]
fn no_cwr_without_a_reduction() {
    let capable = || Setup {
        endpoint: Endpoint { ecn: Ecn::Ect0, feedback: FeedbackScheme::Rfc3168, ..endpoint() },
        ..Setup::default()
    };
    let cwrs = |lab: &Lab| lab.sent.iter().filter(|sent| sent.flags.contains(TcpFlags::CWR)).count();
    let (mut lab, _) = lab_with(CruiseParams::default(), capable(), lost([40]));
    lab.write(200);
    lab.run_to_the_end();
    assert_eq!((lab.sender.stats().loss_episodes, cwrs(&lab)), (1, 0));
    let mut reno = Lab::new(capable(), lost([40]));
    reno.write(200);
    reno.run_to_the_end();
    assert_eq!((reno.sender.stats().loss_episodes, cwrs(&reno)), (1, 1));
}

/// A quantum of four segments: once the start is over, bursts of four leave at once, a rate's time for four apart; with the
/// sender's own rule it is two at this rate (a millisecond of data, two segments at least).
#[test]
fn the_send_quantum_is_the_controllers() {
    for (quantum, size) in [(Some(4), 4), (None, 2)] {
        let params = CruiseParams { quantum, ..CruiseParams::default() };
        let tcp = TcpParams { gso: true, ..TcpParams::default() };
        let setup = Setup { params: tcp, ..Setup::default() };
        let (mut lab, _) = lab_with(params, setup, Script::default());
        lab.write_endless();
        lab.run_until(at(1500));
        let late: Vec<_> = lab.sent.iter().filter(|sent| sent.time > at(700)).map(|sent| sent.time).collect();
        let bursts: Vec<usize> = late.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
        assert!(bursts.iter().all(|n| *n <= size), "{bursts:?}");
        let whole = bursts.iter().filter(|n| **n == size).count();
        assert!(whole * 10 > bursts.len() * 9, "{whole} of {} bursts are of {size}", bursts.len());
    }
}

/// While the controller rests, it says that its samples do not test the path: the samples of segments sent then, and
/// all samples until what was in flight is delivered, are marked; others are not.
#[test]
fn a_resting_controllers_samples_are_marked() {
    for rests in [false, true] {
        let params = CruiseParams { rests, ..CruiseParams::default() };
        let (mut lab, log) = lab_with(params, Setup::default(), Script::default());
        lab.write_endless();
        lab.run_until(at(2000));
        let limited = rates(&heard(&log)).iter().filter(|sample| sample.departure.app_limited).count();
        assert_eq!(limited > 0, rests, "{limited}");
    }
}

/// An application that has no more data does not limit the flow while data are in the host (Linux
/// `tcp_rate_check_app_limited`; no packet of this lab leaves the host). The second segment is written while the first
/// is on its way.
#[test]
fn data_in_the_host_are_not_application_limited() {
    for small_queues in [false, true] {
        let params = TcpParams { small_queues, ..TcpParams::default() };
        let setup = Setup { params, ..Setup::default() };
        let (mut lab, log) = lab_with(CruiseParams::default(), setup, Script::default());
        lab.write(1);
        lab.run_until(at(50));
        lab.write(1);
        lab.run_to_the_end();
        let limited: Vec<bool> =
            rates(&heard(&log)).iter().map(|sample| sample.departure.app_limited).collect();
        assert_eq!(limited, [false, !small_queues]);
    }
}

/// In Recovery the window in force is the controller's, which does not move: no proportional reduction.
#[test]
fn the_window_is_the_controllers_alone() {
    let (mut lab, _) = lab(lost([100]));
    lab.write_endless();
    lab.run_until(at(2000));
    let recovering: Vec<_> = lab.sent.iter().filter(|sent| sent.state == CaState::Recovery).collect();
    assert!(recovering.len() > 10);
    assert!(
        recovering.iter().all(|sent| sent.cwnd >= 60),
        "twice 40 ms of a segment per ms, less the probing"
    );
}
