//! Text to quantity and back: a number, an optional space, and a unit, which is required.

use std::fmt;

use thiserror::Error;

/// Why a text is not a quantity. The message says what is wrong, what is allowed, and which unit is
/// similar, if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// No number, or one that is not finite.
    #[error("`{text}` is not {what}: write a number and a unit, such as \"{example}\"")]
    NotANumber {
        /// What was read.
        text: String,
        /// What was expected.
        what: &'static str,
        /// A valid example.
        example: &'static str,
    },
    /// A number without a unit.
    #[error("`{text}` has no unit: write \"{example}\" (units: {units})")]
    MissingUnit {
        /// What was read.
        text: String,
        /// The number read, with the unit of the example.
        example: String,
        /// All units that are understood.
        units: String,
    },
    /// A unit that is not known.
    #[error("`{unit}` is not a unit of {what}{hint} (units: {units})", hint = nearest.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    UnknownUnit {
        /// The unit read.
        unit: String,
        /// What was expected.
        what: &'static str,
        /// The nearest unit that is understood.
        nearest: Option<String>,
        /// All units that are understood.
        units: String,
    },
    /// tc reads `bps` as bytes per second, nearly everybody else as bits per second.
    #[error(
        "`{unit}` is ambiguous: tc reads it as bytes per second, most others as bits per second; write `{bit}` for bits per second"
    )]
    AmbiguousRate {
        /// What was read.
        text: String,
        /// The unit read.
        unit: String,
        /// The unambiguous unit for bits.
        bit: &'static str,
    },
    /// A negative or too large number.
    #[error("`{text}` is out of range: {what} is {allowed}")]
    OutOfRange {
        /// What was read.
        text: String,
        /// What was expected.
        what: &'static str,
        /// What is allowed.
        allowed: &'static str,
    },
}

/// Parses a whole number of base units; rounds to the nearest.
pub(crate) fn quantity(
    text: &str,
    what: &'static str,
    example: &'static str,
    units: &[(&str, f64)],
) -> Result<u64, ParseError> {
    let value = number_with_unit(text, what, example, units)?;
    // 2^63 leaves room for sums of two quantities.
    if !(0.0..9.2e18).contains(&value) {
        let allowed = "zero or more, and at most 9.2e18 of its smallest unit";
        return Err(ParseError::OutOfRange { text: text.to_owned(), what, allowed });
    }
    Ok(value.round() as u64)
}

/// Parses `<number> <unit>`, in base units. A unit named `""` stands for "no unit needed".
pub fn number_with_unit(
    text: &str,
    what: &'static str,
    example: &'static str,
    units: &[(&str, f64)],
) -> Result<f64, ParseError> {
    let trimmed = text.trim();
    let split = split_number(trimmed);
    let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
    let not_a_number = || ParseError::NotANumber { text: text.to_owned(), what, example };
    let value: f64 = number.parse().map_err(|_| not_a_number())?;
    if !value.is_finite() {
        return Err(not_a_number());
    }
    if let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) {
        return Ok(value * factor);
    }
    let known = units.iter().map(|(name, _)| *name).filter(|n| !n.is_empty()).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        let unit = example.rsplit(' ').next().unwrap_or_default();
        return Err(ParseError::MissingUnit {
            text: text.to_owned(),
            example: format!("{number} {unit}"),
            units: known,
        });
    }
    let nearest = nearest(unit, units.iter().map(|(name, _)| *name)).map(str::to_owned);
    Err(ParseError::UnknownUnit { unit: unit.to_owned(), what, nearest, units: known })
}

/// Where the number ends. `e` belongs to it only if an exponent follows, so that `5 eggs` is a
/// number with an unknown unit.
fn split_number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let sign_here = i == 0 || matches!(bytes[i - 1], b'e' | b'E');
        let exponent = matches!(bytes[i], b'e' | b'E')
            && i > 0
            && bytes.get(i + 1).is_some_and(|c| c.is_ascii_digit() || matches!(c, b'+' | b'-'));
        match bytes[i] {
            b'0'..=b'9' | b'.' | b'_' => {}
            b'+' | b'-' if sign_here => {}
            _ if exponent => {}
            _ => break,
        }
        i += 1;
    }
    i
}

/// The candidate that a reader most likely meant: equal except for case, or at most two edits away.
fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    candidates.clone().find(|c| c.eq_ignore_ascii_case(text)).or_else(|| {
        candidates
            .filter(|c| !c.is_empty())
            .map(|c| (edits(text, c), c))
            .filter(|(d, c)| *d <= 2 && *d < c.len())
            .min()
            .map(|(_, c)| c)
    })
}

/// Edit distance (Levenshtein) of two short words.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Writes `value / per` in full precision without trailing zeros.
pub(crate) fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, per: u64) -> fmt::Result {
    write!(f, "{}", value / per)?;
    let rest = value % per;
    if rest > 0 {
        let digits = per.ilog10() as usize;
        let text = format!("{rest:0digits$}");
        write!(f, ".{}", text.trim_end_matches('0'))?;
    }
    Ok(())
}
