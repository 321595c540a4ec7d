//! DCTCP, ABE and the published responses to SCE: the numbers of spec/congestion-control sections 3.19 and 3.21 and of
//! spec/queues-and-signalling section 15.3.

use std::sync::Arc;

use windtunnel_cc::{
    AbeParams, AvoidanceParams, CubicParams, CubicVariant, DctcpArithmetic, DctcpParams, DctcpSceParams,
    Feedback, PacingNeed, Params, RandomStream, RenoParams, ResponseParams, SceParams, StandardParams, Style,
    WindowedConfig,
};
use windtunnel_units::{Duration, Probability};

use crate::driver::{CE, CLEAN, Driver, MSS, Marks, SCE};
use crate::parts::none;

const RTT: Duration = Duration::from_millis(80);
const NS: Duration = Duration::from_nanos(1);

fn reno() -> Arc<dyn AvoidanceParams> {
    Arc::new(RenoParams::default())
}

fn cubic() -> Arc<dyn AvoidanceParams> {
    Arc::new(CubicParams { variant: Some(CubicVariant::Linux), ..CubicParams::default() })
}

/// In congestion avoidance from the start, as Linux counts.
fn avoiding(avoidance: Arc<dyn AvoidanceParams>, response: impl ResponseParams) -> WindowedConfig {
    let mut config = WindowedConfig { avoidance, slow_start: none(), response: Arc::new(response) };
    config.resolve(Style::Linux);
    config
}

fn dctcp(arithmetic: DctcpArithmetic, alpha: u32) -> WindowedConfig {
    avoiding(reno(), DctcpParams { arithmetic, dctcp_alpha_on_init: alpha, ..DctcpParams::default() })
}

/// The mean window in segments and the share of marked segments, with marks of probability `p` on each segment.
fn with_random_marks(config: &WindowedConfig, p: f64, marks: Marks, start: u64) -> (f64, f64) {
    let mut flow = Driver::new(config, MSS * start, RTT);
    let mut random = RandomStream::new(1);
    let chance = Probability::clamped(p);
    let (mut sum, mut count) = (0.0, 0_u32);
    for segment in 0..400_000_u32 {
        let gap = RTT / (flow.cwnd() / MSS).max(1);
        // In the sender, congestion window reduction bars growth for a round: CE alone starts one.
        let marked = random.chance(chance);
        flow.ack(gap, 1, if marked { marks } else { CLEAN });
        if segment >= 50_000 {
            // Each ACK counts for the time that it takes.
            sum += 1.0 / flow.segments();
            count += 1;
        }
    }
    (f64::from(count) / sum, p)
}

/// Section 3.19: alpha = 0.5 takes a quarter of 100 segments; alpha = 1 takes half; 100 of 1024ths take floor(100 * 100 / 2048).
#[test]
fn dctcp_decreases_by_half_of_alpha() {
    // The first ACK ends a round without marks, which takes a sixteenth of alpha; the marked one is in a round that lasts.
    for (alpha, decayed, left) in [(546, 512, 75), (1024, 960, 54), (106, 100, 96), (10, 0, 100)] {
        let mut flow = Driver::new(&dctcp(DctcpArithmetic::Linux, alpha), MSS * 100, RTT);
        flow.ack(NS, 1, CLEAN);
        assert_eq!(flow.probe("alpha"), Some(f64::from(decayed) / 1024.0));
        flow.ack(NS, 1, CE);
        assert_eq!(flow.cwnd(), MSS * left, "alpha {decayed}");
    }
    let mut flow = Driver::new(&dctcp(DctcpArithmetic::Rfc8257, 512), MSS * 100, RTT);
    flow.ack(NS, 1, CE);
    // The first ACK ends the round: alpha = 0.5 + (1 - 0.5) / 16, and 100 * (1 - 0.53125 / 2) = 73.4.
    assert_eq!(flow.cwnd(), MSS * 73);
}

/// Section 3.19: Linux's average in 1024ths. With F = 1 from 0: 64, 124 (64 - 4 + 64), 181; below 16 it falls to 0 at once.
#[test]
fn alpha_in_1024ths() {
    let averaged = |alpha: u32, marks: Marks, rounds: usize| -> Vec<f64> {
        let mut flow = Driver::new(&dctcp(DctcpArithmetic::Linux, alpha), MSS * 10, RTT);
        let mut values = Vec::new();
        for _ in 0..rounds {
            // All of the window in one ACK.
            let window = flow.cwnd() / MSS;
            let scaled = Marks { ce: marks.ce * window as u32, ..marks };
            flow.ack(RTT, window, scaled);
            values.push(flow.probe("alpha").expect("alpha") * 1024.0);
        }
        values
    };
    assert_eq!(averaged(0, CE, 3), [64.0, 124.0, 181.0]);
    assert_eq!(averaged(16, CLEAN, 2), [15.0, 0.0]);
    assert_eq!(averaged(1024, CLEAN, 3), [960.0, 900.0, 844.0]);
}

