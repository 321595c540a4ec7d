//! What an observer sees of a sender: `tcp_info`, and what it leaves to the next connection.

use windtunnel_tcp::{CaState, TcpInfo, TcpParams};
use windtunnel_units::Bytes;

use super::harness::{Lab, MSS, Script, Setup, at, lost, ms};

fn lab(params: TcpParams, script: Script) -> Lab {
    let mut lab = Lab::new(Setup { params, cwnd: 20, ssthresh: 20, ..Setup::default() }, script);
    lab.write_endless();
    lab
}

/// As Linux `tcp_get_info` (spec/congestion-control sections 1.3 and 1.8): before the handshake a timeout of 1 s and
/// no deviation; after its round trip of 40 ms a deviation of half of it and a timeout of 40 + 200 ms, with 20
/// segments out. They are lost, and at 280 ms the timer expires: the timeout is doubled, and the first segment is out
/// again.
#[test]
fn tcp_info() {
    let mut lab = lab(TcpParams { tlp: false, ..crate::fixed_window() }, lost(0..100));
    let start = TcpInfo {
        state: CaState::Open,
        ssthresh: Some(MSS * 20),
        rto: ms(1000),
        reordering: Some(3),
        ..TcpInfo::default()
    };
    assert_eq!(lab.sender.info(), start);
    lab.run_until(at(60));
    let sent = TcpInfo { rttvar: Some(ms(20)), rto: ms(240), unacked: MSS * 20, ..start };
    assert_eq!(lab.sender.info(), sent);
    assert_eq!([lab.sender.srtt(), lab.sender.rttvar(), lab.sender.min_rtt()], [ms(40), ms(20), ms(40)]);
    lab.run_until(at(281));
    let timed_out = TcpInfo {
        state: CaState::Loss,
        ssthresh: Some(MSS * 10),
        rto: ms(480),
        backoff: 1,
        consecutive_rtos: 1,
        lost: MSS * 20,
        retrans_out: MSS,
        ..sent
    };
    assert_eq!(lab.sender.info(), timed_out);
}

/// The first slow start has no threshold; nine of ten segments that are SACKed are still unacknowledged.
#[test]
fn without_a_threshold() {
    let mut lab = Lab::new(Setup::default(), Script { late: [(0, ms(15))].into(), ..Script::default() });
    lab.write(3);
    lab.run_until(at(81));
    let info = lab.sender.info();
    assert_eq!((info.ssthresh, info.state), (None, CaState::Disorder));
    assert_eq!((info.unacked, info.sacked, info.lost), (MSS * 3, MSS * 2, Bytes::ZERO));
}

/// cwnd is the limit of a sender that has filled it, and not of one whose application has written less. What was
/// written counts from the first byte, sent or not.
#[test]
fn the_limit_and_what_was_written() {
    for (segments, limited) in [(9, false), (10, true), (30, true)] {
        let mut lab = Lab::new(Setup::default(), Script::default());
        lab.write(segments);
        assert_eq!(lab.sender.written(), MSS * segments);
        lab.run_until(at(60));
        assert_eq!((lab.sender.cwnd_limited(), lab.sender.written()), (limited, MSS * segments));
    }
}

/// Linux `tcp_update_metrics` (spec/congestion-control section 1.21), with 5 segments remembered: a connection in
/// avoidance leaves its threshold of 20; one without a round trip, or in a back-off, knows nothing; and so does every
/// one if the host keeps no metrics.
#[test]
fn threshold_left_to_the_next_connection() {
    for (save, script, end, left) in [
        (true, Script::default(), 20, 5),
        (true, Script::default(), 60, 20),
        (true, lost(0..100), 281, 5),
        (false, Script::default(), 60, 5),
    ] {
        let params = TcpParams { ssthresh_metrics_save: save, tlp: false, ..crate::fixed_window() };
        let mut lab = lab(params, script);
        lab.run_until(at(end));
        assert_eq!(lab.sender.ssthresh_metric(Some(MSS * 5)), Some(MSS * left), "at {end} ms, {save}");
    }
}
