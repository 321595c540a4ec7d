//! Claims: statements about the results.

use super::cursor::Cursor;
use super::fault::Fault;
use super::record::Names;
use crate::model::Claim;

/// Validates the claims, but for the expressions in them, which are not the core's.
pub(crate) fn check_claims(claims: &[Claim], at: &Cursor<'_>) -> Result<(), Fault> {
    let mut names = Names::default();
    for (index, claim) in claims.iter().enumerate() {
        let at = at.item(index);
        if claim.text.trim().is_empty() {
            return Err(at.get("text").not_allowed("what is claimed, in words"));
        }
        if claim.check.trim().is_empty() {
            return Err(at.get("check").not_allowed("a comparison, such as p99(queue.sojourn_ms) < 5"));
        }
        if let Some(name) = &claim.name {
            names.add(name, "claim", &at.get("name"))?;
        }
    }
    Ok(())
}
