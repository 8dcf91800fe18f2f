//! Text that was found in another form within a text.

use super::source::Part;
use crate::finding::Span;

/// A decoded text.
#[derive(Debug)]
pub(super) struct Payload {
    /// Where its encoded form is.
    pub(super) span: Span,
    /// What it was encoded with.
    pub(super) via: &'static str,
    pub(super) text: String,
}

impl Payload {
    /// The same, where it was found in `part` and is told by its place in the whole.
    pub(super) fn within(self, part: &Part<'_>) -> Self {
        Self { span: part.outside(self.span), ..self }
    }
}
