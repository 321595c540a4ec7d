//! Binomial congestion control: the increase falls with a power of the window, the decrease grows with another.
//!
//! Bansal and Balakrishnan, "Binomial congestion control algorithms" (INFOCOM 2001): each round trip adds
//! `alpha / W^k` segments, a loss takes `beta W^l`. AIMD is k = 0, l = 1; MIMD (Scalable) is k = -1, l = 1. The mean window
//! is `(alpha / (beta p))^(1 / (k + l + 1))` where a loss takes little. With k + l = 1 it falls with the square root of the
//! loss rate, as Reno's does: these are friendly to Reno, but smoother, since a loss takes less of a large window.
//!
//! - *SQRT* has k = l = 1/2, *IIAD* (inverse increase, additive decrease) k = 1, l = 0.
//! - alpha is 1 and beta 2/3: then the mean window `sqrt(alpha / (beta p))` is Reno's, `sqrt(3 / (2 p))`.
//!
//! The window is real-valued: each acknowledged segment adds `alpha / W^(k + 1)`.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Bytes;

use super::{Avoidance, AvoidanceParams, Unit, Window};
use crate::check;
use crate::controller::CongestionControl;
use crate::sample::{AckSample, PathView};
use crate::windowed::carry::Fraction;
use crate::windowed::config::Composition;

/// alpha, and beta such that the mean window is Reno's.
const ALPHA: f64 = 1.0;
const BETA: f64 = 2.0 / 3.0;

/// Parameters of binomial congestion control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Bansal, Balakrishnan 2001"))]
pub struct BinomialParams {
    /// The increase per round trip at a window of one segment, in segments.
    #[schemars(range(min = 0.0, max = check::MOST_INCREASE), extend("x-unit" = "segments"))]
    pub alpha: f64,
    /// The decrease at a window of one segment, in segments.
    #[schemars(range(min = 0.0), extend("x-unit" = "segments"))]
    pub beta: f64,
    /// The power of the window by which the increase falls: 0 for AIMD, -1 for a multiplicative increase.
    #[schemars(range(min = -1.0, max = 4.0))]
    pub k: f64,
    /// The power of the window by which the decrease grows: 1 for a multiplicative decrease, 0 for an additive one.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub l: f64,
}

impl Default for BinomialParams {
    /// SQRT.
    fn default() -> BinomialParams {
        BinomialParams { alpha: ALPHA, beta: BETA, k: 0.5, l: 0.5 }
    }
}

impl Params for BinomialParams {
    const NAME: &'static str = "binomial";
    const SUMMARY: &'static str = "The increase falls, and the decrease grows, with a power of the window";

    fn check(&self) -> Result<(), OutOfRange> {
        check::increase("alpha", self.alpha)?;
        check::positive("beta", self.beta)?;
        if !(-1.0..=4.0).contains(&self.k) {
            return Err(OutOfRange::new("k", self.k, "-1 to 4"));
        }
        if !(0.0..=1.0).contains(&self.l) {
            return Err(OutOfRange::new("l", self.l, "0 to 1"));
        }
        if self.l >= 1.0 { check::kept_fraction("beta", self.beta) } else { Ok(()) }
    }
}

impl AvoidanceParams for BinomialParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        let binomial = Binomial::new(self.clone(), composition.init().iw, composition.init().mss);
        composition.with(binomial)
    }
}

/// Defines a member of the family that has a name of its own.
macro_rules! member {
    ($params:ident, $name:literal, $title:literal, $summary:literal, $k:literal, $l:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(extend("x-source" = "Bansal, Balakrishnan 2001", "x-title" = $title, "x-kept" = 1.0))]
        pub struct $params {
            /// The increase per round trip at a window of one segment, in segments.
            #[schemars(range(min = 0.0, max = check::MOST_INCREASE), extend("x-unit" = "segments"))]
            pub alpha: f64,
            /// The decrease at a window of one segment, in segments.
            #[schemars(range(min = 0.0), extend("x-unit" = "segments"))]
            pub beta: f64,
        }

        impl $params {
            fn binomial(&self) -> BinomialParams {
                BinomialParams { alpha: self.alpha, beta: self.beta, k: $k, l: $l }
            }
        }

        impl Default for $params {
            fn default() -> $params {
                $params { alpha: ALPHA, beta: BETA }
            }
        }

        impl Params for $params {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;

            fn check(&self) -> Result<(), OutOfRange> {
                self.binomial().check()
            }
        }

        impl AvoidanceParams for $params {
            fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
                self.binomial().build(composition)
            }
        }
    };
}

member!(
    SqrtParams,
    "sqrt",
    "SQRT",
    "Binomial with k = l = 1/2: increase and decrease by the root of the window",
    0.5,
    0.5,
    "Parameters of SQRT."
);
member!(
    IiadParams,
    "iiad",
    "IIAD",
    "Binomial with k = 1, l = 0: inverse increase, additive decrease",
    1.0,
    0.0,
    "Parameters of IIAD."
);

/// Growth and decrease by powers of the window.
#[derive(Clone, Debug)]
pub(crate) struct Binomial {
    params: BinomialParams,
    /// The share of the window that a response leaves.
    md: f64,
    fraction: Fraction,
}

impl Binomial {
    fn new(params: BinomialParams, iw: Bytes, mss: Bytes) -> Binomial {
        let mut binomial = Binomial { params, md: 0.0, fraction: Fraction::default() };
        binomial.md = binomial.share_left(iw.max(mss).as_f64() / mss.as_f64());
        binomial
    }

    /// Returns the share of a window of `w` that a response leaves: `1 - beta w^(l - 1)`.
    fn share_left(&self, w: f64) -> f64 {
        (1.0 - self.params.beta * libm::pow(w, self.params.l - 1.0)).max(0.0)
    }
}

impl Avoidance for Binomial {
    const UNIT: Unit = Unit::BytesDelivered;

    fn md(&self) -> f64 {
        self.md
    }

    fn congestion_event(&mut self, window: &Window, path: &PathView) {
        self.md = self.share_left(window.cwnd.as_f64() / path.mss.as_f64());
    }

    fn decreased(&mut self, _before: Bytes, _after: Bytes, _factor: f64, _path: &PathView) {
        self.fraction = Fraction::default();
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        let w = self.fraction.ahead(cwnd) / path.mss.as_f64();
        let growth = self.params.alpha * amount.as_f64() / libm::pow(w, self.params.k + 1.0);
        cwnd + self.fraction.whole(growth)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("md", self.md);
    }
}