/// RFC 8257 section 3.5 and Linux: a loss halves the window whatever alpha is.
#[test]
fn dctcp_halves_on_loss() {
    let mut flow = Driver::new(&dctcp(DctcpArithmetic::Linux, 100), MSS * 100, RTT);
    flow.lose();
    assert_eq!(flow.cwnd(), MSS * 50);
}

/// A loss on the way down to what CE left (Linux `dctcp_react_to_loss`, called on the entry to Recovery from CWR as well): the half
/// is of the window in force, 90 segments, not of the 74 that CE leaves (alpha is 512 - 32 + 64 then).
#[test]
fn dctcp_halves_the_window_in_force() {
    let mut flow = Driver::new(&dctcp(DctcpArithmetic::Linux, 512), MSS * 100, RTT);
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cwnd(), MSS * 74);
    flow.lose_within(MSS * 90, MSS * 90);
    assert_eq!(flow.cwnd(), MSS * 45);
}

/// The marks of an ACK count in the answer to them: a window that is marked as a whole takes alpha + 1/16 (Linux calls
/// `in_ack_event` before it enters CWR).
#[test]
fn marks_count_before_they_are_answered() {
    let mut flow = Driver::new(&dctcp(DctcpArithmetic::Linux, 0), MSS * 100, RTT);
    flow.ack(NS, 10, Marks { ce: 10, sce: 0 });
    // 100 * 64 / 2048 = 3.125
    assert_eq!(flow.cwnd(), MSS * 97);
}

/// Section 3.19: at random marks of probability p a flow has about 2 / p segments.
#[test]
fn dctcp_at_random_marks() {
    for (p, tolerance) in [(0.05, 0.12), (0.02, 0.12)] {
        let (mean, _) = with_random_marks(&dctcp(DctcpArithmetic::Rfc8257, 1024), p, CE, 50);
        let law = 2.0 / p;
        assert!((mean / law - 1.0).abs() < tolerance, "{mean:.1} segments at {p}, not {law:.1}");
    }
}

/// Section 3.21 and RFC 8511: W = 100: Reno 80, CUBIC 85 on CE; a loss as before; fast convergence with `beta_ecn`.
#[test]
fn abe_is_gentler_on_ce_alone() {
    for (avoidance, ce, loss) in [(reno(), 80, 50), (cubic(), 85, 70)] {
        let config = avoiding(avoidance, AbeParams::default());
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        assert_eq!(flow.ack(NS, 1, CE), Some(true));
        assert_eq!(flow.cwnd(), MSS * ce);
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.lose();
        assert_eq!(flow.cwnd(), MSS * loss);
    }
    // The second response is below the first plateau: 85 * (1 + 0.85) / 2 = 78.6, not 85 * (1 + 0.7) / 2 = 72.2.
    let mut flow = Driver::new(&avoiding(cubic(), AbeParams::default()), MSS * 100, RTT);
    flow.ack(NS, 1, CE);
    flow.ack(NS, 200, CE);
    assert_eq!(flow.probe("w_max_segments"), Some(78.0));
    assert!(AbeParams { beta_ecn: Some(1.0) }.check().is_err());
}

/// Section 15.3: one SCE takes g / sqrt(W) of a segment from Reno-SCE and CUBIC-SCE and half a segment from DCTCP-SCE; nothing
/// grows on that ACK; fractions of bytes are carried.
#[test]
fn one_sce_takes_part_of_a_segment() {
    let reno_sce = |g| avoiding(reno(), SceParams { g, ..SceParams::default() });
    for (config, cut) in [
        (reno_sce(1.0), 0.1),
        (reno_sce(0.5), 0.05),
        (avoiding(reno(), DctcpSceParams::default()), 0.5),
        (avoiding(cubic(), SceParams::default()), 0.1),
    ] {
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.ack(NS, 1, SCE);
        assert!((100.0 - flow.segments() - cut).abs() < 1e-3, "{}", flow.segments());
        assert_eq!(config.response.feedback(), Feedback::PlainSce);
        assert_eq!(flow.cc.needs().pacing, PacingNeed::Window);
    }
}

/// Section 15.3: CE takes a quarter, an eighth with a recent SCE; CUBIC its 0.3 and an eighth; a loss half, or CUBIC's 0.3.
/// "Recent" ends after W + 1 ACKs.
#[test]
fn ce_with_and_without_recent_sce() {
    for (avoidance, ce, loss) in [(reno(), 75, 50), (cubic(), 70, 70)] {
        let config = avoiding(avoidance, SceParams::default());
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.ack(NS, 1, CE);
        assert_eq!(flow.cwnd(), MSS * ce);
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.lose();
        assert_eq!(flow.cwnd(), MSS * loss);
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.barred = true;
        flow.ack(NS, 1, SCE);
        let before = flow.cwnd();
        flow.ack(NS, 1, CE);
        let kept = (before / MSS) * 7 / 8;
        assert_eq!(flow.cwnd(), MSS * kept);
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.barred = true;
        flow.ack(NS, 1, SCE);
        for _ in 0..101 {
            flow.ack(NS, 1, CLEAN);
        }
        flow.ack(NS, 1, CE);
        assert!(flow.cwnd() <= MSS * ce, "no SCE is recent");
    }
}

