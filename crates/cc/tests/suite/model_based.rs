//! A controller that belongs to no family of this crate, used through the public interface alone: what it needs, its
//! random stream, and how it is stored among others.

use std::sync::Arc;

use windtunnel_cc::{
    AnyParams, CongestionControl, ControllerParams, EsspParams, Feedback, FlowInit, MdsParams, Needs,
    PacingNeed, WindowedConfig,
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

/// Equal seeds start at equal phases, and 64 seeds find all eight phases.
#[test]
fn random_streams_are_of_the_seed() {
    let first =
        |seed| round(&*CruiseParams::default().build(FlowInit { seed, ..FlowInit::new(MSS) })) as usize;
    let mut found = [false; 8];
    for seed in 0..64 {
        assert_eq!(first(seed), first(seed));
        found[first(seed)] = true;
    }
    assert_eq!(found, [true; 8]);
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
