//! Injected instructions: what is found, how bad it is, and what stays quiet.

mod attacks;
mod clean;
mod corpus;
mod laws;

use fullsend_guard::{InjectionScanner, Scanner as _, Severity};

/// The rules and severities found in a text, worst first.
fn found(text: &str) -> Vec<(&'static str, Severity)> {
    let scan = InjectionScanner.scan(text);
    let mut found: Vec<_> = scan.findings.iter().map(|finding| (finding.rule.id, finding.severity)).collect();
    found.sort_by_key(|(id, severity)| (std::cmp::Reverse(*severity), *id));
    found
}

/// The worst severity under a rule.
fn severity(text: &str, rule: &str) -> Option<Severity> {
    found(text).into_iter().filter(|(id, _)| *id == rule).map(|(_, severity)| severity).max()
}

/// The worst severity of all.
fn worst(text: &str) -> Option<Severity> {
    found(text).into_iter().map(|(_, severity)| severity).max()
}
