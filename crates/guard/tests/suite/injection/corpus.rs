//! Longer texts: attacks in the style of those that were published, and honest texts that look like them.

use fullsend_guard::Severity::{self, Critical, High};

use super::{found, worst};

/// Records that start with a line of four percent signs and a name.
fn records(file: &'static str) -> Vec<(&'static str, &'static str)> {
    file.split("%%%% ").skip(1).filter_map(|record| record.split_once('\n')).collect()
}

const ATTACKS: &str = include_str!("corpus/attacks.txt");
const BENIGN: &str = include_str!("corpus/benign.txt");

/// Attacks that rules do not see carry this at the start of their name, and why.
const MISSED: &str = "missed";

fn is_caught(text: &str) -> bool {
    worst(text).is_some_and(|severity| severity >= High)
}

fn differing(expected: bool) -> Vec<(&'static str, Vec<(&'static str, Severity)>)> {
    records(ATTACKS)
        .into_iter()
        .filter(|(name, text)| name.starts_with(MISSED) != expected && is_caught(text) != expected)
        .map(|(name, text)| (name, found(text)))
        .collect()
}

#[test]
fn known_attacks_are_at_least_high() {
    let missed = differing(true);
    assert!(missed.is_empty(), "{missed:#?}");
}

/// What is caught after all must lose its mark, so that the list of gaps stays true.
#[test]
fn known_misses_are_still_missed() {
    let caught = differing(false);
    assert!(caught.is_empty(), "{caught:#?}");
}

#[test]
fn nine_in_ten_attacks_are_caught() {
    let all = records(ATTACKS);
    let caught = all.iter().filter(|(_, text)| is_caught(text)).count();
    assert!(all.len() >= 120 && caught * 10 >= all.len() * 9, "{caught} of {}", all.len());
}

#[test]
fn no_honest_text_is_critical() {
    let loud: Vec<_> = records(BENIGN)
        .into_iter()
        .filter(|(_, text)| worst(text) == Some(Critical))
        .map(|(name, text)| (name, found(text)))
        .collect();
    assert!(loud.is_empty(), "{loud:#?}");
}

/// Files that teams write for their agents are what is scanned most; a finding that stops the work is a defect.
#[test]
fn honest_texts_are_hardly_ever_high() {
    let all = records(BENIGN);
    let high: Vec<_> =
        all.iter().filter(|(_, text)| is_caught(text)).map(|(name, text)| (name, found(text))).collect();
    assert!(all.len() >= 120 && high.len() * 100 <= all.len() * 2, "{high:#?}");
}
