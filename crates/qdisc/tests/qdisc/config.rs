//! Parameters as they are written in scenarios.

use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};
use windtunnel_algorithm::{AnyParams, Params};
use windtunnel_qdisc::ecn::EcnMode;
use windtunnel_qdisc::{
    Accumulate, BrickWallParams, BuildAqm, CakeParams, ChokeParams, CodelMdsParams, CodelParams,
    DelticMdsParams, DelticParams, Deltim2Params, DeltimParams, Diffserv, FifoParams, FlowMode,
    FqCodelParams, FqParams, FqPieParams, Kinds, Likelihood, Limit, NthParams, PieBurstMode, PieMdsParams,
    PieParams, PieRandom, PieVariant, QueueInit, QueueParams, QueueSpec, RampParams, Ramped, RedIdle,
    RedMdsParams, RedParams, RedRandom, SceRampParams, SfbParams, SfqParams, StepParams, TbfParams,
};
use windtunnel_units::{Bytes, Duration, Probability, Rate};
use windtunnel_wire::Ecn;

use crate::bench::{Bench, Kind};
use crate::kinds::all_queues;

/// The defaults of every algorithm, as a scenario prints them: those of the MDS document's tests (spec/mds
/// sections 1 and 4).
#[test]
fn defaults() {
    let text = |params: Result<Value, _>| params.unwrap();
    assert_eq!(text(serde_json::to_value(FifoParams::default())), json!({ "headdrop": false }));
    assert_eq!(
        text(serde_json::to_value(BrickWallParams::default())),
        json!({ "sce_threshold": "0 s", "ce_threshold": "0 s", "drop_threshold": "0 s" })
    );
    assert_eq!(
        text(serde_json::to_value(RampParams::default())),
        json!({ "min": null, "max": "100 ms", "tau": 64, "random": "coin" })
    );
    assert_eq!(
        text(serde_json::to_value(DelticParams::default())),
        json!({ "sce_target": "5 ms", "ce_target": "25 ms", "drop_target": "125 ms" })
    );
    assert_eq!(
        text(serde_json::to_value(DelticMdsParams::default())),
        json!({ "target": "5 ms", "tau": 64 })
    );
    assert_eq!(text(serde_json::to_value(DeltimParams::default())), json!({ "burst": "5 ms", "tau": 64 }));
    assert_eq!(
        text(serde_json::to_value(Deltim2Params::default())),
        json!({ "burst": "5 ms", "update": "1 ms", "tau": 64 })
    );
}

/// PIE's defaults are Linux's (spec/queues-and-signalling section 6): so are its limit and those of CoDel and the fair
/// queues. RED's limit is that of tc's manual page, and most other queues have none.
#[test]
fn pie_defaults() {
    assert_eq!(
        serde_json::to_value(PieParams::default()).unwrap(),
        json!({
            "variant": "linux", "target": "15 ms", "tupdate": "15 ms", "tick": "1 ms", "alpha": 2.0, "beta": 20.0,
            "ecn": false, "ecn_prob": "10 %", "max_burst": "150 ms", "burst_mode": "linux",
            "bytemode": false, "mtu": "1500 B", "dq_rate_estimator": false, "random": "derandomized",
            "linux_exact": true,
        })
    );
    for config in all_queues() {
        let expected = match config.params.name() {
            "fifo" | "pie" | "codel" | "pie-mds" | "codel-mds" | "sfb" | "choke" => Limit::Packets(1_000),
            "red" | "red-mds" => Limit::Bytes(Bytes::new(400_000)),
            "fq_codel" | "fq_pie" | "cnq" | "lfq" | "twin-af" => Limit::Packets(10_240),
            "fq" | "pi2" => Limit::Packets(10_000),
            "dualpi2" => match config.params.to_map()["variant"].as_str() {
                Some("linux") => Limit::Packets(10_000),
                _ => Limit::Time(Duration::from_millis(250)),
            },
            "sfq" => Limit::Packets(127),
            "tbf" if config == QueueSpec::new(TbfParams::default()) => Limit::Time(Duration::from_millis(50)),
            // At 3 Mbit/s, 50 ms and the bucket.
            "tbf" => Limit::Bytes(Bytes::new(18_750 + 9_000)),
            "cake" | "cobalt" | "deltim" | "prio" | "ramp" => Limit::Unlimited,
            _ => continue,
        };
        assert_eq!(config.params.default_limit(), expected, "{config:?}");
    }
    let rfc = json!({ "variant": "rfc", "burst_mode": "rfc", "random": "coin", "ecn_prob": "25 %" });
    let params: PieParams = serde_json::from_value(rfc).unwrap();
    assert_eq!(
        (params.variant, params.burst_mode, params.random, params.ecn_prob.get()),
        (PieVariant::Rfc, PieBurstMode::Rfc, PieRandom::Coin, 0.25)
    );
    let recur: PieParams = serde_json::from_value(json!({ "random": "recur" })).unwrap();
    assert_eq!(recur.random, PieRandom::Recur);
}

