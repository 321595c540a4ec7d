//! CUBIC of RFC 9438 and of Linux, over time.

use std::sync::Arc;

use windtunnel_cc::{
    AvoidanceParams, CubicParams, CubicVariant, HystartParams, Params, SlowStartParams, Style, WindowedConfig,
};
use windtunnel_units::Duration;

use crate::driver::{CLEAN, Driver, MSS};
use crate::parts::none;

const RTT: Duration = Duration::from_millis(100);
const NS: Duration = Duration::from_nanos(1);
const MS: Duration = Duration::from_millis(1);
const K: f64 = 4.217_163;

fn config(variant: CubicVariant, slow_start: Arc<dyn SlowStartParams>) -> WindowedConfig {
    let params = CubicParams { variant: Some(variant), ..CubicParams::default() };
    let mut config = WindowedConfig { avoidance: Arc::new(params), slow_start, ..Default::default() };
    config.resolve(Style::Linux);
    config
}

/// A CUBIC that just lost at 100 segments.
fn at_seventy(variant: CubicVariant, rtt: Duration) -> Driver {
    let mut flow = Driver::new(&config(variant, none()), MSS * 100, rtt);
    flow.lose();
    assert_eq!(flow.cwnd(), MSS * 70);
    flow
}

/// The window at the end of each second.
fn seconds(flow: &mut Driver, seconds: u64) -> Vec<f64> {
    let begin = flow.now;
    (1..=seconds)
        .map(|second| {
            while flow.now.since(begin) < Duration::from_secs(second) {
                flow.round(1);
            }
            flow.segments()
        })
        .collect()
}

/// spec/congestion-control section 3.3: Linux's window from 70 segments at a round trip of 100 ms is about 86, 96, 99,
/// 99 to 100, 100 and 102 after 1 to 6 s.
#[test]
fn linux_follows_the_curve_in_whole_segments() {
    let mut flow = at_seventy(CubicVariant::Linux, RTT);
    let windows = seconds(&mut flow, 6);
    for (w, expected) in windows.iter().zip([86.0, 96.0, 99.0, 99.5, 100.0, 102.0]) {
        assert!((w - expected).abs() <= 1.0, "{windows:?}");
    }
    assert!((flow.probe("k_s").expect("CUBIC has a K") - 4317.0 / 1024.0).abs() < 1e-9);
}

/// RFC 9438 sections 4.2, 4.4, 4.5: the window is the cubic's value one round trip later; over the concave and the
/// convex part, with round trips of 400 ms, which keep the Reno-friendly estimate below.
#[test]
fn rfc9438_follows_the_curve() {
    let rtt = RTT * 4;
    let mut flow = at_seventy(CubicVariant::Rfc9438, rtt);
    for (n, w) in seconds(&mut flow, 8).iter().enumerate() {
        let curve = |t: f64| 100.0 + 0.4 * (t - K) * (t - K) * (t - K);
        // Rounds end up to one round trip after the second.
        let t = 1.0 + n as f64;
        // The window lags by the second order of a round trip: half of the curve's second derivative.
        let lag = 0.5 * 0.4 * 0.4 * 6.0 * 0.4 * (t - 0.4 - K).abs();
        let (least, most) = (curve(t - 0.4) - lag, curve(t + 0.8));
        assert!(least <= *w && *w <= most, "{w} segments at {t} s, not {least} to {most}");
    }
}

/// spec/congestion-control section 3.3: at 100 ms from 70 segments the estimate of RFC 9438 reaches 96.5 at 5 s and 100
/// at
/// 5.67 s: alpha = 0.529 segments per round trip. From `cwnd_prior` = 100 on it grows by one.
#[test]
fn the_friendly_estimate_is_aimds_and_then_renos() {
    let mut flow = at_seventy(CubicVariant::Rfc9438, RTT);
    let estimate = |flow: &Driver| flow.probe("w_est_segments").expect("CUBIC has an estimate");
    (0..50).for_each(|_| flow.round(1));
    assert!((estimate(&flow) - 96.5).abs() < 0.5, "{}", estimate(&flow));
    (0..6).for_each(|_| flow.round(1));
    assert!(estimate(&flow) < 100.0);
    (0..2).for_each(|_| flow.round(1));
    let before = estimate(&flow);
    assert!(before > 100.0);
    (0..10).for_each(|_| flow.round(1));
    assert!((estimate(&flow) - before - 10.0).abs() < 0.2, "{before}, then {}", estimate(&flow));
}

