//! RFC 3168 at the sender (spec/congestion-control section 1.11, spec/queues-and-signalling section 17.1), and SCE on
//! MDS flows.

use windtunnel_tcp::{CaState, Endpoint, FeedbackScheme};
use windtunnel_wire::{Dscp, Ecn, TcpFlags};

use super::harness::{Lab, Script, Setup, Told, at, endpoint, ms};

fn with_ecn(mds: bool, script: Script) -> Lab {
    let dscp = if mds { Dscp::MDS } else { Dscp::DEFAULT };
    let feedback = if mds { FeedbackScheme::Mds } else { FeedbackScheme::Rfc3168 };
    let endpoint = Endpoint { ecn: Ecn::Ect0, feedback, dscp, ..endpoint() };
    let mut lab = Lab::new(Setup { endpoint, cwnd: 20, ssthresh: 20, ..Setup::default() }, script);
    lab.write_endless();
    lab.run_until(at(40));
    lab
}

fn marked(indices: impl IntoIterator<Item = u64>, mark: Ecn) -> Script {
    Script { marked: indices.into_iter().map(|i| (i, mark)).collect(), ..Script::default() }
}

/// Segments with CWR.
fn with_cwr(lab: &Lab) -> Vec<u64> {
    lab.sent.iter().filter(|sent| sent.flags.contains(TcpFlags::CWR)).map(|sent| sent.segment).collect()
}

/// ECE once per window: CE on 1, 5 and 9 of one window is one reduction, approached by PRR; the first new segment
/// carries CWR, and CWR ends when everything in flight at that time is acknowledged.
#[test]
fn once_per_window() {
    let mut lab = with_ecn(false, marked([0, 4, 8], Ecn::Ce));
    lab.run_until(at(80));
    assert_eq!(lab.told().iter().filter(|told| **told == Told::Ce).count(), 1);
    assert_eq!(lab.sender.state(), CaState::Cwr);
    assert_eq!(with_cwr(&lab), [21]);
    // One segment for two delivered: 10 on the 20 ACKs.
    assert_eq!(lab.sent_at(at(80)).len(), 10);
    assert_eq!(lab.cwnd(), 10);
    assert_eq!(lab.barred(), 20, "no growth in CWR");
    lab.run_until(at(120));
    assert_eq!(lab.sender.state(), CaState::Open);
    assert_eq!(lab.cwnd(), 11, "one more after ten ACKs");
    assert_eq!(lab.sender.stats().ecn_reductions, 1);
    assert_eq!(with_cwr(&lab), [21]);
}

/// A mark in the next window is another reduction.
#[test]
fn again_in_the_next_window() {
    let mut lab = with_ecn(false, marked([0, 35], Ecn::Ce));
    lab.run_until(at(300));
    assert_eq!(lab.told().iter().filter(|told| **told == Told::Ce).count(), 2);
    assert_eq!(with_cwr(&lab).len(), 2);
}

/// ECE while in Recovery: no second reduction, CWR once (spec 6.2 no. 8); retransmissions carry neither ECT nor CWR
/// (RFC 3168 section 6.1.5).
#[test]
fn during_recovery() {
    let mut script = marked([10], Ecn::Ce);
    script.lost.insert(0);
    let mut lab = with_ecn(false, script);
    lab.run_until(at(119));
    assert_eq!(lab.told().iter().filter(|told| matches!(told, Told::Ce | Told::Loss)).count(), 1);
    assert_eq!(with_cwr(&lab).len(), 1);
    let again = lab.sent.iter().find(|sent| sent.again).expect("1 is sent again");
    assert_eq!((again.ecn, again.flags), (Ecn::NotEct, TcpFlags::ACK));
}

/// A loss in CWR continues the running reduction (spec 1.1).
#[test]
fn loss_in_cwr() {
    let mut script = marked([0], Ecn::Ce);
    script.lost.insert(5);
    let mut lab = with_ecn(false, script);
    lab.run_until(at(119));
    assert_eq!(lab.told().iter().filter(|told| matches!(told, Told::Ce | Told::Loss)).count(), 1);
    assert_eq!(lab.sender.state(), CaState::Recovery);
    lab.run_until(at(120));
    assert_eq!(lab.sender.state(), CaState::Open);
    assert_eq!(lab.cwnd(), 10);
}

/// The same where the segment was only late: the mark was real, so that what undoes a loss does not undo the reduction
/// (Linux `tcp_enter_recovery` keeps no window to return to in CWR). With AccECN the ACK that shows the loss reports no mark.
#[test]
fn reordering_in_cwr_undoes_nothing() {
    for feedback in [FeedbackScheme::Rfc3168, FeedbackScheme::AccEcn] {
        let mut script = marked([0], Ecn::Ce);
        script.late.insert(5, ms(20));
        let endpoint = Endpoint { ecn: Ecn::Ect0, feedback, ..endpoint() };
        let mut lab = Lab::new(Setup { endpoint, cwnd: 20, ssthresh: 20, ..Setup::default() }, script);
        lab.write_endless();
        lab.run_until(at(300));
        assert!(!lab.retransmissions().is_empty(), "taken for a loss");
        assert!(!lab.told().contains(&Told::Undo), "{feedback:?}: {:?}", lab.told());
    }
}

/// A controller that does not respond to CE is not forced to respond: there is no CWR state, but the controller
/// receives the counts.
#[test]
fn controller_declines() {
    let endpoint = Endpoint { ecn: Ecn::Ect0, feedback: FeedbackScheme::Rfc3168, ..endpoint() };
    let mut lab = Lab::new(Setup { endpoint, ignores_ce: true, ..Setup::default() }, marked([9], Ecn::Ce));
    lab.write_endless();
    lab.run_until(at(80));
    assert_eq!(lab.sender.state(), CaState::Open);
    assert_eq!(lab.told(), [Told::CeMarks(1)]);
}

/// ESCE (AE) on an MDS flow: everything that the ACK newly acknowledges counts as SCE. On other flows, and with CE,
/// it does not.
#[test]
fn echo_of_sce() {
    let mut lab = with_ecn(true, marked([3, 4], Ecn::Ect1));
    lab.run_until(at(80));
    assert_eq!(lab.told(), [Told::Sce(1), Told::Sce(1)]);
    let mut conventional = with_ecn(false, marked([3, 4], Ecn::Ect1));
    conventional.run_until(at(80));
    assert!(conventional.told().is_empty());
}