/// RED's are tc's (spec/queues-and-signalling section 3).
#[test]
fn red_defaults() {
    assert_eq!(
        serde_json::to_value(RedParams::default()).unwrap(),
        json!({
            "min": null, "max": null, "avpkt": "1 kB", "burst": null, "probability": "2 %",
            "bandwidth": "10 Mbit/s", "ecn": false, "harddrop": false, "nodrop": false, "gentle": false,
            "adaptive": false, "adaptive_auto": false, "delay_target": "5 ms", "random": "uniform",
            "idle": "exact",
        })
    );
    let other = json!({ "min": "30 kB", "burst": 55, "random": "coin", "idle": "linux" });
    let params: RedParams = serde_json::from_value(other).unwrap();
    assert_eq!(
        (params.min, params.burst, params.random, params.idle),
        (Some(Bytes::new(30_000)), Some(55), RedRandom::Coin, RedIdle::Linux)
    );
    assert!(serde_json::from_value::<RedParams>(json!({ "maxp": 0.1 })).is_err());
}

/// The MDS variants have the defaults of their laws, the step has the paper's threshold for 1 Gbit/s, and the ramp of
/// an AQM lists what differs from tc's `sce`.
#[test]
fn signalling_defaults() {
    let value = |params: Result<Value, _>| params.unwrap();
    assert_eq!(
        value(serde_json::to_value(CodelMdsParams::default())),
        json!({
            "variant": "linux", "target": "5 ms", "interval": "100 ms", "mtu": "1500 B", "tau": 64,
            "codel_exact": false,
        })
    );
    let without = |mut law: Value, keys: &[&str]| {
        for key in keys {
            assert!(law.as_object_mut().unwrap().remove(*key).is_some(), "{key}");
        }
        law
    };
    let mut pie =
        without(value(serde_json::to_value(PieParams::default())), &["ecn", "random", "linux_exact"]);
    let mut red = without(value(serde_json::to_value(RedParams::default())), &["ecn", "nodrop", "random"]);
    for law in [&mut pie, &mut red] {
        law["tau"] = json!(64);
        law["random"] = json!("recur");
        law["accumulate"] = json!("class");
    }
    assert_eq!(value(serde_json::to_value(PieMdsParams::default())), pie);
    assert_eq!(value(serde_json::to_value(RedMdsParams::default())), red);
    assert_eq!(
        value(serde_json::to_value(StepParams::default())),
        json!({ "threshold": "20 packets", "at": "enqueue" })
    );
    assert_eq!(value(serde_json::to_value(NthParams::default())), json!({ "n": 100, "signal": "ce" }));
    let ramped =
        Ramped::new(NthParams::default(), SceRampParams { thresh: Some(8), ..SceRampParams::default() });
    assert_eq!(
        Value::Object(ramped.to_map()),
        json!({ "n": 100, "signal": "ce", "sce": { "thresh": 8, "single": false, "random": "coin" } })
    );
}

