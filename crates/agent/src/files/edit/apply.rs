//! Applies replacements to the bytes of a text, and says why one does not fit.
//!
//! The work is on bytes: a text with some bytes that are not UTF-8 keeps them. UTF-16 is edited as UTF-8 and put back.

use std::borrow::Cow;
use std::fmt::Write as _;

use memchr::memmem;

use super::Edit;
use crate::files::failure::{ErrorCode, Failure};
use crate::files::text::{BOM, Encoding, SAMPLE, from_utf16, to_utf16};
use crate::workspace::{FileProblem, LARGEST_WHOLE_FILE};

/// Lines of matches that are named.
const MOST_NAMED: usize = 10;
/// Lines in which something similar is looked for, and so much of each.
const MOST_COMPARED: usize = 20_000;
const LONGEST_COMPARED: usize = 400;

/// A text under way.
pub(super) struct Draft {
    encoding: Encoding,
    /// The text without its mark.
    text: Vec<u8>,
    /// Whether every line ends in CRLF.
    crlf: bool,
}

/// A text with all edits.
pub(super) struct Applied {
    pub(super) bytes: Vec<u8>,
    /// Both texts as they are shown.
    pub(super) old_text: String,
    pub(super) new_text: String,
}

impl Draft {
    /// Starts with the bytes of a file.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, Failure> {
        let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
        let encoding = Encoding::of(sample).filter(|_| memchr::memchr(0, bytes).is_none() || is_wide(sample));
        let binary = || {
            Failure::new(ErrorCode::BinaryFile, "the file is not text and cannot be edited as text")
                .with("sizeBytes", bytes.len())
        };
        let encoding = encoding.ok_or_else(binary)?;
        let text = decoded(bytes, encoding).ok_or_else(binary)?.into_owned();
        let newlines = memchr::memchr_iter(b'\n', &text).count();
        let crlf = newlines > 0 && newlines == memmem::find_iter(&text, b"\r\n").count();
        Ok(Self { encoding, text, crlf })
    }

    /// Applies one edit and says how many texts it replaced.
    pub(super) fn apply(&mut self, edit: &Edit, number: usize) -> Result<usize, Failure> {
        let old = self.with_line_ends(&edit.old_text);
        if old.is_empty() || edit.expected_replacements == Some(0) {
            let detail =
                format!("edit {number}: oldText must not be empty and expectedReplacements at least 1");
            return Err(Failure::new(ErrorCode::InvalidArgument, detail));
        }
        let matches: Vec<usize> = memmem::find_iter(&self.text, old.as_bytes()).collect();
        if let Some(why) = self.misfit(edit, &matches) {
            return Err(conflict(number, why, matches.len()));
        }
        let new = self.with_line_ends(&edit.new_text);
        let size = self.text.len() - matches.len() * old.len();
        let size = (size as u64).saturating_add((matches.len() as u64).saturating_mul(new.len() as u64));
        if size > LARGEST_WHOLE_FILE {
            return Err(FileProblem::TooLarge { size, limit: LARGEST_WHOLE_FILE }.into());
        }
        let mut result = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        let mut rest = 0;
        for at in &matches {
            result.extend_from_slice(self.text.get(rest..*at).unwrap_or_default());
            result.extend_from_slice(new.as_bytes());
            rest = at + old.len();
        }
        result.extend_from_slice(self.text.get(rest..).unwrap_or_default());
        self.text = result;
        Ok(matches.len())
    }

    /// Both texts, and the bytes to be written.
    pub(super) fn finish(self, old: &[u8]) -> Applied {
        let old_text = decoded(old, self.encoding).unwrap_or_default();
        let old_text = String::from_utf8_lossy(&old_text).into_owned();
        let new_text = String::from_utf8_lossy(&self.text).into_owned();
        let bytes = match self.encoding {
            Encoding::Utf8 | Encoding::EightBit => self.text,
            Encoding::Utf8Bom => [BOM, &self.text].concat(),
            Encoding::Utf16Le | Encoding::Utf16Be => to_utf16(&new_text, self.encoding),
        };
        Applied { bytes, old_text, new_text }
    }

    /// A text of the model with the line ends of the file.
    fn with_line_ends<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.crlf || !text.contains('\n') {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
    }

    /// Why the edit does not fit, if it does not.
    fn misfit(&self, edit: &Edit, matches: &[usize]) -> Option<String> {
        let found = matches.len();
        if found == 0 {
            return Some(format!("oldText does not occur in the file{}", self.nearest(&edit.old_text)));
        }
        let expected = edit.expected_replacements;
        if expected.is_some_and(|expected| expected != found as u64) {
            return Some(format!(
                "oldText occurs {found} times, not {} as expected{}",
                expected.unwrap_or_default(),
                self.lines_of(matches)
            ));
        }
        if found > 1 && !edit.replace_all {
            let lines = self.lines_of(matches);
            return Some(format!(
                "oldText occurs {found} times{lines}; add surrounding lines until it is unique, or set replaceAll"
            ));
        }
        None
    }

    /// ` (lines 3, 9)`.
    fn lines_of(&self, matches: &[usize]) -> String {
        let (mut text, mut line, mut counted) = (String::from(" (lines"), 1_usize, 0);
        for (index, at) in matches.iter().take(MOST_NAMED).enumerate() {
            line += memchr::memchr_iter(b'\n', self.text.get(counted..*at).unwrap_or_default()).count();
            counted = *at;
            // Writing to a string cannot fail.
            let _ = write!(text, "{} {line}", if index == 0 { "" } else { "," });
        }
        text.push_str(if matches.len() > MOST_NAMED { ", ...)" } else { ")" });
        text
    }

    /// The line that is most like the first one of `wanted`, where one is like it at all.
    fn nearest(&self, wanted: &str) -> String {
        let Some(wanted) = wanted.lines().map(str::trim).find(|line| !line.is_empty()) else {
            return String::new();
        };
        let wanted = wanted.as_bytes();
        let mut best: Option<(usize, usize, &[u8])> = None;
        for (number, line) in (1..).zip(self.text.split(|byte| *byte == b'\n')).take(MOST_COMPARED) {
            let line = line.trim_ascii();
            let score = likeness(line, wanted);
            if best.is_none_or(|(_, most, _)| score > most) {
                best = Some((number, score, line));
            }
        }
        match best {
            Some((number, _, line)) if line == wanted => format!(
                "; line {number} has its first line, but white space or what follows differs: read the file again"
            ),
            Some((number, score, line)) if score * 2 >= wanted.len().min(LONGEST_COMPARED) => {
                let line = String::from_utf8_lossy(line.get(..LONGEST_COMPARED).unwrap_or(line));
                format!("; the nearest line is {number}: `{line}`")
            }
            Some(_) | None => String::new(),
        }
    }
}

