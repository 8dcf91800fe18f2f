//! Sessions in `Cookie` and `Set-Cookie` headers.

use super::check::{self, Randomness};
use super::hit::Hit;
use super::rules;
use super::value;
use crate::finding::Span;

/// The longest header that is looked through.
const LONGEST: usize = 8192;
/// Parts of names that say that a cookie stands for somebody.
const TELLING: [&str; 9] = ["sess", "sid", "auth", "token", "jwt", "login", "csrf", "xsrf", "remember"];

/// Whether a header or field of this name holds cookies.
pub(super) fn is_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("cookie") || name.eq_ignore_ascii_case("set-cookie")
}

/// Looks through headers, one after the other.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    /// Where the last header ended: in one full of the word `cookie` not every word begins another.
    done: usize,
}

impl Cookies {
    /// Calls `found` with the sessions in the header whose name has the word `cookie` at `at`.
    pub(super) fn each(&mut self, text: &str, at: usize, mut found: impl FnMut(Hit)) {
        let Some(start) = (at >= self.done).then(|| value_start(text, at)).flatten() else { return };
        let rest = text.as_bytes().get(start..).unwrap_or_default();
        let ends = |byte: &u8| matches!(byte, b'\n' | b'\r' | b'"' | b'\'');
        let end = start + rest.iter().take(LONGEST).position(ends).unwrap_or(rest.len().min(LONGEST));
        self.done = end;
        each(text.get(start..end).unwrap_or_default(), |hit| found(hit.moved(start)));
    }
}

/// Where the value of the header begins whose name has the word `cookie` at `at`.
fn value_start(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at + "cookie".len()..)?;
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let rest = rest.strip_prefix(' ').unwrap_or(rest).strip_prefix(':')?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    Some(text.len() - rest.len())
}

/// Calls `found` with the sessions in the value of such a header.
pub(super) fn each(header: &str, mut found: impl FnMut(Hit)) {
    let mut at = 0;
    for pair in header.split(';') {
        if let Some((name, cookie)) = pair.split_once('=') {
            let start = at + name.len() + 1;
            let span = Span::new(start, start + cookie.len());
            if is_session(name.trim(), cookie) {
                found(Hit::new(&rules::COOKIE, span, "a cookie that stands for a session"));
            }
        }
        at += pair.len() + 1;
    }
}

fn is_session(name: &str, cookie: &str) -> bool {
    let name = name.get(..64).unwrap_or(name).to_ascii_lowercase();
    let telling = TELLING.iter().any(|part| name.contains(part));
    if cookie.len() < 8 || value::is_placeholder(cookie) || cookie.contains(' ') {
        return false;
    }
    match check::randomness(cookie) {
        Randomness::Random => true,
        Randomness::Mixed => telling,
        Randomness::Words => false,
    }
}
