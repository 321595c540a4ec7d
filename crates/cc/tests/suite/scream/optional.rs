//! The optional parts of section "Additional functions" (docs/spec/ccwg-2026.md, K.1).

use super::{Bytes, Duration, Flow, Rate, ScreamParams, assert_near, l4s, ms};

/// All parts, with the draft's values.
pub(super) fn all() -> ScreamParams {
    ScreamParams {
        loss_rate_threshold: 0.01,
        loss_rate_threshold_policer: 0.1,
        acked_bitrate_margin: 0.8,
        clock_drift_compensation: true,
        ..ScreamParams::default()
    }
}

/// The part for losses of the link, with a delay target of 60 ms.
fn link_losses() -> ScreamParams {
    ScreamParams { loss_rate_threshold: 0.01, competing_flows_compensation: false, ..ScreamParams::default() }
}

/// A flow with a window of 100 kB, and its window.
fn with_100_kb(params: &ScreamParams) -> (Flow, f64) {
    let mut flow = Flow::new(params, ms(50));
    flow.grow_above(100_000.0);
    flow.now += ms(50);
    flow.report(0, 0, Duration::ZERO);
    let wnd = flow.get("ref_wnd_bytes");
    assert!((100_000.0..101_000.0).contains(&wnd), "{wnd}");
    (flow, wnd)
}

/// K.1's vector: W 100 kB, a loss rate of 0.5 % and a delay of 5 ms leave the window as it is, and 0.7 of it where each
/// loss counts. Two losses give 1 - (1 - 0.01/4)^2.
#[test]
fn rare_losses_over_a_short_queue_are_not_answered() {
    for (params, kept) in [(link_losses(), 1.0), (ScreamParams::default(), 0.7)] {
        let (mut flow, wnd) = with_100_kb(&params);
        flow.find_loss();
        assert_eq!(flow.lose(), kept < 1.0, "whether the transport is told of a reduction");
        flow.report(0, 0, ms(5));
        assert_near(flow.get("ref_wnd_bytes"), kept * wnd);
        if kept >= 1.0 {
            assert_near(flow.get("loss_rate"), 1.0 - 0.9975 * 0.9975);
        }
    }
}

/// The fifth loss in a row, 1.24 %, counts. So does the first where the average delay is more than a quarter of 60 ms:
/// a quarter of 80 ms; 60 ms give no more than that.
#[test]
fn frequent_losses_and_losses_over_a_queue_are_answered() {
    for (losses, qdelay, kept) in [(4, 0, 1.0), (5, 0, 0.7), (1, 60, 1.0), (1, 80, 0.7)] {
        let (mut flow, wnd) = with_100_kb(&link_losses());
        flow.now += ms(25);
        for _ in 0..losses {
            flow.find_loss();
        }
        flow.report(0, 0, ms(qdelay));
        assert_near(flow.get("ref_wnd_bytes"), kept * wnd);
    }
}

/// A loss that is not answered is none. It is forgotten when its report has come: a queue that grows later does not
/// answer it. It hides no marks, and restarts no wait: growth in proportion is unrestricted.
#[test]
fn a_loss_that_does_not_count_is_none() {
    let (mut flow, wnd) = with_100_kb(&link_losses());
    flow.lose();
    flow.report(0, 0, Duration::ZERO);
    flow.now += ms(25);
    flow.report(0, 0, ms(80));
    assert_near(flow.get("ref_wnd_bytes"), wnd);

    let (mut flow, wnd) = with_100_kb(&ScreamParams { is_l4s: true, ..link_losses() });
    flow.now += ms(25);
    flow.find_loss();
    flow.report(10, 10, Duration::ZERO);
    assert_near(flow.get("ref_wnd_bytes"), wnd * (1.0 - 0.125 / 2.0 / 2.0));

    let (mut flow, wnd) = with_100_kb(&link_losses());
    flow.lose();
    flow.report(1, 0, Duration::ZERO);
    let growth = 1000.0 * (1000.0 / wnd) * (1.0 + 0.02 * wnd / 1000.0);
    assert_near(flow.get("ref_wnd_bytes") - wnd, growth);
}

