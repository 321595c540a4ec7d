//! Algorithms: a name, or a table with `kind` and parameters.

use windtunnel_cc::{
    AimdGrowth, AvoidanceConfig, EsspParams, MdsParams, OutOfRange, ResponseConfig, SlowStartConfig, Style,
    WindowedConfig,
};
use windtunnel_tcp::LossDetection;
use windtunnel_tcp::bsd42::Bsd42Params;

use super::cursor::Cursor;
use super::deserialize::fields;
use super::fault::Fault;
use super::nearest::nearest;
use crate::model::Endpoints;
use crate::registry::{CLASSICS, Classic, DEFAULT_IW, Described, Registry};

/// The suffix of a controller's name that stands for the MDS response.
pub(crate) const MDS_SUFFIX: &str = "-mds";

/// The largest tau. The document knows 8 to 128; a limiter holds tau times, so that a slip of the pen must not take
/// all memory.
const LARGEST_TAU: u32 = 65_536;

/// A flow's controller.
#[derive(Debug)]
pub(crate) struct Controller {
    /// Its short name.
    pub(crate) name: String,
    pub(crate) config: WindowedConfig,
    /// The loss detection that its name stands for.
    pub(crate) detection: Option<LossDetection>,
    /// The initial window in segments, where the flow gives none.
    pub(crate) iw: u32,
    /// The sender from before congestion control, if it is that.
    pub(crate) bsd42: Option<Bsd42Params>,
}

/// The name of the sender from before congestion control, which takes the place of a controller.
pub(crate) const BSD42: &str = "bsd42";

/// Reads the sender from before congestion control.
fn bsd42(at: &Cursor<'_>, place: &Cursor<'_>, endpoints: Endpoints) -> Result<Controller, Fault> {
    if endpoints == Endpoints::Ideal {
        return Err(place.not_allowed("a controller; a sender without one needs endpoints = \"linux\""));
    }
    at.expect_keys(&[&["kind"], fields::<Bsd42Params>()].concat())?;
    let params: Bsd42Params = at.read_own_fields()?;
    params.check().map_err(|OutOfRange { key, allowed, .. }| at.get(key).not_allowed(allowed))?;
    let config = WindowedConfig::default();
    let name = BSD42.to_owned();
    Ok(Controller { name, config, detection: None, iw: DEFAULT_IW, bsd42: Some(params) })
}

/// Reads a controller.
pub(crate) fn controller(
    at: &Cursor<'_>,
    endpoints: Endpoints,
    registry: &Registry,
) -> Result<Controller, Fault> {
    let (name, place) = at.kind_name("a controller")?;
    if name == BSD42 {
        return bsd42(at, &place, endpoints);
    }
    let (base, suffixed) = match name.strip_suffix(MDS_SUFFIX) {
        Some(base) => (base, true),
        None => (name, false),
    };
    let classic = Classic::named(base);
    if classic.is_some() && endpoints == Endpoints::Ideal {
        return Err(place.not_allowed(
            "a controller that needs no loss recovery: this one is endpoints = \"linux\" only",
        ));
    }
    let avoidance = registry
        .avoidances
        .named(classic.map_or(base, |_| Classic::AVOIDANCE))
        .ok_or_else(|| unknown_controller(name, &place, registry))?;

    let response_at = at.get("response");
    let response_name = match (response_at.is_given(), suffixed) {
        (true, _) => response_at.kind_name("a response")?.0,
        (false, true) => "mds",
        (false, false) => "conventional",
    };
    let response = registry.responses.find(response_name, &response_at)?;
    if suffixed && response.name != "mds" {
        return Err(response_at
            .not_allowed(format!("`{name}` has the MDS response; write kind = \"{base}\" for another")));
    }
    if response_at.text().is_none() && response_at.is_given() {
        return Err(response_at.not_allowed("the name of a response; its parameters stand beside it"));
    }

    let known: Vec<&str> = ["kind", "slow_start", "response"]
        .into_iter()
        .chain(avoidance.keys())
        .chain(response.keys())
        .collect();
    if response.name != "mds" {
        let only_mds = |key: &&str| fields::<MdsParams>().contains(key) && !known.contains(key);
        if let Some(entry) = at.entries().iter().find(|entry| only_mds(&entry.key.as_str())) {
            return Err(at.enter(entry).fault("is a parameter of the MDS response: add response = \"mds\""));
        }
    }
    at.expect_keys(&known)?;

    let style = match endpoints {
        Endpoints::Ideal => Style::Document,
        Endpoints::Linux => Style::Linux,
    };
    let growth = avoidance.read(at)?;
    let slow_start = slow_start(&at.get("slow_start"), &growth, style, registry)?;
    let mut config = WindowedConfig { avoidance: growth, slow_start, response: response.read(at)? };
    if let (Some(_), AvoidanceConfig::Reno(params)) = (classic, &mut config.avoidance) {
        params.growth.get_or_insert(AimdGrowth::PerAck);
    }
    config.resolve(style);
    check(at, &config)?;
    let suffix = if config.answers_sce() { MDS_SUFFIX } else { "" };
    let name = classic.map_or(&*avoidance.name, |classic| classic.name);
    Ok(Controller {
        name: format!("{name}{suffix}"),
        config,
        detection: classic.map(|classic| classic.detection),
        iw: classic.map_or(DEFAULT_IW, |classic| classic.iw),
        bsd42: None,
    })
}

fn unknown_controller(name: &str, at: &Cursor<'_>, registry: &Registry) -> Fault {
    let others = CLASSICS.iter().map(|classic| classic.name).chain([BSD42]);
    let allowed = format!(
        "a controller is one of {}, each also with {MDS_SUFFIX}, or {}",
        registry.avoidances.names(),
        others.clone().collect::<Vec<_>>().join(", "),
    );
    let bases = registry.avoidances.iter().map(|entry| &*entry.name).chain(others);
    let all: Vec<String> = bases.flat_map(|name| [name.to_owned(), format!("{name}{MDS_SUFFIX}")]).collect();
    at.not_allowed(allowed).with_hint(nearest(name, all.iter().map(String::as_str)))
}

/// A slow start; without one the usual one of the controller, and with ideal endpoints the one that the MDS document uses
/// with all of them.
fn slow_start(
    at: &Cursor<'_>,
    avoidance: &AvoidanceConfig,
    style: Style,
    registry: &Registry,
) -> Result<SlowStartConfig, Fault> {
    match (at.is_given(), style) {
        (true, _) => registry.slow_starts.read(at),
        (false, Style::Document) => Ok(SlowStartConfig::Essp(EsspParams::default())),
        (false, Style::Linux) => Ok(avoidance.usual_slow_start(style)),
    }
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
    avoidance.parameters().contains_key(key)
}
