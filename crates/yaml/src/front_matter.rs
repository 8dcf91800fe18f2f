//! The YAML block on top of a Markdown file, between two `---` lines.

use std::ops::Range;

/// Where the parts of a file with front matter lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// The YAML between the delimiter lines.
    pub yaml: Range<usize>,
    /// What follows the closing delimiter line.
    pub body: Range<usize>,
}

/// Finds front matter: the first line, a byte order mark aside, is `---`, and so is a later one; white space around the
/// dashes does not matter. `None` when there is none, or when it is never closed.
#[must_use]
pub fn front_matter(text: &str) -> Option<FrontMatter> {
    let mut lines = lines_with_ranges(text);
    let first = lines.next()?;
    let content = text.get(first.clone())?;
    if content.strip_prefix('\u{feff}').unwrap_or(content).trim() != "---" {
        return None;
    }
    let closing = lines.find(|line| text.get(line.clone()).is_some_and(|content| content.trim() == "---"))?;
    Some(FrontMatter { yaml: first.end..closing.start, body: closing.end..text.len() })
}

fn lines_with_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split_inclusive('\n').scan(0, |offset, line| {
        let start = *offset;
        *offset += line.len();
        Some(start..*offset)
    })
}
