//! How fast a link is: a rate, or a file of transmission opportunities.

use windtunnel_sim::LinkRate;
use windtunnel_units::Rate;

use super::cursor::Cursor;
use super::document::Value;
use super::fault::Fault;
use super::files::Files;
use super::link::check_rate;

/// Reads a link's `rate`; a link without one takes no time.
pub(crate) fn link_rate(at: &Cursor<'_>, files: &Files, optional: bool) -> Result<Option<LinkRate>, Fault> {
    match at.value() {
        None if optional => Ok(None),
        None => Err(at.fault("is required")),
        Some(Value::Table(_)) => {
            at.expect_keys(&["trace"])?;
            let at = at.get("trace");
            let name = at.text().ok_or_else(|| at.not_allowed("the name of a file"))?;
            let opportunities = files.trace(name, &at)?;
            Ok(Some(LinkRate::Trace { file: name.to_owned(), opportunities }))
        }
        Some(_) => {
            let rate: Rate = at.read()?;
            check_rate(rate, at)?;
            Ok(Some(LinkRate::Fixed(rate)))
        }
    }
}
