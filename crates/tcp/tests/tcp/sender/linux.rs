//! What Linux 6.18 transmits: its own sender was recorded on a path that loses, delays or holds the same packets
//! (`python/windtunnel/validation/recorder`). Segments are numbered from 1; `5r` is a retransmission of segment 5, `|`
//! a pause of 20 ms or more. 100 ms, Reno, every segment acknowledged at once; scripts count transmissions from 1.

use windtunnel_tcp::{CaState, LossDetection, TcpParams};
use windtunnel_units::Duration;

use super::harness::{Lab, Script, Setup, Told, at, ms};

/// A transfer of a number of segments with an initial window; data transmissions and ACKs that are lost.
fn sent(
    segments: u64,
    iw: u64,
    params: &TcpParams,
    lost: impl IntoIterator<Item = u64>,
    acks_lost: &[u64],
) -> String {
    let lost = lost.into_iter().map(|n| n - 1).collect();
    let acks_lost = acks_lost.iter().map(|n| n - 1).collect();
    run(segments, iw, params, Script { lost, acks_lost, ..Script::default() })
}

fn run(segments: u64, iw: u64, params: &TcpParams, script: Script) -> String {
    let mut lab = lab(iw, params, script);
    lab.write(segments);
    lab.run_to_the_end();
    in_short(&lab)
}

fn lab(iw: u64, params: &TcpParams, script: Script) -> Lab {
    let setup = Setup { params: params.clone(), cwnd: iw, rtt: ms(100), ..Setup::default() };
    Lab::new(setup, script)
}

fn without_sack() -> TcpParams {
    TcpParams { sack: false, loss_detection: LossDetection::Newreno, ..crate::fixed_window() }
}

fn without_tlp() -> TcpParams {
    TcpParams { tlp: false, ..crate::fixed_window() }
}

/// The transmissions: runs of new segments are joined.
pub(super) fn in_short(lab: &Lab) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut run: Option<u64> = None;
    for (n, sent) in lab.sent.iter().enumerate() {
        if n > 0 && sent.time.since(lab.sent[n - 1].time) >= ms(20) {
            words.push("|".into());
            run = None;
        }
        if sent.again {
            words.push(format!("{}r", sent.segment));
            run = None;
        } else if let Some(first) = run {
            *words.last_mut().expect("the run's") = format!("{first}-{}", sent.segment);
        } else {
            words.push(sent.segment.to_string());
            run = Some(sent.segment);
        }
    }
    words.join(" ")
}

/// The ACKs of the initial window are lost: the answer to 1r is an ACK of ten and a D-SACK. The copy also counts as
/// delivered (`tcp_dsack_seen`): the window grows from 10 by eleven.
#[test]
fn a_copy_is_delivered() {
    let acks: Vec<u64> = (1..=10).collect();
    assert_eq!(sent(40, 10, &without_tlp(), [], &acks), "1-10 | 1r | 11-31 | 32-40");
}

/// A D-SACK alone is not progress and does not grow the window: the probe of the last of ten segments was needless.
#[test]
fn a_copy_of_the_last_segment() {
    let mut lab =
        lab(10, &crate::fixed_window(), Script { ack_outage: Some((at(140), at(400))), ..Script::default() });
    lab.write(10);
    lab.run_until(at(440));
    assert_eq!((lab.sender.stats().dsacks, lab.cwnd()), (0, 10));
    lab.run_until(at(600));
    assert_eq!((lab.sender.stats().dsacks, lab.cwnd()), (1, 20));
}

/// A timestamp reveals a late original while repairs of others are in flight: on that ACK nothing more is
/// retransmitted, new data leave instead (`tcp_try_undo_partial`). W = 20; 1 is 15 ms late, 5 to 14 are lost: by PRR 1r
/// and 5r to 10r leave at 200 ms, so that 8 of 10 are in flight; 11r and 12r wait for the next ACK.
#[test]
fn nothing_is_repaired_with_a_late_original() {
    let script = Script { lost: (4..14).collect(), late: [(0, ms(15))].into(), ..Script::default() };
    let mut lab = Lab::new(Setup { cwnd: 20, ssthresh: 20, rtt: ms(100), ..Setup::default() }, script);
    lab.write_endless();
    lab.run_until(at(214));
    assert_eq!(lab.sent_at(at(200)), [21, 22, 1, 5, 6, 7, 8, 9, 10]);
    lab.run_until(at(216));
    assert_eq!(lab.sent_at(at(215)), [23, 24]);
    lab.run_until(at(301));
    assert_eq!(lab.sent_at(at(300))[..2], [11, 12]);
}

/// F-RTO sends new data, and nothing else on that ACK although cwnd has room for one more (`tcp_xmit_recovery`).
#[test]
fn frto_with_one_new_segment() {
    let expected = "1-10 | 11 | 1r | 12 | 2r 3r | 4r 5r 6r 7r | 8r 9r 10r 11r";
    assert_eq!(sent(12, 10, &crate::fixed_window(), 1..=11, &[]), expected);
}

/// The ACK of 2r also SACKs the original of 6: RACK takes the round trip of 2r, by which 3 and 4 are late.
#[test]
fn an_original_sacked_after_the_timeout() {
    let expected = "1-4 | 5-6 | 7 | 2r | 3r 4r | 5r 7r | 8-9 | 10-12 | 13-16 | 17-21 | 22-27 | 28-34 | 35-40";
    assert_eq!(sent(40, 4, &crate::fixed_window(), [2, 3, 4, 5, 7], &[2]), expected);
}

