//! Finds names and their values in running text: environment files, configuration, source code, headers.

use super::apart;
use super::field;
use super::hit::Hit;
use super::name::{self, Promise};
use super::rules;
use super::run::{Class, Runs};
use super::value::Written;
use crate::finding::Span;
use crate::severity::Severity;

/// The longest name, on each side of the word that gives it away.
const LONGEST_NAME: usize = 64;
/// The most blanks around an equals sign.
const MOST_BLANKS: usize = 40;
/// The longest type that stands between a name and its value.
const LONGEST_TYPE: usize = 40;

/// Looks for assignments, one name after the other.
#[derive(Debug, Default)]
pub(super) struct Assignments {
    /// Where the last name ended: a name with two telling words is one name.
    done: usize,
}

/// The most lines of a block that are one value.
const MOST_LINES: usize = 64;

/// A name in a text.
#[derive(Clone, Copy)]
struct Name<'t> {
    text: &'t str,
    span: Span,
}

/// A value in a text, and how it is written.
pub(super) struct Value {
    pub(super) span: Span,
    pub(super) written: Written,
}

impl Assignments {
    /// The secret under the name that the word at `at` belongs to.
    pub(super) fn find(&mut self, text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
        if at < self.done {
            return None;
        }
        let name = Name::around(text, at)?;
        self.done = name.span.end;
        if let Some(hit) = find_netrc(&name) {
            return Some(hit);
        }
        let (value, quoted_name) = name.value(runs)?;
        runs.may_judge(value.span.end).then_some(())?;
        let rule = if quoted_name { &rules::JSON_FIELD } else { &rules::ENV_ASSIGNMENT };
        let written = value.span.of(text)?;
        if written.contains('\n') {
            // A block of several lines is one value, whatever its lines are taken for.
            let joined: String = written.split_ascii_whitespace().collect();
            let hit = field::find(name.as_str(), &joined, value.written, rule)?;
            return Some(Hit { span: value.span, ..hit });
        }
        let hit = field::find(name.as_str(), written, value.written, rule)?;
        Some(hit.moved(value.span.start))
    }
}

fn byte(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).copied().unwrap_or_default()
}

