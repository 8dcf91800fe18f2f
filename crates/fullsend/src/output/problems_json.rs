//! Problems as one JSON object.

use fullsend_harness::LintReport;
use fullsend_yaml::{Diagnostic, Location, Severity, SourceMap};
use serde_json::{Value, json};

/// `{files, errors, warnings, problems}`.
pub(crate) fn document(reports: &[LintReport]) -> Value {
    let files: Vec<String> =
        reports.iter().flat_map(|report| &report.files).map(|file| file.display().to_string()).collect();
    let count = |severity| reports.iter().map(|report| report.count(severity)).sum::<usize>();
    let problems: Vec<Value> = reports
        .iter()
        .flat_map(|report| report.problems.iter().map(|found| problem(&report.sources, found)))
        .collect();
    json!({
        "files": files,
        "errors": count(Severity::Error),
        "warnings": count(Severity::Warning),
        "problems": problems,
    })
}

/// One problem with its place.
pub(crate) fn problem(sources: &SourceMap, problem: &Diagnostic) -> Value {
    let related: Vec<Value> = problem
        .related
        .iter()
        .map(|related| merged(json!({ "message": related.message }), place(sources, related.at)))
        .collect();
    let body = json!({
        "code": problem.rule.code,
        "severity": problem.rule.severity.as_str(),
        "message": problem.message,
        "help": problem.help(),
        "related": related,
    });
    merged(body, place(sources, problem.at))
}

fn place(sources: &SourceMap, at: Location) -> Value {
    let Some(file) = sources.file(at.file) else { return json!({}) };
    let (start, end) = (file.line_column(at.start as usize), file.line_column(at.end as usize));
    json!({
        "file": file.path().display().to_string(),
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "source": file.line_at(at.start as usize),
    })
}

fn merged(mut body: Value, other: Value) -> Value {
    if let (Value::Object(body), Value::Object(other)) = (&mut body, other) {
        body.extend(other);
    }
    body
}
