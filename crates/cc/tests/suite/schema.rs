//! The parameter structs are the schema of a scenario: each parameter is described, each struct names
//! its source, unknown keys are errors, and an empty table means the defaults.

use std::collections::BTreeSet;

use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use windtunnel_cc::{
    AbeParams, AimdParams, Bbr2Params, Bbr3Params, BbrParams, BbrStartupParams, BicParams, BinomialParams,
    CdgParams, CompoundParams, ConventionalParams, CopaParams, CubicParams, DctcpParams, DctcpSceParams,
    EsspParams, HighspeedParams, HtcpParams, HyblaParams, HystartParams, HystartPpParams, IiadParams,
    IllinoisParams, LedbatPpParams, LimitedParams, LpParams, MdsParams, NvParams, PacedChirpingParams,
    PragueParams, RenoParams, ScalableParams, SceParams, ScreamParams, SqrtParams, StandardParams,
    TfrcParams, VegasParams, VenoParams, VivaceParams, WestwoodParams, YeahParams,
};

fn check<P: JsonSchema + DeserializeOwned + Serialize + Default>(keys: &[&str]) {
    let schema = schema_for!(P);
    assert!(schema.get("x-source").is_some(), "{}: no source", P::schema_name());
    assert_eq!(schema.get("additionalProperties"), Some(&false.into()), "{}", P::schema_name());
    let properties = schema.get("properties").and_then(|p| p.as_object()).cloned().unwrap_or_default();
    // Compared as sets: the features of another crate decide whether a JSON object keeps the order of its keys.
    let found: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
    assert_eq!(found, keys.iter().copied().collect());
    for (key, property) in &properties {
        assert!(property.get("description").is_some(), "{}.{key} is not described", P::schema_name());
    }
    let defaults = serde_json::to_value(P::default()).expect("serialisable");
    let empty: P = serde_json::from_str("{}").expect("an empty table means the defaults");
    assert_eq!(serde_json::to_value(empty).expect("serialisable"), defaults);
    assert!(serde_json::from_str::<P>(r#"{"nonsense": 1}"#).is_err(), "{}", P::schema_name());
}

#[test]
fn every_parameter_is_described() {
    check::<RenoParams>(&["growth"]);
    check::<AimdParams>(&["a", "b", "growth"]);
    check::<CubicParams>(&[
        "variant",
        "c",
        "bic_scale",
        "beta",
        "fast_convergence",
        "tcp_friendliness",
        "initial_ssthresh",
        "hystart",
        "hystart_detect",
        "hystart_low_window",
        "hystart_ack_delta_us",
        "hystart_ack_delta",
        "grow_on_marked",
    ]);
    check::<ScalableParams>(&["variant", "inv_a", "b", "lwnd", "growth"]);
    check::<StandardParams>(&["growth", "l", "base_reduction", "exit_sce", "exit", "pacing_gain"]);
    check::<HystartParams>(&[
        "ack_train",
        "delay",
        "delay_divisor",
        "delay_min",
        "delay_max",
        "min_samples",
        "ack_spacing",
        "burst",
        "low_window",
        "exit_sce",
        "exit",
        "pacing_gain",
    ]);
    check::<HystartPpParams>(&[
        "min_rtt_thresh",
        "max_rtt_thresh",
        "min_rtt_divisor",
        "n_rtt_sample",
        "css_growth_divisor",
        "css_rounds",
        "l",
        "exit_sce",
        "exit",
        "pacing_gain",
    ]);
    check::<LimitedParams>(&["max_ssthresh", "growth", "exit"]);
    check::<EsspParams>(&["delay_factor", "exit"]);
    check::<PacedChirpingParams>(&["gap", "gain", "geometry"]);
    check::<BbrStartupParams>(&[]);
    check::<ConventionalParams>(&["ce_md"]);
    check::<AbeParams>(&["beta_ecn"]);
    check::<MdsParams>(&["tau", "limiter", "ce_md", "fallback"]);
    check::<SceParams>(&["g", "ce_md", "ce_md_recent", "ce_spread"]);
    check::<DctcpSceParams>(&["ce_md", "ce_md_recent", "ce_spread"]);
    check::<PragueParams>(&[
        "variant",
        "prague_cwnd_mode",
        "prague_cwnd_transit",
        "prague_rtt_target",
        "prague_rtt_transition",
        "prague_burst_shift",
        "classic_fallback",
    ]);
    check::<Bbr2Params>(&[]);
    check::<Bbr3Params>(&["variant", "ce", "ecn_low", "ecn_max_rtt"]);
    check::<TfrcParams>(&[
        "b",
        "t_rto_factor",
        "n",
        "history_discounting",
        "oscillation_prevention",
        "initial_rate",
    ]);
    check::<CopaParams>(&["delta", "mode_switching", "min_rtt_window"]);
    check::<VivaceParams>(&["utility", "t", "b", "c", "epsilon", "theta", "omega", "delta"]);
    check::<ScreamParams>(&[
        "is_l4s",
        "qdelay_target_lo",
        "qdelay_target_hi",
        "competing_flows_compensation",
        "min_ref_wnd",
        "beta_loss",
        "beta_ecn",
        "bytes_in_flight_head_room",
        "post_congestion_delay_rtt",
        "mul_increase_factor",
        "virtual_rtt",
        "reduce_jitter",
        "ref_wnd_overhead_min",
        "ref_wnd_overhead_max",
        "packet_pacing_headroom",
    ]);
    check::<BbrParams>(&["ack_aggregation", "policer_detection", "pacing_margin"]);
    check::<DctcpParams>(&["arithmetic", "dctcp_shift_g", "dctcp_alpha_on_init"]);
}

#[test]
fn every_parameter_of_linuxs_other_modules_is_described() {
    check::<HighspeedParams>(&[]);
    check::<HtcpParams>(&["use_rtt_scaling", "use_bandwidth_switch"]);
    check::<BicParams>(&[
        "beta",
        "fast_convergence",
        "max_increment",
        "low_window",
        "initial_ssthresh",
        "smooth_part",
    ]);
    check::<HyblaParams>(&["rtt0"]);
    check::<WestwoodParams>(&[]);
    check::<BinomialParams>(&["alpha", "beta", "k", "l"]);
    check::<SqrtParams>(&["alpha", "beta"]);
    check::<IiadParams>(&["alpha", "beta"]);
    check::<VegasParams>(&["variant", "alpha", "beta", "gamma"]);
    check::<IllinoisParams>(&["win_thresh", "theta"]);
    check::<YeahParams>(&[]);
    check::<VenoParams>(&[]);
    check::<CompoundParams>(&[
        "alpha",
        "beta",
        "k",
        "gamma",
        "tune_gamma",
        "gamma_low",
        "zeta",
        "low_window",
        "rtt",
    ]);
    check::<CdgParams>(&[
        "window",
        "backoff_beta",
        "backoff_factor",
        "hystart_detect",
        "use_ineff",
        "use_shadow",
        "use_tolerance",
    ]);
    check::<NvParams>(&[
        "nv_pad",
        "nv_pad_buffer",
        "nv_reset_period",
        "nv_min_cwnd",
        "nv_cong_dec_mult",
        "nv_ssthresh_factor",
        "nv_rtt_factor",
        "nv_loss_dec_factor",
        "nv_cwnd_growth_rate_neg",
        "nv_cwnd_growth_rate_pos",
        "nv_dec_eval_min_calls",
        "nv_inc_eval_min_calls",
        "nv_ssthresh_eval_min_calls",
        "nv_stop_rtt_cnt",
        "nv_rtt_min_cnt",
        "base_rtt",
    ]);
    check::<LpParams>(&["variant", "timestamp_offset"]);
    check::<LedbatPpParams>(&["target", "constant", "slowdown"]);
}

/// A tau of zero has no meaning and is refused where it is read.
#[test]
fn tau_is_at_least_one() {
    let error = serde_json::from_str::<MdsParams>(r#"{"tau": 0}"#).expect_err("tau = 0");
    assert!(error.to_string().contains("nonzero"), "{error}");
}
