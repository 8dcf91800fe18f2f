//! Every rule is broken by some directory, alone, and kept by the same directory put right.

use std::collections::BTreeSet;

use fullsend_harness::rules;

use super::rule_cases::{Files, cases};
use super::support::{CLEAN, Folder, HARNESS};

/// Rules that need more than files of text; each has a test of its own, here or in `remote_bases`.
const APART: &[&str] = &["yaml-encoding", "unset-variable", "base-of-remote"];

fn folder(files: &Files) -> Folder {
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    Folder::with(&files)
}

#[test]
fn every_rule_has_a_case() {
    let covered: BTreeSet<&str> = cases().iter().map(|case| case.code).chain(APART.iter().copied()).collect();
    let rules: BTreeSet<&str> = rules::all().map(|rule| rule.code).collect();
    assert_eq!(rules.difference(&covered).collect::<Vec<_>>(), Vec::<&&str>::new(), "rules without a case");
    assert_eq!(covered.difference(&rules).collect::<Vec<_>>(), Vec::<&&str>::new(), "cases without a rule");
    assert_eq!(rules::all().count(), rules.len(), "a code names one rule");
}

#[test]
fn a_broken_directory_breaks_its_rule_and_no_other() {
    for case in cases() {
        let folder = folder(&case.broken);
        let codes: BTreeSet<&str> = folder.codes().into_iter().collect();
        assert_eq!(codes, BTreeSet::from([case.code]), "{:#?}", folder.lint());
    }
}

#[test]
fn the_directory_put_right_has_no_problem() {
    for case in cases() {
        assert_eq!(folder(&case.kept).lint(), CLEAN, "{}", case.code);
    }
}

#[test]
fn bytes_that_are_not_utf_8_break_their_rule() {
    let folder = Folder::with(&[("harness/code.yaml", HARNESS)]);
    assert_eq!(folder.lint(), CLEAN);
    std::fs::write(folder.path("harness/code.yaml"), b"role: coder\nslug: caf\xe9\n").unwrap();
    assert_eq!(
        folder.lint(),
        [
            "yaml-encoding harness/code.yaml:2:10 the byte at offset 21 is not UTF-8 | save the file as UTF-8 without other bytes"
        ]
    );
}

#[test]
fn a_variable_must_be_set() {
    let folder = Folder::of("env: {runner: {A: '${B}'}}\n");
    assert_eq!(folder.lint_with(&[("B", "c")]), CLEAN);
    assert_eq!(
        folder.lint_with(&[]),
        [
            "unset-variable harness/code.yaml:3:19 `env.runner.A` refers to `${B}`, which is not set | set `B` in the environment"
        ]
    );
}

#[test]
fn every_rule_says_what_it_demands_and_what_to_do() {
    for rule in rules::all() {
        assert!(rule.code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", rule.code);
        assert!(rule.summary.ends_with('.') && rule.summary.len() > 10, "{}", rule.code);
        assert!(rule.remedy.len() > 5 && !rule.remedy.ends_with('.'), "{}", rule.code);
    }
}
