//! The variants that count in whole segments or with each ACK: Linux's and RFC 5681's, number by number.

use std::any::Any;
use std::sync::Arc;

use serde_json::Value;

use std::num::NonZeroU32;

use windtunnel_cc::{
    AimdGrowth, AimdParams, AvoidanceParams, ConventionalParams, CubicParams, CubicVariant, MdsParams,
    RenoParams, ScalableParams, ScalableVariant, SlowStartGrowth, StandardParams, Style, WindowedConfig,
    scaled_md,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{CE, CLEAN, Driver, MSS, SCE};
use crate::parts::{none, plain_reno, standard};

const RTT: Duration = Duration::from_millis(100);
const NS: Duration = Duration::from_nanos(1);

/// `avoidance` in Linux's style, from the first ACK on.
fn avoiding(avoidance: Arc<dyn AvoidanceParams>) -> WindowedConfig {
    let mut config = WindowedConfig { avoidance, slow_start: none(), ..Default::default() };
    config.resolve(Style::Linux);
    config
}

fn flow(avoidance: Arc<dyn AvoidanceParams>, segments: u64) -> Driver {
    let mut flow = Driver::new(&avoiding(avoidance), MSS * segments, RTT);
    // The ACK that starts congestion avoidance does not count.
    flow.barred = true;
    flow.ack(NS, 1, CLEAN);
    flow.barred = false;
    flow
}

fn reno() -> Arc<dyn AvoidanceParams> {
    plain_reno()
}

fn scalable(variant: ScalableVariant) -> Arc<dyn AvoidanceParams> {
    Arc::new(ScalableParams { variant: Some(variant), ..Default::default() })
}

/// Linux `tcp_current_ssthresh`: ssthresh keeps a half and a quarter of an unused window, each rounded down: of 11 segments 5 + 2, of
/// 23, 11 + 5.
#[test]
fn what_of_an_unused_window_is_remembered() {
    let cubic: Arc<dyn AvoidanceParams> = Arc::new(CubicParams::default());
    for avoidance in [reno(), cubic, scalable(ScalableVariant::Linux)] {
        for (segments, kept) in [(11, 7), (23, 16)] {
            let mut flow = flow(Arc::clone(&avoidance), 6);
            flow.lose();
            while flow.cwnd() < MSS * segments {
                flow.ack(Duration::from_millis(10), 1, CLEAN);
            }
            assert_eq!(flow.cwnd(), MSS * segments);
            flow.validate(MSS * 5);
            assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * 5, MSS * kept), "{avoidance:?}");
        }
    }
}

/// spec/congestion-control section 0.4: at ten segments, ten ACKs of one segment or five ACKs of two add one segment.
/// An ACK of 25 adds two; its remainder and five more acknowledged segments make 10 of the 12 that the next one needs.
#[test]
fn reno_grows_by_whole_segments() {
    for (acks, segments) in [(10, 1), (5, 2)] {
        let mut flow = flow(reno(), 10);
        for _ in 1..acks {
            flow.ack(NS, segments, CLEAN);
            assert_eq!(flow.cwnd(), MSS * 10);
        }
        flow.ack(NS, segments, CLEAN);
        assert_eq!(flow.cwnd(), MSS * 11);
    }
    let mut flow = flow(reno(), 10);
    flow.ack(NS, 25, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 12);
    flow.ack(NS, 6, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 12);
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 13);
}

/// spec/congestion-control section 6.2 item 2: one ACK of 44 segments grows Reno at 50 by one or not at all, by credit.
#[test]
fn a_stretch_ack_counts_all_that_it_acknowledges() {
    let mut flow = flow(reno(), 50);
    flow.ack(NS, 44, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 50);
    flow.ack(NS, 44, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 51);
}

/// spec/congestion-control section 0.4: the credit is lost at a reduction. Section 3.2: floor(W/2), two at least.
#[test]
fn reno_halves_to_whole_segments_and_loses_its_credit() {
    for (before, after) in [(25, 12), (5, 2), (3, 2), (2, 2)] {
        let mut flow = flow(reno(), before);
        flow.ack(NS, before - 1, CLEAN);
        flow.lose();
        assert_eq!(flow.cwnd(), MSS * after);
        assert_eq!(flow.cc.control().ssthresh, MSS * after);
        flow.ack(NS, after - 1, CLEAN);
        assert_eq!(flow.cwnd(), MSS * after, "the credit is lost");
        flow.ack(NS, 1, CLEAN);
        assert_eq!(flow.cwnd(), MSS * (after + 1));
    }
}

