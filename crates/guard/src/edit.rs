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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    edits: Vec<Placed>,
}

/// A change, and where its replacement starts in the changed text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Placed {
    edit: Edit,
    changed_start: usize,
}

impl Placed {
    fn changed_end(&self) -> usize {
        self.changed_start + self.edit.replacement.len()
    }
}

impl Edits {
    /// Orders the changes. Where two overlap, the one that starts first covers both: what either would have taken out of
    /// the text is gone.
    pub fn new(mut edits: Vec<Edit>) -> Self {
        edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        let mut kept: Vec<Edit> = Vec::with_capacity(edits.len());
        for edit in edits {
            match kept.last_mut() {
                Some(last) if last.span.overlaps(edit.span) => {
                    last.span.end = last.span.end.max(edit.span.end)
                }
                Some(_) | None => kept.push(edit),
            }
        }
        let (mut original, mut changed) = (0, 0);
        let place = |edit: Edit| {
            let changed_start = changed + edit.span.start.saturating_sub(original);
            (original, changed) = (edit.span.end, changed_start + edit.replacement.len());
            Placed { edit, changed_start }
        };
        Self { edits: kept.into_iter().map(place).collect() }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The changes, first place first.
    pub fn iter(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter().map(|placed| &placed.edit)
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
        let before_start = self.edits.partition_point(|placed| placed.changed_start <= span.start);
        let start = self.original_offset(before_start, span.start, |edit| edit.span.start);
        let before_end = self.edits.partition_point(|placed| placed.changed_start < span.end);
        let end = self.original_offset(before_end, span.end, |edit| edit.span.end);
        Span::new(start, end.max(start))
    }

    /// Where an offset that has `before` replacements starting in front of it lies in the original; `inside` is the answer
    /// within a replacement.
    fn original_offset(&self, before: usize, changed: usize, inside: impl Fn(&Edit) -> usize) -> usize {
        match before.checked_sub(1).and_then(|last| self.edits.get(last)) {
            None => changed,
            Some(last) if changed < last.changed_end() => inside(&last.edit),
            Some(last) => last.edit.span.end + (changed - last.changed_end()),
        }
    }
}

impl FromIterator<Edit> for Edits {
    fn from_iter<T: IntoIterator<Item = Edit>>(edits: T) -> Self {
        Self::new(edits.into_iter().collect())
    }
}

#[cfg(test)]
mod tests;
