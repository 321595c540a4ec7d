//! Controllers: a name, or a table with `kind` and parameters.

use std::any::Any;
use std::sync::Arc;

use windtunnel_cc::{
    AimdGrowth, AvoidanceParams, EsspParams, RenoParams, SlowStartParams, Style, WindowedConfig,
};
use windtunnel_tcp::LossDetection;
use windtunnel_tcp::bsd42::Bsd42Params;

use super::cursor::Cursor;
use super::deserialize::fields;
use super::fault::Fault;
use super::nearest::nearest;
use crate::model::{Endpoints, SharedController};
use crate::registry::{
    BSD42, CLASSICS, Classic, DEFAULT_IW, Entry, Parsed, RESPONSE, Registry, SHORT_NAMES, SLOW_START,
    SUFFIXES, name_of,
};

/// A flow's controller.
#[derive(Debug)]
pub(crate) struct Controller {
    /// Its short name.
    pub(crate) name: String,
    pub(crate) params: SharedController,
    /// The loss detection that its name implies.
    pub(crate) detection: Option<LossDetection>,
    /// The initial window in segments, where the flow gives none.
    pub(crate) iw: u32,
}

/// The senders that `cc` may name.
#[derive(Debug)]
pub(crate) enum Control {
    By(Controller),
    /// The sender from before congestion control.
    Bsd42(Bsd42Params),
}

/// Reads a controller.
pub(crate) fn controller(
    at: &Cursor<'_>,
    endpoints: Endpoints,
    registry: &Registry,
) -> Result<Control, Fault> {
    let (name, name_at) = at.kind_name("a controller")?;
    if name == BSD42 {
        return bsd42(at, &name_at, endpoints).map(Control::Bsd42);
    }
    if let Some(entry) = registry.controllers.named(name) {
        let params = SharedController(registry.controllers.read(at, registry)?);
        let name = entry.name.to_string();
        return Ok(Control::By(Controller { name, params, detection: None, iw: DEFAULT_IW }));
    }
    let parsed = Parsed::of(name, |name| registry.avoidances.named(name).is_some());
    let base = parsed.base;
    let classic = Classic::named(base);
    if classic.is_some() && endpoints == Endpoints::Ideal {
        return Err(name_at.not_allowed(
            "a controller that needs no loss recovery: this one is endpoints = \"linux\" only",
        ));
    }
    let avoidance = registry
        .avoidances
        .named(classic.map_or(base, |_| Classic::AVOIDANCE))
        .ok_or_else(|| unknown_controller(name, &name_at, registry))?;
    let response = response(at, name, parsed, registry)?;
    expect_keys(at, avoidance, response, registry)?;

    let style = match endpoints {
        Endpoints::Ideal => Style::Document,
        Endpoints::Linux => Style::Linux,
    };
    let growth = avoidance.read(at)?;
    let slow_start = slow_start(&at.get(SLOW_START), &*growth, style, registry)?;
    let mut config = WindowedConfig { avoidance: growth, slow_start, response: response.read(at)? };
    if classic.is_some() {
        config.avoidance = per_ack(config.avoidance);
    }
    config.resolve(style);
    // The endpoints' style may have chosen a variant that does not know a key.
    config.avoidance.check().map_err(|error| at.out_of_range(error))?;
    let base = classic.map_or(&*avoidance.name, |classic| classic.name);
    Ok(Control::By(Controller {
        name: name_of(base, config.response.name()),
        params: SharedController(Arc::new(config)),
        detection: classic.map(|classic| classic.detection),
        iw: classic.map_or(DEFAULT_IW, |classic| classic.iw),
    }))
}

/// Reads the sender from before congestion control.
fn bsd42(at: &Cursor<'_>, name_at: &Cursor<'_>, endpoints: Endpoints) -> Result<Bsd42Params, Fault> {
    if endpoints == Endpoints::Ideal {
        return Err(name_at.not_allowed("a controller; a sender without one needs endpoints = \"linux\""));
    }
    at.expect_keys(&[&["kind"], fields::<Bsd42Params>()].concat())?;
    let params: Bsd42Params = at.read_own_fields()?;
    params.check().map_err(|error| at.out_of_range(error))?;
    Ok(params)
}

