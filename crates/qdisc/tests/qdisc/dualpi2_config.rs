//! The parameters of PI2 and DualPI2: defaults, and what is refused.

use serde_json::json;
use windtunnel_qdisc::ecn::EcnMode;
use windtunnel_qdisc::{
    CodelParams, DualPi2Params, DualPi2Scheduler, DualPi2Variant, Limit, Pi2Params, Pi2Variant, QueueLength,
    QueueParams, QueueSpec,
};
use windtunnel_units::{Bytes, Duration, Probability};

use crate::bench::Bench;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// As a scenario prints them; what is left out is the variant's.
#[test]
fn defaults() {
    assert_eq!(
        serde_json::to_value(DualPi2Params::default()).unwrap(),
        json!({
            "variant": "linux", "memlimit": null, "target": null, "tupdate": null, "alpha": null, "beta": null,
            "max_rtt": null, "typical_rtt": null, "coupling_factor": 2.0, "step_thresh": null, "min_qlen_step": 0,
            "minth": null, "range": null, "th_len": null, "overflow": false, "drop_enqueue": false,
            "any_ect": false, "classic_protection": null, "scheduler": null, "tshift": "50 ms", "random": null,
            "mtu": "1500 B", "mds": false, "tau": 64,
        })
    );
    let read =
        json!({ "step_thresh": "5 packets", "scheduler": "time-shifted-fifo", "classic_protection": "25 %" });
    let params: DualPi2Params = serde_json::from_value(read).unwrap();
    assert_eq!(params.step_thresh, Some(QueueLength::Packets(5)));
    assert_eq!(params.scheduler, Some(DualPi2Scheduler::TimeShiftedFifo));
    assert_eq!(params.classic_protection, Some(Probability::clamped(0.25)));
}

/// The RFC's limit is 250 ms. Both queues read ECT(1) as L4S.
#[test]
fn by_variant() {
    let rfc = DualPi2Params { variant: DualPi2Variant::Rfc, ..DualPi2Params::default() };
    assert_eq!(rfc.default_limit(), Limit::Time(ms(250)));
    assert_eq!(DualPi2Params::default().default_limit(), Limit::Packets(10_000));
    assert_eq!(rfc.default_ecn_mode(&[]), EcnMode::L4s);
    assert_eq!(QueueParams::default_ecn_mode(&Pi2Params::default(), &[]), EcnMode::L4s);
}

/// When p' is first updated, in a queue that is new: the variants' `tupdate`, and that of given round trips, the smaller of
/// the typical one and a third of the longest.
#[test]
fn update_intervals() {
    let first = |spec: QueueSpec| Bench::new(&spec, Limit::Unlimited).next_timer().unwrap().since_start();
    let dual = DualPi2Params::default;
    assert_eq!(first(QueueSpec::new(dual())), ms(16));
    assert_eq!(first(QueueSpec::new(DualPi2Params { variant: DualPi2Variant::Rfc, ..dual() })), ms(15));
    assert_eq!(first(QueueSpec::new(Pi2Params::default())), ms(15));
    assert_eq!(
        first(QueueSpec::new(Pi2Params { variant: Pi2Variant::Paper, ..Pi2Params::default() })),
        ms(32)
    );
    let rtts = |typical_rtt, max_rtt| QueueSpec::new(DualPi2Params { typical_rtt, max_rtt, ..dual() });
    assert_eq!(first(rtts(Some(ms(10)), None)), ms(10));
    assert_eq!(first(rtts(None, Some(ms(120)))), ms(20));
    assert_eq!(first(rtts(Some(ms(60)), Some(ms(90)))), ms(30));
}

