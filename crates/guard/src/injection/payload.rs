//! Text that was found in another form within a text.

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
