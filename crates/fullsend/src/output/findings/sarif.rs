//! Findings as SARIF.

use fullsend_guard::{Severity, rules};
use serde_json::Value;

use super::{Report, Reported, message, rule_name};
use crate::output::sarif::{self, Found, Region, Rule};

/// A SARIF log with one run.
pub(super) fn document(report: &Report) -> Value {
    let rules: Vec<Rule> = rules::all().map(rule).collect();
    let found: Vec<Found> = report.shown().map(found).collect();
    sarif::document(&rules, &found)
}

fn rule(rule: &'static fullsend_guard::Rule) -> Rule {
    Rule {
        id: rule_name(rule),
        summary: rule.summary,
        remedy: rule.remedy,
        level: level(rule.severity),
        security_severity: Some(score(rule.severity)),
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

/// A number in the range that code hosts translate back to the same word.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "3.0",
        Severity::Info => "0.1",
    }
}

fn found(reported: &Reported) -> Found {
    let Reported { source, finding, place, fixed } = reported;
    let range = place
        .as_ref()
        .map(|place| [(place.start.line, place.start.column), (place.end.line, place.end.column)]);
    let file = source.path().map(|path| path.display().to_string());
    let removed = if *fixed { " (removed)" } else { "" };
    Found {
        rule: rule_name(finding.rule),
        level: level(finding.severity),
        message: format!("{}{removed}. Fix: {}", message(finding), finding.rule.remedy),
        region: file.map(|file| Region { file, range }),
        related: Vec::new(),
    }
}
