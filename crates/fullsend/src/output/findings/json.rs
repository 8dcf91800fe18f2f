//! Findings as one JSON object.

use fullsend_guard::Severity;
use fullsend_yaml::printable;
use serde_json::{Map, Value, json};

use super::{Report, Reported, is_incomplete, message, outcome_name};

/// `{files, skipped, summary, outcome, findings}`.
pub(super) fn document(report: &Report) -> Value {
    let files: Vec<String> = report.sources.iter().map(super::Source::name).collect();
    let skipped: Vec<Value> = report
        .skipped
        .iter()
        .map(
            |skipped| json!({ "file": printable(skipped.path.display().to_string()), "reason": skipped.why }),
        )
        .collect();
    let summary: Map<String, Value> = Severity::ALL
        .into_iter()
        .rev()
        .map(|severity| (severity.as_str().to_owned(), report.count(severity).into()))
        .collect();
    json!({
        "files": files,
        "skipped": skipped,
        "summary": summary,
        "outcome": outcome_name(report.outcome),
        "findings": report.shown().map(finding).collect::<Vec<_>>(),
    })
}

fn finding(reported: &Reported) -> Value {
    let Reported { source, finding, place, fixed } = reported;
    let place = place.as_ref();
    json!({
        "file": source.name(),
        "line": place.map(|place| place.start.line),
        "column": place.map(|place| place.start.column),
        "end_line": place.map(|place| place.end.line),
        "end_column": place.map(|place| place.end.column),
        "scanner": finding.rule.scanner.as_str(),
        "rule": finding.rule.id,
        "severity": finding.severity.as_str(),
        "detail": message(finding),
        "remedy": finding.rule.remedy,
        "incomplete": is_incomplete(finding),
        "fixed": fixed,
        "excerpt": place.map(|place| place.excerpt.text.as_str()),
    })
}