/// RFC 9438 section 4.3: where the estimate is ahead of the cubic it is the window. At 10 ms and 70 segments Reno's
/// growth of 0.529 per round trip is 53 segments per second.
#[test]
fn short_round_trips_are_reno_friendly() {
    let rtt = RTT / 10;
    let mut flow = at_seventy(CubicVariant::Rfc9438, rtt);
    (0..40).for_each(|_| flow.round(1));
    // In segments per round of whole segments: 40 rounds of 0.529.
    assert!((flow.segments() - 91.2).abs() < 1.0, "{}", flow.segments());

    // Linux: a segment of the estimate for 15/8 W, and the window follows it within a round trip.
    let mut flow = at_seventy(CubicVariant::Linux, rtt);
    (0..40).for_each(|_| flow.round(1));
    assert!((flow.segments() - 91.0).abs() <= 1.5, "{}", flow.segments());
}

/// spec/congestion-control section 3.3: a loss at 100 makes 70 and a plateau of 100; the next, at 90, makes 63 and a
/// plateau of 90 * 1741 / 2048 = 76 in Linux, 90 * 0.85 in RFC 9438.
#[test]
fn fast_convergence_lowers_the_plateau() {
    for (variant, w_max) in [(CubicVariant::Linux, 76.0), (CubicVariant::Rfc9438, 76.5)] {
        let mut flow = at_seventy(variant, RTT);
        assert_eq!(flow.probe("w_max_segments"), Some(100.0));
        while flow.cwnd() < MSS * 90 {
            flow.ack(MS, 1, CLEAN);
        }
        let at = flow.segments();
        assert!((90.0..90.1).contains(&at));
        flow.lose();
        let plateau = flow.probe("w_max_segments").expect("a plateau");
        assert!((plateau - w_max).abs() < 0.05, "{variant:?}: {plateau}");
        assert!((flow.segments() - at * 0.7).abs() < 0.05);
    }
}

/// spec/congestion-control section 3.3 rule 4: before the first loss Linux grows by at least 5 % per round trip, a
/// segment for every 20 acknowledged.
#[test]
fn linux_grows_by_a_twentieth_before_the_first_loss() {
    let mut flow = Driver::new(&config(CubicVariant::Linux, none()), MSS * 100, RTT);
    (0..10).for_each(|_| flow.round(1));
    assert!((flow.segments() / 100.0 - 1.63).abs() < 0.03, "1.05^10 = 1.63, not {}", flow.segments());
    // Rule 6: never more than one segment for two acknowledged; the test is far out on the curve.
    flow.lose();
    flow.ack(NS, 1, CLEAN);
    flow.ack(Duration::from_secs(100), 1, CLEAN);
    let before = flow.cwnd();
    flow.ack(NS, 100, CLEAN);
    assert_eq!(flow.cwnd(), before + MSS * 50);
}

/// spec/congestion-control section 3.3 rule 1: one computation per tick, and none for 31 ticks while the window stays.
/// With C = 400 the curve from 70 to 100 segments has 86.8 at 0.1 s, a round trip ahead, and 90.3 at 0.131 s: a price
/// of floor(70 / 16) and then of floor(70 / 20).
#[test]
fn linux_keeps_its_price_for_a_while() {
    let params = CubicParams { c: Some(400.0), variant: Some(CubicVariant::Linux), ..CubicParams::default() };
    let avoidance = Arc::new(params);
    let config = WindowedConfig { avoidance, slow_start: none(), ..Default::default() };
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.lose();
    for (after, price) in [(NS, 4.0), (MS * 31, 4.0), (MS, 3.0)] {
        assert_eq!(flow.cwnd(), MSS * 70);
        flow.ack(after, 1, CLEAN);
        assert_eq!(flow.probe("price_segments"), Some(price));
    }
    assert_eq!(flow.cwnd(), MSS * 71, "three were acknowledged");
}

/// spec/congestion-control section 3.3: idle time shifts the curve, but not beyond now: in the 100 ms after 3 s of idle
/// time the window grows as if there had been no idle time (section 6.2 item 9).
#[test]
fn idle_time_does_not_count() {
    for variant in [CubicVariant::Linux, CubicVariant::Rfc9438] {
        let windows = [Duration::ZERO, Duration::from_secs(3)].map(|idle| {
            let mut flow = at_seventy(variant, RTT);
            (0..5).for_each(|_| flow.round(1));
            flow.idle(idle);
            flow.round(1);
            flow.segments()
        });
        assert!((windows[0] - windows[1]).abs() < 1e-9, "{variant:?}: {windows:?}");
    }
}