/// How many blanks stand at `at`.
fn blanks(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    rest.iter().take(MOST_BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

impl<'t> Name<'t> {
    /// The name that the byte at `at` is in; none when it is too long for one.
    fn around(text: &'t str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let before = bytes
            .get(..at)?
            .iter()
            .rev()
            .take(LONGEST_NAME)
            .take_while(|byte| Class::Dotted.has(**byte))
            .count();
        let after =
            bytes.get(at..)?.iter().take(LONGEST_NAME).take_while(|byte| Class::Dotted.has(**byte)).count();
        if before == LONGEST_NAME || after == LONGEST_NAME {
            return None;
        }
        let (mut start, end) = (at - before, at + after);
        // Command-line options, list items and what `\n` leaves of itself in front of a name.
        start += bytes.get(start..end)?.iter().take_while(|byte| matches!(byte, b'-' | b'.')).count();
        let escape = start.checked_sub(1).is_some_and(|before| byte(text, before) == b'\\');
        if escape && matches!(byte(text, start), b'n' | b't' | b'r') {
            start += 1;
        }
        Some(Self { text, span: Span::new(start, end) })
    }

    fn as_str(&self) -> &'t str {
        self.span.of(self.text).unwrap_or_default()
    }

    /// The value that is assigned to it, and whether the name is in quotes.
    fn value(&self, runs: &mut Runs) -> Option<(Value, bool)> {
        let mut at = self.span.end + backslashes(self.text, self.span.end);
        let quoted_name = matches!(byte(self.text, at), b'"' | b'\'' | b'`');
        at += usize::from(quoted_name);
        if let Some(value) = apart::find(self.text, self.span, at) {
            return Some((value, quoted_name));
        }
        at += usize::from(byte(self.text, at) == b']');
        let before = blanks(self.text, at);
        let (operator, length) = match (byte(self.text, at + before), byte(self.text, at + before + 1)) {
            (b'=', b'=' | b'~') | (b':', b':') => return None,
            (b':', b'=') | (b'=', b'>') => (b'=', 2),
            (b'?', b'=') | (b'+', b'=') => (b'=', 2),
            (sign @ (b'=' | b':'), _) => (sign, 1),
            _ if before > 0 && (self.is_option() || self.is_set()) => (b' ', 0),
            _ => return None,
        };
        let after_sign = at + before + length;
        let after = blanks(self.text, after_sign);
        let tight = before == 0 && after == 0 && operator == b'=';
        let start = after_sign + after;
        let value = self
            .quoted(start)
            .or_else(|| self.typed(start, operator))
            .or_else(|| self.block(start))
            .or_else(|| self.bare(start, tight || operator == b' ', runs))?;
        Some((value, quoted_name))
    }

    /// Whether it stands after a word that takes a name and a value with nothing but a blank between them.
    fn is_set(&self) -> bool {
        matches!(self.before_on_line(), Some("ENV" | "setx" | "set -gx" | "set -x" | "setenv"))
    }

    /// Whether it is a command-line option.
    fn is_option(&self) -> bool {
        self.text.get(..self.span.start).is_some_and(|before| before.ends_with(" --"))
    }

    /// A value in quotes at `at`, which may follow a letter that says what kind of string it is.
    fn quoted(&self, at: usize) -> Option<Value> {
        let marked = matches!(
            byte(self.text, at),
            b'b' | b'r' | b'f' | b'u' | b'B' | b'R' | b'F' | b'U' | b'@' | b'L' | b'$'
        );
        let escaped_at = at + usize::from(marked && matches!(byte(self.text, at + 1), b'"' | b'\''));
        let open = escaped_at + backslashes(self.text, escaped_at);
        let escaped = open > escaped_at;
        let quote = byte(self.text, open);
        matches!(quote, b'"' | b'\'' | b'`').then_some(())?;
        let is_triple = byte(self.text, open + 1) == quote && byte(self.text, open + 2) == quote;
        let start = open + if is_triple { 3 } else { 1 };
        let end = start + quoted_length(self.text.as_bytes().get(start..)?, quote, escaped);
        Some(Value { span: Span::new(start, end), written: Written::Quoted })
    }

    /// The value after a type, as in `password: &str = "…"`.
    fn typed(&self, at: usize, operator: u8) -> Option<Value> {
        (operator == b':').then_some(())?;
        let rest = self.text.as_bytes().get(at..)?;
        let sign = rest
            .iter()
            .take(LONGEST_TYPE)
            .position(|byte| matches!(byte, b'=' | b'\n' | b'"' | b',' | b'{'))?;
        (rest.get(sign) == Some(&b'=') && rest.get(sign + 1) != Some(&b'=')).then_some(())?;
        let start = at + sign + 1;
        self.quoted(start + blanks(self.text, start))
    }

    /// The lines of a YAML block.
    fn block(&self, at: usize) -> Option<Value> {
        let rest = self.text.get(at..)?;
        let mark = rest.get(..rest.bytes().take(4).position(|byte| byte == b'\n' || byte == b'\r')?)?;
        ["|", ">", "|-", ">-", "|+", ">+"].contains(&mark).then_some(())?;
        let line_at = at + mark.len() + rest.get(mark.len()..)?.find('\n')? + 1;
        let indent = blanks(self.text, line_at);
        let start = line_at + indent;
        let mut end = start;
        for line in self.text.get(line_at..)?.split_inclusive('\n').take(MOST_LINES) {
            let inner = line.trim();
            if inner.is_empty() || blanks(line, 0) < indent || inner.contains([' ', '\t']) {
                // Prose, or the end of the block.
                let more = blanks(line, 0) >= indent && !inner.is_empty();
                return (!more && end > start)
                    .then_some(Value { span: Span::new(start, end), written: Written::Quoted });
            }
            let line_start = line.as_ptr() as usize - self.text.as_ptr() as usize;
            end = line_start + line.trim_end().len();
        }
        (end > start).then_some(Value { span: Span::new(start, end), written: Written::Quoted })
    }

    /// A value without quotes.
    fn bare(&self, at: usize, tight: bool, runs: &mut Runs) -> Option<Value> {
        let bytes = self.text.as_bytes();
        let first = runs.end(bytes, at, Class::Bare);
        let mut run = first;
        let is_scheme =
            |word: &str| field::is_scheme(word) || (field::may_be_scheme(word) && self.is_header());
        if self.text.get(at..run + 1).is_some_and(is_scheme) {
            run = runs.end(bytes, run + 1, Class::Bare);
        }
        let line_at = self.line_start();
        let on_its_own = tight && line_at && matches!(bytes.get(run), None | Some(b'\n' | b'\r' | b' '));
        let end = if on_its_own || run > first { run } else { runs.end(bytes, at, Class::Listed) };
        let end = at + self.text.get(at..end).map_or(0, |value| unclosed(value).len());
        let before =
            self.text.get(..self.span.start)?.trim_end_matches([' ', '\t', '\n', '\r']).bytes().next_back();
        // A type, with the value after it, is no value either.
        let is_type = bytes.get(end..)?.starts_with(b" = ");
        let argument = is_type || matches!(before, Some(b'(' | b',')) || matches!(bytes.get(end), Some(b')'));
        let ends_line = || {
            let next = end + blanks(self.text, end);
            matches!(bytes.get(next), None | Some(b'\n' | b'\r' | b'#' | b'"' | b'\'' | b'\\' | b'|'))
                || (self.is_printed_field(at) && matches!(bytes.get(end), Some(b' ' | b'}')))
        };
        let written = match (tight, argument) {
            (_, true) => Written::Argument,
            (true, false) => Written::Tight,
            (false, false) if ends_line() => Written::Spaced,
            (false, false) => Written::Argument,
        };
        Some(Value { span: Span::new(at, end), written })
    }

    /// Whether nothing but `export` stands before it on its line.
    fn line_start(&self) -> bool {
        let Some(before) = self.before_on_line() else { return false };
        // A comparison of two versions has a sign before each line.
        let before = before.trim_start_matches(['+', '-', '>', ' ']);
        matches!(before, "" | "export" | "set" | "ENV" | "ARG" | "declare -x")
    }

    /// What stands before it on its line, if that is not much.
    fn before_on_line(&self) -> Option<&'t str> {
        let from = self.text.as_bytes().get(..self.span.start).unwrap_or_default();
        let line = from.iter().rev().take(MOST_BLANKS).position(|byte| *byte == b'\n');
        let length = line.or((from.len() < MOST_BLANKS).then_some(from.len()))?;
        Some(self.text.get(self.span.start - length..self.span.start).unwrap_or_default().trim())
    }

    /// Whether it is the name of a header whose value begins with a scheme.
    fn is_header(&self) -> bool {
        name::promise(self.as_str()) == Some(Promise::Header)
    }

    /// Whether a value at `at` stands as in a structure that a program printed: `{Host:db Password:…}`.
    fn is_printed_field(&self, at: usize) -> bool {
        let capital = self.as_str().starts_with(|first: char| first.is_ascii_uppercase());
        capital && at == self.span.end + 1
    }
}