/// K.1's vector: with a loss rate of 12 %, 52 losses, and a short queue the window of 100 kB falls to 70 kB, and grows to
/// 90 kB at most. That rises by a thousandth in a round trip. Without the part for policers it grows on, and neither
/// 10 % or less nor a queue says that there is a policer.
#[test]
fn a_policer_bounds_the_window() {
    let policer = ScreamParams { loss_rate_threshold_policer: 0.1, ..link_losses() };
    for (params, losses, qdelay, bounded) in [
        (policer.clone(), 52, 5, true),
        (policer.clone(), 42, 5, false),
        (policer, 52, 80, false),
        (link_losses(), 52, 5, false),
    ] {
        let (mut flow, wnd) = with_100_kb(&params);
        for _ in 0..losses {
            flow.find_loss();
        }
        flow.now += ms(50);
        flow.report(0, 0, ms(qdelay));
        assert_near(flow.get("ref_wnd_bytes"), 0.7 * wnd);
        let bound = flow.get("max_policed_ref_wnd_bytes");
        assert_eq!(bound.is_finite(), bounded, "{losses} losses, {qdelay} ms: {bound}");
        for _ in 0..1000 {
            flow.report(10, 0, Duration::ZERO);
        }
        let grown = flow.get("ref_wnd_bytes");
        if bounded {
            assert_near(bound, 0.9 * wnd);
            assert_near(grown, 0.9 * wnd);
            flow.now += ms(50);
            for _ in 0..10 {
                flow.report(10, 0, Duration::ZERO);
            }
            assert_near(flow.get("ref_wnd_bytes"), 0.9 * 1.001 * wnd);
        } else {
            assert!(grown > wnd, "{grown}");
        }
    }
}

/// The bound holds for what a loss leaves, too, and the least window for the bound.
#[test]
fn a_policer_bounds_what_a_loss_leaves() {
    let policer = ScreamParams { loss_rate_threshold_policer: 0.1, beta_loss: 0.95, ..link_losses() };
    let (mut flow, wnd) = with_100_kb(&policer);
    for _ in 0..52 {
        flow.find_loss();
    }
    flow.report(0, 0, Duration::ZERO);
    assert_near(flow.get("ref_wnd_bytes"), 0.9 * wnd);

    let mut least = Flow::new(&policer, ms(50));
    for _ in 0..52 {
        least.find_loss();
    }
    least.report(10, 0, Duration::ZERO);
    assert_near(least.get("max_policed_ref_wnd_bytes"), 2700.0);
    assert_near(least.get("ref_wnd_bytes"), 3000.0);
}

/// The target of 100 kB in 50 ms is 13 Mbit/s. Where 16 Mbit/s or less are acknowledged, 200 segments in two round trips,
/// marks are answered as usual, and to a quarter where it is 128 Mbit/s.
#[test]
fn a_low_target_is_answered_to_a_quarter() {
    for (margin, segments, scale) in [(0.8, 40, 1.0), (0.8, 400, 0.25), (0.0, 400, 1.0)] {
        let mut flow = Flow::new(&ScreamParams { acked_bitrate_margin: margin, ..l4s() }, ms(50));
        flow.grow_above(100_000.0);
        let (mut before, mut alpha) = (0.0, 0.0);
        for marked in [0, 0, 0, 0, 0, 0, segments, segments] {
            before = flow.get("ref_wnd_bytes");
            flow.now += ms(25);
            flow.report(segments, marked, ms(20));
            alpha = flow.get("l4s_alpha");
        }
        assert_near(flow.get("ref_wnd_bytes"), before * (1.0 - alpha / 2.0 / 2.0 * scale));
        if margin > 0.0 {
            assert_near(flow.get("acked_bitrate_bits_per_s"), f64::from(segments) * 320_000.0);
        }
    }
}

/// Delay counts as marks there, too: 0.75 of the way, as in `delay_counts_as_marks`. Losses and classic marks have
/// fixed answers.
#[test]
fn the_quarter_is_of_delay_but_not_of_losses() {
    let params = |margin| ScreamParams {
        acked_bitrate_margin: margin,
        competing_flows_compensation: false,
        ..ScreamParams::default()
    };
    for (margin, scale) in [(0.0, 1.0), (0.8, 0.25)] {
        let mut flow = Flow::new(&params(margin), ms(25));
        flow.grow_above(100_000.0);
        // The rate is that of two frames: what grew the window was acknowledged in the last 40 ms.
        flow.frame(25, ms(5), Rate::from_mbps(1000));
        for alpha in [0.0, 0.75] {
            let wnd = flow.get("ref_wnd_bytes");
            flow.now += ms(25);
            flow.report(0, 0, ms(120));
            assert_near(flow.get("ref_wnd_bytes"), wnd * (1.0 - alpha / 2.0 * scale));
        }
        for (lost, kept) in [(true, 0.7), (false, 0.8)] {
            let (mut flow, wnd) = with_100_kb(&params(margin));
            flow.now += ms(25);
            if lost {
                flow.find_loss();
            }
            flow.report(u32::from(!lost), u32::from(!lost), Duration::ZERO);
            assert_near(flow.get("ref_wnd_bytes"), kept * wnd);
        }
    }
}

