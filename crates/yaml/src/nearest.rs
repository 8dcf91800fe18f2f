//! Spelling suggestions: the known word nearest to what was written.

/// From this length on, the start of a word is telling enough to mean the whole.
const TELLING: usize = 5;

/// The candidate most like `word`, when it is close enough that a typing slip explains the difference, or the only one
/// that starts with it.
#[must_use]
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let folded = fold(word);
    let allowed = (folded.chars().count() / 3).clamp(1, 4);
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let slip = candidates
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| *candidate);
    slip.or_else(|| completion(&folded, &candidates))
}

fn completion<'c>(folded: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let mut longer = candidates.iter().filter(|candidate| fold(candidate).starts_with(folded));
    match (longer.next(), longer.next()) {
        (Some(only), None) if folded.chars().count() >= TELLING => Some(only),
        _ => None,
    }
}

/// Case and word separators are what people get wrong most: `preScript` and `pre-script` mean `pre_script`.
fn fold(word: &str) -> String {
    word.chars()
        .take(64)
        .filter(|letter| !matches!(letter, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}