/// spec/congestion-control section 3.2: without loss, growing from 50 to 100 takes 50 round trips, in which 3/8 100^2 =
/// 3750 segments are acknowledged (the sum of 50 ... 99 is 3725, half a segment of W per round trip less).
#[test]
fn renos_sawtooth() {
    let mut flow = flow(reno(), 100);
    flow.lose();
    let (mut rounds, mut segments) = (0, 0);
    while flow.segments() < 100.0 {
        segments += flow.cwnd() / MSS;
        rounds += 1;
        flow.round(1);
    }
    assert_eq!((rounds, segments), (50, 3725));
}

/// spec/congestion-control section 3.1: AIMD(a, b) adds a segment for each W / a acknowledged, fractions kept: 18.9 at
/// ten segments and a = 0.529; a response keeps floor(b W).
#[test]
fn aimd_keeps_fractions_of_credit() {
    let params = AimdParams { a: 0.529, b: 0.7, growth: Some(AimdGrowth::Linux) };
    let mut flow = flow(Arc::new(params), 10);
    let mut needed = |segments| {
        let mut acks = 0;
        while flow.cwnd() < MSS * segments {
            flow.ack(NS, 1, CLEAN);
            acks += 1;
        }
        acks
    };
    // 18.90, then 20.79 less the credit of 0.10 left over.
    assert_eq!(needed(11), 19);
    assert_eq!(needed(12), 21);
    flow.lose();
    assert_eq!(flow.cwnd(), MSS * 8, "floor(8.4)");
}

/// RFC 5681 section 3.1 equation 3: SMSS * SMSS / cwnd with each ACK, for any amount acknowledged; a segment after
/// eleven ACKs at ten segments (1/10 + ... of growing windows), and half of it with delayed ACKs.
#[test]
fn per_ack_growth_counts_acks() {
    let per_ack = || Arc::new(RenoParams::classic());
    for segments in [1, 2, 10] {
        let mut flow = flow(per_ack(), 10);
        flow.ack(NS, segments, CLEAN);
        assert_eq!(flow.cwnd(), MSS * 10 + Bytes::new(144), "1448 / 10, whole bytes");
        flow.ack(NS, segments, CLEAN);
        // 144.8 + 1448^2 / 14624 = 144.8 + 143.37
        assert_eq!(flow.cwnd(), MSS * 10 + Bytes::new(288));
    }
    // W^2 grows by two with each ACK: from 10 to 20 takes (400 - 100) / 2 ACKs, less the 1/W^2 terms of about ln 2.
    let mut flow = flow(per_ack(), 10);
    let mut acks = 0;
    while flow.segments() < 20.0 {
        flow.ack(NS, 1, CLEAN);
        acks += 1;
    }
    assert!((149..=150).contains(&acks), "{acks}");
    flow.lose();
    assert_eq!(flow.cwnd(), (MSS * 20 + (flow.cwnd() * 2 - MSS * 20)) / 2);
}

/// RFC 2525 section 2.6: 4.3BSD-Reno adds an eighth of a segment to each increase.
#[test]
fn bsd_adds_an_eighth() {
    let mut flow = flow(Arc::new(RenoParams::bsd()), 10);
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 10 + Bytes::new(144 + 181), "144.8 + 181 bytes");
}

