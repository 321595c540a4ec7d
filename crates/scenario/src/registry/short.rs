//! Short names of compositions: a growth function and a response under one name.

/// The suffixes of a controller's name that stand for a response, each with the response.
pub(crate) const SUFFIXES: &[(&str, &str)] = &[(MDS_SUFFIX, "mds"), ("-sce", "sce")];

/// The suffix that stands for the MDS response.
pub(crate) const MDS_SUFFIX: &str = "-mds";

/// A growth function with a response, as it was published.
#[derive(Debug)]
pub(crate) struct ShortName {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) response: &'static str,
}

impl ShortName {
    /// All of them grow as Reno does.
    pub(crate) const AVOIDANCE: &'static str = "reno";

    /// The one called `name`.
    pub(crate) fn named(name: &str) -> Option<&'static ShortName> {
        SHORT_NAMES.iter().find(|short| short.name == name)
    }
}

/// All of them.
pub(crate) const SHORT_NAMES: &[ShortName] = &[
    ShortName {
        name: "dctcp",
        summary: "Reno that answers CE in proportion to the share of marked segments",
        response: "dctcp",
    },
    ShortName {
        name: "dctcp-sce",
        summary: "Reno that gives up half a segment for each SCE",
        response: "dctcp-sce",
    },
];

/// What a controller's name says: the name of its growth function, and the response that it implies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parsed<'n> {
    pub(crate) base: &'n str,
    pub(crate) response: Option<&'static str>,
}

impl Parsed<'_> {
    /// Takes a name apart, unless it `is_whole`: the name of a growth function itself.
    pub(crate) fn of(name: &str, is_whole: impl Fn(&str) -> bool) -> Parsed<'_> {
        if let Some(short) = ShortName::named(name) {
            return Parsed { base: ShortName::AVOIDANCE, response: Some(short.response) };
        }
        let suffixed =
            SUFFIXES.iter().find_map(|(suffix, response)| Some((name.strip_suffix(suffix)?, *response)));
        match suffixed {
            Some((base, response)) if !is_whole(name) => Parsed { base, response: Some(response) },
            _ => Parsed { base: name, response: None },
        }
    }
}

/// The short name of a growth function called `base` with `response`.
pub(crate) fn name_of(base: &str, response: &str) -> String {
    let short = SHORT_NAMES.iter().find(|short| base == ShortName::AVOIDANCE && short.response == response);
    let suffix = SUFFIXES.iter().find(|(_, own)| *own == response).map_or("", |(suffix, _)| suffix);
    short.map_or_else(|| format!("{base}{suffix}"), |short| short.name.to_owned())
}
