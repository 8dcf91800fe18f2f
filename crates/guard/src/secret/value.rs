//! Whether a value that stands under a telling name is a secret.

use super::check::Profile;
use super::hit::{BARE_KEY_MASK, KEY_MASK, MASK};
use super::name::Promise;
use crate::severity::Severity;

/// How a value is written, which says how likely it is code rather than data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// In quotes, or a value of its own in a parsed document.
    Quoted,
    /// As in a shell or an environment file: nothing around the equals sign.
    Tight,
    /// After a colon or a spaced equals sign, to the end of its line.
    Spaced,
    /// Among arguments, where a bare word is a variable.
    Argument,
}

/// The shortest value that is a secret.
const SHORTEST: usize = 8;
/// From how many characters on words with hyphens are a secret.
const LONG_WORDS: usize = 16;

/// How bad it is that `value` stands under a name with this promise; none when it is no secret.
pub(super) fn judge(promise: Promise, value: &str, written: Written) -> Option<Severity> {
    let profile = Profile::of(value);
    if profile.length < SHORTEST || is_placeholder(value) || is_reference(value) {
        return None;
    }
    if profile.spaces > 0 {
        let phrase = promise == Promise::Password && written == Written::Quoted && is_passphrase(value);
        return phrase.then_some(Severity::Medium);
    }
    let random = profile.is_random() && profile.length >= 16;
    // A word that begins like a type and stands among arguments is one, however many letters and digits it mixes.
    let names_type = written == Written::Argument
        && value.starts_with(|first: char| first.is_ascii_uppercase())
        && profile.digits < 6;
    if written != Written::Quoted && (names_type || is_code(value, random)) {
        return None;
    }
    match promise {
        Promise::Maybe => judge_maybe(&profile, value),
        Promise::Password | Promise::Secret | Promise::Header if random => Some(explicit_random(value)),
        Promise::Password | Promise::Secret | Promise::Header => {
            judge_words(promise, &profile, value, written)
        }
    }
}

/// A value that was drawn at random, under a name that says secret.
fn explicit_random(value: &str) -> Severity {
    if is_uuid(value) { Severity::Medium } else { Severity::High }
}

/// A value under `key` or `auth`, which name many harmless things: only what was drawn at random counts.
fn judge_maybe(profile: &Profile, value: &str) -> Option<Severity> {
    let cased = profile.upper > 0 && profile.lower > 0;
    let hex = value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let plain = value
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_'));
    if is_uuid(value) || !profile.is_random() || !plain || profile.length < 20 {
        return None;
    }
    if cased && profile.entropy() >= 4.0 {
        Some(Severity::High)
    } else {
        (hex && profile.length >= 32 || cased).then_some(Severity::Medium)
    }
}

/// A value that is not random enough to be drawn by a machine; people choose passwords too.
fn judge_words(promise: Promise, profile: &Profile, value: &str, written: Written) -> Option<Severity> {
    let mixed = profile.digits > 0 && profile.letters() > 0;
    let hyphens = value.bytes().filter(|byte| *byte == b'-').count();
    let spelled = value.bytes().any(|byte| b"!@#$%^&*+=~".contains(&byte)) && profile.letters() > 0;
    let chosen = match written {
        Written::Argument => false,
        // A bare name after `=` is a variable more often than a password.
        Written::Spaced => mixed && !value.contains(['_', '.', '/', ':', '-']),
        Written::Tight => mixed || spelled || (hyphens > 0 && profile.length >= LONG_WORDS),
        Written::Quoted => {
            mixed
                || (spelled && promise == Promise::Password)
                || (hyphens > 1 && profile.length >= LONG_WORDS)
        }
    };
    if chosen {
        return Some(Severity::Medium);
    }
    (promise == Promise::Password && profile.digits == profile.length).then_some(Severity::Low)
}

/// Words of sentences. A passphrase is drawn from a list that has none of them.
const SENTENCE: [&str; 43] = [
    "a",
    "an",
    "the",
    "your",
    "you",
    "our",
    "is",
    "are",
    "be",
    "of",
    "to",
    "for",
    "and",
    "or",
    "not",
    "no",
    "with",
    "without",
    "password",
    "passwords",
    "passphrase",
    "enter",
    "must",
    "should",
    "please",
    "at",
    "in",
    "on",
    "new",
    "old",
    "has",
    "have",
    "forgot",
    "reset",
    "change",
    "current",
    "this",
    "that",
    "by",
    "from",
    "field",
    "invalid",
    "user",
];

/// Whether a text with blanks is a passphrase rather than a sentence about passwords.
fn is_passphrase(value: &str) -> bool {
    let words: Vec<&str> = value.split(' ').collect();
    let plain = |word: &&str| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let drawn = (4..=12).contains(&words.len()) && words.iter().all(plain);
    // `S3cret` is how people make a password out of a word; units and versions have their digits at one end.
    let spelled = |word: &&str| {
        let inner = word.trim_matches(|character: char| !character.is_ascii_alphabetic());
        inner.bytes().any(|byte| byte.is_ascii_digit() || b"@$!".contains(&byte))
            && inner.bytes().all(|byte| byte.is_ascii_graphic() && !b"(){}[]<>:/.-_".contains(&byte))
    };
    let said = |word: &&&str| SENTENCE.iter().any(|known| word.eq_ignore_ascii_case(known));
    let said = words.iter().filter(said).count();
    words.len() <= 12 && (drawn && said == 0 || words.iter().any(spelled) && said <= 1)
}

