//! What matchers find, before it is known where it stands.

use crate::finding::Span;
use crate::rule::Rule;
use crate::severity::Severity;

/// A match in the folded text.
#[derive(Clone, Debug)]
pub(super) struct Match {
    pub(super) rule: &'static Rule,
    pub(super) severity: Severity,
    pub(super) span: Span,
    /// What to say instead of the matched words.
    pub(super) detail: Option<String>,
}

impl Match {
    pub(super) fn new(rule: &'static Rule, span: Span) -> Self {
        Self { rule, severity: rule.severity, span, detail: None }
    }

    pub(super) fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    pub(super) fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}
