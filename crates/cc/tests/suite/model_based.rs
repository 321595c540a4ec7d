//! A controller that belongs to no family of this crate, used through the public interface alone: what it needs, its
//! random stream, and how it is stored among others.

use std::sync::Arc;

use windtunnel_cc::{
    AnyParams, C4Ce, C4Params, CongestionControl, ControllerParams, CopaParams, EsspParams, Feedback,
    FlowInit, GccParams, MdsParams, Needs, PacedChirpingParams, PacingNeed, ScreamParams, TfrcParams,
    VivaceParams, WindowedConfig,
};
use windtunnel_units::Bytes;

use crate::cruise::CruiseParams;
use crate::driver::MSS;

fn round(cc: &dyn CongestionControl) -> f64 {
    let mut round = f64::NAN;
    cc.probe(&mut |name, value| {
        if name == "round" {
            round = value;
        }
    });
    round
}

/// What a controller needs is known before there is a flow, and the controller that is then built needs the same.
#[test]
fn needs_are_known_before_the_flow() {
    let cruise: Arc<dyn ControllerParams> = Arc::new(CruiseParams::default());
    let needs = cruise.needs();
    assert_eq!(needs.pacing, PacingNeed::Always);
    assert!(needs.rate_samples && needs.loss_reports && needs.own_window && needs.every_ack);
    assert_eq!(needs, cruise.build(FlowInit::new(MSS)).needs());
    assert_eq!((needs.feedback, needs.send_buffer_windows), (Feedback::None, 2));
}

/// A windowed controller's needs are those of its parts: ESSP sets the pace, MDS wants SCE.
#[test]
fn needs_of_a_composition() {
    let plain = WindowedConfig::default();
    assert_eq!(plain.needs(), Needs::default());
    let (slow_start, response) = (Arc::new(EsspParams::default()), Arc::new(MdsParams::default()));
    let needs = WindowedConfig { slow_start, response, ..plain }.needs();
    assert_eq!((needs.pacing, needs.own_window, needs.feedback), (PacingNeed::Usual, false, Feedback::Sce));
}

/// Controllers whose rate or window alone decides what leaves: their sender paces, and leaves cwnd alone in recovery.
/// Vivace's intervals, TFRC's loss intervals and SCReAM's window are made of single departures and losses; SCReAM
/// counts what each report delivers and measures the way there, as GCC does; TFRC takes a mark for a loss (RFC 5348 section
/// 5.1) and a new rate at once (section 4.6).
#[test]
fn needs_of_rate_based_controllers() {
    let own = Needs { pacing: PacingNeed::Always, own_window: true, ..Needs::default() };
    let each = Needs { departures: true, loss_reports: true, ..own };
    assert_eq!(CopaParams::default().needs(), Needs { feedback: Feedback::None, ..own });
    let c4 =
        Needs { rate_samples: true, loss_reports: true, feedback: Feedback::Counts, scalable: true, ..own };
    assert_eq!(C4Params::default().needs(), c4);
    let classic = Needs { feedback: Feedback::Classic, scalable: false, ..c4 };
    assert_eq!(C4Params { ce: C4Ce::Loss, ..C4Params::default() }.needs(), classic);
    assert_eq!(
        VivaceParams::default().needs(),
        Needs { paces_first: true, feedback: Feedback::None, ..each }
    );
    assert_eq!(
        TfrcParams::default().needs(),
        Needs { paces_first: true, repaces: true, feedback: Feedback::Classic, ..each }
    );
    let reports = Needs { delivery_reports: true, one_way: true, loss_after_ce: true, media: true, ..each };
    assert_eq!(ScreamParams::default().needs(), Needs { feedback: Feedback::Classic, ..reports });
    let without_marks = Needs {
        paces_first: true,
        feedback: Feedback::None,
        departures: false,
        arrivals: true,
        loss_after_ce: false,
        ..reports
    };
    assert_eq!(GccParams::default().needs(), without_marks);
}

/// spec/congestion-control section 2.5: chirps are made of departures, and all segments are paced, the first ten too.
#[test]
fn needs_of_chirps() {
    let config =
        WindowedConfig { slow_start: Arc::new(PacedChirpingParams::default()), ..Default::default() };
    let expected =
        Needs { pacing: PacingNeed::Usual, paces_first: true, departures: true, ..Needs::default() };
    assert_eq!(config.needs(), expected);
}

/// Equal seeds start at equal phases, and 64 seeds find all eight phases.
#[test]
fn random_streams_are_of_the_seed() {
    let first =
        |seed| round(&*CruiseParams::default().build(FlowInit { seed, ..FlowInit::new(MSS) })) as usize;
    let mut phases = [false; 8];
    for seed in 0..64 {
        assert_eq!(first(seed), first(seed));
        phases[first(seed)] = true;
    }
    assert_eq!(phases, [true; 8]);
}

/// Controllers of all families are compared, named and described in the same way.
#[test]
fn families_are_one_set() {
    let all: [Arc<dyn ControllerParams>; 3] = [
        Arc::new(WindowedConfig::default()),
        Arc::new(CruiseParams::default()),
        Arc::new(CruiseParams { windows: 3.0, ..CruiseParams::default() }),
    ];
    let names: Vec<&str> = all.iter().map(|params| params.name()).collect();
    assert_eq!(names, ["reno", "cruise", "cruise"]);
    for (i, one) in all.iter().enumerate() {
        for (j, other) in all.iter().enumerate() {
            assert_eq!(**one == **other, i == j, "{one:?} {other:?}");
        }
        assert_eq!(one.build(FlowInit::new(MSS)).cwnd(), Bytes::new(14_480));
    }
    assert_eq!(all[2].to_map()["windows"], 3.0);
    let refused = CruiseParams { windows: 0.0, ..CruiseParams::default() };
    assert_eq!(AnyParams::check(&refused).expect_err("zero").key, "windows");
}
