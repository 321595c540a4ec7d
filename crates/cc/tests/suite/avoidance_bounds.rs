//! Parameters for which a growth function is not defined are refused, and the last ones that have a meaning are not.

use std::sync::Arc;

use windtunnel_cc::{
    AvoidanceParams, BicParams, BinomialParams, CdgParams, CompoundParams, LedbatParams, LedbatPpParams,
    NvParams, ScalableParams, ScalableVariant, VegasParams, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration};

/// The parameter that a configuration with this growth is refused for, if it is.
fn refused(avoidance: impl AvoidanceParams) -> Option<&'static str> {
    let config = WindowedConfig { avoidance: Arc::new(avoidance), ..WindowedConfig::default() };
    windtunnel_cc::AnyParams::check(&config).err().map(|error| error.key)
}

/// BIC divides by `max_increment`, and its price by `smooth_part` is not zero; beta is a fraction in 1024ths.
#[test]
fn bic() {
    let bic = BicParams::default;
    for (beta, key) in [(0, Some("beta")), (1, None), (1023, None), (1024, Some("beta"))] {
        assert_eq!(refused(BicParams { beta, ..bic() }), key, "{beta}");
    }
    assert_eq!(refused(BicParams { max_increment: 0, ..bic() }), Some("max_increment"));
    assert_eq!(refused(BicParams { smooth_part: 0, ..bic() }), Some("smooth_part"));
}

/// A binomial controller with l = 1 gives up the part beta of its window, which is less than all; with a smaller l,
/// beta segments at a window of one.
#[test]
fn binomial() {
    for (alpha, beta, k, l, key) in [
        (0.0, 0.5, 0.5, 0.5, Some("alpha")),
        (1.0, 0.0, 0.5, 0.5, Some("beta")),
        (1.0, 0.5, -1.1, 0.5, Some("k")),
        (1.0, 0.5, -1.0, 0.5, None),
        (1.0, 0.5, 4.1, 0.5, Some("k")),
        (1.0, 0.5, 0.5, -0.1, Some("l")),
        (1.0, 0.5, 0.5, 1.1, Some("l")),
        (1.0, 1.0, 0.5, 1.0, Some("beta")),
        (1.0, 0.5, 0.5, 1.0, None),
        (1.0, 1.0, 0.5, 0.9, None),
    ] {
        assert_eq!(refused(BinomialParams { alpha, beta, k, l }), key, "{alpha} {beta} {k} {l}");
    }
}

/// Compound: beta and k are fractions, scales are positive, and gamma is not below its own least value.
#[test]
fn compound() {
    let compound = CompoundParams::default;
    for (params, key) in [
        (CompoundParams { alpha: 0.0, ..compound() }, Some("alpha")),
        (CompoundParams { beta: 1.0, ..compound() }, Some("beta")),
        (CompoundParams { k: 1.0, ..compound() }, Some("k")),
        (CompoundParams { gamma: 0.0, ..compound() }, Some("gamma")),
        (CompoundParams { gamma_low: 0.0, ..compound() }, Some("gamma_low")),
        (CompoundParams { zeta: 0.0, ..compound() }, Some("zeta")),
        (CompoundParams { gamma_low: 31.0, ..compound() }, Some("gamma_low")),
        (CompoundParams { gamma_low: 30.0, ..compound() }, None),
        (compound(), None),
    ] {
        assert_eq!(refused(params.clone()), key, "{params:?}");
    }
}

/// CDG, as Linux's module: the ring of gradients has a power of two of them, `hystart_detect` two bits.
#[test]
fn cdg() {
    let cdg = CdgParams::default;
    for (window, key) in
        [(0, Some("window")), (1, None), (12, Some("window")), (256, None), (512, Some("window"))]
    {
        assert_eq!(refused(CdgParams { window, ..cdg() }), key, "{window}");
    }
    for (beta, key) in [(0, Some("backoff_beta")), (1, None), (1024, None), (1025, Some("backoff_beta"))] {
        assert_eq!(refused(CdgParams { backoff_beta: beta, ..cdg() }), key, "{beta}");
    }
    assert_eq!(refused(CdgParams { hystart_detect: 4, ..cdg() }), Some("hystart_detect"));
}