/// Keys may be left out, and unknown ones are refused; tau is not zero.
#[test]
fn reading() {
    let read = |value| serde_json::from_value::<DeltimParams>(value);
    let params = read(json!({ "burst": "10 ms" })).unwrap();
    assert_eq!(params, DeltimParams { burst: Duration::from_millis(10), ..DeltimParams::default() });
    assert!(read(json!({ "burts": "10 ms" })).unwrap_err().to_string().contains("unknown field `burts`"));
    assert!(read(json!({ "tau": 0 })).is_err());
}

/// Values for which the control laws are not defined are refused, with key and value.
#[test]
fn out_of_range() {
    let refused = |config: QueueSpec| config.check().unwrap_err().to_string();
    let ms = Duration::from_millis;
    let burst = |burst| QueueSpec::new(DeltimParams { burst, ..DeltimParams::default() });
    assert_eq!(refused(burst(Duration::ZERO)), "burst = 0 s is out of range: more than 0 s and at most 1 s");
    assert!(refused(burst(ms(1_001))).starts_with("burst = 1001 ms"));
    assert_eq!(burst(ms(1_000)).check(), Ok(()));
    let target = DelticMdsParams { target: Duration::ZERO, ..DelticMdsParams::default() };
    assert!(refused(QueueSpec::new(target)).starts_with("target = 0 s"));
    let ce_target = DelticParams { ce_target: Duration::ZERO, ..DelticParams::default() };
    assert!(refused(QueueSpec::new(ce_target)).starts_with("ce_target = 0 s"));
    for update in [Duration::ZERO, ms(6)] {
        let params = Deltim2Params { update, ..Deltim2Params::default() };
        assert!(refused(QueueSpec::new(params)).starts_with("update = "));
    }
    let update = Deltim2Params { update: ms(5), ..Deltim2Params::default() };
    assert_eq!(QueueSpec::new(update).check(), Ok(()));
    let min = RampParams { min: Some(ms(100)), ..RampParams::default() };
    assert!(refused(QueueSpec::new(min)).starts_with("min = 100 ms"));
    let max = RampParams { max: Duration::ZERO, ..RampParams::default() };
    assert!(refused(QueueSpec::new(max)).starts_with("max = 0 s"));
    let pie = PieParams::default;
    for (params, fault) in [
        (PieParams { target: Duration::ZERO, ..pie() }, "target = 0 s"),
        (PieParams { tupdate: Duration::ZERO, ..pie() }, "tupdate = 0 s"),
        (
            PieParams { tick: Duration::from_micros(99), ..pie() },
            "tick = 99 us is out of range: from 0.1 ms to 10 ms",
        ),
        (PieParams { tick: Duration::from_millis(11), ..pie() }, "tick = 11 ms"),
        (
            PieParams { tick: Duration::from_millis(4), variant: PieVariant::Rfc, ..pie() },
            "tick = 4 ms is out of range: left out with variant = \"rfc\"",
        ),
        (PieParams { alpha: 32.5, ..pie() }, "alpha = 32.5 is out of range: from 0 to 32"),
        (PieParams { alpha: -1.0, ..pie() }, "alpha = -1"),
        (PieParams { beta: f64::NAN, ..pie() }, "beta = NaN"),
        (PieParams { mtu: Bytes::ZERO, ..pie() }, "mtu = 0 B"),
    ] {
        assert!(refused(QueueSpec::new(params)).starts_with(fault), "{fault}");
    }
}

