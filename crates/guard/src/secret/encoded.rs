//! Secrets that are written in base64 or with percent signs.
//!
//! They are decoded once: what is encoded twice was not written down by accident.

use super::check::{self, Randomness};
use super::hit::Hit;
use super::rules;
use super::run::Class;
use crate::finding::Span;
use crate::severity::Severity;

/// The shortest base64 that is decoded; shorter texts hold no secret that stands out.
const SHORTEST: usize = 24;
/// How many characters are decoded to see whether the rest is text.
const FIRST: usize = 16;
/// From how many characters on a line of base64 may go on in the next.
const LONG_LINE: usize = 60;

const fn is_digit(byte: u8) -> bool {
    Class::Word.has(byte) || matches!(byte, b'+' | b'/')
}

/// Calls `found` with every base64 text in which `look` sees a secret.
pub(super) fn each_blob(text: &str, look: impl Fn(&str) -> Option<Severity>, mut found: impl FnMut(Hit)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(window) = bytes.get(at..at + SHORTEST) {
        if let Some(other) = window.iter().rposition(|byte| !is_digit(*byte)) {
            at += other + 1;
            continue;
        }
        let end = blob_end(bytes, at);
        if let Some(severity) = text.get(at..end).and_then(|blob| judge(blob, &look)) {
            let hit = Hit::new(&rules::ENCODED_SECRET, Span::new(at, end), "secrets in base64");
            found(hit.severity(severity));
        }
        at = end;
    }
}

/// Where the base64 that begins at `at` ends, over the ends of lines that were cut for their length.
fn blob_end(bytes: &[u8], at: usize) -> usize {
    let count = |from: usize, of: fn(u8) -> bool| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|byte| of(**byte)).count()
    };
    let mut line = at;
    loop {
        let digits = line + count(line, is_digit);
        let end = digits + count(digits, |byte| byte == b'=').min(2);
        let next = end + count(end, |byte| matches!(byte, b'\r' | b'\n' | b' ' | b'\t'));
        let wrapped =
            digits == end && next > end && digits - line >= LONG_LINE && (digits - line).is_multiple_of(4);
        if !wrapped || !bytes.get(next).is_some_and(|byte| is_digit(*byte)) {
            return end;
        }
        line = next;
    }
}

fn judge(blob: &str, look: impl Fn(&str) -> Option<Severity>) -> Option<Severity> {
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
    check::decoded(blob.get(..FIRST)?)?.iter().all(is_text).then_some(())?;
    let joined: String = blob.chars().filter(|character| !character.is_ascii_whitespace()).collect();
    let decoded = String::from_utf8(check::decoded(&joined)?).ok()?;
    // Source maps hold whole programs, which are public where the map is.
    if decoded.starts_with("{\"version\":3") {
        return None;
    }
    if is_pair(&decoded) {
        return Some(Severity::High);
    }
    look(&decoded).filter(|severity| *severity >= Severity::Medium)
}

/// Whether a text is a name, a colon and what was drawn at random.
fn is_pair(text: &str) -> bool {
    let Some((user, password)) = text.trim_end().split_once(':') else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._@+-".contains(&byte);
    !user.is_empty()
        && user.bytes().all(plain)
        && !password.contains(char::is_whitespace)
        && check::randomness(password) == Randomness::Random
}

/// Looks through percent signs, one stretch of text after the other.
#[derive(Debug, Default)]
pub(super) struct Percents {
    /// Where the last stretch ended.
    done: usize,
}

/// How far before the first percent sign a token may begin.
const FAR: usize = 256;

impl Percents {
    /// Calls `found` with what `look` finds in the stretch around the percent sign at `at`.
    pub(super) fn each(
        &mut self,
        text: &str,
        at: usize,
        look: impl FnOnce(&str) -> Vec<Hit>,
        mut found: impl FnMut(Hit),
    ) {
        if at < self.done {
            return;
        }
        let inside =
            |byte: &&u8| Class::Bare.has(**byte) && !matches!(byte, b'&' | b'<' | b'>' | b'|' | b';');
        let bytes = text.as_bytes();
        let before =
            bytes.get(self.done..at).unwrap_or_default().iter().rev().take(FAR).take_while(inside).count();
        let after = bytes.get(at..).unwrap_or_default().iter().take_while(inside).count();
        let (mut start, end) = (at - before, at + after);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        self.done = end;
        let decoded = Decoded::of(text.get(start..end).unwrap_or_default());
        for hit in look(&decoded.text) {
            let span =
                Span::new(start + decoded.offset(hit.span.start), start + decoded.offset(hit.span.end));
            found(Hit { span, ..hit });
        }
    }
}

/// A text whose percent signs have been resolved.
struct Decoded {
    text: String,
    /// Where, after each of them, the text goes on: decoded and as written.
    resumes: Vec<(usize, usize)>,
}

impl Decoded {
    /// Resolves what stands for a visible ASCII character; the rest means nothing in a token.
    fn of(source: &str) -> Self {
        let (mut text, mut resumes, mut rest) = (String::with_capacity(source.len()), Vec::new(), source);
        while let Some((plain, escape)) = rest.split_once('%') {
            text.push_str(plain);
            let digits = escape.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
            match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                Some(byte @ b'!'..=b'~') => {
                    text.push(char::from(byte));
                    rest = escape.get(2..).unwrap_or_default();
                    resumes.push((text.len(), source.len() - rest.len()));
                }
                Some(_) | None => {
                    text.push('%');
                    rest = escape;
                }
            }
        }
        text.push_str(rest);
        Self { text, resumes }
    }

    fn offset(&self, decoded: usize) -> usize {
        let before = self.resumes.partition_point(|resume| resume.0 <= decoded);
        match before.checked_sub(1).and_then(|last| self.resumes.get(last)) {
            None => decoded,
            Some((resumed, source)) => source + (decoded - resumed),
        }
    }
}