/// RFC 9438 section 5.8: time in which the application prevented growth does not count towards the epoch: afterwards
/// the window grows as if that time had not passed.
#[test]
fn barred_time_does_not_count_in_rfc9438() {
    let windows = [false, true].map(|pause| {
        let mut flow = at_seventy(CubicVariant::Rfc9438, RTT);
        (0..5).for_each(|_| flow.round(1));
        if pause {
            flow.barred = true;
            (0..50).for_each(|_| flow.round(1));
            flow.barred = false;
        }
        (0..5).for_each(|_| flow.round(1));
        flow.segments()
    });
    assert!((windows[0] - windows[1]).abs() < 0.3, "{windows:?}");
}

/// RFC 9438 section 4.8: after a timeout K is zero and the plateau is where slow start ends; Linux forgets its plateau
/// and continues as before the first loss.
#[test]
fn a_timeout_begins_a_new_curve() {
    let mut flow = at_seventy(CubicVariant::Rfc9438, RTT);
    flow.time_out(true);
    assert_eq!(flow.cc.control().ssthresh, MSS * 49);
    while !flow.avoids() {
        flow.ack(MS, 1, CLEAN);
    }
    flow.ack(MS, 1, CLEAN);
    assert_eq!((flow.probe("w_max_segments"), flow.probe("k_s")), (Some(49.0), Some(0.0)));

    let mut flow = at_seventy(CubicVariant::Linux, RTT);
    flow.time_out(true);
    assert_eq!(flow.cc.control().ssthresh, MSS * 49);
    while !flow.avoids() {
        flow.ack(MS, 1, CLEAN);
    }
    flow.ack(MS, 1, CLEAN);
    assert_eq!((flow.probe("w_max_segments"), flow.probe("price_segments")), (Some(0.0), Some(20.0)));
}

/// RFC 9438 section 4.10: where the first slow start ends without a loss, K is zero; the window is the plateau.
#[test]
fn the_curve_begins_where_slow_start_ends() {
    let mut flow = Driver::new(&config(CubicVariant::Rfc9438, none()), MSS * 50, RTT);
    flow.ack(MS, 1, CLEAN);
    assert_eq!((flow.probe("w_max_segments"), flow.probe("k_s")), (Some(50.0), Some(0.0)));
}

/// spec/congestion-control section 3.3: the minimal round trip, by which Linux looks ahead, is not sampled in the first
/// second of an epoch; a timeout forgets it.
#[test]
fn linux_leaves_out_the_samples_of_a_second() {
    let mut flow = at_seventy(CubicVariant::Linux, RTT * 10);
    for (after, rtt, least) in [(NS, RTT * 10, 1.0), (MS * 999, RTT, 1.0), (MS, RTT, 0.1)] {
        flow.rtt = rtt;
        flow.ack(after, 1, CLEAN);
        assert_eq!(flow.probe("delay_min_s"), Some(least));
        assert_eq!(flow.probe("epoch_start_s"), Some(1.0), "that of the first ACK, a nanosecond after 1 s");
    }
    flow.time_out(true);
    assert_eq!(flow.probe("delay_min_s"), Some(0.0));
}

/// The paper of 2008 takes 0.2 of the window; W(t) = C (t - K)^3 + `W_max` passes `W_max` at t = K, the cube root of 0.2
/// `W_max` / C.
#[test]
fn the_preset_of_2008_keeps_four_fifths() {
    let config = config(CubicVariant::Paper, none());
    let mut flow = Driver::new(&config, MSS * 1000, RTT);
    flow.lose();
    let begin = flow.now;
    assert_eq!(flow.cwnd(), MSS * 799, "819/1024, rounded down");
    flow.round(1);
    let k = flow.probe("k_s").expect("CUBIC has a K");
    assert!((k - libm::cbrt(0.2 * 1000.0 / 0.4)).abs() < 0.02, "{k}");
    while flow.now.since(begin).as_secs_f64() < k - 0.1 {
        flow.round(1);
    }
    assert!((flow.segments() - 1000.0).abs() <= 1.0, "{} after K", flow.segments());
    let slow_start = CubicParams { variant: Some(CubicVariant::Paper), ..CubicParams::default() };
    assert_eq!(slow_start.usual_slow_start(Style::Linux).name(), "standard");
}

