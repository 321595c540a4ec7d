//! Whose variants of the algorithms run where a scenario names none.

/// Whose variants of the algorithms run where a scenario names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The MDS document's, in bytes: for endpoints without loss.
    Document,
    /// Linux's, in whole segments: for a TCP with loss.
    Linux,
}