/// The MDS variants refuse what their laws refuse, a tau beyond all sense, and sums together with coins.
#[test]
fn mds_out_of_range() {
    let refused = |config: QueueSpec| config.check().unwrap_err().to_string();
    let tau = |n: u32| n.try_into().unwrap();
    let (pie, red, codel) = (PieMdsParams::default, RedMdsParams::default, CodelMdsParams::default);
    let (random, accumulate) = (Likelihood::Coin, Accumulate::Shared);
    for (config, fault) in [
        (QueueSpec::new(PieMdsParams { target: Duration::ZERO, ..pie() }), "target = 0 s"),
        (QueueSpec::new(PieMdsParams { tau: tau(65_537), ..pie() }), "tau = 65537"),
        (QueueSpec::new(PieMdsParams { random, accumulate, ..pie() }), "accumulate = shared is out of range"),
        (QueueSpec::new(RedMdsParams { avpkt: Bytes::ZERO, ..red() }), "avpkt = 0 B"),
        (QueueSpec::new(RedMdsParams { tau: tau(65_537), ..red() }), "tau = 65537"),
        (QueueSpec::new(RedMdsParams { random, accumulate, ..red() }), "accumulate = shared is out of range"),
        (QueueSpec::new(CodelMdsParams { interval: Duration::ZERO, ..codel() }), "interval = 0 s"),
        (QueueSpec::new(CodelMdsParams { tau: tau(65_537), ..codel() }), "tau = 65537"),
    ] {
        assert!(refused(config.clone()).starts_with(fault), "{fault}: {}", refused(config));
    }
    assert_eq!(QueueSpec::new(PieMdsParams { random, tau: tau(65_536), ..pie() }).check(), Ok(()));
}

/// RED refuses thresholds in the wrong order or below a packet, a burst that no weight lets pass, and switches that
/// mean nothing on their own.
#[test]
fn red_out_of_range() {
    let refused = |params| QueueSpec::new(params).check().unwrap_err().to_string();
    let kb = |n: u64| Some(Bytes::new(n * 1_000));
    let red = RedParams::default;
    let band = || RedParams { min: kb(30), max: kb(90), ..red() };
    let auto = || RedParams { adaptive_auto: true, ..red() };
    for (params, fault) in [
        (RedParams { max: kb(30), ..band() }, "max = 30 kB is out of range: more than `min`"),
        (RedParams { max: kb(29), ..band() }, "max = 29 kB"),
        (RedParams { min: kb(1), ..red() }, "min = 1 kB is out of range: more than one packet of `avpkt`"),
        (RedParams { max: kb(3), ..red() }, "max = 3 kB is out of range: more than three packets"),
        (RedParams { burst: Some(29), ..band() }, "burst = 29 is out of range: `min / avpkt` or more"),
        (RedParams { burst: Some(10_000_000), ..band() }, "burst = 10000000"),
        (RedParams { burst: Some(55), ..red() }, "burst = 55 is out of range: left out"),
        (RedParams { avpkt: Bytes::ZERO, ..red() }, "avpkt = 0 B"),
        (RedParams { avpkt: Bytes::new(65_537), ..red() }, "avpkt = 65537 B"),
        (RedParams { max: kb(1_000_000_001), ..red() }, "max = 1000000001 kB"),
        (RedParams { min: Some(Bytes::MAX), ..red() }, "min = "),
        (RedParams { probability: Probability::ZERO, ..red() }, "probability = 0 %"),
        (RedParams { bandwidth: Rate::ZERO, ..red() }, "bandwidth = 0 bit/s"),
        (RedParams { nodrop: true, ..red() }, "nodrop = true is out of range: false without `ecn`"),
        (RedParams { min: kb(30), ..auto() }, "min = 30 kB is out of range: left out with `adaptive_auto`"),
        (RedParams { max: kb(30), ..auto() }, "max = 30 kB"),
        (RedParams { burst: Some(5), ..auto() }, "burst = 5"),
        (RedParams { delay_target: Duration::ZERO, ..auto() }, "delay_target = 0 s"),
    ] {
        assert!(refused(params.clone()).starts_with(fault), "{fault}: {}", refused(params));
    }
    for burst in [30, 31, 55, 60_000] {
        let params = RedParams { burst: Some(burst), ..band() };
        assert_eq!(QueueSpec::new(params).check(), Ok(()), "{burst}");
    }
    // The largest packets and thresholds.
    let packets = RedParams { avpkt: Bytes::new(65_536), min: kb(100), max: kb(300), ..red() };
    for params in [packets, RedParams { max: kb(1_000_000_000), ..red() }] {
        assert_eq!(QueueSpec::new(params).check(), Ok(()));
    }
    // Thresholds that are left out follow any limit.
    for limit in
        [Limit::Packets(0), Limit::Packets(1), Limit::Bytes(Bytes::new(u64::MAX / 4)), Limit::Unlimited]
    {
        assert_eq!(QueueSpec::new(red()).build(&QueueInit::new(limit, 1)).backlog().packets, 0);
    }
}

