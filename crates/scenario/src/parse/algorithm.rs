//! Algorithms: a name, or a table with `kind` and parameters.

use windtunnel_cc::{
    AvoidanceConfig, MdsParams, OutOfRange, ResponseConfig, SlowStartConfig, WindowedConfig,
};

use super::cursor::Cursor;
use super::deserialize::fields;
use super::document::Value;
use super::fault::Fault;
use super::nearest::nearest;
use crate::kinds::{self, Kind};

/// The slow start of a flow that names none: the one that the MDS document uses with all its controllers.
pub(crate) const DEFAULT_SLOW_START: &str = "essp";

/// The suffix of a controller's name that stands for the MDS response.
pub(crate) const MDS_SUFFIX: &str = "-mds";

/// The largest tau. The document knows 8 to 128; a limiter holds tau times, so that a slip of the pen must not take
/// all memory.
const LARGEST_TAU: u32 = 65_536;

/// The name in a name or a table with `kind`.
pub(crate) fn kind_name<'n>(at: &Cursor<'n>, what: &str) -> Result<(&'n str, Cursor<'n>), Fault> {
    let place = match at.value() {
        Some(Value::Table(_)) => at.get("kind"),
        _ => at.clone(),
    };
    match place.text() {
        Some(name) => Ok((name, place)),
        None if !place.is_given() => Err(place.fault(format!("is required: the name of {what}"))),
        None if at.entries().is_empty() => {
            Err(place.not_allowed(format!("the name of {what}, or a table with `kind`")))
        }
        None => Err(place.not_allowed(format!("the name of {what}"))),
    }
}

/// An algorithm whose table holds nothing but `kind`, its parameters, and `more` keys.
pub(crate) fn read<C>(
    at: &Cursor<'_>,
    kinds: &'static [Kind<C>],
    what: &str,
    more: &[&str],
) -> Result<(&'static Kind<C>, C), Fault> {
    let (name, place) = kind_name(at, what)?;
    let kind = kinds::find(kinds, name, &place, what)?;
    at.expect_keys(&[&["kind"], more, (kind.keys)()].concat())?;
    Ok((kind, (kind.read)(at)?))
}

/// A controller: its short name and its configuration.
pub(crate) fn controller(at: &Cursor<'_>) -> Result<(String, WindowedConfig), Fault> {
    let (name, place) = kind_name(at, "a controller")?;
    let (base, suffixed) = match name.strip_suffix(MDS_SUFFIX) {
        Some(base) => (base, true),
        None => (name, false),
    };
    let avoidance = kinds::named(kinds::CONTROLLERS, base).ok_or_else(|| unknown_controller(name, &place))?;

    let response_at = at.get("response");
    let response_name = match (response_at.is_given(), suffixed) {
        (true, _) => kind_name(&response_at, "a response")?.0,
        (false, true) => "mds",
        (false, false) => "conventional",
    };
    let response = kinds::find(kinds::RESPONSES, response_name, &response_at, "a response")?;
    if suffixed && response.name != "mds" {
        return Err(response_at
            .not_allowed(format!("`{name}` has the MDS response; write kind = \"{base}\" for another")));
    }
    if response_at.text().is_none() && response_at.is_given() {
        return Err(response_at.not_allowed("the name of a response; its parameters stand beside it"));
    }

    let known = [&["kind", "slow_start", "response"], (avoidance.keys)(), (response.keys)()].concat();
    if response.name != "mds" {
        let only_mds = |key: &&str| fields::<MdsParams>().contains(key) && !known.contains(key);
        if let Some(entry) = at.entries().iter().find(|entry| only_mds(&entry.key.as_str())) {
            return Err(at.enter(entry).fault("is a parameter of the MDS response: add response = \"mds\""));
        }
    }
    at.expect_keys(&known)?;

    let config = WindowedConfig {
        avoidance: (avoidance.read)(at)?,
        slow_start: slow_start(&at.get("slow_start"))?,
        response: (response.read)(at)?,
    };
    check(at, &config)?;
    let suffix = if config.answers_sce() { MDS_SUFFIX } else { "" };
    Ok((format!("{}{suffix}", avoidance.name), config))
}

fn unknown_controller(name: &str, at: &Cursor<'_>) -> Fault {
    let allowed =
        format!("a controller is one of {}, each also with {MDS_SUFFIX}", kinds::names(kinds::CONTROLLERS));
    let bases = kinds::CONTROLLERS.iter().map(|kind| kind.name);
    let all: Vec<String> = bases.flat_map(|name| [name.to_owned(), format!("{name}{MDS_SUFFIX}")]).collect();
    at.not_allowed(allowed).with_hint(nearest(name, all.iter().map(String::as_str)))
}

fn slow_start(at: &Cursor<'_>) -> Result<SlowStartConfig, Fault> {
    if at.is_given() {
        return Ok(read(at, kinds::SLOW_STARTS, "a slow start", &[])?.1);
    }
    let kind = kinds::find(kinds::SLOW_STARTS, DEFAULT_SLOW_START, at, "a slow start")?;
    (kind.read)(at)
}

fn check(at: &Cursor<'_>, config: &WindowedConfig) -> Result<(), Fault> {
    if let ResponseConfig::Mds(params) = &config.response
        && params.tau.get() > LARGEST_TAU
    {
        return Err(at.get("tau").not_allowed(format!("a whole number from 1 to {LARGEST_TAU}")));
    }
    config.check().map_err(|OutOfRange { key, allowed, .. }| {
        let owner = if owns(&config.avoidance, key) || at.get(key).is_given() {
            at.clone()
        } else {
            at.get("slow_start")
        };
        owner.get(key).not_allowed(allowed)
    })
}

/// True if `key` is a parameter of the avoidance.
fn owns(avoidance: &AvoidanceConfig, key: &str) -> bool {
    kinds::describe(kinds::CONTROLLERS, avoidance).1.contains_key(key)
}
