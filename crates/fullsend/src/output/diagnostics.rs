//! Problems for people: message, place, source line, and what to do.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use anyhow::Result;
use fullsend_yaml::{Diagnostic, Location, Severity, SourceFile, SourceMap, printable};

use crate::output::Output;

/// Prints problems as a result.
pub(crate) fn print(output: &mut Output, sources: &SourceMap, problems: &[Diagnostic]) -> Result<()> {
    let renderer = if output.colour() { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(output.width());
    for problem in problems {
        let text = render(&renderer, sources, problem);
        output.text(&format!("{text}\n\n"))?;
    }
    Ok(())
}

/// Prints problems as the reason of a failure.
pub(crate) fn print_to_stderr(output: &mut Output, sources: &SourceMap, problems: &[Diagnostic]) {
    let renderer = Renderer::plain().term_width(output.width());
    for problem in problems {
        output.stderr(&format!("{}\n\n", render(&renderer, sources, problem)));
    }
}

fn render(renderer: &Renderer, sources: &SourceMap, problem: &Diagnostic) -> String {
    let level = match problem.rule.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(short(&problem.message)).id(problem.rule.code);
    let primary = Group::with_title(title);
    let mut report = vec![with_snippet(primary, sources, problem.at, AnnotationKind::Primary)];
    for related in &problem.related {
        let title = Level::NOTE.secondary_title(short(&related.message));
        let group = Group::with_title(title);
        report.push(with_snippet(group, sources, related.at, AnnotationKind::Context));
    }
    report.push(Group::with_title(Level::HELP.secondary_title(short(problem.help()))));
    renderer.render(&report)
}

/// Values are quoted in messages; one of a megabyte must not fill the screen.
fn short(text: &str) -> String {
    const LONGEST: usize = 600;
    if text.chars().count() <= LONGEST {
        text.to_owned()
    } else {
        text.chars().take(LONGEST).chain(['…']).collect()
    }
}

fn with_snippet<'s>(
    group: Group<'s>,
    sources: &'s SourceMap,
    at: Location,
    kind: AnnotationKind,
) -> Group<'s> {
    let Some(file) = sources.file(at.file) else { return group };
    let (line, text, range) = excerpt(file, at);
    let snippet = Snippet::source(text)
        .line_start(line)
        .path(printable(file.path().display().to_string()))
        .annotation(kind.span(range));
    group.element(snippet)
}

/// The line of a place, its number, and the place within it. A place that spans lines is cut at the end of its first.
fn excerpt(file: &SourceFile, at: Location) -> (usize, &str, Range<usize>) {
    let range = at.range();
    let position = file.line_column(range.start);
    let line = file.line_at(range.start);
    let before: usize = line.chars().take(position.column - 1).map(char::len_utf8).sum();
    let length = range.end.saturating_sub(range.start).min(line.len() - before.min(line.len()));
    let end = line.floor_char_boundary((before + length).min(line.len()));
    (position.line, line, before..end.max(before))
}
