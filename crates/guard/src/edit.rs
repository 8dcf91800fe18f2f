//! Changes to a text, and the way back from the changed text to the original.

use std::borrow::Cow;

use crate::finding::Span;

/// One change: the bytes of `span` become `replacement`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// What takes its place; empty to remove.
    pub replacement: Cow<'static, str>,
}

/// Changes to one text, in order and apart from each other.
///
/// A hostile text asks for millions of changes, so they are kept once and in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    edits: Vec<Edit>,
    /// Where the replacement of each starts in the changed text.
    changed_starts: Vec<usize>,
}

impl Edits {
    /// Orders the changes. Where two overlap, the one that starts first covers both: what either would have taken out of
    /// the text is gone.
    pub fn new(mut edits: Vec<Edit>) -> Self {
        edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        edits.dedup_by(|edit, last| {
            let overlaps = last.span.overlaps(edit.span);
            if overlaps {
                last.span.end = last.span.end.max(edit.span.end);
            }
            overlaps
        });
        let (mut original, mut changed) = (0, 0);
        let place = |edit: &Edit| {
            let changed_start = changed + edit.span.start.saturating_sub(original);
            (original, changed) = (edit.span.end, changed_start + edit.replacement.len());
            changed_start
        };
        let changed_starts = edits.iter().map(place).collect();
        Self { edits, changed_starts }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The changes, first place first.
    pub fn iter(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter()
    }

    /// The changed text. A span that does not lie in `text` at character boundaries is left out.
    pub fn apply(&self, text: &str) -> String {
        let mut changed = String::with_capacity(text.len());
        let mut copied = 0;
        for edit in self.iter().filter(|edit| edit.span.of(text).is_some()) {
            changed.push_str(text.get(copied..edit.span.start).unwrap_or_default());
            changed.push_str(&edit.replacement);
            copied = edit.span.end;
        }
        changed.push_str(text.get(copied..).unwrap_or_default());
        changed
    }

    /// Where a span of the changed text lies in the original. What covers part of a replacement covers all that was
    /// replaced.
    pub fn to_original(&self, span: Span) -> Span {
        let before_start = self.changed_starts.partition_point(|changed_start| *changed_start <= span.start);
        let start = self.original_offset(before_start, span.start, |edit| edit.span.start);
        let before_end = self.changed_starts.partition_point(|changed_start| *changed_start < span.end);
        let end = self.original_offset(before_end, span.end, |edit| edit.span.end);
        Span::new(start, end.max(start))
    }

    /// Where an offset that has `before` replacements starting in front of it lies in the original; `inside` is the answer
    /// within a replacement.
    fn original_offset(&self, before: usize, changed: usize, inside: impl Fn(&Edit) -> usize) -> usize {
        let last =
            before.checked_sub(1).and_then(|last| self.edits.get(last).zip(self.changed_starts.get(last)));
        let Some((last, changed_start)) = last else { return changed };
        let changed_end = changed_start + last.replacement.len();
        if changed < changed_end { inside(last) } else { last.span.end + (changed - changed_end) }
    }
}

impl FromIterator<Edit> for Edits {
    fn from_iter<T: IntoIterator<Item = Edit>>(edits: T) -> Self {
        Self::new(edits.into_iter().collect())
    }
}

#[cfg(test)]
mod tests;
