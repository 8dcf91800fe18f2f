//! Problems of harness files as SARIF.

use fullsend_harness::{LintReport, rules};
use fullsend_yaml::{Diagnostic, Location, Severity, SourceMap};
use serde_json::Value;

use crate::output::sarif::{self, Found, Region, Rule};

/// A SARIF log with one run.
pub(crate) fn document(reports: &[LintReport]) -> Value {
    let rules: Vec<Rule> = rules::all().map(rule).collect();
    let found: Vec<Found> = reports
        .iter()
        .flat_map(|report| report.problems.iter().map(|problem| found(&report.sources, problem)))
        .collect();
    sarif::document(&rules, &found)
}

fn rule(rule: &fullsend_yaml::Rule) -> Rule {
    Rule {
        id: rule.code.to_owned(),
        summary: rule.summary,
        remedy: rule.remedy,
        level: level(rule.severity),
        security_severity: None,
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn found(sources: &SourceMap, problem: &Diagnostic) -> Found {
    let related = problem
        .related
        .iter()
        .filter_map(|related| Some((region(sources, related.at)?, related.message.clone())))
        .collect();
    Found {
        rule: problem.rule.code.to_owned(),
        level: level(problem.rule.severity),
        message: format!("{}. Fix: {}", problem.message, problem.help()),
        region: region(sources, problem.at),
        related,
    }
}

fn region(sources: &SourceMap, at: Location) -> Option<Region> {
    let file = sources.file(at.file)?;
    let position = |offset: u32| {
        let position = file.line_column(offset as usize);
        (position.line, position.column)
    };
    Some(Region {
        file: file.path().display().to_string(),
        range: Some([position(at.start), position(at.end)]),
    })
}
