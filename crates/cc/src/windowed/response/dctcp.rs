//! DCTCP's response: CE is answered in proportion to the share of segments that were marked (RFC 8257; Linux
//! `net/ipv4/tcp_dctcp.c`; spec/congestion-control section 3.19).
//!
//! Once per round trip the share F of marked segments enters an average, `alpha += g (F - alpha)` with g = 1/16 (RFC 8257
//! section 4.2: an average over about as many round trips as a sawtooth has with one flow). CE leaves `1 - alpha / 2` of
//! cwnd, once per round: marks of a whole round halve it, as CE does elsewhere. alpha starts at 1, so that a flow whose first
//! marks come late in slow start is not too bold (section 4.2). A loss is answered as Reno does. Without ECN nothing is
//! marked, so DCTCP is then Reno.
//!
//! Linux computes in 1024ths: the average loses what is below them, and an alpha of less than 16/1024 decays to zero at once.
//! Linux counts segments, the RFC bytes.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Seq};

use super::{Kept, Moment, Response, ResponseParams};
use crate::needs::Feedback;
use crate::sample::{Delivery, Marked, PathView};

/// Linux's alpha of one: `DCTCP_MAX_ALPHA`.
const ONE: u64 = 1024;

/// The largest shift with which a share in 1024ths still counts.
const LARGEST_SHIFT: u32 = 10;

/// How alpha is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DctcpArithmetic {
    /// In 1024ths, from counts of segments (Linux).
    #[default]
    Linux,
    /// In real numbers, from counts of bytes (RFC 8257).
    Rfc8257,
}

/// DCTCP's response. The names of its numbers are those of Linux's module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "RFC 8257; Linux net/ipv4/tcp_dctcp.c",
    "x-title" = "DCTCP",
    "x-traits" = ["scalable"]
))]
pub struct DctcpParams {
    /// How alpha is computed.
    pub arithmetic: DctcpArithmetic,
    /// The gain of the average is 2 to minus this power.
    #[schemars(range(max = 10))]
    pub dctcp_shift_g: u32,
    /// alpha at the start, in 1024ths.
    #[schemars(range(max = 1024))]
    pub dctcp_alpha_on_init: u32,
}

impl Default for DctcpParams {
    fn default() -> DctcpParams {
        DctcpParams { arithmetic: DctcpArithmetic::default(), dctcp_shift_g: 4, dctcp_alpha_on_init: 1024 }
    }
}

impl Params for DctcpParams {
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "CE is answered in proportion to the share of marked segments (DCTCP)";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.dctcp_shift_g > LARGEST_SHIFT {
            return Err(OutOfRange::new("dctcp_shift_g", self.dctcp_shift_g, "0 to 10"));
        }
        if u64::from(self.dctcp_alpha_on_init) > ONE {
            return Err(OutOfRange::new("dctcp_alpha_on_init", self.dctcp_alpha_on_init, "0 to 1024"));
        }
        Ok(())
    }
}

impl ResponseParams for DctcpParams {
    fn feedback(&self) -> Feedback {
        Feedback::Shares
    }

    fn follows_deliveries(&self) -> bool {
        true
    }

    fn build(&self, _md: f64) -> Box<dyn Response> {
        let start = u64::from(self.dctcp_alpha_on_init);
        Box::new(Dctcp {
            shift: self.dctcp_shift_g,
            alpha: match self.arithmetic {
                DctcpArithmetic::Linux => Alpha::Linux(start),
                DctcpArithmetic::Rfc8257 => Alpha::Rfc8257(start as f64 / ONE as f64),
            },
            // The round ends with the first ACK of data: alpha has been averaged once before the first window was sent.
            window_end: Seq::FIRST_DATA,
            delivered: Marked::default(),
            marked: Marked::default(),
        })
    }
}

/// The average share of marked segments.
#[derive(Clone, Copy, Debug)]
enum Alpha {
    /// In 1024ths.
    Linux(u64),
    Rfc8257(f64),
}

impl Alpha {
    fn average(&mut self, marked: Marked, delivered: Marked, shift: u32) {
        match self {
            Alpha::Linux(alpha) => {
                let decay = *alpha >> shift;
                *alpha -= if decay == 0 { *alpha } else { decay };
                let share = (u64::from(marked.packets) << (10 - shift)) / u64::from(delivered.packets.max(1));
                *alpha = (*alpha + share).min(ONE);
            }
            Alpha::Rfc8257(alpha) => {
                let gain = 1.0 / f64::from(1_u32 << shift);
                let share = marked.bytes.as_f64() / delivered.bytes.as_f64().max(1.0);
                *alpha = (*alpha + gain * (share - *alpha)).min(1.0);
            }
        }
    }

    /// What CE leaves of cwnd.
    fn answer(self, at: &Moment) -> Kept {
        match self {
            Alpha::Linux(alpha) => {
                let segments = at.cwnd / at.mss;
                Kept::Window(at.mss * (segments - ((segments * alpha) >> 11)))
            }
            Alpha::Rfc8257(alpha) => Kept::Factor(1.0 - alpha / 2.0),
        }
    }

    fn get(self) -> f64 {
        match self {
            Alpha::Linux(alpha) => alpha as f64 / ONE as f64,
            Alpha::Rfc8257(alpha) => alpha,
        }
    }
}

/// The average, and the round that will enter it.
#[derive(Clone, Debug)]
struct Dctcp {
    /// `g` is 2 to minus this power (RFC 8257 section 4.2).
    shift: u32,
    /// `DCTCP.Alpha` (RFC 8257 section 3.3).
    alpha: Alpha,
    /// `DCTCP.WindowEnd`, `DCTCP.BytesAcked` and `DCTCP.BytesMarked` (RFC 8257 section 3.3).
    window_end: Seq,
    delivered: Marked,
    marked: Marked,
}

impl Response for Dctcp {
    fn ce(&self, at: &Moment) -> Kept {
        self.alpha.answer(at)
    }

    fn on_delivery(&mut self, delivery: &Delivery, _cwnd: Bytes, path: &PathView) {
        self.delivered += delivery.delivered;
        self.marked += delivery.ecn.ce;
        if path.una < self.window_end {
            return;
        }
        self.alpha.average(self.marked, self.delivered, self.shift);
        self.window_end = path.nxt;
        self.delivered = Marked::default();
        self.marked = Marked::default();
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha", self.alpha.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rounds: u32, start: u64, marked: u32, delivered: u32) -> u64 {
        let count = |packets| Marked { packets, ..Marked::default() };
        let mut alpha = Alpha::Linux(start);
        for _ in 0..rounds {
            alpha.average(count(marked), count(delivered), 4);
        }
        (alpha.get() * 1024.0) as u64
    }

    /// `dctcp_update_alpha`: `alpha - (alpha >> 4)`, or 0 where that takes nothing away, and `marked << 6 / delivered` more.
    /// A share that lasts from the start is met from above. Below 16 an average falls to 0 each round, so that a share below a
    /// quarter, which adds less than 16, no longer raises it.
    #[test]
    fn a_small_share_raises_no_average_that_has_fallen_below_a_64th() {
        assert_eq!(after(200, 1024, 8, 64), 8 * 16 + 15);
        assert_eq!(after(200, 15, 8, 64), 8);
        assert_eq!(after(200, 0, 15, 64), 15);
        assert!(after(200, 0, 16, 64) > 200);
    }
}