/// The longest value that is looked through for brackets: in `key=key=key=…` every fourth byte begins a value.
const LONGEST_BRACKETED: usize = 1024;

/// A value without the brackets at its end that were opened before it.
fn unclosed(value: &str) -> &str {
    let mut value = value;
    if value.len() > LONGEST_BRACKETED || !value.ends_with(['}', ']', '>']) {
        return value;
    }
    for (open, close) in [('{', '}'), ('[', ']'), ('<', '>'), ('{', '}')] {
        if !value.contains(open) {
            value = value.trim_end_matches(close);
        }
    }
    value
}

/// How many backslashes stand at `at`: a document in a string in a string has several before each quote.
fn backslashes(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    rest.iter().take(8).take_while(|byte| **byte == b'\\').count()
}

/// How long a quoted text is up to its closing quote, or to the end of its line.
fn quoted_length(bytes: &[u8], quote: u8, escaped: bool) -> usize {
    let mut skip = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if skip => skip = false,
            b'\\' if escaped => return at,
            b'\\' => skip = true,
            b'\n' | b'\r' => return at,
            byte if *byte == quote => return at,
            _ => {}
        }
    }
    bytes.len()
}

/// A password in the form of `.netrc`: after its user, without any sign.
fn find_netrc(name: &Name<'_>) -> Option<Hit> {
    (name.as_str() == "password").then_some(())?;
    let start = name.span.end + blanks(name.text, name.span.end);
    (start > name.span.end).then_some(())?;
    let before = name.text.get(..name.span.start)?;
    let mut words = before.rsplit(char::is_whitespace).filter(|word| !word.is_empty()).take(2);
    let (_user, login) = (words.next()?, words.next()?);
    (login == "login").then_some(())?;
    let rest = name.text.get(start..)?;
    let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let secret = rest.get(..length)?;
    let real = secret.chars().count() >= 4
        && !secret.contains(['{', '}', '<', '>', '$'])
        && !super::value::is_placeholder(secret);
    let hit = Hit::new(&rules::NETRC_PASSWORD, Span::new(start, start + length), "after a login");
    let chosen = secret.bytes().any(|byte| !byte.is_ascii_lowercase());
    real.then(|| if !chosen || super::check::is_example(secret) { hit.severity(Severity::Low) } else { hit })
}
