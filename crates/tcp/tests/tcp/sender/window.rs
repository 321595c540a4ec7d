//! Growth, its gate, idle times, the receive window, limits (spec/congestion-control sections 1.4, 1.6 and 6.2).

use windtunnel_tcp::{CaState, EcnPp, FeedbackScheme, GrowthGate, IdleRule, Limited, TcpParams};
use windtunnel_units::{Bytes, Duration};
use windtunnel_wire::Ecn;

use super::harness::{Lab, MSS, Script, Setup, Told, at, ms};

/// Writes a number of segments every 60 ms: at most one write is in flight.
fn write_in_rounds(lab: &mut Lab, segments: u64, rounds: u64) {
    lab.write(1);
    for round in 1..=rounds {
        lab.run_until(at(60 + 60 * round));
        lab.write(segments);
    }
    lab.run_until(at(120 + 60 * rounds));
}

fn idle(idle: IdleRule) -> Setup {
    Setup { params: TcpParams { idle, ..crate::fixed_window() }, ..Setup::default() }
}

/// IW 10, no loss: 10, 20, 40, 80, 160 per round trip (spec 1.4), also with every second segment acknowledged: whole
/// segments count (6.2 no. 1).
#[test]
fn slow_start_doubles() {
    for every in [1, 2] {
        let mut lab = Lab::new(Setup { every, ..Setup::default() }, Script::default());
        lab.write_endless();
        for (round, window) in [10_u64, 20, 40, 80, 160].into_iter().enumerate() {
            lab.run_until(at(40 + 40 * round as u64));
            assert_eq!(lab.sender.in_flight(), MSS * window);
        }
    }
}

/// A stretch ACK of 44 segments in slow start grows W by 44 and no more; in avoidance at W = 50 it does not grow W
/// (credit 44 of 50), and the second one grows W by one (spec 6.2 no. 2).
#[test]
fn stretch_acks() {
    let mut lab = Lab::new(Setup { cwnd: 44, every: 44, ..Setup::default() }, Script::default());
    lab.write_endless();
    lab.run_until(at(80));
    assert_eq!(lab.cwnd(), 88);
    let mut lab =
        Lab::new(Setup { cwnd: 50, ssthresh: 50, every: 44, ..Setup::default() }, Script::default());
    lab.write_endless();
    lab.run_until(at(80));
    assert_eq!(lab.cwnd(), 50);
    lab.run_until(at(120));
    assert_eq!(lab.cwnd(), 51);
}

/// The gate (spec 6.2 no. 3): an application that keeps 5 segments in flight does not grow a window of 10; in slow
/// start at most to twice what is used.
#[test]
fn application_limited_window_does_not_grow() {
    let mut lab = Lab::new(idle(IdleRule::None), Script::default());
    write_in_rounds(&mut lab, 8, 50);
    assert_eq!(lab.cwnd(), 16, "twice the 8 used");
    let params = TcpParams { growth_gate: GrowthGate::None, idle: IdleRule::None, ..crate::fixed_window() };
    let mut open = Lab::new(Setup { params, ..Setup::default() }, Script::default());
    write_in_rounds(&mut open, 8, 50);
    assert!(open.cwnd() > 300, "without the gate every ACK counts");
}

/// 160 segments in slow start make W = 320. RFC 2861: after 1 s of silence (RTO 240 ms, four of them) that is halved
/// four times; RFC 5681: IW at once; others keep it.
#[test]
fn idle_restart() {
    for (rule, expected) in [
        (IdleRule::Rfc2861, Some(320 / 16)),
        (IdleRule::Rfc5681, Some(10)),
        (IdleRule::Rfc7661, None),
        (IdleRule::None, None),
    ] {
        let mut lab = Lab::new(Setup { cwnd: 160, ..idle(rule) }, Script::default());
        lab.write(160);
        lab.run_until(at(1040));
        let before = lab.cwnd();
        lab.write(1000);
        let sent = lab.sent_at(at(1040)).len() as u64;
        assert_eq!(sent, expected.unwrap_or(before), "{rule:?}");
        let validation = expected.map(Told::Validation);
        assert_eq!(lab.told().first().copied(), validation, "{rule:?}");
    }
    // Two RTOs: a quarter of what it was.
    let mut lab = Lab::new(Setup { cwnd: 160, ssthresh: 160, ..idle(IdleRule::Rfc2861) }, Script::default());
    lab.write(160);
    lab.run_until(at(540));
    let before = lab.cwnd();
    lab.write(1000);
    assert_eq!(lab.sent_at(at(540)).len() as u64, before / 4);
    assert_eq!(lab.sender.control().ssthresh, MSS * 160, "not lowered");
}

