//! Careful Resume (RFC 9959, "Implementation Notes for using BBR"; docs/spec/ccwg-2026.md, E).

use windtunnel_cc::ExitReason;

use super::*;

const RECONNAISSANCE: u8 = 1;
const UNVALIDATED: u8 = 2;
const SAFE_RETREAT: u8 = 4;
const NORMAL: u8 = 5;

/// 200 segments were saved: the probing rate is 100 segments in the saved round trip.
fn saved(rtt: Duration) -> Bbr3Params {
    Bbr3Params { saved_cwnd: Some(MSS * 200), saved_rtt: Some(rtt), ..Bbr3Params::default() }
}

impl Flow {
    fn resume_phase(&self) -> u8 {
        self.number("cr_phase") as u8
    }
}

/// The initial window is acknowledged: for two rounds the pace is the probing rate, and the window has room for twice what it
/// sends in a round trip. Then the pace is that of Startup, 2.77 times what was measured less the margin, whether that is more or less.
#[test]
fn two_rounds_at_half_of_the_saved_rate() {
    for measured in [20, 100] {
        let mut flow = Flow::new(&saved(RTT));
        assert_eq!(flow.resume_phase(), RECONNAISSANCE);
        flow.ack(round(10));
        assert_eq!((flow.mode(), flow.resume_phase()), (STARTUP, UNVALIDATED));
        assert_near(flow.pace(), 100.0, "the pace after the jump");
        assert_near(flow.cwnd(), 200.0, "the window");
        flow.ack(round(20));
        assert_eq!(flow.resume_phase(), UNVALIDATED);
        assert_near(flow.pace(), 100.0, "the pace in the second round");
        flow.ack(round(measured));
        assert_eq!((flow.mode(), flow.resume_phase()), (STARTUP, NORMAL));
        assert_near(flow.pace(), 2.77 * 0.99 * measured as f64, "the pace of Startup");
    }
}

/// A round trip of half the saved one is another path's; a little more than half, and ten times as much, are the saved one's.
#[test]
fn the_path_is_confirmed() {
    for (rtt, phase) in [(200, NORMAL), (199, UNVALIDATED), (10, UNVALIDATED), (9, NORMAL)] {
        let mut flow = Flow::new(&saved(ms(rtt)));
        flow.ack(round(10));
        assert_eq!(flow.resume_phase(), phase, "{rtt} ms");
    }
}

/// `max_jump` limits the rate. A flow that is as fast already does not jump, one that its application limits waits, and a loss before
/// the jump forbids it, as does a timeout.
#[test]
fn when_there_is_no_jump() {
    let at_most = |segments| Bbr3Params { max_jump: Some(MSS * segments), ..saved(RTT) };
    for (most, phase) in [(40, UNVALIDATED), (10, NORMAL)] {
        let mut flow = Flow::new(&at_most(most));
        flow.ack(round(10));
        assert_eq!(flow.resume_phase(), phase);
        assert_near(flow.pace(), if phase == UNVALIDATED { 40.0 } else { 27.7 }, "the pace");
    }
    let mut flow = Flow::new(&saved(RTT));
    flow.ack(Ack { app_limited: true, ..round(10) });
    assert_eq!(flow.resume_phase(), RECONNAISSANCE);
    flow.ack(round(10));
    assert_eq!(flow.resume_phase(), UNVALIDATED);

    let mut flow = Flow::new(&saved(RTT));
    flow.ack(round(5));
    assert_eq!(flow.resume_phase(), RECONNAISSANCE);
    flow.lose(loss(0));
    flow.ack(round(10));
    assert_eq!(flow.resume_phase(), NORMAL);

    let mut flow = Flow::new(&saved(RTT));
    flow.ack(round(10));
    let path = flow.path(0);
    flow.cc.on_rto(true, &path);
    flow.ack(round(10));
    assert_eq!(flow.resume_phase(), NORMAL);
}

/// A loss, or a mark, in the two rounds leads to Drain, where rates do not count; after it they do.
#[test]
fn congestion_is_answered_by_drain() {
    for marks in [0, 1] {
        let mut flow = Flow::new(&saved(RTT));
        flow.ack(round(10));
        if marks == 0 {
            flow.lose(loss(0));
        }
        flow.ack(Ack { in_flight: 400, marks, ..within(40) });
        assert_eq!((flow.mode(), flow.resume_phase()), (DRAIN, SAFE_RETREAT));
        assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Other("careful resume")));
        flow.ack(Ack { in_flight: 400, ..round(90) });
        assert_eq!(flow.mode(), DRAIN);
        assert_bound(flow.bandwidth("max_bw"), Some(40.0), "what was measured before");
        flow.ack(Ack { in_flight: 20, ..round(90) });
        assert_eq!((flow.mode(), flow.resume_phase()), (CRUISE, NORMAL));
        assert_bound(flow.bandwidth("max_bw"), Some(40.0), "still");
        flow.ack(round(60));
        assert_bound(flow.bandwidth("max_bw"), Some(60.0), "what is measured now");
    }
}