/// Values for which nothing is defined, and pairs that contradict each other.
#[test]
fn out_of_range() {
    let dual = DualPi2Params::default;
    let rfc = || DualPi2Params { variant: DualPi2Variant::Rfc, ..dual() };
    for (params, fault) in [
        (DualPi2Params { target: Some(Duration::ZERO), ..dual() }, "target = 0 s"),
        (DualPi2Params { tupdate: Some(Duration::ZERO), ..dual() }, "tupdate = 0 s"),
        (DualPi2Params { alpha: Some(0.0), ..dual() }, "alpha = 0"),
        (DualPi2Params { beta: Some(f64::NAN), ..dual() }, "beta = NaN"),
        (
            DualPi2Params { coupling_factor: 0.0, ..dual() },
            "coupling_factor = 0 is out of range: more than 0 and",
        ),
        (DualPi2Params { coupling_factor: -1.0, ..dual() }, "coupling_factor = -1"),
        (DualPi2Params { coupling_factor: f64::NAN, ..dual() }, "coupling_factor = NaN"),
        (DualPi2Params { mtu: Bytes::ZERO, ..dual() }, "mtu = 0 B"),
        (DualPi2Params { mtu: Bytes::new(2 << 20), ..dual() }, "mtu = "),
        (DualPi2Params { memlimit: Some(Bytes::ZERO), ..dual() }, "memlimit = 0 B"),
        (DualPi2Params { max_rtt: Some(Duration::ZERO), ..dual() }, "max_rtt = 0 s"),
        (DualPi2Params { typical_rtt: Some(ms(9)), max_rtt: Some(ms(8)), ..dual() }, "typical_rtt = 9 ms"),
        (
            DualPi2Params { max_rtt: Some(ms(9)), target: Some(ms(8)), ..dual() },
            "target = 8 ms is out of range: left out",
        ),
        (
            DualPi2Params { typical_rtt: Some(ms(9)), beta: Some(1.0), ..dual() },
            "beta = 1 is out of range: left out",
        ),
        (
            DualPi2Params { minth: Some(ms(1)), ..dual() },
            "minth = 1 ms is out of range: left out with variant",
        ),
        (
            DualPi2Params { step_thresh: Some(QueueLength::Packets(1)), ..rfc() },
            "step_thresh = 1 packet is out of",
        ),
        (
            DualPi2Params { step_thresh: Some(QueueLength::Bytes(Bytes::new(9_000))), ..dual() },
            "step_thresh = 9 kB is out of range: a time, or a number of packets",
        ),
        (DualPi2Params { min_qlen_step: 1, ..rfc() }, "min_qlen_step = 1"),
        (DualPi2Params { drop_enqueue: true, ..rfc() }, "drop_enqueue = true"),
    ] {
        let refused = QueueSpec::new(params).check().unwrap_err().to_string();
        assert!(refused.starts_with(fault), "{fault}: {refused}");
    }
    let us = Duration::from_micros;
    for params in [
        DualPi2Params { typical_rtt: Some(us(6)), ..dual() },
        DualPi2Params { typical_rtt: Some(ms(9)), max_rtt: Some(ms(9)), ..dual() },
        DualPi2Params { mtu: Bytes::new(1 << 20), ..dual() },
    ] {
        assert_eq!(QueueSpec::new(params.clone()).check(), Ok(()), "{params:?}");
    }
    let both = QueueSpec::new(DualPi2Params { th_len: Some(2), ..rfc() })
        .with("low_latency", CodelParams::default());
    assert!(
        both.check()
            .unwrap_err()
            .to_string()
            .starts_with("th_len = 2 is out of range: left out with `low_latency`")
    );
    let pi2 = |params: Pi2Params| QueueSpec::new(params).check().unwrap_err().to_string();
    assert!(
        pi2(Pi2Params { coupling_factor: 0.0, ..Pi2Params::default() }).starts_with("coupling_factor = 0")
    );
    assert!(
        pi2(Pi2Params { target: Some(Duration::ZERO), ..Pi2Params::default() }).starts_with("target = 0 s")
    );
    assert!(pi2(Pi2Params { mtu: Bytes::ZERO, ..Pi2Params::default() }).starts_with("mtu = 0 B"));
}

/// A dual queue tells packets apart by ECT(1): a reading of the ECN field in which ECT(1) is not L4S is refused, with the
/// reason.
#[test]
fn ecn_modes() {
    let params = DualPi2Params::default();
    assert_eq!(params.check_ecn_mode(EcnMode::L4s), Ok(()));
    for (mode, reason) in [
        (EcnMode::Mds, "`mds = true` adds MDS"),
        (EcnMode::Sce, "a mark of its own"),
        (EcnMode::Rfc3168, "does not tell ECT(1) from ECT(0)"),
        (EcnMode::None, "without marks"),
    ] {
        let error = params.check_ecn_mode(mode).unwrap_err().to_string();
        assert!(error.starts_with("ecn_mode = ") && error.contains(reason), "{error}");
    }
    for mode in [EcnMode::None, EcnMode::Rfc3168, EcnMode::Sce, EcnMode::Mds, EcnMode::L4s] {
        assert_eq!(Pi2Params::default().check_ecn_mode(mode), Ok(()));
    }
}
