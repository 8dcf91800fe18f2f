//! Passwords among the arguments of programs that take them there.

use super::hit::Hit;
use super::rules;
use super::run::{Class, Runs};
use super::url::is_stand_in;
use super::value;
use crate::finding::Span;
use crate::severity::Severity;

/// How far before an option its program may stand.
const FAR: usize = 80;
/// The shortest password that is masked.
const SHORTEST: usize = 4;

/// How a program takes a password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Right after the letter.
    Attached,
    /// Right after the letter, or as the next argument.
    Either,
    /// As the next argument.
    Next,
}

/// Programs whose `-p` is a password, and the subcommand that makes it one.
const PROGRAMS: [(&str, &str, Takes); 15] = [
    ("mysql", "", Takes::Attached),
    ("mysqldump", "", Takes::Attached),
    ("mysqladmin", "", Takes::Attached),
    ("mysqlimport", "", Takes::Attached),
    ("mariadb", "", Takes::Attached),
    ("mariadb-dump", "", Takes::Attached),
    ("sshpass", "", Takes::Either),
    ("docker", "login", Takes::Next),
    ("podman", "login", Takes::Next),
    ("helm", "login", Takes::Next),
    ("oc", "login", Takes::Next),
    ("az", "login", Takes::Next),
    ("mongo", "", Takes::Next),
    ("mongosh", "", Takes::Next),
    ("mongodump", "", Takes::Next),
];

/// The words of the command before `at`.
fn words_before(text: &str, at: usize) -> impl Iterator<Item = &str> {
    let mut from = at.saturating_sub(FAR);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let before = text.get(from..at).unwrap_or_default();
    let command = before.rsplit(['\n', ';', '|', '&', '(', '`']).next().unwrap_or_default();
    command
        .split_ascii_whitespace()
        .map(|word| word.trim_matches(['"', '\'', ',', '[']).rsplit('/').next().unwrap_or_default())
}

/// The password after ` -p` at `at`.
pub(super) fn find_password(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let mut words = words_before(text, at);
    let (_, subcommand, takes) =
        words.find_map(|word| PROGRAMS.iter().find(|(program, _, _)| *program == word))?;
    (subcommand.is_empty() || words.any(|word| word == *subcommand)).then_some(())?;
    let after = at + " -p".len();
    let attached = !matches!(text.as_bytes().get(after), None | Some(b' ' | b'\n' | b'\r' | b'\t'));
    match (takes, attached) {
        (Takes::Attached | Takes::Either, true) => argument(text, after, runs),
        (Takes::Either | Takes::Next, false) => argument(text, after + 1, runs),
        (Takes::Attached, false) | (Takes::Next, true) => None,
    }
}

/// The password after ` -a ` at `at`, which one program takes.
pub(super) fn find_auth(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    words_before(text, at).any(|word| word == "redis-cli").then_some(())?;
    argument(text, at + " -a ".len(), runs)
}

/// The password in `user:password` after an option that ends at `at`.
pub(super) fn find_user(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    words_before(text, at).any(|word| matches!(word, "curl" | "http" | "https" | "wget")).then_some(())?;
    let (span, word) = word_at(text, at, runs)?;
    let (user, password) = word.split_once(':')?;
    hit(Span::new(span.start + user.len() + 1, span.end), password)
}

fn argument(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let (span, word) = word_at(text, at, runs)?;
    hit(span, word)
}

/// The argument at `at`, without its quotes.
fn word_at<'t>(text: &'t str, at: usize, runs: &mut Runs) -> Option<(Span, &'t str)> {
    let bytes = text.as_bytes();
    let quote = bytes.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\''));
    let span = match quote {
        Some(quote) => {
            let rest = bytes.get(at + 1..)?.iter().take(FAR);
            let length = rest.take_while(|byte| **byte != quote && **byte != b'\n').count();
            Span::new(at + 1, at + 1 + length)
        }
        None => Span::new(at, runs.end(bytes, at, Class::Bare)),
    };
    Some((span, span.of(text)?))
}

fn hit(span: Span, password: &str) -> Option<Hit> {
    let stands_in = password.starts_with(['$', '-', '<', '%', '@'])
        || is_stand_in(password)
        || value::is_placeholder(password)
        || ["mypassword", "mypass", "rootpassword", "my-secret-pw"].contains(&password);
    (password.chars().count() >= SHORTEST && !stands_in).then_some(())?;
    let word = password.bytes().all(|byte| byte.is_ascii_lowercase());
    let severity = if word { Severity::Medium } else { Severity::High };
    Some(Hit::new(&rules::COMMAND_PASSWORD, span, "a password on a command line").severity(severity))
}