/// A clock that is set forward by 20 ms: the average least delay is 20 (1 - (255/256)^n) ms, above a quarter of 60 ms
/// from n = 355 on, because (255/256)^354 = 0.2502 and (255/256)^355 = 0.2492. The first round trip has a report from
/// before. The delay is then measured from a new base, and the encoder has half of its target for five round trips; the
/// pace follows. The window stays as it is.
#[test]
fn a_clock_that_was_set_gives_a_new_base() {
    let compensating = ScreamParams {
        clock_drift_compensation: true,
        min_ref_wnd: Bytes::new(30_000),
        competing_flows_compensation: false,
        ..ScreamParams::default()
    };
    let mut flow = Flow::new(&compensating, ms(100));
    let mut other = Flow::new(&ScreamParams { clock_drift_compensation: false, ..compensating }, ms(100));
    for flow in [&mut flow, &mut other] {
        flow.frame(25, ms(5), Rate::from_mbps(1000));
        flow.report(0, 0, Duration::ZERO);
    }
    let (full, pace) = (flow.get("target_bitrate_bits_per_s"), flow.pace());
    for round in 1..=365 {
        for flow in [&mut flow, &mut other] {
            flow.now += ms(100);
            flow.report(0, 0, ms(20));
        }
        let (delay, half) = (if round < 356 { 0.02 } else { 0.0 }, (356..361).contains(&round));
        assert!((flow.get("qdelay_s") - delay).abs() < 1e-12, "round trip {round}");
        assert!((other.get("qdelay_s") - 0.02).abs() < 1e-12);
        let factor = if half { 0.5 } else { 1.0 };
        assert_near(flow.get("target_bitrate_bits_per_s"), full * factor);
        assert_near(flow.pace(), pace * factor);
        assert_near(other.get("target_bitrate_bits_per_s"), full);
        assert_near(flow.get("ref_wnd_bytes"), 30_000.0);
    }
}

/// Half of the target is the encoder's lowest rate at least, and a window at the encoder's highest rate does not grow
/// meanwhile.
#[test]
fn half_of_the_target_stays_within_the_range() {
    let params = ScreamParams { clock_drift_compensation: true, ..ScreamParams::default() };
    for (most, kbps) in [(15_000, 10.0), (40_000, 20.0)] {
        let mut flow = Flow::new(&params, ms(100));
        flow.frame(25, ms(5), Rate::from_bits_per_sec(most));
        flow.report(0, 0, Duration::ZERO);
        for _ in 0..356 {
            flow.now += ms(100);
            flow.report(0, 0, ms(20));
        }
        assert_near(flow.get("target_bitrate_bits_per_s"), kbps * 1e3);
        let wnd = flow.get("ref_wnd_bytes");
        flow.report(10, 0, Duration::ZERO);
        assert_near(flow.get("ref_wnd_bytes"), wnd);
    }
}

/// While half of the target is used, the target of the window decides whether it is low: marks are answered as without
/// the part. 24 segments in 100 ms are 1.9 Mbit/s, between 1.25 times the half and 1.25 times the whole.
#[test]
fn half_of_the_target_is_no_low_target() {
    let [with, without] = [0.8, 0.0].map(|margin| {
        let params = ScreamParams { acked_bitrate_margin: margin, clock_drift_compensation: true, ..l4s() };
        let mut flow = Flow::new(&params, ms(100));
        flow.grow_above(30_000.0);
        for _ in 0..356 {
            flow.now += ms(100);
            flow.report(0, 0, ms(20));
        }
        let wnd = flow.get("ref_wnd_bytes");
        for _ in 0..4 {
            flow.now += ms(100);
            flow.report(24, 24, ms(20));
        }
        let (target, after) = (flow.get("target_bitrate_bits_per_s"), flow.get("ref_wnd_bytes"));
        assert!(after < wnd && target < 0.45 * 8.0 * after / 0.1, "{wnd} {after} {target}");
        assert!(0.8 * 1.92e6 < 2.0 * target && target < 0.8 * 1.92e6, "{target}");
        after
    });
    assert_near(with, without);
}