/// Section 15.3 rule (d): spread, the quarter is taken in parts of a quarter of a segment for each one acknowledged with ECE.
#[test]
fn ce_spread_over_the_round() {
    let config = avoiding(reno(), SceParams { ce_spread: true, ..SceParams::default() });
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.barred = true;
    assert_eq!(flow.ack(NS, 1, CE), Some(true), "CWR tells the receiver");
    assert!((flow.segments() - 99.75).abs() < 1e-3);
    for _ in 1..100 {
        flow.ack(NS, 1, CE);
    }
    assert!((flow.segments() - 75.0).abs() < 0.1, "{}", flow.segments());
}

/// Section 15.3: the first SCE ends slow start; ssthresh is half of cwnd, which itself only gives way by the response.
#[test]
fn the_first_sce_ends_slow_start() {
    let slow_start = Arc::new(StandardParams::default());
    let response = Arc::new(SceParams::default());
    let mut config = WindowedConfig { avoidance: reno(), slow_start, response };
    config.resolve(Style::Linux);
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.ack(NS, 1, CLEAN);
    assert!(!flow.avoids());
    flow.ack(NS, 1, SCE);
    assert!(flow.avoids());
    assert!((flow.segments() - (101.0 - 1.0 / 101.0_f64.sqrt())).abs() < 1e-3, "{}", flow.segments());
    assert_eq!(flow.cc.control().ssthresh, MSS * 101 / 2);
}

/// Section 15.3, equilibrium test points: at a share m of marks, Reno-SCE settles where `m = 1 / (1 + g sqrt(W))`, DCTCP-SCE
/// where `m = 2 / (W + 2)`: 5.2 % and 7.2 %, 0.60 % and 1.19 % for 333 and 167 segments.
#[test]
fn equilibrium_of_growth_and_sce() {
    let reno_sce = avoiding(reno(), SceParams::default());
    let dctcp_sce = avoiding(reno(), DctcpSceParams::default());
    for (config, m, w) in [
        (&reno_sce, 0.0520, 333.0),
        (&reno_sce, 0.0719, 167.0),
        (&dctcp_sce, 0.0060, 333.0),
        (&dctcp_sce, 0.0119, 167.0),
    ] {
        let (mean, _) = with_random_marks(config, m, SCE, w as u64);
        assert!((mean / w - 1.0).abs() < 0.06, "{mean:.1} segments at {m}, not {w}");
    }
}

/// Section 15.3 rule (f): an SCE moves CUBIC's plateau to the present, in all variants: the window then waits on the plateau.
#[test]
fn sce_flatten_the_cubic() {
    for variant in [CubicVariant::Linux, CubicVariant::Rfc9438, CubicVariant::Document, CubicVariant::Cuback]
    {
        let avoidance = Arc::new(CubicParams { variant: Some(variant), ..CubicParams::default() });
        let grown = |marks: Marks| {
            let mut flow = Driver::new(&avoiding(avoidance.clone(), SceParams::default()), MSS * 1000, RTT);
            flow.ack(NS, 1, CE);
            // Well into the convex part, where the cubic grows fast.
            for _ in 0..250 {
                flow.round(1);
            }
            let before = flow.segments();
            flow.ack(NS, 1, marks);
            for _ in 0..5 {
                flow.round(1);
            }
            flow.segments() - before
        };
        let (with, without) = (grown(SCE), grown(CLEAN));
        assert!(with < without / 4.0, "{variant:?}: {with:.1} with an SCE, {without:.1} without");
    }
}

/// What is outside of its domain is refused with the key.
#[test]
fn parameters_out_of_range() {
    let key = |error: Result<(), windtunnel_cc::OutOfRange>| error.expect_err("out of range").to_string();
    assert!(key(DctcpParams { dctcp_shift_g: 11, ..DctcpParams::default() }.check()).contains("0 to 10"));
    assert!(
        key(DctcpParams { dctcp_alpha_on_init: 1025, ..DctcpParams::default() }.check()).contains("1024")
    );
    assert!(key(SceParams { g: 0.0, ..SceParams::default() }.check()).contains("more than 0"));
    assert!(key(SceParams { ce_md: Some(1.0), ..SceParams::default() }.check()).contains("ce_md"));
    assert!(
        key(DctcpSceParams { ce_md_recent: 0.0, ..DctcpSceParams::default() }.check())
            .contains("ce_md_recent")
    );
}
