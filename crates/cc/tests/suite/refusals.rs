//! The values of parameters for which an algorithm is not defined are refused, by the name of their key.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use windtunnel_cc::{
    AnyParams, C4Params, ConventionalParams, CopaParams, GccParams, HystartParams, HystartPpParams,
    LimitedParams, NadaParams, PacedChirpingParams, Params, RapidParams, ScreamParams, SearchParams,
    TfrcParams, VivaceParams, WindowedConfig,
};

/// The key that is refused, if one is, where the others have their defaults.
fn refused<P: Params + DeserializeOwned>(values: Value) -> Option<&'static str> {
    let params: P = serde_json::from_value(values).expect("readable");
    Params::check(&params).err().map(|refused| refused.key)
}

/// The first two values of each key are the bounds, which are allowed; the others are not.
fn check<P: Params + DeserializeOwned>(keys: &[(&str, [Value; 4])]) {
    assert_eq!(refused::<P>(json!({})), None);
    for (key, values) in keys {
        for (index, value) in values.iter().enumerate() {
            let expected = (index >= 2).then_some(*key);
            let map = Map::from_iter([((*key).to_owned(), value.clone())]);
            assert_eq!(refused::<P>(Value::Object(map)), expected, "{} = {value}", P::NAME);
        }
    }
}

/// The controllers' bounds, as their keys say in the schema. The largest number of loss intervals is that of RFC
/// 5348's history.
#[test]
fn bounds_of_controllers() {
    let factor = || json!([1.0, 10.0, 0.99, 10.01]);
    let list = |value: Value| -> [Value; 4] { serde_json::from_value(value).expect("four values") };
    check::<CopaParams>(&[
        ("delta", list(json!([0.01, 10.0, 0.009, 10.01]))),
        ("min_rtt_window", list(json!(["1 ns", "1000 s", "0 s", "0 ms"]))),
    ]);
    check::<C4Params>(&[
        ("initial_increase", list(json!([1.0, 2.0, 0.99, 2.01]))),
        ("seed_cwnd", list(json!(["1 B", "1073741824 B", "0 B", "1073741825 B"]))),
        ("seed_rtt", list(json!(["1 ns", "1000 s", "0 s", "0 ms"]))),
    ]);
    check::<TfrcParams>(&[
        ("b", list(json!([1, 8, 0, 9]))),
        ("t_rto_factor", list(json!([1.0, 100.0, 0.99, 100.1]))),
        ("n", list(json!([2, 16, 1, 17]))),
    ]);
    let coefficient = || list(json!([1e-9, 1e6, 0.0, 1_000_000.1]));
    let share = || list(json!([0.001, 1.0, 0.000_9, 1.01]));
    check::<VivaceParams>(&[
        ("t", list(json!([1e-9, 1.0, 0.0, 1.01]))),
        ("b", list(json!([0.0, 1e6, -1e-9, 1_000_000.1]))),
        ("c", coefficient()),
        ("theta", coefficient()),
        ("epsilon", list(json!([0.001, 0.5, 0.000_9, 0.51]))),
        ("omega", share()),
        ("delta", share()),
    ]);
    let part = || list(json!([1e-9, 0.999, 0.0, 1.0]));
    let time = || list(json!(["1 ns", "1 s", "0 s", "1001 ms"]));
    check::<ScreamParams>(&[
        ("beta_loss", part()),
        ("beta_ecn", part()),
        ("bytes_in_flight_head_room", list(factor())),
        ("ref_wnd_overhead_max", list(json!([1.5, 10.0, 1.49, 10.01]))),
        ("packet_pacing_headroom", list(factor())),
        ("mul_increase_factor", list(json!([0.0, 1.0, -0.01, 1.01]))),
        ("loss_rate_threshold", list(json!([0.0, 1.0, -0.01, 1.01]))),
        ("acked_bitrate_margin", list(json!([0.0, 1.0, -0.01, 1.01]))),
        ("virtual_rtt", time()),
        ("qdelay_target_hi", list(json!(["60 ms", "10 s", "59 ms", "10001 ms"]))),
        ("min_ref_wnd", list(json!(["1 B", "1 GB", "0 B", "1000001 kB"]))),
    ]);
    let long = || list(json!(["1 ns", "10 s", "0 s", "10001 ms"]));
    let (tenfold, weight) = (|| list(json!([0.0, 10.0, -0.01, 10.01])), |key| (key, long()));
    check::<NadaParams>(&[
        ("prio", list(json!([0.01, 100.0, 0.009, 100.1]))),
        ("kappa", list(json!([0.01, 10.0, 0.009, 10.01]))),
        ("eta", tenfold()),
        ("lambda", tenfold()),
        ("gamma_max", list(json!([0.0, 1.0, -0.01, 1.01]))),
        ("multiloss", list(json!([0.0, 100.0, -0.01, 100.1]))),
        weight("xref"),
        weight("tau"),
        weight("delta"),
        weight("qbound"),
        weight("qeps"),
        weight("qth"),
        ("dloss", list(json!(["0 s", "10 s", "10001 ms", "1 h"]))),
        ("dmark", list(json!(["0 s", "10 s", "10001 ms", "1 h"]))),
    ]);
    check::<GccParams>(&[
        ("beta", part()),
        ("q", list(json!([0.0, 1.0, -1e-9, 1.01]))),
        ("chi", list(json!([0.001, 0.1, 0.000_9, 0.101]))),
        ("max_deltas", list(json!([1, 1000, 0, 1001]))),
        ("k_u", list(json!([0.0, 0.01, -1e-9, 0.010_1]))),
        ("k_d", list(json!([0.0, 0.1, -1e-9, 0.101]))),
        ("pacing_factor", list(factor())),
        ("start_rate", list(json!(["1 bit/s", "1 Tbit/s", "0 bit/s", "0 Mbit/s"]))),
        ("burst_time", list(json!(["1 ms", "100 ms", "999 us", "101 ms"]))),
        ("del_var_th", list(json!(["6 ms", "600 ms", "5 ms", "601 ms"]))),
        ("overuse_time_th", list(json!(["1 ms", "1 s", "0 ms", "1001 ms"]))),
        ("rate_window", list(json!(["100 ms", "10 s", "99 ms", "10001 ms"]))),
        ("update_interval", list(json!(["1 ms", "1 s", "0 ms", "1001 ms"]))),
        ("loss_interval", list(json!(["1 ms", "10 s", "0 ms", "10001 ms"]))),
    ]);
}

