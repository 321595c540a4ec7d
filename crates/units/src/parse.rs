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
    /// A number without a unit. No unit is suggested: each would mean another quantity.
    #[error("`{text}` has no unit: add one of {units}")]
    MissingUnit {
        /// What was read.
        text: String,
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
    /// tc reads `bps` as bytes per second, nearly all other programs as bits per second.
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
    let matches =
        |&&(name, _): &&(&str, f64)| name == unit || (any_case(name) && name.eq_ignore_ascii_case(unit));
    if let Some((_, factor)) = units.iter().find(matches) {
        return Ok(scaled(&number, *factor).unwrap_or(value * factor));
    }
    let names = units.iter().map(|(name, _)| *name).filter(|n| !n.is_empty()).collect::<Vec<_>>().join(", ");
    if unit.is_empty() {
        return Err(ParseError::MissingUnit { text: text.to_owned(), units: names });
    }
    let nearest = nearest(unit, units.iter().map(|(name, _)| *name)).map(str::to_owned);
    Err(ParseError::UnknownUnit { unit: unit.to_owned(), what, nearest, units: names })
}

/// Whether a unit has the same meaning in any case: tc writes and reads `100mbit`, `100Mbit` and `100MBIT` (tc(8), RATES),
/// texts write `1 BDP`. Elsewhere `m` is not `M`, and `b` not `B`.
fn any_case(unit: &str) -> bool {
    unit.ends_with("bit") || unit.ends_with("bit/s") || unit.starts_with("bdp")
}

/// The number times a power of ten, as the decimal point moves: `75.07 %` is the number nearest to 0.7507, which is not
/// always that nearest to 75.07, times 0.01.
fn scaled(number: &str, factor: f64) -> Option<f64> {
    let power = POWERS.iter().find(|(value, _)| value.to_bits() == factor.to_bits())?.1;
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent = exponent.parse::<i64>().ok()?.checked_add(power)?;
    format!("{digits}e{exponent}").parse().ok()
}

/// The powers of ten among the factors of units.
const POWERS: &[(f64, i64)] = &[(0.01, -2), (1e3, 3), (1e6, 6), (1e9, 9), (1e12, 12)];

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

/// Other ways to write a unit, each with the unit that means the same.
const SPELLINGS: &[(&str, &str)] = &[
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("millisecond", "ms"),
    ("milliseconds", "ms"),
    ("usec", "us"),
    ("microsecond", "us"),
    ("microseconds", "us"),
    ("nsec", "ns"),
    ("nanoseconds", "ns"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hr", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("b/s", "bit/s"),
    ("kb/s", "kbit/s"),
    ("Kb/s", "kbit/s"),
    ("k", "kbit/s"),
    ("K", "kbit/s"),
    ("M", "Mbit/s"),
    ("G", "Gbit/s"),
    ("kilobytes", "kB"),
    ("megabytes", "MB"),
    ("gigabytes", "GB"),
    ("p", "packets"),
    ("pkt", "packets"),
    ("pkts", "packets"),
    ("segment", "packets"),
    ("segments", "packets"),
    ("percent", "%"),
];

/// The candidate that means the same as what was written: another spelling, other capitals (but `B` is bytes and `b` is
/// bits), or a slip of the hand in a long word. Units of few letters differ from each other by one letter, and by a factor
/// of a thousand: these are not guessed.
fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let capitals = |name: &str| -> String {
        name.chars().map(|c| if c == 'B' { c } else { c.to_ascii_lowercase() }).collect()
    };
    let spelt = SPELLINGS.iter().find(|(other, _)| *other == text).map(|(_, unit)| *unit);
    let units: Vec<&str> = candidates.filter(|c| !c.is_empty()).collect();
    let find = |fits: &dyn Fn(&str) -> bool| units.iter().copied().find(|c| fits(c));
    find(&|c| Some(c) == spelt)
        .or_else(|| find(&|c| capitals(c) == capitals(text)))
        .or_else(|| find(&|c| c.len() >= LONG && is_slip(text, c)))
}

/// The letters of a word in which a slip of the hand is told from another word.
const LONG: usize = 5;

/// Whether two words that start alike differ by one letter too much, or by two that are swapped.
fn is_slip(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() < b.len() { (&a, &b) } else { (&b, &a) };
    let same = short.iter().zip(long).take_while(|(s, l)| s == l).count();
    match long.len() - short.len() {
        _ if same == 0 => false,
        0 => {
            same + 1 < long.len()
                && short[same] == long[same + 1]
                && short[same + 1] == long[same]
                && short[same + 2..] == long[same + 2..]
        }
        1 => short[same..] == long[same + 1..],
        _ => false,
    }
}

/// Writes `100 * value` with the digits that [`number_with_unit`] needs to read `value` again, and no more.
pub(crate) fn write_percent(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    // The shortest digits of the value itself, in which only the decimal point moves.
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    // How many of them are before the decimal point.
    let whole = exponent.parse::<i64>().unwrap_or(0) + 3;
    match usize::try_from(whole) {
        Ok(whole) if whole >= digits.len() => write!(f, "{digits:0<whole$}"),
        Ok(whole) if whole > 0 => write!(f, "{}.{}", &digits[..whole], &digits[whole..]),
        _ => write!(f, "0.{}{digits}", "0".repeat(whole.unsigned_abs() as usize)),
    }
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