fn is_wide(sample: &[u8]) -> bool {
    matches!(Encoding::of(sample), Some(Encoding::Utf16Le | Encoding::Utf16Be))
}

/// The text of a file as UTF-8, as far as it is text, without its mark.
fn decoded(bytes: &[u8], encoding: Encoding) -> Option<Cow<'_, [u8]>> {
    match encoding {
        Encoding::Utf8 | Encoding::EightBit => Some(Cow::Borrowed(bytes)),
        Encoding::Utf8Bom => bytes.strip_prefix(BOM).map(Cow::Borrowed),
        Encoding::Utf16Le | Encoding::Utf16Be => {
            from_utf16(bytes, encoding).map(|text| Cow::Owned(text.into_bytes()))
        }
    }
}

/// How many bytes two lines share at their starts and ends.
fn likeness(left: &[u8], right: &[u8]) -> usize {
    let left = left.get(..LONGEST_COMPARED).unwrap_or(left);
    let right = right.get(..LONGEST_COMPARED).unwrap_or(right);
    let start = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let most = left.len().min(right.len()) - start;
    let same_end = left.iter().rev().zip(right.iter().rev()).take_while(|(left, right)| left == right);
    start + same_end.take(most).count()
}

fn conflict(number: usize, why: String, matches: usize) -> Failure {
    Failure::new(ErrorCode::EditConflict, format!("edit {number}: {why}"))
        .with("editIndex", number - 1)
        .with("matches", matches)
}
