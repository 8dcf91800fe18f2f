//! Problems as SARIF 2.1.0, the format that code hosts show beside the code.

use fullsend_harness::{LintReport, rules};
use fullsend_yaml::{Diagnostic, Location, Severity, SourceMap};
use serde_json::{Value, json};

/// A SARIF log with one run.
pub(crate) fn document(reports: &[LintReport]) -> Value {
    let results: Vec<Value> = reports
        .iter()
        .flat_map(|report| report.problems.iter().map(|problem| result(&report.sources, problem)))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "fullsend",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules::all().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(rule: &fullsend_yaml::Rule) -> Value {
    json!({
        "id": rule.code,
        "shortDescription": { "text": rule.summary },
        "help": { "text": rule.remedy },
        "defaultConfiguration": { "level": level(rule.severity) },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn result(sources: &SourceMap, problem: &Diagnostic) -> Value {
    let related: Vec<Value> = problem
        .related
        .iter()
        .filter_map(|related| {
            let mut location = location(sources, related.at)?;
            location.as_object_mut()?.insert("message".to_owned(), json!({ "text": related.message }));
            Some(location)
        })
        .collect();
    json!({
        "ruleId": problem.rule.code,
        "ruleIndex": rules::all().position(|rule| rule.code == problem.rule.code),
        "level": level(problem.rule.severity),
        "message": { "text": format!("{}. Fix: {}", problem.message, problem.help()) },
        "locations": location(sources, problem.at).into_iter().collect::<Vec<_>>(),
        "relatedLocations": related,
    })
}

fn location(sources: &SourceMap, at: Location) -> Option<Value> {
    let file = sources.file(at.file)?;
    let (start, end) = (file.line_column(at.start as usize), file.line_column(at.end as usize));
    Some(json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&file.path().display().to_string()) },
            "region": {
                "startLine": start.line,
                "startColumn": start.column,
                "endLine": end.line,
                "endColumn": end.column,
            },
        },
    }))
}

/// A path as a relative URI reference: only what RFC 3986 allows in a path stays as it is.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.strip_prefix("./").unwrap_or(path).bytes().map(encode).collect()
}
