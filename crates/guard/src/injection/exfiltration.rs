//! Calls to send secrets away.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::found::Match;
use super::overrides::{NEGATIONS, starts_clause};
use super::rules::{IMAGE_EXFIL, SECRET_EXFIL};
use super::words::{Words, word_at};
use crate::finding::Span;
use crate::severity::Severity;

const SENDING: &[&str] = &[
    "send",
    "post",
    "upload",
    "exfiltrate",
    "email",
    "transmit",
    "forward",
    "leak",
    "submit",
    "report",
    "append",
    "encode",
    "embed",
    "include",
];
/// Words that name a secret, alone or with the one after.
const SECRETS: &[&str] = &[
    "credentials",
    "credential",
    "secrets",
    "password",
    "passwords",
    "token",
    "tokens",
    "env",
    "id_rsa",
    "apikey",
    "keys",
    "key",
    "ssh",
    "cookies",
    "passwd",
    "conversation",
    "secret",
    "variables",
];
const KEYS: &[&str] = &["api", "secret", "private", "access", "ssh", "environment", "auth", "aws"];

/// The end of a paragraph, and what says that something leaves; made once, as every verb asks for them.
static MARKS: LazyLock<[Finder<'static>; 5]> =
    LazyLock::new(|| ["\n\n", "https://", "http://", "webhook", "@"].map(Finder::new));

/// How far the parts of an image are looked for.
const REACH: usize = 400;

/// "send the API key to https://…"; `at` is where the verb starts.
pub(super) fn send(text: &str, at: usize) -> Option<Match> {
    let verb = word_at(text, at);
    if !verb.is(SENDING) {
        return None;
    }
    let window = text.get(at..text.floor_char_boundary(text.len().min(at + 240)))?;
    let [paragraph, away @ ..] = &*MARKS;
    let window = window.get(..paragraph.find(window.as_bytes()).unwrap_or(window.len()))?;
    let url = away.iter().filter_map(|mark| mark.find(window.as_bytes())).min()?;
    let sentence = window.find(". ").unwrap_or(window.len());
    let after = Words::after(text, verb.end);
    // The name in an address, as in `base-passwd@example.org`, is no secret.
    let address = (window.as_bytes().get(url) == Some(&b'@')).then(|| mail_address(window, url));
    let address = address.map_or(Span::new(at, at), |inside| Span::new(at + inside.start, at + inside.end));
    let secret = secret_in(&after, address).filter(|end| *end <= at + window.len())?;
    if url > sentence {
        return None;
    }
    let before = Words::before(text, at);
    if before.get(0).is_some_and(|word| word.is(NEGATIONS)) {
        return None;
    }
    let lead = if address.is_empty() { url } else { address.start - at };
    let to = window
        .get(..lead)
        .is_some_and(|lead| lead.trim_end_matches(['<', '`', '"', '\'', '(']).trim_end().ends_with("to"));
    let ordered = starts_clause(text, at)
        || before.get(0).is_some_and(|word| word.is(&["and", "then", "must", "should", "please", "to"]));
    let severity = match (to, ordered) {
        (true, true) => Severity::Critical,
        (true, false) | (false, true) => Severity::Medium,
        (false, false) => return None,
    };
    let span = Span::new(at, secret.max(at));
    Some(Match::new(&SECRET_EXFIL, span).with_severity(severity))
}

/// The mail address with its `@` at `at`.
fn mail_address(text: &str, at: usize) -> Span {
    let belongs = |letter: char| letter.is_alphanumeric() || ".-_+".contains(letter);
    let (name, host) = text.split_at_checked(at).unwrap_or_default();
    let name = name.trim_end_matches(belongs).len();
    let host = host.get(1..).unwrap_or_default();
    Span::new(name, at + 1 + host.find(|letter| !belongs(letter)).unwrap_or(host.len()))
}

/// Where a secret that is named among the words, outside of `address`, ends.
fn secret_in(words: &Words<'_>, address: Span) -> Option<usize> {
    words
        .iter()
        .enumerate()
        .take(10)
        .filter(|(_, word)| !(address.start..address.end).contains(&word.start))
        .find_map(|(at, word)| {
            let previous = at.checked_sub(1).and_then(|before| words.get(before));
            let plain_key = word.is(&["key", "keys"]);
            let keyed = previous.is_some_and(|previous| previous.is(KEYS));
            let variables = word.is(&["variables"]) && keyed;
            let named = word.is(SECRETS) && (!plain_key || keyed);
            (named || variables).then_some(word.end)
        })
}

/// An image whose address has a slot for a secret; `at` is the `](` before the address.
pub(super) fn image(text: &str, at: usize) -> Option<Match> {
    let target = text.get(at + 2..text.floor_char_boundary(text.len().min(at + REACH)))?;
    let question = memchr::memchr3(b'?', b')', b'\n', target.as_bytes())?;
    let query = target.get(question..)?.strip_prefix('?')?;
    let query = query.get(..memchr::memchr2(b')', b'\n', query.as_bytes())?)?;
    let label = text.get(text.floor_char_boundary(at.saturating_sub(REACH))..at)?;
    let start = at - label.len() + label.rfind('[')?;
    if start == 0 || text.as_bytes().get(start - 1) != Some(&b'!') {
        return None;
    }
    let end = at + 2 + question + 1 + query.len();
    let query = query.to_ascii_lowercase();
    let slot = ["{", "$", "<", "[", "%7b", "..."].iter().any(|mark| query.contains(mark));
    let nouns = [
        "secret",
        "token",
        "password",
        "key",
        "env",
        "credential",
        "history",
        "conversation",
        "data",
        "summary",
        "message",
    ];
    let noun = nouns.iter().any(|noun| query.contains(noun));
    let badge = target.get(..question).is_some_and(|path| path.contains("badge") || path.contains("shields"));
    (slot && noun && !badge).then(|| Match::new(&IMAGE_EXFIL, Span::new(start - 1, end)))
}
