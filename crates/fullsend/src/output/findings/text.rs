//! Findings for people: what, where, the line with everything visible, and what to do.

use std::fmt::Write as _;

use anyhow::Result;
use fullsend_guard::{Outcome, Severity};
use fullsend_yaml::printable;

use super::{Report, Reported, message, outcome_name, rule_name};
use crate::output::Output;

/// Prints findings as the result, and a summary as a remark.
pub(super) fn print(report: &Report, output: &mut Output) -> Result<()> {
    let paint = if output.colour() { Paint::Colour } else { Paint::Plain };
    for reported in report.shown() {
        output.text(&block(reported, paint))?;
    }
    note_skipped(report, output);
    output.note(&summary(report));
    Ok(())
}

/// Whether escape sequences are written.
#[derive(Clone, Copy)]
enum Paint {
    Plain,
    Colour,
}

impl Paint {
    fn bold(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[1;{code}m{text}\x1b[0m"),
        }
    }
}

/// The SGR code of the colour of a severity.
fn colour(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "31",
        Severity::Medium => "33",
        Severity::Low | Severity::Info => "36",
    }
}

const BLUE: &str = "34";

fn block(reported: &Reported, paint: Paint) -> String {
    let Reported { source, finding, place, fixed } = reported;
    let code = colour(finding.severity);
    let title = format!("{}[{}]", finding.severity, rule_name(finding.rule));
    let removed = if *fixed { " (removed)" } else { "" };
    let mut text = format!("{}: {}{removed}\n", paint.bold(code, &title), message(finding));
    let arrow = |indent: usize| paint.bold(BLUE, &format!("{:indent$}-->", ""));
    match place {
        None => {
            let _infallible = writeln!(text, "{} {}", arrow(1), source.name());
        }
        Some(place) => {
            let number = place.start.line.to_string();
            let (margin, bar) = (number.len(), paint.bold(BLUE, "|"));
            let (line, column) = (place.start.line, place.start.column);
            let carets = paint.bold(code, &"^".repeat(place.excerpt.marked.len()));
            let before = " ".repeat(place.excerpt.marked.start);
            let _infallible = write!(
                text,
                "{} {}:{line}:{column}\n{:margin$} {bar}\n{} {bar} {}\n{:margin$} {bar} {before}{carets}\n",
                arrow(margin),
                source.name(),
                "",
                paint.bold(BLUE, &number),
                place.excerpt.text,
                "",
            );
        }
    }
    let _infallible = writeln!(text, "{}: {}\n", paint.bold("36", "help"), finding.rule.remedy);
    text
}

/// What was left out on purpose is said, so that nobody takes it for checked.
fn note_skipped(report: &Report, output: &mut Output) {
    const NAMED: usize = 5;
    let mut reasons: Vec<&str> = Vec::new();
    for skipped in &report.skipped {
        if !reasons.contains(&skipped.why) {
            reasons.push(skipped.why);
        }
    }
    for reason in reasons {
        let names: Vec<String> = report
            .skipped
            .iter()
            .filter(|skipped| skipped.why == reason)
            .map(|skipped| printable(skipped.path.display().to_string()))
            .collect();
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        output.note(&format!("left out, {reason}: {named}{more}"));
    }
}

fn summary(report: &Report) -> String {
    let count = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let scanned = count(
        report.sources.len(),
        if report.sources.iter().any(|source| source.path().is_some()) { "file" } else { "text" },
    );
    if report.outcome == Outcome::Clean {
        return format!("no findings in {scanned}");
    }
    let counts: Vec<String> = Severity::ALL
        .into_iter()
        .rev()
        .map(|severity| (report.count(severity), severity))
        .filter(|(number, _)| *number > 0)
        .map(|(number, severity)| format!("{number} {severity}"))
        .collect();
    let found = count(report.findings.len(), "finding");
    let fixed = report.findings.iter().filter(|reported| reported.fixed).count();
    let fixed = if fixed > 0 { format!("; {fixed} removed") } else { String::new() };
    format!("{found} in {scanned}: {}{fixed}; {}", counts.join(", "), outcome_name(report.outcome))
}
