//! The parts of an RTP flow, computed by hand.

use windtunnel_tcp::{Endpoint, FeedbackScheme};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet};

use super::flight::Flight;
use super::queue::{DataUnit, SendQueue};
use super::receiver::RtpReceiver;
use super::{HEADERS, Report};
use crate::endpoint::ReceiverHalf;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn unit(frame: u64) -> DataUnit {
    DataUnit { frame, payload: Bytes::new(1000), last: false }
}

/// A report of `highest` and the units in `arrived`, which left and arrived at `ms`.
fn report(highest: u64, arrived: u64, ms: u64) -> Report {
    Report { highest, arrived, arrival: at(ms), sent: at(ms), ce: 0 }
}

fn endpoint() -> Endpoint {
    Endpoint {
        flow: FlowId::new(0),
        mtu: Bytes::new(1500),
        headers: HEADERS,
        iw: Bytes::new(1500),
        paced: true,
        needs_ecn: false,
        ecn: Ecn::Ect1,
        feedback: FeedbackScheme::None,
        dscp: Dscp::DEFAULT,
    }
}

/// Ten units of 1000 bytes at 0, 1, ... 9 ms, each of a frame of its own.
fn ten() -> Flight {
    let mut flight = Flight::new();
    for n in 0..10 {
        flight.send(unit(n), false, at(n));
    }
    flight
}

/// 3000 bytes in units of at most 1460 are three of 1000, and 3001 have one of 1001 first; the last one carries the marker.
#[test]
fn a_frame_is_cut_evenly() {
    let mut queue = SendQueue::default();
    assert_eq!(queue.push(0, Bytes::new(3001), Bytes::new(1460), at(5)), 3);
    let mut sizes = Vec::new();
    while let Some(unit) = queue.front() {
        sizes.push((unit.payload.get(), unit.last));
        queue.pop();
    }
    assert_eq!(sizes, [(1001, false), (1000, false), (1000, true)]);
}

/// What has waited for more than the limit is discarded, but not the rest of a frame that was started.
#[test]
fn old_frames_are_discarded() {
    let mut queue = SendQueue::default();
    for frame in 0..3 {
        queue.push(frame, Bytes::new(3000), Bytes::new(1460), at(frame * 10));
    }
    queue.pop();
    let limit = Duration::from_millis(15);
    assert_eq!(queue.discard(limit, at(25)), None, "15 ms are not more than 15 ms");
    assert_eq!(queue.discard(limit, at(30)), Some((1, 3)));
    assert_eq!(queue.discard(limit, at(30)), None);
    assert_eq!(queue.waited(at(30)), Duration::from_millis(30));
    assert_eq!([queue.clear(), queue.clear(), queue.clear()], [Some((0, 2)), Some((2, 3)), None]);
}

/// The draft's example: the bytes in flight are those above the highest unit that arrived, whatever is missing below it.
#[test]
fn in_flight_is_what_is_above_the_highest() {
    let mut flight = ten();
    let mut arrived = Vec::new();
    let news = flight.acknowledge(&report(5, 0b11011, 30), at(50), |unit| {
        arrived.push((unit.frame, unit.below, unit.sent));
    });
    assert_eq!(flight.bytes(), Bytes::new(5000));
    assert_eq!((news.delivered.packets, news.advanced), (4, Bytes::new(5000)));
    let (frames, below) = ([0, 1, 3, 4], [4, 3, 1, 0]);
    let expected: Vec<_> = frames.iter().zip(below).map(|(n, below)| (*n, below, at(*n))).collect();
    assert_eq!(arrived, expected, "unit 3 is missing");
    // Unit 5 left at 4 ms.
    assert_eq!(news.rtt, Some(Duration::from_millis(46)));
    assert_eq!(news.one_way, Some(Duration::from_millis(26)));
}

/// The receiver's wait is not part of the round trip.
#[test]
fn a_round_trip_is_without_the_wait() {
    let mut flight = ten();
    let late = Report { sent: at(40), ..report(1, 1, 10) };
    assert_eq!(flight.acknowledge(&late, at(50), |_| ()).rtt, Some(Duration::from_millis(20)));
}

/// A missing unit is lost after a quarter of the least round trip, and only once.
#[test]
fn a_missing_unit_is_lost_after_the_reordering_window() {
    let mut flight = ten();
    flight.acknowledge(&report(5, 0b11011, 30), at(50), |_| ());
    let rtt = Duration::from_millis(40);
    let mut lost = Vec::new();
    for ms in [50, 59, 60, 70] {
        flight.find_losses(rtt, at(ms), |segment| lost.push((ms, segment.departure.sent)));
    }
    assert_eq!(lost, [(60, at(2))]);
    assert_eq!(flight.lost(), Bytes::new(1000));
}

/// A unit that arrives 30 ms after it was missed widens the window to that.
#[test]
fn reordering_widens_the_window() {
    let mut flight = ten();
    let rtt = Duration::from_millis(40);
    flight.acknowledge(&report(3, 0b101, 30), at(50), |_| ());
    flight.acknowledge(&report(3, 0b111, 80), at(80), |_| ());
    flight.acknowledge(&report(5, 0b11101, 80), at(100), |_| ());
    assert_eq!(flight.find_losses(rtt, at(129), |_| ()), Bytes::ZERO);
    assert_eq!(flight.find_losses(rtt, at(130), |_| ()), Bytes::new(1000));
}