/// How many characters of a value are looked through for what stands in for a secret.
const LOOK: usize = 256;

/// What people, and templates, write where a secret would stand, in lower case.
const PLACEHOLDERS: [&str; 30] = [
    "${",
    "$(",
    "{{",
    "#{",
    "%(",
    "$[",
    "<%",
    "@@",
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "dummy",
    "your-",
    "your_",
    "yourapi",
    "yourtoken",
    "yoursecret",
    "yourpass",
    "yourkey",
    "redacted",
    "xxxx",
    "****",
    "insert",
    "replace",
    "todo",
    "fixme",
    "undefined",
    "foobar",
];

/// Whether a value only stands for a secret, or is what we put in its place.
pub(super) fn is_placeholder(value: &str) -> bool {
    let look = value.char_indices().nth(LOOK).and_then(|(end, _)| value.get(..end)).unwrap_or(value);
    let lower = |character: char| character.to_ascii_lowercase();
    let same = look.chars().next().is_some_and(|first| look.chars().all(|each| lower(each) == lower(first)));
    let bracketed =
        [('<', '>'), ('[', ']'), ('{', '}'), ('%', '%'), ('(', ')')].iter().any(|(open, close)| {
            value.starts_with(*open) && value.trim_end_matches([',', ';']).ends_with(*close)
        });
    [MASK, KEY_MASK, BARE_KEY_MASK].contains(&value)
        || same
        || bracketed
        || is_mask(value)
        || is_variable(value)
        || stands_in(look.as_bytes())
}

/// Whether a text holds one of [`PLACEHOLDERS`]. Hostile texts have millions of values, so they are not searched for one
/// after the other.
fn stands_in(text: &[u8]) -> bool {
    text.iter().enumerate().any(|(at, byte)| {
        let mut begun = BEGUN.get(usize::from(byte.to_ascii_lowercase())).copied().unwrap_or_default();
        while begun != 0 {
            let word =
                PLACEHOLDERS.get(begun.trailing_zeros() as usize).map_or(&b""[..], |word| word.as_bytes());
            if text.get(at..at + word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word)) {
                return true;
            }
            begun &= begun - 1;
        }
        false
    })
}

/// For each byte, one bit for each of [`PLACEHOLDERS`] that begins with it.
static BEGUN: [u32; 256] = begun();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, where a wrong index is a build error"
)]
const fn begun() -> [u32; 256] {
    let (mut table, mut at) = ([0; 256], 0);
    while at < PLACEHOLDERS.len() {
        table[PLACEHOLDERS[at].as_bytes()[0] as usize] |= 1 << at;
        at += 1;
    }
    table
}

/// Whether a value is a prefix, three dots and at most four characters, as masks are.
fn is_mask(value: &str) -> bool {
    let Some((prefix, last)) = value.rsplit_once("...") else { return value.contains('…') };
    prefix.len() <= 20 && last.len() <= 4
}

/// `$NAME`, `%s`, `{name}`.
fn is_variable(value: &str) -> bool {
    let name = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.'))
    };
    value.strip_prefix('$').is_some_and(name) || (value.starts_with('%') && value.len() < 4)
}

/// Whether a value says where something is, or is the checksum of something public.
fn is_reference(value: &str) -> bool {
    let short_parts = || value.split(['/', '\\']).all(|part| part.len() < 20 && !part.contains(['+', '=']));
    let rooted = ["/", "./", "../", "~/", "~", "C:\\"].iter().any(|root| value.starts_with(root));
    let sum = ["sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "sha512:", "md5:", "h1:"];
    value.contains("://")
        || (rooted && short_parts())
        || (value.matches('/').count() > 1 && short_parts())
        || sum.iter().any(|prefix| value.starts_with(prefix))
        || ["vault:", "arn:", "ssm:", "op:", "ENC[", "urn:", "data:"]
            .iter()
            .any(|prefix| value.starts_with(prefix))
        || value.starts_with("ssh-") && !value.contains(char::is_whitespace) && value.len() < 24
}

/// Whether a value without quotes is an expression, a type or a variable.
fn is_code(value: &str, random: bool) -> bool {
    let value = value.trim_end_matches([',', ';']);
    let operator = |pair: &[u8]| matches!(pair, b"::" | b"->" | b"==");
    let path = || {
        value.split('.').count() > 1
            && value.split('.').all(|part| {
                part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                    && part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            })
    };
    value.bytes().any(|byte| b"()[]{}<>".contains(&byte))
        || value.as_bytes().windows(2).any(operator)
        || value.starts_with(['*', '&', '!', '|', '@', '-', '?'])
        || (!random && path())
}

fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
