//! The vectors of docs/spec/ccwg-2026 section E, in segments of 1000 bytes: an initial window of 10, a saved window of 300, and a
//! saved round trip of 100 ms.

use super::*;

const MSS: Bytes = Bytes::new(1000);
const TAU: NonZeroU32 = NonZeroU32::new(64).expect("not zero");
const SAVED_RTT: Duration = Duration::from_millis(100);

fn params() -> ResumeParams {
    ResumeParams { saved_cwnd: Some(MSS * 300), saved_rtt: Some(SAVED_RTT), ..ResumeParams::default() }
}

fn resume(params: &ResumeParams) -> Resume {
    let saved = SavedPath::of(params.saved_cwnd, params.saved_rtt, params.max_jump).expect("given");
    Resume {
        standard: Standard::new(params.standard(), TAU.get()),
        iw: MSS * 10,
        min_cwnd: MSS * 2,
        phase: Phase::Reconnaissance(saved),
    }
}

/// Segments up to `una` are acknowledged, and those up to `nxt` have left.
fn path(una: u64, nxt: u64) -> PathView {
    PathView {
        mss: MSS,
        srtt: SAVED_RTT,
        min_rtt: SAVED_RTT,
        in_flight: MSS * (nxt - una),
        una: Seq::FIRST_DATA + MSS * una,
        nxt: Seq::FIRST_DATA + MSS * nxt,
        ..PathView::of_segments(0, 0)
    }
}

fn ack() -> AckSample {
    AckSample { acked: MSS, newly_delivered: MSS, may_raise: true, ..AckSample::default() }
}

/// The initial window is acknowledged with 29 segments in flight.
fn jumped() -> (Resume, Bytes) {
    let (mut resume, mut cwnd) = (resume(&params()), MSS * 38);
    resume.on_ack(&mut cwnd, &ack(), &path(9, 38));
    assert_eq!(cwnd, MSS * 39, "nine of ten: slow start");
    resume.on_ack(&mut cwnd, &ack(), &path(10, 39));
    assert_eq!(cwnd, MSS * 150, "half of the saved window");
    let Phase::Unvalidated { pipe, .. } = resume.phase else { panic!("{resume:?}") };
    assert_eq!(pipe.size, MSS * 29);
    (resume, cwnd)
}

/// The 29 segments of the flight at the jump are acknowledged, one by one, while `sent` more have left.
fn acknowledge_the_flight(resume: &mut Resume, cwnd: &mut Bytes, sent: u64) {
    for una in 11..=39 {
        resume.on_ack(cwnd, &ack(), &path(una, 39 + sent));
        assert_eq!(*cwnd, MSS * 150, "no growth");
    }
}

/// Without a loss: the ACK of the first unvalidated segment starts Validating with what is in flight, that of the last one ends
/// it, and the window grows meanwhile.
#[test]
fn a_window_is_validated() {
    let (mut resume, mut cwnd) = jumped();
    acknowledge_the_flight(&mut resume, &mut cwnd, 100);
    resume.on_ack(&mut cwnd, &ack(), &path(40, 189));
    assert!(matches!(resume.phase, Phase::Validating { .. }), "{resume:?}");
    assert_eq!(cwnd, MSS * 150);
    for una in 41..189 {
        resume.on_ack(&mut cwnd, &ack(), &path(una, 2 * una));
        assert!(matches!(resume.phase, Phase::Validating { .. }), "{una}");
    }
    resume.on_ack(&mut cwnd, &ack(), &path(189, 400));
    assert!(matches!(resume.phase, Phase::Normal), "{resume:?}");
    assert_eq!(cwnd, MSS * 299);
}

/// An application that sends only 50 unvalidated segments has those validated; one that sends no more than the path was known to
/// hold has a window of that.
#[test]
fn a_limited_sender() {
    let (mut resume, mut cwnd) = jumped();
    acknowledge_the_flight(&mut resume, &mut cwnd, 50);
    resume.on_ack(&mut cwnd, &ack(), &path(40, 89));
    assert!(matches!(resume.phase, Phase::Validating { .. }), "{resume:?}");
    assert_eq!(cwnd, MSS * 50);

    let (mut resume, mut cwnd) = jumped();
    acknowledge_the_flight(&mut resume, &mut cwnd, 20);
    resume.on_ack(&mut cwnd, &ack(), &path(40, 59));
    assert!(matches!(resume.phase, Phase::Normal), "{resume:?}");
    assert_eq!(cwnd, MSS * 30, "29 at the jump, and one of the unvalidated");
}

/// Segment 64, counted from the first in flight at the jump, is lost: 63 have arrived, so that the retreat is to 31. When the 86
/// after it are acknowledged, too, slow start may lead to 74 with a beta of 0.5, and to 104 with CUBIC's 0.7.
#[test]
fn a_retreat() {
    for (kept, ssthresh) in [(0.5, 74), (0.7, 104)] {
        let (mut resume, mut cwnd) = jumped();
        for una in 11..=73 {
            resume.on_ack(&mut cwnd, &ack(), &path(una, 160));
        }
        let mut retreat =
            resume.recovery(cwnd, kept, &path(73, 160)).expect("unvalidated segments are on their way");
        assert_eq!(retreat.cwnd() / MSS, 31);
        for _ in 0..86 {
            retreat.on_ack(MSS, &path(73, 160));
            retreat.on_lost(MSS);
            assert_eq!(retreat.cwnd() / MSS, 31);
        }
        assert_eq!(retreat.ssthresh() / MSS, ssthresh, "{kept}");
    }
}

/// The path is another if its round trip is half of the saved one or less, or more than ten times it; then, and where the saved
/// window is no gain, slow start is normal. A limit holds for the jump, and an application without data waits.
#[test]
fn conditions_of_a_jump() {
    let after = |params: &ResumeParams, percent: u64, app_limited: bool| {
        let (mut resume, mut cwnd) = (resume(params), MSS * 20);
        let path = PathView { min_rtt: Duration::from_millis(percent), ..path(10, 30) };
        resume.on_ack(&mut cwnd, &AckSample { app_limited, ..ack() }, &path);
        cwnd / MSS
    };
    for (percent, expected) in [(49, 21), (50, 21), (51, 150), (1000, 150), (1001, 21)] {
        assert_eq!(after(&params(), percent, false), expected, "{percent} %");
    }
    assert_eq!(after(&ResumeParams { max_jump: Some(MSS * 60), ..params() }, 100, false), 60);
    assert_eq!(after(&ResumeParams { saved_cwnd: Some(MSS * 40), ..params() }, 100, false), 21);
    assert_eq!(after(&params(), 100, true), 21);
}