/// The parameters of Linux's module, by its names and in its units, and what a run's description then says.
#[test]
fn kernel_parameters_are_converted() {
    let read = |text: &str| serde_json::from_str::<CubicParams>(text).expect("valid");
    let all = read(
        r#"{"beta": 819, "bic_scale": 50, "hystart_detect": 2, "hystart_low_window": 32, "hystart_ack_delta_us": 500}"#,
    );
    assert_eq!(Params::check(&all), Ok(()));
    assert_eq!(all.beta, Some(819.0 / 1024.0));
    let hystart = HystartParams {
        ack_train: false,
        low_window: 32,
        ack_spacing: Duration::from_micros(500),
        ..HystartParams::default()
    };
    assert_eq!(*all.usual_slow_start(Style::Linux), *(Arc::new(hystart) as Arc<dyn SlowStartParams>));
    let resolved = all.resolved(Style::Linux).expect("CUBIC has defaults by style").to_map();
    assert_eq!(resolved["c"], 500.0 / 1024.0);
    assert!(!resolved.contains_key("bic_scale") && !resolved.contains_key("hystart_detect"));
    assert_eq!(read(r#"{"hystart": false}"#).usual_slow_start(Style::Linux).name(), "standard");
    assert_eq!(
        read(r#"{"hystart_ack_delta": 3}"#).usual_slow_start(Style::Linux).to_map()["ack_spacing"],
        "3 ms"
    );
    for wrong in [
        r#"{"beta": 1024}"#,
        r#"{"beta": 1.5}"#,
        r#"{"bic_scale": 41, "c": 0.4}"#,
        r#"{"hystart_detect": 4}"#,
        r#"{"hystart_ack_delta": 2, "hystart_ack_delta_us": 2000}"#,
    ] {
        assert!(Params::check(&read(wrong)).is_err(), "{wrong}");
    }
}

/// A connection that starts above its first threshold avoids congestion from the start.
#[test]
fn the_first_threshold_ends_slow_start() {
    for (ssthresh, avoids) in [(0, false), (5, true), (10, true), (11, false)] {
        let params = CubicParams { initial_ssthresh: ssthresh, ..CubicParams::default() };
        let mut config = WindowedConfig { avoidance: Arc::new(params), ..Default::default() };
        config.resolve(Style::Linux);
        let flow = Driver::new(&config, MSS * 10, RTT);
        assert_eq!((flow.avoids(), flow.cwnd()), (avoids, MSS * 10), "{ssthresh}");
    }
}

/// draft-kazuho-ccwg-cuback-00 section 4.3: an idle time changes nothing, and neither do ACKs on which growth is barred. An undo
/// restores what the curves are made of (section 3.2).
#[test]
fn cuback_has_no_clock() {
    let mut flow = at_seventy(CubicVariant::Cuback, RTT);
    let mut rested = at_seventy(CubicVariant::Cuback, RTT);
    flow.round(1);
    rested.idle(RTT * 1000);
    rested.barred = true;
    (0..1000).for_each(|_| _ = rested.ack(RTT, 1, CLEAN));
    rested.barred = false;
    rested.round(1);
    assert_eq!(flow.cwnd(), rested.cwnd());
    assert!(flow.cwnd() > MSS * 70);
    let curves = ["w_max_segments", "cwnd_prior_segments", "cwnd_epoch_segments", "bandwidth_segments_per_s"];
    let before = curves.map(|name| flow.probe(name));
    assert_eq!(before, [100.0, 100.0, 70.0, 1000.0].map(Some));
    flow.lose();
    assert_ne!(curves.map(|name| flow.probe(name)), before);
    flow.undo();
    assert_eq!(curves.map(|name| flow.probe(name)), before);
}

/// Without the Reno-friendly estimate the window follows the cubic alone: on a short round trip it is behind Reno.
#[test]
fn friendliness_can_be_switched_off() {
    for variant in [CubicVariant::Document, CubicVariant::Rfc9438, CubicVariant::Linux, CubicVariant::Cuback]
    {
        let grown = [true, false].map(|tcp_friendliness| {
            let params = CubicParams { variant: Some(variant), tcp_friendliness, ..CubicParams::default() };
            let mut config =
                WindowedConfig { avoidance: Arc::new(params), slow_start: none(), ..Default::default() };
            config.resolve(Style::Linux);
            let mut flow = Driver::new(&config, MSS * 40, RTT / 10);
            flow.ack(NS, 1, CLEAN);
            flow.lose();
            for _ in 0..40 {
                flow.round(1);
            }
            flow.segments()
        });
        assert!(grown[0] > grown[1] + 5.0, "{variant:?}: {grown:?}");
    }
}
