//! Findings and edits of several passes over a text, each over what the one before left, told in terms of the first text.

use std::borrow::Cow;

use crate::edit::{Edit, Edits};
use crate::finding::{Finding, Span};
use crate::rule::Rule;
use crate::scanner::{FindingList, Scan};
use crate::severity::Severity;

/// What the passes so far have to say.
#[derive(Debug, Default)]
pub(super) struct Draft {
    findings: FindingList,
    /// What each pass changed, in terms of the text it saw.
    passes: Vec<Edits>,
}

impl Draft {
    /// Runs a pass over `text`, and gives what it leaves of it, and what it says.
    pub(super) fn pass<'t, T>(
        &mut self,
        text: &'t str,
        run: impl FnOnce(&str, &mut Pass<'_>) -> T,
    ) -> (Cow<'t, str>, T) {
        let mut pass = Pass { findings: &mut self.findings, passes: &self.passes, edits: Vec::new() };
        let says = run(text, &mut pass);
        let edits = pass.edits;
        if edits.is_empty() {
            return (Cow::Borrowed(text), says);
        }
        let edits = Edits::new(edits);
        let changed = edits.apply(text);
        self.passes.push(edits);
        (Cow::Owned(changed), says)
    }

    /// All there is to say.
    pub(super) fn finish(self) -> Scan {
        let mut findings = self.findings.into_vec();
        findings.sort_by_key(|finding| finding.span.map_or(usize::MAX, |span| span.start));
        Scan { findings, edits: together(self.passes) }
    }
}

/// The changes of all passes in terms of the first text.
fn together(mut passes: Vec<Edits>) -> Edits {
    if passes.len() < 2 {
        return passes.pop().unwrap_or_default();
    }
    let mut edits = Vec::with_capacity(passes.iter().map(|pass| pass.iter().count()).sum());
    for (number, pass) in passes.iter().enumerate() {
        let before = passes.get(..number).unwrap_or_default();
        edits.extend(
            pass.iter().map(|edit| Edit {
                span: original(before, edit.span),
                replacement: edit.replacement.clone(),
            }),
        );
    }
    Edits::new(edits)
}

/// One pass.
#[derive(Debug)]
pub(super) struct Pass<'d> {
    findings: &'d mut FindingList,
    passes: &'d [Edits],
    edits: Vec<Edit>,
}

impl Pass<'_> {
    /// Reports what stands at `span`, as bad as the rule says.
    pub(super) fn report(&mut self, rule: &'static Rule, span: Span, detail: impl FnOnce() -> String) {
        self.report_as(rule, rule.severity, span, detail);
    }

    /// Reports what stands at `span`, as bad as `severity`.
    pub(super) fn report_as(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        span: Span,
        detail: impl FnOnce() -> String,
    ) {
        let passes = self.passes;
        self.findings.push_with(rule, severity, || {
            Finding::new(rule, original(passes, span), detail()).with_severity(severity)
        });
    }

    /// Takes `span` out of the text.
    pub(super) fn remove(&mut self, span: Span) {
        match self.edits.last_mut() {
            Some(last) if last.span.end == span.start && last.replacement.is_empty() => {
                last.span.end = span.end
            }
            Some(_) | None => self.replace(span, ""),
        }
    }

    /// Puts `replacement` into the place of `span`.
    pub(super) fn replace(&mut self, span: Span, replacement: impl Into<Cow<'static, str>>) {
        self.edits.push(Edit { span, replacement: replacement.into() });
    }
}

/// Where a span lies in the text that the first of `passes` saw.
fn original(passes: &[Edits], span: Span) -> Span {
    passes.iter().rev().fold(span, |span, edits| edits.to_original(span))
}