/// Limited by the application, a window of 160 with 20 in use stays as it is while ACKs arrive: Linux measures RFC 2861's
/// time from the last ACK that might have raised cwnd (`tcp_cong_avoid`), and an RTO never passes in between. A 6.18
/// kernel that used 29 of 58 segments kept them for 1.9 s.
#[test]
fn unused_window_stays_while_acks_arrive() {
    let mut lab = Lab::new(Setup { cwnd: 160, ssthresh: 100, ..idle(IdleRule::Rfc2861) }, Script::default());
    write_in_rounds(&mut lab, 20, 10);
    assert_eq!(lab.cwnd(), 160);
    assert!(!lab.told().iter().any(|told| matches!(told, Told::Validation(_))), "{:?}", lab.told());
}

/// RFC 7661: an unused window stays over idle times and does not grow; a loss falls back to half of what was used.
#[test]
fn validated_window() {
    let setup = Setup { cwnd: 100, ssthresh: 100, ..idle(IdleRule::Rfc7661) };
    let mut lab = Lab::new(setup, Script::default());
    write_in_rounds(&mut lab, 20, 30);
    assert_eq!(lab.cwnd(), 100, "neither grown nor reset");
    let next = lab.sent.len() as u64;
    lab.script.lost.insert(next);
    lab.write(20);
    lab.run_until(lab.now + ms(40));
    assert_eq!(lab.sender.state(), CaState::Recovery);
    // max(pipeACK, flight) / 2 = 10.
    assert_eq!(lab.sender.control().cwnd, MSS * 10);
    lab.run_until(lab.now + ms(40));
    // (20 - 1 sent again) / 2 = 9.5, whole segments.
    assert_eq!(lab.told().last(), Some(&Told::Validation(9)));
}

/// The first segment of a flight is reported with the time since the last one (spec 0.3, `TX_START`; CUBIC's epoch
/// shift, 6.2 no. 9).
#[test]
fn flights_are_announced() {
    let mut lab = Lab::new(idle(IdleRule::None), Script::default());
    lab.write(3);
    lab.run_until(at(540));
    lab.write(3);
    lab.run_until(at(600));
    assert_eq!(lab.told_starts(), [ms(0), ms(500) + Duration::from_micros(400)]);
}

/// The receive window is a limit of its own: 16384 bytes are 11 segments, for any cwnd.
#[test]
fn receive_window() {
    let mut lab = Lab::new(Setup { cwnd: 100, ..idle(IdleRule::None) }, Script::default());
    lab.set_window(1);
    lab.write_endless();
    lab.run_until(at(40));
    assert_eq!(lab.sent.len(), 11);
    assert_eq!(lab.sender.limited_by(), Limited::Receiver);
    lab.run_until(at(1000));
    assert_eq!(lab.sent.len() as u64, 11 * 25);
    assert_eq!(lab.cwnd(), 100, "not the limit: no growth");
}

/// A window of a quarter of a segment: in each round trip, data that fit leave (RFC 9293 section 3.8.6.2.1: half of the
/// largest window); with a window of several segments (11 in the test above), no part of a segment is sent.
#[test]
fn window_below_a_segment() {
    let mut setup = Setup { cwnd: 100, ..idle(IdleRule::None) };
    setup.endpoint.mtu = Bytes::new(65_535);
    let mut lab = Lab::new(setup, Script::default());
    lab.set_window(1);
    lab.write_endless();
    lab.run_until(at(1000));
    assert_eq!(lab.sent.len(), 25);
    assert_eq!(lab.received(), Bytes::new(16_384) * 24);
    assert_eq!(lab.sender.stats().window_probes, 0);
}

/// A closed window is probed with back-off, and nothing hangs when it opens.
#[test]
fn closed_window() {
    let mut lab = Lab::new(Setup::default(), Script::default());
    lab.set_window(0);
    lab.write(30);
    lab.run_until(at(300));
    assert_eq!(lab.sender.stats().window_probes, 1);
    lab.run_until(at(2000));
    assert!(lab.told().is_empty(), "no congestion: {:?}", lab.told());
    lab.set_window(100);
    lab.run_to_the_end();
}

