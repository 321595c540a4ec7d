//! "Did you mean": finds the most likely intended name.

/// The longest name to compare: longer names are not typing errors, and comparing them takes time.
const LONGEST: usize = 40;

/// The longest word in which a letter in place of another makes another word: `bbr` is no slip for `cbr`.
const ACRONYM: usize = 4;

/// The candidate nearest to `name`: equal but for case and separators, else within a third of its length in edits (a
/// swap of neighbours is one), with something left in common. Not one that is likely to mean something else: numbers must
/// agree (`bbr4` is no slip for `bbr`), and so must short words but for a letter too many, too few or in the wrong place.
pub(crate) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if name.len() > LONGEST {
        return None;
    }
    let wanted = normal(name);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &normal(candidate)), candidate))
        .filter(|(edits, candidate)| *edits == 0 || is_slip(&wanted, &normal(candidate)))
        .filter(|(edits, candidate)| {
            *edits <= candidate.chars().count().max(3) / 3 && *edits < wanted.chars().count().max(1)
        })
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Whether one word may be written in place of another by a slip of the hand.
fn is_slip(wanted: &str, candidate: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let digits = |word: &str| -> String { word.chars().filter(char::is_ascii_digit).collect() };
    let other_word =
        wanted.len() == candidate.len() && wanted.len() <= ACRONYM && sorted(wanted) != sorted(candidate);
    digits(wanted) == digits(candidate) && !other_word
}

fn normal(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}
