//! Spelling suggestions: the known word nearest to what was written.

/// The candidate most like `word`, when it is close enough that a typing slip explains the difference.
#[must_use]
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let folded = fold(word);
    let allowed = (folded.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Case and word separators are what people get wrong most: `preScript` and `pre-script` mean `pre_script`.
fn fold(word: &str) -> String {
    word.chars()
        .take(64)
        .filter(|letter| !matches!(letter, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}
