//! A column of a table as a writer takes it.

use std::ops::Range;

/// The values of a column.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Floating-point numbers; NaN, which stands for a missing value, becomes null.
    F64(&'a [f64]),
    /// Counts and nanoseconds.
    U64(&'a [u64]),
    /// Accumulators.
    I64(&'a [i64]),
    /// Indices.
    U32(&'a [u32]),
    /// Indices, where -1 means "all".
    I32(&'a [i32]),
    /// Small codes.
    U8(&'a [u8]),
    /// Truth values.
    Bool(&'a [bool]),
    /// Bytes.
    Binary(&'a [&'a [u8]]),
    /// Seeds; those for which the second is true are missing.
    GapsU64(&'a [u64], &'a [bool]),
    /// Counts; the same.
    GapsI64(&'a [i64], &'a [bool]),
    /// Truth values; the same.
    GapsBool(&'a [bool], &'a [bool]),
    /// Texts: their places in a list of words, where -1 means "none".
    Text(&'a [i32], &'a [&'a str]),
}

impl<'a> Values<'a> {
    /// The number of rows.
    pub const fn len(&self) -> usize {
        match self {
            Values::F64(v) => v.len(),
            Values::U64(v) | Values::GapsU64(v, _) => v.len(),
            Values::I64(v) | Values::GapsI64(v, _) => v.len(),
            Values::U32(v) => v.len(),
            Values::I32(v) | Values::Text(v, _) => v.len(),
            Values::U8(v) => v.len(),
            Values::Bool(v) | Values::GapsBool(v, _) => v.len(),
            Values::Binary(v) => v.len(),
        }
    }

    /// True if there are no rows.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of the rows.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Values<'a> {
        match *self {
            Values::F64(v) => Values::F64(&v[rows]),
            Values::U64(v) => Values::U64(&v[rows]),
            Values::I64(v) => Values::I64(&v[rows]),
            Values::U32(v) => Values::U32(&v[rows]),
            Values::I32(v) => Values::I32(&v[rows]),
            Values::U8(v) => Values::U8(&v[rows]),
            Values::Bool(v) => Values::Bool(&v[rows]),
            Values::Binary(v) => Values::Binary(&v[rows]),
            Values::GapsU64(v, missing) => Values::GapsU64(&v[rows.clone()], &missing[rows]),
            Values::GapsI64(v, missing) => Values::GapsI64(&v[rows.clone()], &missing[rows]),
            Values::GapsBool(v, missing) => Values::GapsBool(&v[rows.clone()], &missing[rows]),
            Values::Text(at, words) => Values::Text(&at[rows], words),
        }
    }
}

/// The word at a place in a list, if there is one.
pub(crate) fn word<T>(words: &[T], at: i32) -> Option<&T> {
    usize::try_from(at).ok().and_then(|at| words.get(at))
}