/// TCP-NV: counts are bytes, factors within their units, the pad is not smaller than its buffer, and times are not
/// zero.
#[test]
fn nv() {
    let nv = NvParams::default;
    for (params, key) in [
        (NvParams { nv_min_cwnd: 0, ..nv() }, "nv_min_cwnd"),
        (NvParams { nv_cong_dec_mult: 129, ..nv() }, "nv_cong_dec_mult"),
        (NvParams { nv_ssthresh_factor: 0, ..nv() }, "nv_ssthresh_factor"),
        (NvParams { nv_ssthresh_factor: 65, ..nv() }, "nv_ssthresh_factor"),
        (NvParams { nv_rtt_factor: 257, ..nv() }, "nv_rtt_factor"),
        (NvParams { nv_loss_dec_factor: 0, ..nv() }, "nv_loss_dec_factor"),
        (NvParams { nv_loss_dec_factor: 1025, ..nv() }, "nv_loss_dec_factor"),
        (NvParams { nv_pad_buffer: 11, ..nv() }, "nv_pad_buffer"),
        (NvParams { nv_dec_eval_min_calls: 256, ..nv() }, "nv_dec_eval_min_calls"),
        (NvParams { nv_inc_eval_min_calls: 256, ..nv() }, "nv_inc_eval_min_calls"),
        (NvParams { nv_ssthresh_eval_min_calls: 256, ..nv() }, "nv_ssthresh_eval_min_calls"),
        (NvParams { nv_stop_rtt_cnt: 256, ..nv() }, "nv_stop_rtt_cnt"),
        (NvParams { nv_rtt_min_cnt: 256, ..nv() }, "nv_rtt_min_cnt"),
        (NvParams { nv_reset_period: Duration::ZERO, ..nv() }, "nv_reset_period"),
        (NvParams { base_rtt: Some(Duration::ZERO), ..nv() }, "base_rtt"),
    ] {
        assert_eq!(refused(params), Some(key));
    }
    let largest = NvParams {
        nv_min_cwnd: 1,
        nv_cong_dec_mult: 128,
        nv_ssthresh_factor: 64,
        nv_rtt_factor: 256,
        nv_loss_dec_factor: 1024,
        nv_pad_buffer: 10,
        nv_dec_eval_min_calls: 255,
        nv_inc_eval_min_calls: 255,
        nv_ssthresh_eval_min_calls: 255,
        nv_stop_rtt_cnt: 255,
        nv_rtt_min_cnt: 255,
        ..nv()
    };
    assert_eq!(refused(largest), None);
}

/// LEDBAT and LEDBAT++ divide by their target, and RFC 6817 allows 100 ms at most; Vegas' alpha is not above its beta; Linux's Scalable has no lwnd.
#[test]
fn others() {
    let ledbat = LedbatParams::default;
    for (ms, key) in [(0, Some("target")), (100, None), (101, Some("target"))] {
        assert_eq!(refused(LedbatParams { target: Duration::from_millis(ms), ..ledbat() }), key, "{ms} ms");
    }
    for (gain, key) in [(0.0, Some("gain")), (1.0, None), (10.0, None)] {
        assert_eq!(refused(LedbatParams { gain, ..ledbat() }), key, "{gain}");
    }
    let ledbat_pp = LedbatPpParams::default;
    assert_eq!(refused(LedbatPpParams { target: Duration::ZERO, ..ledbat_pp() }), Some("target"));
    assert_eq!(refused(LedbatPpParams { constant: 0.0, ..ledbat_pp() }), Some("constant"));
    for (alpha, key) in [(4, None), (5, Some("alpha"))] {
        assert_eq!(refused(VegasParams { alpha, ..VegasParams::default() }), key, "{alpha}");
    }
    for (variant, lwnd, key) in [
        (ScalableVariant::Linux, 1, Some("lwnd")),
        (ScalableVariant::Linux, 0, None),
        (ScalableVariant::Paper, 1, None),
    ] {
        let params = ScalableParams {
            variant: Some(variant),
            lwnd: Some(Bytes::new(lwnd)),
            ..ScalableParams::default()
        };
        assert_eq!(refused(params), key, "{variant:?} {lwnd}");
    }
}