/// The response of a window-based controller called `name`, which may imply it.
fn response<'r>(
    at: &Cursor<'_>,
    name: &str,
    Parsed { base, response: implied }: Parsed<'_>,
    registry: &'r Registry,
) -> Result<&'r Entry<Arc<dyn windtunnel_cc::ResponseParams>>, Fault> {
    let at = at.get(RESPONSE);
    let named = if at.is_given() { Some(at.kind_name("a response")?.0) } else { None };
    let response = registry.responses.find(named.or(implied).unwrap_or("conventional"), &at, registry)?;
    if let Some(implied) = implied
        && response.name != implied
    {
        return Err(at.not_allowed(format!(
            "`{name}` has the response `{implied}`; write kind = \"{base}\" for another"
        )));
    }
    if at.text().is_none() && at.is_given() {
        return Err(at.not_allowed("the name of a response; its parameters go next to it"));
    }
    Ok(response)
}

/// Finds fault with keys that are parameters neither of the avoidance nor of the response.
fn expect_keys<A, R>(
    at: &Cursor<'_>,
    avoidance: &Entry<A>,
    response: &Entry<R>,
    registry: &Registry,
) -> Result<(), Fault> {
    let keys: Vec<&str> =
        ["kind", SLOW_START, RESPONSE].into_iter().chain(avoidance.keys()).chain(response.keys()).collect();
    for entry in at.entries() {
        let key = entry.key.as_str();
        let of_another = || registry.responses.iter().find(|other| other.keys().any(|own| own == key));
        if !keys.contains(&key)
            && let Some(Entry { name, .. }) = of_another()
        {
            let problem = format!("is a parameter of the response `{name}`: add response = \"{name}\"");
            return Err(at.enter(entry).fault(problem));
        }
    }
    at.expect_keys(&keys)
}

/// Reno as it was before ABC, unless another growth is asked for.
fn per_ack(reno: Arc<dyn AvoidanceParams>) -> Arc<dyn AvoidanceParams> {
    match (&*reno as &dyn Any).downcast_ref::<RenoParams>() {
        Some(RenoParams { growth: None }) => Arc::new(RenoParams { growth: Some(AimdGrowth::PerAck) }),
        _ => reno,
    }
}

fn unknown_controller(name: &str, at: &Cursor<'_>, registry: &Registry) -> Fault {
    if let Some(fault) = registry.answer(name, "a controller", at, &|name| registry.is_controller(name)) {
        return fault;
    }
    let windowed = registry.avoidances.names();
    let shorts = SHORT_NAMES.iter().map(|short| short.name);
    let others = CLASSICS.iter().map(|classic| classic.name).chain(shorts).chain([BSD42]);
    let suffixes: Vec<&str> = SUFFIXES.iter().map(|(suffix, _)| *suffix).collect();
    let registered = registry.controllers.iter().map(|entry| &*entry.name);
    let alone: Vec<&str> = others.clone().chain(registered).collect();
    let allowed = format!(
        "a controller is one of {windowed}, each also with {}, or {}",
        suffixes.join(" or "),
        alone.join(", ")
    );
    let bases = registry.avoidances.iter().flat_map(Entry::names).chain(alone.iter().copied());
    let with_suffixes = |name: &str| -> Vec<String> {
        std::iter::once("").chain(suffixes.iter().copied()).map(|suffix| format!("{name}{suffix}")).collect()
    };
    let all: Vec<String> = bases.flat_map(with_suffixes).collect();
    let accepted = all.iter().map(String::as_str).filter(|name| registry.is_controller(name));
    at.not_allowed(allowed).with_hint(nearest(name, accepted))
}

/// Reads a slow start. If none is named, returns the controller's usual one, or with ideal endpoints the one that the
/// MDS document uses with all controllers.
fn slow_start(
    at: &Cursor<'_>,
    avoidance: &dyn AvoidanceParams,
    style: Style,
    registry: &Registry,
) -> Result<Arc<dyn SlowStartParams>, Fault> {
    if let Some(why) = avoidance.fixes_slow_start() {
        if at.is_given() {
            return Err(at.fault(format!("cannot be chosen here: {why}")));
        }
        return Ok(avoidance.usual_slow_start(style));
    }
    match (at.is_given(), style) {
        (true, _) => registry.slow_starts.read(at, registry),
        (false, Style::Document) => Ok(Arc::new(EsspParams::default())),
        (false, Style::Linux) => Ok(avoidance.usual_slow_start(style)),
    }
}
