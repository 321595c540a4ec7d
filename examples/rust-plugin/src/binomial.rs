//! An avoidance: binomial growth and decrease (Bansal and Balakrishnan, Binomial Congestion Control Algorithms, INFOCOM
//! 2001, section 2).
//!
//! With a window of `w` segments, a round trip adds `alpha / w^k` segments, and congestion takes `beta * w^l`. AIMD is
//! `k = 0, l = 1`; SQRT is `k = l = 1/2`, which is fair to AIMD because `k + l = 1`, and smoother.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_cc::{AckSample, Avoidance, AvoidanceParams, Composition, CongestionControl, PathView, check};
use windtunnel_units::Bytes;

/// Parameters of the binomial algorithms; the defaults are SQRT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Bansal and Balakrishnan 2001"))]
pub struct BinomialParams {
    /// The exponent of the growth.
    pub k: f64,
    /// The exponent of the decrease; at most 1.
    pub l: f64,
    /// The factor of the growth.
    pub alpha: f64,
    /// The factor of the decrease.
    pub beta: f64,
}

impl Default for BinomialParams {
    fn default() -> BinomialParams {
        BinomialParams { k: 0.5, l: 0.5, alpha: 1.0, beta: 0.5 }
    }
}

impl Params for BinomialParams {
    const NAME: &'static str = "my-binomial";
    const SUMMARY: &'static str = "Adds alpha / w^k segments per round trip, takes beta * w^l on congestion";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(0.0..=10.0).contains(&self.k) {
            return Err(OutOfRange::new("k", self.k, "0 to 10"));
        }
        if !(0.0..=1.0).contains(&self.l) {
            return Err(OutOfRange::new("l", self.l, "0 to 1"));
        }
        check::positive("alpha", self.alpha)?;
        check::kept_fraction("beta", self.beta)
    }
}

impl AvoidanceParams for BinomialParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(Binomial { params: self.clone(), carry: 0.0 })
    }
}

#[derive(Clone, Debug)]
struct Binomial {
    params: BinomialParams,
    /// Growth of less than a byte, carried over to the next ACK.
    carry: f64,
}

impl Avoidance for Binomial {
    /// The decrease factor of a window of one segment.
    fn md(&self) -> f64 {
        1.0 - self.params.beta
    }

    fn kept(&self, base: Bytes, _factor: f64, mss: Bytes) -> Bytes {
        let w = base.as_f64() / mss.as_f64();
        base.saturating_sub(mss.scale(self.params.beta * libm::pow(w, self.params.l)))
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        let w = cwnd.as_f64() / path.mss.as_f64();
        let share = ack.growth(amount).as_f64() / cwnd.as_f64();
        let growth = self.params.alpha / libm::pow(w, self.params.k) * share * path.mss.as_f64() + self.carry;
        let whole = Bytes::from_f64(growth);
        self.carry = growth - whole.as_f64();
        cwnd + whole
    }
}
