//! `HighSpeed` TCP: the larger the window, the faster it grows and the less a loss takes.
//!
//! RFC 3649, in the form of Linux's `tcp_highspeed` (spec/congestion-control section 3.5). Reno needs a loss rate of
//! 2e-10 to fill 10 Gbit/s at 100 ms, which no path has. `HighSpeed` TCP has the response function
//! `w = 0.12 / p^0.835` instead, which is a line through two points in logarithmic scales: Reno's at 38 segments (a loss
//! rate of 1e-3, up to where it is fair to Reno) and 83,000 segments at 1e-7. From the decrease `b(w)`, which falls from
//! 0.5 to 0.1 along the same scales, follows the increase `a(w) = w^2 p(w) 2 b(w) / (2 - b(w))` (section 5).
//!
//! RFC 3649 appendix B tabulates both where `a` is a whole number of segments. Linux walks along this table with the
//! window: with each ACK the count (`snd_cwnd_cnt`) grows by the row's number, and a loss takes the row's 256ths. The row is that of the
//! next larger window, so that Linux's increase is rounded up: at 60 segments it is 2, where the formula has 1.3, and the
//! mean window at a loss rate of 1e-3 is 59 segments instead of 40. What slow start leaves of an ACK is not used.

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::Bytes;

use super::{Avoidance, AvoidanceParams, Unit, after_giving_up, crossed_ssthresh};
use crate::controller::CongestionControl;
use crate::sample::{AckSample, PathView};
use crate::windowed::config::Composition;
use crate::windowed::cwnd_cnt::CwndCnt;

/// For each whole increase, from one segment per round trip on: the largest window that has it, and the decrease in
/// 256ths (RFC 3649 appendix B, whose last row Linux leaves out).
const ROWS: [(u64, u32); 72] = [
    (38, 128),
    (118, 112),
    (221, 104),
    (347, 98),
    (495, 93),
    (663, 89),
    (851, 86),
    (1058, 83),
    (1284, 81),
    (1529, 78),
    (1793, 76),
    (2076, 74),
    (2378, 72),
    (2699, 71),
    (3039, 69),
    (3399, 68),
    (3778, 66),
    (4177, 65),
    (4596, 64),
    (5036, 62),
    (5497, 61),
    (5979, 60),
    (6483, 59),
    (7009, 58),
    (7558, 57),
    (8130, 56),
    (8726, 55),
    (9346, 54),
    (9991, 53),
    (10_661, 52),
    (11_358, 52),
    (12_082, 51),
    (12_834, 50),
    (13_614, 49),
    (14_424, 48),
    (15_265, 48),
    (16_137, 47),
    (17_042, 46),
    (17_981, 45),
    (18_955, 45),
    (19_965, 44),
    (21_013, 43),
    (22_101, 43),
    (23_230, 42),
    (24_402, 41),
    (25_618, 41),
    (26_881, 40),
    (28_193, 39),
    (29_557, 39),
    (30_975, 38),
    (32_450, 38),
    (33_986, 37),
    (35_586, 36),
    (37_253, 36),
    (38_992, 35),
    (40_808, 35),
    (42_707, 34),
    (44_694, 33),
    (46_776, 33),
    (48_961, 32),
    (51_258, 32),
    (53_677, 31),
    (56_230, 30),
    (58_932, 30),
    (61_799, 29),
    (64_851, 28),
    (68_113, 28),
    (71_617, 27),
    (75_401, 26),
    (79_517, 26),
    (84_035, 25),
    (89_053, 24),
];

/// The unit of a decrease.
const UNIT: f64 = 256.0;

/// Parameters of `HighSpeed` TCP: none, as in Linux.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 3649; Linux net/ipv4/tcp_highspeed.c", "x-title" = "HighSpeed"))]
pub struct HighspeedParams {}

impl Params for HighspeedParams {
    const NAME: &'static str = "highspeed";
    const SUMMARY: &'static str = "HighSpeed TCP: large windows grow faster and give up less";
}

impl AvoidanceParams for HighspeedParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(Highspeed::default())
    }
}

/// `HighSpeed` TCP's growth.
#[derive(Clone, Debug, Default)]
pub(crate) struct Highspeed {
    /// The present row of the table (RFC 3649 appendix B). The increase is one segment more.
    row: usize,
    /// Growth too small for a segment (RFC 3649 section 5: `a(w) / w` with each ACK).
    cwnd_cnt: CwndCnt,
}

impl Highspeed {
    /// Goes to the row of a window of `w`.
    fn walk_to(&mut self, w: u64) {
        while self.row + 1 < ROWS.len() && w > ROWS[self.row].0 {
            self.row += 1;
        }
        while self.row > 0 && w <= ROWS[self.row - 1].0 {
            self.row -= 1;
        }
    }
}

impl Avoidance for Highspeed {
    const UNIT: Unit = Unit::Segments;

    fn md(&self) -> f64 {
        1.0 - f64::from(ROWS[self.row].1) / UNIT
    }

    fn kept(&self, base: Bytes, factor: f64, mss: Bytes) -> Bytes {
        after_giving_up(base, factor, mss)
    }

    fn clear_cwnd_cnt(&mut self) {
        self.cwnd_cnt.clear();
    }

    /// Grows with the ACK, however much it acknowledges.
    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() || crossed_ssthresh(amount, ack) {
            return cwnd;
        }
        let w = (cwnd / path.mss).max(1);
        self.walk_to(w);
        let increase = self.row as f64 + 1.0;
        cwnd + path.mss * self.cwnd_cnt.add_for_one(w as f64, increase)
    }

    /// `x + a(x)`.
    fn limit(&self, window: Bytes, _ack: &AckSample, path: &PathView) -> Bytes {
        let mut at_window = self.clone();
        at_window.walk_to(window / path.mss);
        window + path.mss * (at_window.row as u64 + 1)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("a_segments", self.row as f64 + 1.0);
        out("md", self.md());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3649 section 5: `b(w)` falls from 0.5 at 38 segments to 0.1 at 83,000 along the logarithm, and `a(w)` follows
    /// from the response function `p(w) = 0.078 / w^1.2`.
    #[test]
    fn the_table_is_that_of_the_formulas() {
        for (row, (w, md)) in ROWS.into_iter().enumerate() {
            let w = w as f64;
            let b = (0.1 - 0.5) * libm::log(w / 38.0) / libm::log(83_000.0 / 38.0) + 0.5;
            let a = w * w * 0.078 / libm::pow(w, 1.2) * 2.0 * b / (2.0 - b);
            assert!((f64::from(md) / UNIT - b).abs() < 0.006, "{w}: {md}/256, not {b}");
            // The published windows are rounded to those at which the increase passes a whole number.
            assert!((a / (row as f64 + 1.0) - 1.0).abs() < 0.02 || row == 0, "{w}: {a}, not {row} + 1");
        }
    }

    /// The row is that of the window, from either side.
    #[test]
    fn a_row_holds_up_to_its_window() {
        let mut highspeed = Highspeed::default();
        for (w, row) in [(1000, 7), (1058, 7), (1059, 8), (118, 1), (38, 0), (39, 1), (1_000_000, 71), (1, 0)]
        {
            highspeed.walk_to(w);
            assert_eq!(highspeed.row, row, "{w}");
        }
    }
}