/// A window probe is not ECN-capable (RFC 3168 section 6.1.6), nor in Linux; with ECN++ it is.
#[test]
fn code_point_of_a_probe() {
    for (ecn_pp, ecn) in [(EcnPp::Linux, Ecn::NotEct), (EcnPp::Off, Ecn::NotEct), (EcnPp::On, Ecn::Ect0)] {
        let mut setup = Setup::default();
        setup.endpoint.ecn = Ecn::Ect0;
        setup.endpoint.feedback = FeedbackScheme::Rfc3168;
        setup.params.ecn_pp = ecn_pp;
        let mut lab = Lab::new(setup, Script::default());
        lab.set_window(0);
        lab.write(30);
        lab.run_until(at(300));
        assert_eq!(lab.sender.stats().window_probes, 1);
        assert_eq!(lab.sent.iter().map(|sent| sent.ecn).collect::<Vec<_>>(), [ecn], "{ecn_pp:?}");
    }
}

/// The shares of time: 40 ms for the handshake, then 40 ms per round trip limited by cwnd, and the silence of the
/// application.
#[test]
fn shares_of_time() {
    let mut lab = Lab::new(Setup { cwnd: 10, fixed: true, ..Setup::default() }, Script::default());
    lab.write(100);
    lab.run_until(at(1000));
    lab.write(1);
    let limited = lab.sender.stats().limited;
    let share = |limit: Limited| limited[limit as usize].as_millis_f64().round() as u64;
    assert_eq!(share(Limited::Handshake), 40);
    // Nine waits for ACKs of ten flights; the last ten leave nothing to send.
    assert_eq!(share(Limited::Cwnd), 360);
    assert_eq!(share(Limited::Application), 600);
}

/// With pacing, after the first ten segments, departures are spaced at 2.0 * W / srtt in slow start (no ssthresh), so
/// that 20 leave in half a round trip.
#[test]
fn pacing() {
    let mut setup = Setup { cwnd: 20, fixed: true, ..Setup::default() };
    setup.endpoint.paced = true;
    let mut lab = Lab::new(setup, Script::default());
    lab.write_endless();
    lab.run_until(at(40));
    assert!(lab.sent.len() <= 12, "{}", lab.sent.len());
    lab.run_until(at(400));
    let flight: Vec<_> =
        lab.sent.iter().map(|sent| sent.time).filter(|&t| t > at(200) && t < at(240)).collect();
    assert!((19..=21).contains(&flight.len()), "20 per round trip");
    // 40 ms / (2.0 * 20) = 1 ms; half of it after a departure that came late because cwnd was full.
    let gaps: Vec<f64> = flight.windows(2).map(|pair| pair[1].since(pair[0]).as_millis_f64()).collect();
    assert!(gaps.iter().all(|gap| (0.49..30.0).contains(gap)), "{gaps:?}");
    assert!(gaps.iter().filter(|gap| (**gap - 1.0).abs() < 0.05).count() > 12, "{gaps:?}");
    // Ten of the first flight, 1 ms apart, and the twenty of the second, whose first ten ACKs come at once; later ones
    // are clocked by ACKs that come 1 ms apart.
    let waited = lab.sender.stats().limited[Limited::Pacing as usize];
    assert!(waited > ms(20) && waited <= ms(30), "{waited}");
}

/// `stop` drops unsent data; sent data are still delivered, including losses.
#[test]
fn stop() {
    let mut script = Script::default();
    script.lost.insert(4);
    let mut lab = Lab::new(Setup::default(), script);
    lab.write_endless();
    lab.run_until(at(50));
    lab.sender.stop();
    lab.run_to_the_end();
    assert_eq!(lab.sent.iter().map(|sent| sent.segment).max(), Some(10));
}

/// RFC 7661 section 4.4.3: a window of 100 with 20 used every 30 s is halved after five minutes, and not
/// before.
#[test]
fn a_window_unused_for_five_minutes() {
    let mut lab = Lab::new(Setup { cwnd: 100, ssthresh: 100, ..idle(IdleRule::Rfc7661) }, Script::default());
    lab.write(1);
    for round in 1..=11 {
        lab.run_until(at(30_000 * round));
        assert_eq!(lab.cwnd(), 100, "after {round} times 30 s");
        lab.write(20);
    }
    lab.run_until(at(331_000));
    assert_eq!((lab.cwnd(), lab.told()), (50, vec![Told::Validation(50)]));
}