/// spec/congestion-control section 3.4: at 1000 segments, 700 acknowledged segments add seven; below 100 Scalable
/// behaves as Reno; a loss at 100 leaves 88, since it gives up floor(100/8) = 12.
#[test]
fn scalable_grows_by_a_hundredth() {
    let mut large = flow(scalable(ScalableVariant::Linux), 1000);
    (0..700).for_each(|_| {
        large.ack(NS, 1, CLEAN);
    });
    assert_eq!(large.cwnd(), MSS * 1007);

    let mut small = flow(scalable(ScalableVariant::Linux), 50);
    small.ack(NS, 49, CLEAN);
    assert_eq!(small.cwnd(), MSS * 50);
    small.ack(NS, 1, CLEAN);
    assert_eq!(small.cwnd(), MSS * 51);

    for (before, after) in [(100, 88), (7, 7), (8, 7), (1001, 876)] {
        let mut flow = flow(scalable(ScalableVariant::Linux), before);
        flow.lose();
        assert_eq!(flow.cwnd(), MSS * after, "from {before}");
    }
}

/// spec/congestion-control section 3.4: back from 7/8 in ln(8/7)/ln(1.01) = 13.4 round trips, from any window.
#[test]
fn scalable_recovers_in_thirteen_round_trips() {
    for variant in [ScalableVariant::Linux, ScalableVariant::Paper] {
        for segments in [800, 8000] {
            let mut flow = flow(scalable(variant), segments);
            flow.lose();
            let mut rounds = 0;
            while flow.cwnd() < MSS * segments {
                flow.round(1);
                rounds += 1;
            }
            assert_eq!(rounds, 14, "{variant:?} at {segments}");
        }
    }
}

/// Kelly 2003: up to lwnd, 16 segments, Scalable is Reno: it grows by 1/W with each ACK and halves on a loss; above, it
/// grows by 1/100 and gives up an eighth.
#[test]
fn kellys_scalable_is_reno_up_to_lwnd() {
    let mut small = flow(scalable(ScalableVariant::Paper), 16);
    small.ack(NS, 2, CLEAN);
    assert_eq!(small.cwnd(), MSS * 16 + Bytes::new(90), "1448 / 16 = 90.5");
    let mut small = flow(scalable(ScalableVariant::Paper), 16);
    small.lose();
    assert_eq!(small.cwnd(), MSS * 8);
    let mut large = flow(scalable(ScalableVariant::Paper), 24);
    large.ack(NS, 2, CLEAN);
    assert_eq!(large.cwnd(), MSS * 24 + Bytes::new(14), "1448 / 100 = 14.48");
    let mut large = flow(scalable(ScalableVariant::Paper), 24);
    large.lose();
    assert_eq!(large.cwnd(), MSS * 21);
}

/// spec/congestion-control sections 0.1, 6.2: an SCE scales the window in bytes (by less than a segment at 50) and
/// leaves the credit; a CE is answered in whole segments, and alternative backoff (RFC 8511) by its own factor.
#[test]
fn sce_scale_bytes_and_ce_segments() {
    let response = Arc::new(MdsParams::default());
    let mut config = WindowedConfig { response, ..avoiding(reno()) };
    let mut flow = Driver::new(&config, MSS * 50, RTT);
    flow.ack(NS, 49, CLEAN);
    flow.ack(NS, 1, SCE);
    let scaled = (MSS * 50).scale(scaled_md(0.5, MdsParams::default().tau));
    assert_eq!(flow.cwnd(), scaled);
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), scaled + MSS, "50 credits at 49 segments");
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cwnd(), MSS * 25);

    config.response = Arc::new(ConventionalParams { ce_md: Some(0.85) });
    let mut flow = Driver::new(&config, MSS * 50, RTT);
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cwnd(), MSS * 42, "floor(42.5)");
}

fn slow_start(growth: SlowStartGrowth, l: u32) -> Driver {
    let l = NonZeroU32::new(l).expect("from 1 on");
    let slow_start = StandardParams { growth: Some(growth), l, ..StandardParams::default() };
    let slow_start = Arc::new(slow_start);
    let mut config = WindowedConfig { slow_start, ..Default::default() };
    config.resolve(Style::Linux);
    Driver::new(&config, MSS * 10, RTT)
}

