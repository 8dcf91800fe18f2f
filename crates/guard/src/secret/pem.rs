//! Private keys in their armour, also where they stand in strings with escaped line ends or lack their end.

use std::cell::OnceCell;

use super::check;
use super::hit::{BARE_KEY_MASK, Hit, KEY_MASK};
use super::rules;
use super::run::{Class, Runs};
use crate::finding::Span;
use crate::severity::Severity;

/// The longest label before `PRIVATE KEY`, such as `ENCRYPTED `.
const LONGEST_LABEL: usize = 24;
/// The shortest line of a key that is not its last one. Words in prose are shorter.
const SHORTEST_LINE: usize = 16;
/// From how many characters on a body can hold a key at all.
const SHORTEST_KEY: usize = 40;

/// How many lines such as `Proc-Type: …` may stand before the key.
const MOST_HEADERS: usize = 8;

/// The private keys of a text, and what the text around them says about how secret they are.
pub(super) struct Keys<'t> {
    text: &'t str,
    /// Whether they are there to be published; found out when it matters.
    published: OnceCell<bool>,
}

impl<'t> Keys<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, published: OnceCell::new() }
    }

    /// The key whose first line has the words `PRIVATE KEY` at `words`, as bad as its surroundings make it.
    pub(super) fn find(&self, words: usize) -> Option<Hit> {
        let hit = find(self.text, words)?;
        if hit.severity < Severity::Critical {
            return Some(hit);
        }
        let key = hit.span.of(self.text)?;
        let (severity, note) = if KNOWN.iter().any(|line| key.contains(line)) {
            (Severity::Low, "a test key that everyone has")
        } else if is_encrypted(key) {
            (Severity::High, "a key that is encrypted")
        } else if *self.published.get_or_init(|| is_published(self.text)) {
            (Severity::High, "a key in source code, or among keys and examples")
        } else {
            return Some(hit);
        };
        Some(Hit { severity, note, ..hit })
    }
}

/// The first lines of keys that stand in standards, manuals and tools for everyone to use.
const KNOWN: [&str; 4] = [
    "MHcCAQEEIObLW92AqkWunJXowVR2Z5/+yVPBaFHnEedDk5WJxk/BoAoGCCqGSM49",
    "MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY/PuoAoGCCqGSM49",
    "MIIEowIBAAKCAQEAsPnoGUOnrpiSqt4XynxA+HRP7S+BSObI6qJ7fQAVSPtRkqso",
    "MIIEogIBAAKCAQEA6NF8iallvQVp22WDkTkyrtvp9eWW6A8YVr+kz4TjGYe7gHzI",
];

/// Whether a key is of no use without a passphrase.
fn is_encrypted(key: &str) -> bool {
    let head = key.get(..key.len().min(256)).unwrap_or(key);
    // An OpenSSH key names its cipher after its own name; without encryption that is `none`.
    let openssh = key.contains("b3BlbnNzaC1rZXktdjEA") && !key.contains("b3BlbnNzaC1rZXktdjEAAAAABG5vbmU");
    head.contains("ENCRYPTED") || openssh
}

/// How much of a text is looked at for what it is.
const LOOK: usize = 64 << 10;

/// What stands in programs, and rarely in what they print.
const CODE: [&[u8]; 16] = [
    b"#include",
    b"import ",
    b"package ",
    b"const ",
    b"static ",
    b"func ",
    b"fn ",
    b"def ",
    b"class ",
    b"public ",
    b"return ",
    b"var ",
    b"use ",
    b"struct ",
    b"#define",
    b"let ",
];

/// Whether a text has keys in it to be read by anyone: source code, several keys, tests and examples, test data with its
/// parameters, descriptions of certificates.
fn is_published(text: &str) -> bool {
    let bytes = text.as_bytes();
    let look = bytes.get(..LOOK).unwrap_or(bytes);
    let has = |part: &[u8]| memchr::memmem::find(look, part).is_some();
    let keys = memchr::memmem::find_iter(look, b"PRIVATE KEY-----").take(4).count();
    let code = CODE.iter().filter(|part| has(part)).take(3).count();
    let named = [&b"test"[..], b"Test", b"TEST", b"xample", b"EXAMPLE"].iter().any(|word| has(word));
    // Two lines of armour belong to each key.
    keys >= 4 || code >= 3 || named
}

