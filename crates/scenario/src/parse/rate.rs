//! How fast a link is: a rate, or a file of transmission opportunities.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windtunnel_sim::{LinkRate, RateTrace, parse_mahimahi};
use windtunnel_units::Rate;

use super::cursor::Cursor;
use super::document::Value;
use super::fault::Fault;
use super::link::check_rate;

/// The largest accepted trace: it has about 10^7 transmission opportunities.
const LARGEST_TRACE: u64 = 100 << 20;

/// Reads a link's `rate`; a link without one takes no time. Trace files are searched for in the directory of `file`,
/// the scenario.
pub(crate) fn link_rate(
    at: &Cursor<'_>,
    file: Option<&str>,
    optional: bool,
) -> Result<Option<LinkRate>, Fault> {
    match at.value() {
        None if optional => Ok(None),
        None => Err(at.fault("is required")),
        Some(Value::Table(_)) => {
            at.expect_keys(&["trace"])?;
            let at = at.get("trace");
            let name = at.text().ok_or_else(|| at.not_allowed("the name of a file"))?;
            let opportunities = Arc::new(read_trace(name, &at, file)?);
            Ok(Some(LinkRate::Trace { file: name.to_owned(), opportunities }))
        }
        Some(_) => {
            let rate: Rate = at.read()?;
            check_rate(rate, at)?;
            Ok(Some(LinkRate::Fixed(rate)))
        }
    }
}

fn read_trace(name: &str, at: &Cursor<'_>, file: Option<&str>) -> Result<RateTrace, Fault> {
    let folder = file.and_then(|file| Path::new(file).parent()).map(Path::to_path_buf).unwrap_or_default();
    let path: PathBuf = folder.join(name);
    let size = fs::metadata(&path).map_err(|error| at.fault(format!("cannot be read: {error}")))?.len();
    if size > LARGEST_TRACE {
        return Err(at.fault(format!("has {size} bytes: at most {LARGEST_TRACE} are read")));
    }
    let text = fs::read_to_string(&path).map_err(|error| at.fault(format!("cannot be read: {error}")))?;
    parse_mahimahi(&text).map_err(|error| at.fault(error.to_string()))
}
