//! Bursts (TSO, GSO) and their deferral (spec/congestion-control section 1.14). The sequences are those that Linux 6.18
//! transmitted with bursts allowed, on the path of `linux`.

use windtunnel_tcp::TcpParams;
use windtunnel_units::{Duration, Time};

use super::harness::{Lab, MSS, Script, Setup, at, lost, ms};
use super::linux::in_short;

fn gso() -> TcpParams {
    TcpParams { gso: true, ..crate::fixed_window() }
}

/// A number of segments with a fixed window over 40 ms; ACKs come one by one.
fn fixed(cwnd: u64, params: TcpParams) -> Lab {
    let mut lab = Lab::new(Setup { params, cwnd, fixed: true, ..Setup::default() }, Script::default());
    lab.write_endless();
    lab.run_until(at(300));
    lab
}

/// The sizes of bursts, that is, of groups of segments that leave at the same time.
fn bursts(lab: &Lab, from: Time, to: Time) -> Vec<usize> {
    let sent: Vec<Time> = lab.sent.iter().map(|sent| sent.time).filter(|t| (from..to).contains(t)).collect();
    sent.chunk_by(|a, b| a == b).map(<[Time]>::len).collect()
}

/// Each ACK makes room for one segment, which waits for the next ACK, and two leave: a burst of two at windows of 8 and
/// 9 in 40 ms. The first segment of a flight does not wait, because the last departure is long ago, nor does the last
/// one, because the next ACK is far away.
#[test]
fn pairs() {
    for (cwnd, expected) in [(8, vec![1, 2, 2, 2, 1]), (9, vec![1, 2, 2, 2, 2])] {
        assert_eq!(bursts(&fixed(cwnd, gso()), at(239), at(241)), expected, "a window of {cwnd}");
        let without = fixed(cwnd, crate::fixed_window());
        assert_eq!(bursts(&without, at(239), at(241)), vec![1; cwnd as usize]);
    }
}

/// A third of the window is enough (`tcp_tso_win_divisor`): with a window of three each segment leaves at once, with a
/// window of four it does not.
#[test]
fn a_third_of_the_window() {
    assert_eq!(bursts(&fixed(3, gso()), at(239), at(241)), [1, 1, 1]);
    assert_eq!(bursts(&fixed(4, gso()), at(239), at(241)), [1, 2, 1]);
}

/// ACKs that come 2 ms apart find the last departure too long ago: nothing waits.
#[test]
fn acks_far_apart() {
    let script = Script { late: (0..8).map(|n| (n, ms(2 * n))).collect(), ..Script::default() };
    let mut lab = Lab::new(Setup { params: gso(), cwnd: 8, fixed: true, ..Setup::default() }, script);
    lab.write_endless();
    lab.run_until(at(300));
    assert_eq!(bursts(&lab, at(200), at(239)), [1; 8]);
}

/// A hundred segments in 40 ms are 3.6 MB/s: 4242 bytes in 2^-10 s at 1.2 times that, 7070 at twice (below half of
/// ssthresh): bursts of two and of four. The ACK that leaves less than four finds the next one far away.
#[test]
fn a_millisecond_of_data() {
    for (ssthresh, size, last) in [(100, 2, 1), (1000, 4, 3)] {
        let setup = Setup { params: gso(), cwnd: 100, ssthresh, fixed: true, ..Setup::default() };
        let mut lab = Lab::new(setup, Script::default());
        lab.write_endless();
        lab.run_until(at(300));
        let mut expected = vec![size; 98 / size];
        expected.insert(0, 1);
        expected.push(last);
        assert_eq!(bursts(&lab, at(239), at(241)), expected);
    }
}

/// cwnd limits a sender that waits (`tcp_tso_should_defer`), although it is not full: with 9 of 10 in flight and the
/// ACK due in less than a millisecond, one of twenty segments waits. So the ACK lets the window grow.
#[test]
fn waiting_is_a_limit() {
    for (wait, barred) in [(20, 0), (0, 9)] {
        let setup = Setup { params: gso(), cwnd: 10, ssthresh: 10, ..Setup::default() };
        let mut lab = Lab::new(setup, Script::default());
        lab.write(8);
        lab.run_until(at(79));
        lab.write(1);
        lab.write(wait);
        assert_eq!(lab.sender.in_flight() / MSS, 9);
        lab.run_until(at(130));
        assert_eq!(lab.barred(), barred, "{wait} wait");
    }
}

/// Losses, and what leaves on the receiver's ACKs in Open, Recovery and Loss.
#[test]
fn as_linux() {
    for (segments, script, expected) in [
        (40, lost([4]), "1-10 | 11-20 5r 21 | 22-28 | 29-36 | 37-40"),
        (40, lost(4..7), "1-10 | 11-20 5r | 6r 7r 21-25 | 26-32 | 33-40"),
        (
            40,
            lost(0..8),
            "1-10 | 11 | 1r | 2r | 3r 4r | 5r 6r | 7r 8r 12 | 13-14 | 15-17 | 18-19 | 20-23 | 24-25 | 26-30 | 31-32 | 33-38 | 39-40",
        ),
    ] {
        let setup = Setup { params: gso(), cwnd: 10, rtt: ms(100), ..Setup::default() };
        let mut lab = Lab::new(setup, script);
        lab.write(segments);
        lab.run_to_the_end();
        assert_eq!(in_short(&lab), expected);
    }
}

/// With pacing whole bursts are spaced: at W = 20 in 40 ms twice the rate is a segment in a millisecond. The burst with
/// the tenth segment is the first that is followed by a wait; half of its two milliseconds are forgiven, as it is
/// "late".
#[test]
fn paced_bursts() {
    let mut setup = Setup { params: gso(), cwnd: 20, fixed: true, ..Setup::default() };
    setup.endpoint.paced = true;
    let mut lab = Lab::new(setup, Script::default());
    lab.write_endless();
    lab.run_until(at(79));
    let times: Vec<Duration> = lab.sent.iter().map(|sent| sent.time.since(at(40))).collect();
    let micros: Vec<u64> = times.iter().map(|time| (time.as_nanos() + 500) / 1000).collect();
    let mut expected = vec![0; 10];
    expected.extend([1, 1, 3, 3, 5, 5, 7, 7, 9, 9].map(|n| n * 1000));
    assert_eq!(micros, expected);
}