/// The published schema names the source of every algorithm and explains every parameter, and requires none.
#[test]
fn schemas() {
    windtunnel_qdisc::visit(&mut Schemas);
    check_schema::<SceRampParams>();
}

struct Schemas;

impl Kinds for Schemas {
    fn aqm<P: BuildAqm>(&mut self) {
        check_schema::<P>();
    }

    fn queue<P: Params + QueueParams>(&mut self) {
        check_schema::<P>();
    }
}

fn check_schema<P: JsonSchema>() {
    let schema = schema_for!(P).to_value();
    assert!(schema["x-source"].is_string(), "{schema}");
    assert_eq!(schema["additionalProperties"], json!(false), "{schema}");
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        assert!(property["description"].is_string(), "{name}");
    }
    assert!(schema["required"].is_null(), "{schema}");
}

/// Every queue with its defaults can be built, and is empty.
#[test]
fn build() {
    for config in all_queues() {
        assert_eq!(config.check(), Ok(()), "{config:?}");
        assert_eq!(config.build(&config.init(Limit::Unlimited, 1)).backlog().packets, 0);
    }
}

/// A queue that Linux has reads the ECN field by default as Linux does, and marks what has ECT(1) like what has ECT(0)
/// (RFC 3168; `INET_ECN_set_ce`); those of the MDS document and of other projects read it as MDS does. What Linux's own
/// manual pages say about the other defaults: CAKE's tins and isolation (tc-cake), and pfifo's 1000 packets (tc-bfifo).
#[test]
fn linux_reads_ecn_like_linux() {
    let kernel: [QueueSpec; 11] = [
        QueueSpec::new(FifoParams::default()),
        QueueSpec::new(CodelParams::default()),
        QueueSpec::new(FqCodelParams::default()),
        QueueSpec::new(PieParams::default()),
        QueueSpec::new(FqPieParams::default()),
        QueueSpec::new(RedParams::default()),
        QueueSpec::new(ChokeParams::default()),
        QueueSpec::new(SfqParams::default()),
        QueueSpec::new(SfbParams::default()),
        QueueSpec::new(FqParams::default()),
        QueueSpec::new(CakeParams::default()),
    ];
    for spec in kernel {
        assert_eq!(spec.default_ecn_mode(), EcnMode::Rfc3168, "{spec:?}");
    }
    for spec in [
        QueueSpec::new(DeltimParams::default()),
        QueueSpec::new(CodelMdsParams::default()),
        QueueSpec::new(FqCodelParams::default()).with("aqm", DeltimParams::default()),
        QueueSpec::new(CakeParams { sce: true, ..CakeParams::default() }),
    ] {
        assert_eq!(spec.default_ecn_mode(), EcnMode::Mds, "{spec:?}");
    }
    let cake = CakeParams::default();
    assert_eq!((cake.diffserv, cake.flow_mode), (Diffserv::Diffserv3, FlowMode::TripleIsolate));
    assert_eq!(FifoParams::default().default_limit(), Limit::Packets(1_000));
}

/// In CoDel and FQ-CoDel a mark reaches packets with ECT(1), which are L4S, in Linux as here: none is dropped.
#[test]
fn ect1_is_marked() {
    for spec in [
        QueueSpec::new(CodelParams { ecn: true, ..CodelParams::default() }),
        QueueSpec::new(FqCodelParams::default()),
    ] {
        let mut bench = Bench::new(&spec, Limit::Packets(10_000));
        bench.cx.deliver_drops = false;
        (0..200).for_each(|_| bench.arrive(0, Kind::Ect1));
        let marked = (1..200)
            .filter_map(|ms| bench.dequeue(ms * 2_000_000))
            .filter(|left| left.ecn == Ecn::Ce)
            .count();
        assert!(marked > 3, "{marked}");
        assert_eq!((bench.drops().len(), bench.stats().ce), (0, marked as u64));
    }
}