/// spec/congestion-control section 1.4 and RFC 3465 section 2.2: windows per round trip from IW 10; an ACK of 44
/// segments grows by all of it in Linux (section 6.2 item 2), by L segments with byte counting, by one with RFC 5681.
#[test]
fn slow_starts_differ_in_what_they_count() {
    let table = [
        (SlowStartGrowth::Linux, 2, 44, [10, 20, 40, 80]),
        (SlowStartGrowth::Abc, 2, 2, [10, 20, 40, 80]),
        (SlowStartGrowth::Abc, 1, 1, [10, 15, 22, 33]),
        (SlowStartGrowth::PerAck, 2, 1, [10, 15, 22, 33]),
    ];
    for (growth, l, stretch, windows) in table {
        let mut flow = slow_start(growth, l);
        for w in windows {
            assert_eq!(flow.cwnd(), MSS * w, "{growth:?}");
            flow.round(2);
        }
        let mut flow = slow_start(growth, l);
        flow.ack(NS, 44, CLEAN);
        assert_eq!(flow.cwnd(), MSS * (10 + stretch), "{growth:?}");
    }
}

/// RFC 3465 section 2.3: in the window after a timeout L is one.
#[test]
fn byte_counting_is_careful_after_a_timeout() {
    let mut flow = slow_start(SlowStartGrowth::Abc, 2);
    flow.ack(NS, 10, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 12);
    // ssthresh is six: twelve segments were in flight.
    flow.time_out(true);
    flow.ack(NS, 11, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 2, "one of them is still in flight");
    flow.ack(NS, 1, CLEAN);
    flow.ack(NS, 2, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 5, "everything in flight is acknowledged");
}

/// RFC 3168 section 6.1.2: CE in slow start halves the window and ends slow start; in the style of the document it only
/// ends it.
#[test]
fn ce_in_slow_start_is_answered() {
    let mut flow = slow_start(SlowStartGrowth::Linux, 2);
    assert_eq!(flow.ack(NS, 1, CE), Some(true));
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * 5, MSS * 5));
    assert!(flow.avoids());
    assert_eq!(flow.ack(NS, 1, CE), Some(false), "once per round");

    let config = WindowedConfig { slow_start: standard(), ..Default::default() };
    let mut flow = Driver::new(&config, MSS * 10, RTT);
    assert_eq!(flow.ack(NS, 1, CE), Some(true));
    assert_eq!(flow.cwnd(), MSS * 10);
}

/// A resolved configuration states everything that runs, keeps choices, and does not change when resolved again.
#[test]
fn resolving_fills_in_what_was_left_out() {
    let mut config = WindowedConfig { avoidance: scalable(ScalableVariant::Paper), ..Default::default() };
    config.resolve(Style::Linux);
    let avoidance = serde_json::json!({
        "variant": "paper", "inv_a": 100, "b": 0.125, "lwnd": "23168 B", "growth": "per-ack"
    });
    assert_eq!(Value::Object(config.avoidance.to_map()), avoidance);
    let slow_start = config.slow_start.to_map();
    assert_eq!((&slow_start["growth"], &slow_start["exit"]), (&"linux".into(), &"md".into()));

    let once = config.clone();
    config.resolve(Style::Document);
    assert_eq!(config, once);

    for (style, c, beta) in [(Style::Document, 0.4, 0.7), (Style::Linux, 410.0 / 1024.0, 717.0 / 1024.0)] {
        let avoidance = Arc::new(CubicParams::default());
        let mut config = WindowedConfig { avoidance, ..Default::default() };
        config.resolve(style);
        let params: &dyn Any = &*config.avoidance;
        let params = params.downcast_ref::<CubicParams>().expect("CUBIC stays CUBIC");
        assert_eq!((params.c, params.beta), (Some(c), Some(beta)));
    }
}

/// spec/mds section 3: ACKs that echo marks grow Linux's CUBIC unless told otherwise; clean ones always do. SCE marks alone,
/// so that no reduction bars the growth.
#[test]
fn marked_acks_grow_cubic_by_choice() {
    for (grow_on_marked, marks, grows) in
        [(true, SCE, true), (false, SCE, false), (false, CLEAN, true), (true, CLEAN, true)]
    {
        let variant = Some(CubicVariant::Linux);
        let mut cubic = flow(Arc::new(CubicParams { variant, grow_on_marked, ..CubicParams::default() }), 10);
        for _ in 0..40 {
            cubic.ack(RTT / 10, 1, marks);
        }
        assert_eq!(cubic.cwnd() > MSS * 10, grows, "{grow_on_marked} {marks:?}");
    }
}
