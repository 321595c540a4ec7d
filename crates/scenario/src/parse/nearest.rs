//! "Did you mean": finds the most likely intended name.

/// The longest name to compare: longer names are not typing errors, and comparing them takes time.
const LONGEST: usize = 40;

/// The candidate nearest to `name`: equal but for case and separators, else within a third of its length in edits (a
/// swap of neighbours is one), with something left in common.
pub(crate) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if name.len() > LONGEST {
        return None;
    }
    let wanted = normal(name);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &normal(candidate)), candidate))
        .filter(|(edits, candidate)| {
            *edits <= candidate.chars().count().max(3) / 3 && *edits < wanted.chars().count().max(1)
        })
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

fn normal(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}