/// Bounds that another key sets: SCReAM's larger overhead and target are not below the smaller ones; counts of round
/// trips are not zero; a policer loses at least as much as a link, and its loss rate is averaged with the link's threshold.
#[test]
fn bounds_between_keys() {
    let scream = refused::<ScreamParams>;
    assert_eq!(scream(json!({"ref_wnd_overhead_min": 3.0})), None);
    assert_eq!(scream(json!({"ref_wnd_overhead_min": 3.1})), Some("ref_wnd_overhead_max"));
    assert_eq!(scream(json!({"ref_wnd_overhead_min": 0.99})), Some("ref_wnd_overhead_min"));
    assert_eq!(scream(json!({"qdelay_target_lo": "1 s", "qdelay_target_hi": "1 s"})), None);
    assert_eq!(scream(json!({"qdelay_target_lo": "401 ms"})), Some("qdelay_target_hi"));
    for time in ["0 s", "1001 ms"] {
        let targets = json!({"qdelay_target_lo": time, "qdelay_target_hi": "2 s"});
        assert_eq!(scream(targets), Some("qdelay_target_lo"), "{time}");
    }
    assert_eq!(scream(json!({"post_congestion_delay_rtt": 0})), Some("post_congestion_delay_rtt"));
    assert_eq!(scream(json!({"post_congestion_delay_rtt": 1})), None);
    for (policer, expected) in [
        (0.01, None),
        (1.0, None),
        (0.009, Some("loss_rate_threshold_policer")),
        (1.01, Some("loss_rate_threshold_policer")),
    ] {
        let both = json!({"loss_rate_threshold": 0.01, "loss_rate_threshold_policer": policer});
        assert_eq!(scream(both), expected, "{policer}");
    }
    assert_eq!(scream(json!({"loss_rate_threshold_policer": 0.1})), Some("loss_rate_threshold"));
}

/// Bounds of slow starts and of the conventional response; the thresholds of HyStart and HyStart++ may be equal.
#[test]
fn bounds_of_slow_starts_and_responses() {
    let list = |value: Value| -> [Value; 4] { serde_json::from_value(value).expect("four values") };
    check::<PacedChirpingParams>(&[
        ("gap", list(json!(["1 ns", "1 s", "0 s", "1001 ms"]))),
        ("gain", list(json!([1.0, 10.0, 0.99, 10.01]))),
        ("geometry", list(json!([1.0, 3.0, 0.99, 3.01]))),
    ]);
    check::<SearchParams>(&[("threshold", list(json!([0.001, 0.999, 0.0, 1.0])))]);
    let gain = || list(json!([1.0, 100.0, 0.99, -1.0]));
    check::<RapidParams>(&[("peak", gain()), ("pacing_gain", gain())]);
    let segments = list(json!(["2 segments", "1000 segments", "1 segment", "0 segments"]));
    check::<LimitedParams>(&[("max_ssthresh", segments)]);
    assert_eq!(refused::<HystartParams>(json!({"delay_min": "5 ms", "delay_max": "5 ms"})), None);
    for (high, key) in [("4 ms", Some("min_rtt_thresh")), ("5 ms", None), ("6 ms", None)] {
        let thresholds = json!({"min_rtt_thresh": "5 ms", "max_rtt_thresh": high});
        assert_eq!(refused::<HystartPpParams>(thresholds), key);
    }
    for key in ["min_rtt_divisor", "n_rtt_sample", "css_growth_divisor", "l", "exit_sce"] {
        let zero = Map::from_iter([(key.to_owned(), json!(0))]);
        assert_eq!(refused::<HystartPpParams>(Value::Object(zero)), Some(key));
    }
    let response: ConventionalParams = serde_json::from_value(json!({"ce_md": 1.0})).expect("readable");
    let config = WindowedConfig { response: Arc::new(response), ..WindowedConfig::default() };
    assert_eq!(AnyParams::check(&config).expect_err("nothing is taken").key, "ce_md");
}