/// Each unit is settled once, when no report covers it any more: 64 numbers below the highest.
#[test]
fn units_are_settled_beyond_the_reports() {
    let mut flight = Flight::new();
    for n in 0..100 {
        flight.send(unit(n), false, at(0));
    }
    let mut settled = Vec::new();
    flight.acknowledge(&report(30, u64::MAX, 10), at(20), |_| ());
    flight.acknowledge(&report(66, 1, 10), at(20), |_| ());
    flight.forget(|frame| settled.push(frame));
    assert!(settled.is_empty(), "units 1 and 2 arrived");
    flight.acknowledge(&report(98, 1, 10), at(20), |_| ());
    // Units 31 to 34 are below the 64 that a report of 98 covers.
    assert_eq!(flight.find_losses(Duration::SECOND, at(20), |_| ()), Bytes::new(4000));
    flight.forget(|frame| settled.push(frame));
    assert_eq!(settled, [30, 31, 32, 33]);
    // 35 to 65, 67 to 97, and 99 and 100: no report came about these.
    assert_eq!(flight.lose_all(at(30), |_| ()), Bytes::new(64_000));
    assert_eq!(flight.bytes(), Bytes::ZERO);
}

/// One data unit reaches the receiver, which may answer.
fn answer(receiver: &mut RtpReceiver, number: u64, marker: bool, ecn: Ecn, now: Time) -> Option<Packet> {
    let mut packet = Packet::new(FlowId::new(0), Bytes::new(1040), Bytes::new(1000));
    packet.seq = windtunnel_units::Seq::new(number);
    packet.window = u16::from(marker);
    packet.ecn = ecn;
    receiver.on_packet(&packet, now);
    receiver.poll(now)
}

/// The same of a receiver that is not asked for arrivals.
fn arrive(receiver: &mut RtpReceiver, number: u64, marker: bool, ecn: Ecn, now: Time) -> Option<Report> {
    answer(receiver, number, marker, ecn, now).map(|report| {
        assert_eq!(report.arrivals(), None, "not asked for");
        Report::of(&report)
    })
}

/// Reports leave with the marker, with every sixteenth unit, and 40 ms after the first that was not reported.
#[test]
fn when_reports_leave() {
    let mut receiver = RtpReceiver::new(endpoint(), false);
    assert_eq!(arrive(&mut receiver, 1, false, Ecn::Ect1, at(0)), None);
    assert_eq!(receiver.next_timer(), at(40));
    let report = arrive(&mut receiver, 2, true, Ecn::Ect1, at(5)).expect("the marker");
    assert_eq!((report.highest, report.arrived, report.arrival), (2, 0b11, at(5)));
    assert_eq!(receiver.next_timer(), Time::NEVER);
    for number in 3..18 {
        assert_eq!(arrive(&mut receiver, number, false, Ecn::Ect1, at(6)), None);
    }
    assert!(arrive(&mut receiver, 18, false, Ecn::Ect1, at(7)).is_some(), "the sixteenth");
    arrive(&mut receiver, 19, false, Ecn::Ect1, at(8));
    receiver.on_timer(at(48));
    let late = receiver.poll(at(48)).map(|report| Report::of(&report)).expect("after 40 ms");
    assert_eq!((late.arrival, late.sent), (at(8), at(48)));
}

/// A report tells gaps, late units and CE; a duplicate counts once.
#[test]
fn what_reports_tell() {
    let mut receiver = RtpReceiver::new(endpoint(), false);
    arrive(&mut receiver, 1, false, Ecn::Ce, at(0));
    arrive(&mut receiver, 1, false, Ecn::Ce, at(0));
    let report = arrive(&mut receiver, 4, true, Ecn::Ce, at(1)).expect("the marker");
    assert_eq!((report.highest, report.arrived, report.ce), (4, 0b1001, 2));
    assert_eq!(report.numbers().collect::<Vec<_>>(), [1, 4]);
    arrive(&mut receiver, 2, false, Ecn::Ect1, at(2));
    let report = arrive(&mut receiver, 70, true, Ecn::Ect1, at(3)).expect("the marker");
    assert_eq!(report.numbers().collect::<Vec<_>>(), [70], "64 numbers: 7 to 70");
}

/// For a controller that asks, a report tells when each unit arrived, from the highest on; one that comes later is told
/// by the next report. Of the first 64 numbers there are as many times as numbers.
#[test]
fn reports_of_arrivals() {
    let mut receiver = RtpReceiver::new(endpoint(), true);
    let mut arrive = |number, marker: bool, now| {
        let report = answer(&mut receiver, number, marker, Ecn::NotEct, now);
        report.map(|report| report.arrivals().expect("asked for").to_vec())
    };
    arrive(1, false, at(1));
    assert_eq!(arrive(3, true, at(5)), Some(vec![at(5), Time::ZERO, at(1)]));
    arrive(2, false, at(6));
    assert_eq!(arrive(4, true, at(7)), Some(vec![at(7), at(5), at(6), at(1)]));
    let late = arrive(70, true, at(9)).expect("the marker");
    assert_eq!((late.len(), late[0]), (64, at(9)));
}
