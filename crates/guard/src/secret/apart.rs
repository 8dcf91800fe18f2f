//! Values that stand apart from their names: in elements, attributes, table cells, arguments, `name`/`value` pairs.

use super::assign::Value;
use super::check::{self, Randomness};
use super::run::Class;
use super::value::Written;
use crate::finding::Span;

/// The longest value that is looked at here.
const LONGEST: usize = 1024;
/// The most blanks and signs between a name and its value.
const FAR: usize = 64;

/// The value of the name at `name`, after which (and after whose closing quote) the text goes on at `at`.
pub(super) fn find(text: &str, name: Span, at: usize) -> Option<Value> {
    let rest = text.get(at..)?;
    match rest.bytes().next()? {
        b'>' => element(text, name, at + 1),
        b'<' => property(text, at),
        b',' => argument(text, name, at).or_else(|| pair(text, at)),
        b' ' | b'\t' => cell(text, name, at).or_else(|| pair(text, at)).or_else(|| block_default(text, at)),
        b'\n' | b'\r' => pair(text, at),
        b'|' => cell(text, name, at),
        _ => None,
    }
}

fn quoted(span: Span) -> Value {
    Value { span, written: Written::Quoted }
}

/// The text from `at` up to what `ends` it, without the blanks around it.
fn until(text: &str, at: usize, ends: fn(u8) -> bool) -> Option<Span> {
    let rest = text.as_bytes().get(at..)?;
    let length = rest.iter().take(LONGEST).position(|byte| ends(*byte))?;
    let inner = text.get(at..at + length)?;
    let start = at + (inner.len() - inner.trim_start().len());
    Some(Span::new(start, start + inner.trim().len()))
}

/// `<password>…</password>`
fn element(text: &str, name: Span, at: usize) -> Option<Value> {
    let before = name.start.checked_sub(1).and_then(|before| text.as_bytes().get(before))?;
    matches!(before, b'<' | b':').then_some(())?;
    if let Some(inner) = text.get(at..)?.strip_prefix("<![CDATA[") {
        return until(text, text.len() - inner.len(), |byte| byte == b']').map(quoted);
    }
    let span = until(text, at, |byte| byte == b'<')?;
    text.get(span.end..)?.trim_start().starts_with("</").then_some(quoted(span))
}

/// `<key>password</key> <string>…</string>`
fn property(text: &str, at: usize) -> Option<Value> {
    let rest = text.get(at..)?;
    let rest = rest.strip_prefix("</key>").or_else(|| rest.strip_prefix("</name>"))?.trim_start();
    let rest = rest.strip_prefix("<string>").or_else(|| rest.strip_prefix("<value>"))?;
    until(text, text.len() - rest.len(), |byte| byte == b'<').map(quoted)
}

/// `setenv("API_KEY", "…")`: only names of environment variables, for any two words may be arguments.
fn argument(text: &str, name: Span, at: usize) -> Option<Value> {
    let named = name.of(text)?;
    (!named.bytes().any(|byte| byte.is_ascii_lowercase()) && named.contains('_')).then_some(())?;
    let rest = text.get(at..)?.strip_prefix(',')?.trim_start_matches([' ', '\n', '\t']);
    string(text, text.len() - rest.len())
}

/// A text in quotes at `at`.
fn string(text: &str, at: usize) -> Option<Value> {
    let span = match text.as_bytes().get(at)? {
        b'"' => until(text, at + 1, |byte| matches!(byte, b'"' | b'\n'))?,
        b'\'' => until(text, at + 1, |byte| matches!(byte, b'\'' | b'\n'))?,
        b'`' => until(text, at + 1, |byte| matches!(byte, b'`' | b'\n'))?,
        _ => return None,
    };
    Some(quoted(span))
}

/// The next cell of a table. Tables of parameters have types there, so the name must be a variable's or the value random.
fn cell(text: &str, name: Span, at: usize) -> Option<Value> {
    let rest = text.get(at..)?.trim_start_matches([' ', '`', '*']).strip_prefix('|')?;
    let start = text.len() - rest.trim_start_matches(' ').len();
    let span = until(text, start, |byte| matches!(byte, b'|' | b'\n'))?;
    let ticked = string(text, start).map_or(span, |inner| inner.span);
    let value = ticked.of(text)?;
    let variable = !name.of(text)?.bytes().any(|byte| byte.is_ascii_lowercase());
    let random = check::randomness(value) == Randomness::Random;
    (variable || random).then_some(Value { span: ticked, written: Written::Spaced })
}

/// `variable "db_password" { default = "…" }`
fn block_default(text: &str, at: usize) -> Option<Value> {
    let block = text.get(at..)?.trim_start_matches(' ').strip_prefix('{')?;
    let start = text.len() - block.len();
    let look = block.as_bytes().get(..LONGEST).unwrap_or(block.as_bytes());
    let end = look.iter().position(|byte| *byte == b'}')?;
    let word = memchr::memmem::find(look.get(..end)?, b"default")?;
    let rest = text.get(start + word + "default".len()..)?;
    let rest = rest.trim_start_matches(' ').strip_prefix('=')?.trim_start_matches(' ');
    string(text, text.len() - rest.len())
}

/// `name: DB_PASSWORD` and then `value: …`, as variables of containers and settings of programs are written.
fn pair(text: &str, at: usize) -> Option<Value> {
    let rest = text.get(at..)?;
    let gap = rest.bytes().take(FAR).take_while(|byte| byte.is_ascii_whitespace() || *byte == b',').count();
    let rest = rest.get(gap..)?.trim_start_matches(['"', '\'']);
    rest.get(.."value".len())?.eq_ignore_ascii_case("value").then_some(())?;
    let rest = rest.get("value".len()..)?.trim_start_matches(['"', '\'']).trim_start_matches(' ');
    let rest = rest.strip_prefix([':', '='])?.trim_start_matches(' ');
    let start = text.len() - rest.len();
    string(text, start).or_else(|| {
        let length = rest.bytes().take(LONGEST).take_while(|byte| Class::Listed.has(*byte)).count();
        let span = Span::new(start, start + length);
        Some(Value { span, written: Written::Spaced })
    })
}