fn find(text: &str, words: usize) -> Option<Hit> {
    let before = text.get(..words)?;
    let from = before.len().saturating_sub("-----BEGIN ".len() + LONGEST_LABEL);
    let begin = from + memchr::memmem::rfind(before.as_bytes().get(from..)?, b"-----BEGIN ")?;
    let label = text.get(begin + "-----BEGIN ".len()..words)?;
    label.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b' ').then_some(())?;
    let after = words + "PRIVATE KEY".len();
    let rest = text.get(after..)?;
    let rest = rest.strip_prefix(" BLOCK").unwrap_or(rest);
    let body_at = text.len() - rest.strip_prefix("-----")?.len();
    let body = Body::read(text, body_at)?;
    let mask = if is_bare(before.get(..begin)?) { BARE_KEY_MASK } else { KEY_MASK };
    let hit = Hit::new(&rules::PRIVATE_KEY, Span::new(begin, body.end), "a key in its armour");
    let hit = Hit { mask: mask.into(), ..hit };
    let whole = body.characters >= SHORTEST_KEY;
    Some(if whole {
        hit
    } else {
        Hit { severity: Severity::High, note: "an armour with too little in it", ..hit }
    })
}

/// Whether brackets after `before` would begin a YAML list.
fn is_bare(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.ends_with(": ") || line.trim_start() == "- "
}

/// What stands between the first line and the last.
struct Body {
    end: usize,
    characters: usize,
}

impl Body {
    /// Reads lines of base64 from `at` up to the last line of the armour, or as far as they go without one.
    fn read(text: &str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let (mut at, mut characters, mut last_long, mut headers) = (at, 0, at, 0);
        loop {
            at = skip_separators(bytes, at);
            let rest = text.get(at..)?;
            if let Some(end) = rest.strip_prefix("-----END ") {
                let label = end.bytes().take_while(|byte| byte.is_ascii_uppercase() || *byte == b' ').count();
                let dashes = end.get(label..)?.bytes().take(5).take_while(|byte| *byte == b'-').count();
                let end = at + "-----END ".len() + label + dashes;
                return (characters > 0).then_some(Self { end, characters });
            }
            let run = rest.bytes().take_while(|byte| Class::Base64.has(*byte)).count();
            let after = bytes.get(at + run).copied().unwrap_or_default();
            if run > 0 && (after == b':' || after == b'-') && characters == 0 && headers < MOST_HEADERS {
                headers += 1;
                at += rest.bytes().take_while(|byte| !matches!(byte, b'\n' | b'\\')).count();
                continue;
            }
            let is_short = run < SHORTEST_LINE;
            let ends_here = || {
                bytes
                    .get(skip_separators(bytes, at + run)..)
                    .is_some_and(|rest| rest.starts_with(b"-----END "))
            };
            if run == 0 || (is_short && !ends_here()) {
                let end =
                    if run > 0 && characters > 0 && is_last_line(rest, run) { at + run } else { last_long };
                return (characters > 0).then_some(Self { end, characters });
            }
            characters += run;
            at += run;
            last_long = at;
        }
    }
}

/// Whether a short line looks like the last of a key rather than the first word after it.
fn is_last_line(rest: &str, run: usize) -> bool {
    let line = rest.get(..run).unwrap_or_default();
    line.ends_with('=') || line.bytes().any(|byte| byte.is_ascii_digit() || byte == b'+' || byte == b'/')
}

/// Skips line ends, indentation, escaped line ends and what source code puts between the lines of a string.
fn skip_separators(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'\\'), Some(b'n' | b'r' | b't')) => at += 2,
            (
                Some(b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'\\' | b',' | b'#' | b'>' | b'|' | b'*'),
                _,
            ) => at += 1,
            (Some(b'+'), Some(b' ' | b'\n' | b'\r')) => at += 1,
            _ => return at,
        }
    }
}

/// The private part of a PuTTY key, whose lines follow the one that counts them at `at`.
pub(super) fn find_putty(text: &str, at: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    let rest = text.get(at..)?;
    let (first, _) = rest.split_once('\n')?;
    let start = at + first.len() + 1;
    let mut end = start;
    for line in text.get(start..)?.split_inclusive('\n') {
        let inner = line.trim_end();
        if inner.len() < 4 || !inner.bytes().all(|byte| Class::Base64.has(byte)) {
            break;
        }
        end = line.as_ptr() as usize - text.as_ptr() as usize + inner.len();
    }
    let open = memchr::memmem::find(bytes.get(at.saturating_sub(4096)..at)?, b"Encryption: none").is_some();
    (end >= start + SHORTEST_KEY).then(|| {
        let hit = Hit::new(&rules::PRIVATE_KEY, Span::new(start, end), "a PuTTY key");
        if open { hit } else { Hit { severity: Severity::High, note: "a key that is encrypted", ..hit } }
    })
}

/// A key file that stands in base64 as a whole, as in cluster configurations.
pub(super) fn find_encoded(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let end = runs.end(text.as_bytes(), at, Class::Base64);
    let decoded = check::decoded_start(text.get(at..end.min(at + 80))?)?;
    let is_key = memchr::memmem::find(&decoded, b"PRIVATE KEY").is_some();
    is_key.then(|| Hit::new(&rules::PRIVATE_KEY, Span::new(at, end), "a key file in base64"))
}
