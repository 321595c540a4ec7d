//! Tables as CSV (RFC 4180, with line feeds): a text is always in quotes, a number never; nothing is a missing value.

use std::io::{Result, Write};

use crate::values::{Values, word};

/// Writes the names of the columns.
pub fn write_head(to: &mut impl Write, columns: &[(&str, Values<'_>)]) -> Result<()> {
    for (index, (name, _)) in columns.iter().enumerate() {
        separate(to, index)?;
        quoted(to, name)?;
    }
    to.write_all(b"\n")
}

/// Writes the rows: numbers with as many digits as tell them apart, bytes in hexadecimal digits.
pub fn write_rows(to: &mut impl Write, columns: &[(&str, Values<'_>)]) -> Result<()> {
    let rows = columns.first().map_or(0, |(_, values)| values.len());
    for row in 0..rows {
        for (index, (_, values)) in columns.iter().enumerate() {
            separate(to, index)?;
            cell(to, values, row)?;
        }
        to.write_all(b"\n")?;
    }
    Ok(())
}

fn separate(to: &mut impl Write, index: usize) -> Result<()> {
    if index > 0 { to.write_all(b",") } else { Ok(()) }
}

fn cell(to: &mut impl Write, values: &Values<'_>, row: usize) -> Result<()> {
    match values {
        Values::GapsU64(_, missing) | Values::GapsI64(_, missing) | Values::GapsBool(_, missing)
            if missing[row] =>
        {
            Ok(())
        }
        Values::F64(v) => float(to, v[row]),
        Values::U64(v) | Values::GapsU64(v, _) => write!(to, "{}", v[row]),
        Values::I64(v) | Values::GapsI64(v, _) => write!(to, "{}", v[row]),
        Values::U32(v) => write!(to, "{}", v[row]),
        Values::I32(v) => write!(to, "{}", v[row]),
        Values::U8(v) => write!(to, "{}", v[row]),
        Values::Bool(v) | Values::GapsBool(v, _) => write!(to, "{}", v[row]),
        Values::Binary(v) => {
            to.write_all(b"\"")?;
            v[row].iter().try_for_each(|byte| write!(to, "{byte:02x}"))?;
            to.write_all(b"\"")
        }
        Values::Text(at, words) => word(words, at[row]).map_or(Ok(()), |text| quoted(to, text)),
    }
}

fn float(to: &mut impl Write, value: f64) -> Result<()> {
    let size = value.abs();
    if value.is_nan() {
        return Ok(());
    }
    if size == 0.0 || size.is_infinite() || (1e-6..1e10).contains(&size) {
        let text = value.to_string();
        let places = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        return if is_between(value, places) {
            write!(to, "{value:.places$}")
        } else {
            to.write_all(text.as_bytes())
        };
    }
    let mut text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').expect("as `{:e}` writes it");
    let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let exponent: isize = exponent.parse().expect("a number");
    if is_between(value, places.checked_add_signed(-exponent).unwrap_or(0)) {
        text = format!("{value:.places$e}");
    }
    to.write_all(if size < 1.0 { text } else { text.replace('e', "e+") }.as_bytes())
}

/// Whether a number may be in the middle between two with this many decimal places, which both tell it apart from all
/// others: then the even one is written, and not the larger one, as the standard library has it.
fn is_between(value: f64, places: usize) -> bool {
    // In the middle, it is a multiple of 5^places / 10^places / 2.
    (1..=61).contains(&places) && (value * (1u64 << (places + 1)) as f64).fract() == 0.0
}

fn quoted(to: &mut impl Write, text: &str) -> Result<()> {
    to.write_all(b"\"")?;
    for (index, part) in text.split('"').enumerate() {
        if index > 0 {
            to.write_all(b"\"\"")?;
        }
        to.write_all(part.as_bytes())?;
    }
    to.write_all(b"\"")
}
