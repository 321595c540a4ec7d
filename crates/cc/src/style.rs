//! Selects the variants of the algorithms where a scenario names none.

/// Selects the variants of the algorithms where a scenario names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The MDS document's variants, which count in bytes: for endpoints without loss.
    Document,
    /// Linux's variants, which count in whole segments: for a TCP with loss.
    Linux,
}