/// The ACK of 1r acknowledges 2 and 3 as well, which were sent 640 ms before: RACK takes that as its round trip, and 4,
/// the probe, is not late. RFC 8985 section 6.2 step 2 would take the 100 ms of 1r.
#[test]
fn an_ack_of_a_retransmission_and_of_what_is_older() {
    let script = Script { acks_lost: [0, 1, 2].into(), lost: [3].into(), ..Script::default() };
    let mut lab = lab(3, &crate::fixed_window(), script);
    lab.write(20);
    lab.run_until(at(750));
    assert_eq!(in_short(&lab), "1-3 | 4 | 1r | 5-10");
}

/// In Loss every ACK of new data resets the count of duplicates (`tcp_process_loss`): the segments of F-RTO are in
/// flight.
#[test]
fn a_timeout_without_sack() {
    let expected = "1-4 | 5-12 | 13-14 | 6r | 6r | 6r | 6r | 15-16 | 7r | 8r | 9r 10r | 11r 12r | 13r 14r 17 | 18-20 | 16r";
    assert_eq!(sent(20, 4, &without_sack(), (6..=17).chain([20]), &[]), expected);
}

/// Timestamps show without SACK that 5 was late by eight, not lost: the degree of reordering is nine, the ACK's
/// segments, and Linux waits for that many duplicates for 14. Then only the state keeps it from another fast
/// retransmit.
#[test]
fn lateness_without_sack() {
    let late = [(4, ms(100) + Duration::from_nanos(2500))].into();
    let script = Script { lost: [13].into(), late, ..Script::default() };
    let expected = "1-10 | 11-20 5r 21 | 22-36 | 14r 37-43 | 44-51 | 52-60";
    assert_eq!(run(60, 10, &without_sack(), script), expected);
}

/// Held for longer than the timeout. Without SACK an ACK that shows the original undoes the reduction, but Loss goes on
/// until F-RTO has its proof, too, or more than the flight is acknowledged (`tcp_try_undo_loss`).
#[test]
fn a_spurious_timeout_without_sack() {
    for (frto, then) in [(true, CaState::Open), (false, CaState::Loss)] {
        let params = TcpParams { frto, ..without_sack() };
        let mut lab = lab(10, &params, Script { ack_outage: Some((at(230), at(700))), ..Script::default() });
        lab.write(60);
        lab.run_until(at(751));
        assert_eq!(in_short(&lab), "1-10 | 11-30 | 11r | 31-60");
        assert_eq!(lab.sent.last().map(|sent| sent.state), Some(then));
        assert_eq!(lab.told(), [Told::Rto { new_episode: true }, Told::Undo], "frto {frto}");
        lab.run_to_the_end();
        lab.run_until(lab.now + ms(200));
        assert_eq!(lab.sender.state(), CaState::Open);
    }
}

/// Duplicate ACKs in Loss, caused by needless retransmissions, do not count once the whole flight is acknowledged, and
/// do not end the state (`tcp_is_non_sack_preventing_reopen`).
#[test]
fn needless_retransmissions_without_sack() {
    let params = TcpParams { frto: false, timestamps: false, ..without_sack() };
    let mut lab = lab(10, &params, Script { ack_outage: Some((at(230), at(700))), ..Script::default() });
    lab.write(60);
    lab.run_to_the_end();
    let again: Vec<String> = (12..=30).map(|n| format!("{n}r")).collect();
    let expected = format!("1-10 | 11-30 | 11r | {} 31-41 | 42-53 | 54-60", again.join(" "));
    assert_eq!(in_short(&lab), expected);
}

/// Repairs are lost in Loss: if RACK finds them, a recovery with another reduction starts (`tcp_fastretrans_alert`).
#[test]
fn repairs_lost_after_a_timeout() {
    let lost = [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16];
    let expected = "1-10 | 11-12 | 2r | 3r | 3r | 4r 5r | 4r | 6r 7r | 8r 9r | 10r 12r | 13-14 | 15-17 | 18-21 | 22-26 | 27-32 | 33-39 | 40-47 | 48-56 | 57-60";
    assert_eq!(sent(60, 10, &crate::fixed_window(), lost, &[]), expected);
    let lost: Vec<u64> = (1..=10).chain([13, 14, 15]).collect();
    let expected = "1-10 | 11 | 1r | 2r 3r | 2r | 2r | 12-13 | 3r 4r | 5r 6r 7r 8r | 9r 10r 14-16 | 17-22 | 23-29 | 30-37 | 38-40";
    assert_eq!(sent(40, 10, &crate::fixed_window(), lost, &[]), expected);
}

/// A probe with old data does not count as a second copy in flight (`tcp_send_loss_probe`): its loss, together with 94
/// to 100, is not new information in Loss, and PRR does not hold back 97r.
#[test]
fn a_lost_probe() {
    let acks =
        [1, 3, 5, 6, 15, 16, 23, 32, 41, 43, 47, 50, 58, 67, 69, 72, 75, 76, 80, 85, 87, 89, 90, 91, 92, 94];
    let expected = "1-4 | 5-12 | 13-28 | 29-60 | 61-100 | 100r | 94r | 95r 96r 97r | 98r 99r 100r";
    assert_eq!(sent(100, 4, &crate::fixed_window(), 95..=101, &acks), expected);
}
