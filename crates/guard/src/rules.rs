//! All rules of all scanners.

use crate::rule::Rule;
use crate::{canary, classifier, command, files, hook, injection, log, secret, tirith, unicode, url};

/// The rules of each scanner, in the order in which they are documented.
static SCANNERS: &[&[&Rule]] = &[
    unicode::RULES,
    injection::RULES,
    classifier::RULES,
    secret::RULES,
    canary::RULES,
    url::RULES,
    command::RULES,
    tirith::RULES,
    files::RULES,
    hook::RULES,
    log::RULES,
];

/// All rules, scanner by scanner.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    SCANNERS.iter().copied().flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::all;

    #[test]
    fn names_are_unique_and_every_rule_says_what_to_do() {
        let mut names = BTreeSet::new();
        for rule in all() {
            assert!(names.insert((rule.scanner, rule.id)), "{}/{} stands twice", rule.scanner, rule.id);
            assert!(rule.summary.ends_with('.') && !rule.remedy.is_empty(), "{}/{}", rule.scanner, rule.id);
            assert!(
                rule.id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')),
                "{}",
                rule.id
            );
        }
    }
}
