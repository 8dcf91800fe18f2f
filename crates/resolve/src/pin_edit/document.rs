//! The parsed document: where a URL is used, and whether an edited document still says the same.

use std::ops::Range;

use fullsend_yaml::{
    FileId, Limits, Location, Node, Scalar, ScalarStyle, SourceMap, Value, front_matter, parse, parse_part,
};

use super::{PinEditError, without_pin};

/// How large a file may be; front matter stands on top of long texts.
pub(super) const MAX_BYTES: u64 = 16 << 20;

/// A use of a URL.
#[derive(Debug)]
pub(super) struct Found {
    /// The text of the value or key.
    pub(super) text: String,
    /// The bytes of its source, quotes included.
    pub(super) range: Range<usize>,
}

/// Which part of the text is YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All of it.
    Whole,
    /// The front matter of a Markdown file.
    FrontMatter,
}

/// A text that has been parsed without problems.
#[derive(Debug)]
pub(super) struct Document {
    sources: SourceMap,
    file: FileId,
    part: Part,
}

impl Document {
    /// Parses `text` as YAML, or else its front matter.
    ///
    /// The order matters: a document that starts with `---` and has dashes somewhere inside a text looks like front
    /// matter, whereas a Markdown file is never a single YAML document.
    pub(super) fn parse(text: &str) -> Result<Self, PinEditError> {
        let whole = Self::parse_as(text, Part::Whole);
        match whole {
            Err(_) if front_matter(text).is_some() => Self::parse_as(text, Part::FrontMatter),
            Ok(_) | Err(_) => whole,
        }
    }

    fn parse_as(text: &str, part: Part) -> Result<Self, PinEditError> {
        let mut sources = SourceMap::new();
        let file = sources.add("", text);
        let document = Self { sources, file, part };
        document.with_tree(|_| ())?;
        Ok(document)
    }

    fn text(&self) -> &str {
        self.sources.file(self.file).map_or("", |file| file.text())
    }

    /// Hands the tree to `look`. The tree borrows the text, so it is made anew each time.
    fn with_tree<T>(&self, look: impl FnOnce(&Node<'_>) -> T) -> Result<T, PinEditError> {
        let parsed = match (self.part, front_matter(self.text())) {
            (Part::FrontMatter, Some(found)) => {
                parse_part(&self.sources, self.file, found.yaml, Limits::default())
            }
            (Part::Whole, _) | (Part::FrontMatter, None) => {
                parse(&self.sources, self.file, Limits::default())
            }
        };
        // What is dropped because of a problem, such as a repeated key, could not be compared.
        let problem = parsed.problems.iter().find(|problem| problem.is_error());
        match (parsed.root, problem) {
            (Some(root), None) => Ok(look(&root)),
            (_, Some(problem)) => Err(PinEditError::unreadable(&self.sources, problem)),
            (None, None) => Err(PinEditError::Altered),
        }
    }

    /// Every value and key that is `url`, whatever its pin, from top to bottom, each place once.
    pub(super) fn uses(&self, url: &str) -> Result<Vec<Found>, PinEditError> {
        let mut found = Vec::new();
        self.with_tree(|root| {
            visit(root, &mut |text, at| {
                if without_pin(text) == url {
                    found.push(Found { text: text.to_owned(), range: at.range() });
                }
            });
        })?;
        found.sort_by_key(|found| found.range.start);
        // An alias stands where its anchor stands.
        found.dedup_by_key(|found| found.range.start);
        Ok(found)
    }

    /// The line of a use.
    pub(super) fn line(&self, found: &Found) -> usize {
        self.sources.file(self.file).map_or(1, |file| file.line_column(found.range.start).line)
    }

    /// Checks that `edited` differs only in that `url`, with any pin or none, has become `pinned`.
    pub(super) fn check_edit(&self, edited: &str, url: &str, pinned: &str) -> Result<(), PinEditError> {
        let edited = Self::parse_as(edited, self.part).map_err(|_| PinEditError::Altered)?;
        let expected = |before: &str, after: &str| match without_pin(before) == url {
            true => after == pinned,
            false => after == before,
        };
        let same =
            self.with_tree(|before| edited.with_tree(|after| same_tree(before, after, &expected)))??;
        if same { Ok(()) } else { Err(PinEditError::Altered) }
    }
}

/// Hands every value and key that is text to `look`.
fn visit(node: &Node<'_>, look: &mut impl FnMut(&str, Location)) {
    match &node.value {
        Value::Scalar(scalar) => look(&scalar.text, node.at),
        Value::Sequence(items) => items.iter().for_each(|item| visit(item, look)),
        Value::Mapping(entries) => {
            for entry in entries {
                look(&entry.key, entry.key_at);
                visit(&entry.value, look);
            }
        }
    }
}

/// Whether two trees have the same shape and every text has become what is expected.
fn same_tree(before: &Node<'_>, after: &Node<'_>, expected: &impl Fn(&str, &str) -> bool) -> bool {
    match (&before.value, &after.value) {
        (Value::Scalar(before), Value::Scalar(after)) => {
            same_style(before, after) && expected(&before.text, &after.text)
        }
        (Value::Sequence(before), Value::Sequence(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).all(|(before, after)| same_tree(before, after, expected))
        }
        (Value::Mapping(before), Value::Mapping(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).all(|(before, after)| {
                    expected(&before.key, &after.key) && same_tree(&before.value, &after.value, expected)
                })
        }
        (Value::Scalar(_) | Value::Sequence(_) | Value::Mapping(_), _) => false,
    }
}

/// Plain text that came to be quoted, or the reverse, could change its type.
fn same_style(before: &Scalar<'_>, after: &Scalar<'_>) -> bool {
    (before.style == ScalarStyle::Plain) == (after.style == ScalarStyle::Plain)
}
