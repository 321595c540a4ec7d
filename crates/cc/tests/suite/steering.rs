//! Avoidances that steer: what the window-based controller does with the window that they set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use windtunnel_cc::{
    AckSample, Avoidance, AvoidanceParams, Composition, CongestionControl, ExitReason, Params, PathView,
    Steered, Window, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{CLEAN, Driver, MSS};

const RTT: Duration = Duration::from_millis(100);

/// A helmsman: one order per ACK, in segments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "these tests"))]
struct HelmParams {
    /// ssthresh when the connection starts; none if zero.
    initial_ssthresh: u64,
    /// cwnd and ssthresh to set at each ACK; an ACK without an order, or with zeros, grows as usual.
    orders: Vec<(u64, u64)>,
}

impl Params for HelmParams {
    const NAME: &'static str = "helm";
    const SUMMARY: &'static str = "Sets the window as told";
}

impl AvoidanceParams for HelmParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(Helm { params: self.clone(), next: 0, begun: 0 })
    }
}

#[derive(Clone, Debug)]
struct Helm {
    params: HelmParams,
    next: usize,
    begun: u32,
}

impl Avoidance for Helm {
    const STEERS: bool = true;

    fn md(&self) -> f64 {
        // The decrease changes with what happened: half of the window at first, then a tenth.
        if self.begun == 0 { 0.5 } else { 0.9 }
    }

    fn established(&mut self, window: &mut Window, _path: &PathView) {
        if self.params.initial_ssthresh > 0 {
            window.ssthresh = MSS * self.params.initial_ssthresh;
        }
    }

    fn steer(&mut self, window: &mut Window, _ack: &AckSample, _path: &PathView) -> Steered {
        let order = self.params.orders.get(self.next).copied().filter(|order| *order != (0, 0));
        self.next += 1;
        let Some((cwnd, ssthresh)) = order else { return Steered::Grow };
        *window = Window { cwnd: MSS * cwnd, ssthresh: MSS * ssthresh };
        Steered::Done
    }

    fn begin(&mut self, _cwnd: Bytes, _path: &PathView) {
        self.begun += 1;
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, _ack: &AckSample, _path: &PathView) -> Bytes {
        cwnd + amount / 10
    }
}

fn helm(initial_ssthresh: u64, orders: &[(u64, u64)]) -> Driver {
    let avoidance = Arc::new(HelmParams { initial_ssthresh, orders: orders.to_vec() });
    Driver::new(&WindowedConfig { avoidance, ..WindowedConfig::default() }, MSS * 10, RTT)
}

fn ack(driver: &mut Driver, segments: u64) {
    driver.ack(RTT / 10, segments, CLEAN);
}

/// ssthresh at or below cwnd ends slow start, for a reason of the path's delay; the ACK does not grow the window.
#[test]
fn an_order_ends_slow_start() {
    let mut driver = helm(0, &[(0, 0), (9, 9)]);
    ack(&mut driver, 1);
    assert!(!driver.avoids());
    assert_eq!(driver.cwnd(), MSS * 11, "slow start");
    ack(&mut driver, 1);
    assert!(driver.avoids());
    assert_eq!((driver.cwnd(), driver.cc.slow_start_exit()), (MSS * 9, Some(ExitReason::Delay)));
    ack(&mut driver, 1);
    assert_eq!(driver.cwnd(), MSS * 9 + MSS / 10, "avoidance grows from here");
}

/// ssthresh above cwnd takes the flow back to slow start, up to ssthresh; the rest of the ACK is the avoidance's.
#[test]
fn an_order_resumes_slow_start() {
    let mut driver = helm(0, &[(20, 20), (10, 12)]);
    ack(&mut driver, 1);
    assert!(driver.avoids());
    ack(&mut driver, 1);
    assert!(!driver.avoids());
    ack(&mut driver, 4);
    assert!(driver.avoids());
    assert_eq!(driver.cwnd(), MSS * 12 + MSS * 2 / 10);
}

/// A threshold that is known from the start ends the first slow start there (RFC 5681 section 3.1).
#[test]
fn slow_start_ends_at_the_initial_threshold() {
    let mut driver = helm(15, &[]);
    ack(&mut driver, 3);
    assert!(!driver.avoids());
    ack(&mut driver, 4);
    assert!(driver.avoids());
    assert_eq!(driver.cc.slow_start_exit(), Some(ExitReason::Threshold));
    assert_eq!(driver.cwnd(), MSS * 15 + MSS * 2 / 10);
}

/// The multiplicative decrease is read when it is needed: it may change from one response to the next.
#[test]
fn the_decrease_may_change() {
    let mut first = helm(0, &[]);
    first.lose();
    assert_eq!(first.cwnd(), MSS * 5, "before avoidance started");
    let mut second = helm(0, &[(10, 10)]);
    ack(&mut second, 1);
    second.lose();
    assert_eq!(second.cwnd(), MSS * 9);
}
