//! Probabilities.

use std::fmt;

use crate::parse::{self, ParseError};

/// A probability: a number from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0.0);
    /// Always.
    pub const ONE: Probability = Probability(1.0);

    /// `p`, or `None` if it is not between 0 and 1.
    pub fn new(p: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&p).then_some(Probability(p))
    }

    /// `p`, clamped to the range from 0 to 1; 0 if it is not a number.
    pub fn clamped(p: f64) -> Probability {
        Probability(if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) })
    }

    /// The probability as a number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0.0 {
            return f.write_str("0 %");
        }
        parse::write_percent(f, self.0)?;
        f.write_str(" %")
    }
}

impl std::str::FromStr for Probability {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Probability, ParseError> {
        let p = parse::number_with_unit(text, "a probability", "1 %", &[("%", 0.01), ("", 1.0)])?;
        Probability::new(p).ok_or_else(|| ParseError::OutOfRange {
            text: text.to_owned(),
            what: "a probability",
            allowed: "0 % to 100 %",
        })
    }
}
