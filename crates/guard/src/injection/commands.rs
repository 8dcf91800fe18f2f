//! Shell commands that would carry credentials away.

use super::found::Match;
use super::rules::{BASE64_ENV_EXFIL, CAT_SECRETS_FILE, CURL_WITH_CREDS, ENV_EXFIL_PRINTENV};
use super::words::{starts_word, word_at};
use crate::finding::Span;
use crate::severity::Severity;

/// How far a command is followed.
const REACH: usize = 1024;

/// The command from `at` to the end of its line; a line that ends in a backslash goes on.
fn command(text: &str, at: usize) -> &str {
    let rest = text.get(at..text.floor_char_boundary(text.len().min(at + REACH))).unwrap_or_default();
    let ends = memchr::memchr_iter(b'\n', rest.as_bytes()).find(|end| {
        let line = rest.get(..*end).unwrap_or_default();
        !line.trim_end_matches('\r').ends_with('\\')
    });
    rest.get(..ends.unwrap_or(rest.len())).unwrap_or_default()
}

/// How many variables of a command are looked at.
const MOST_VARIABLES: usize = 12;

/// A variable whose name has one of `parts` in it: its place in `line` and its name.
fn variable<'line>(line: &'line str, parts: &[&str]) -> Option<(usize, &'line str)> {
    memchr::memchr_iter(b'$', line.as_bytes()).take(MOST_VARIABLES).find_map(|at| {
        let rest = line.get(at + 1..)?.trim_start_matches([' ', '{']);
        let rest = rest.strip_prefix("secrets.").or_else(|| rest.strip_prefix("env:")).unwrap_or(rest);
        let length =
            rest.bytes().take(64).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let name = rest.get(..length).filter(|name| name.len() > 2)?;
        let holds = |part: &&str| {
            name.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
        };
        parts.iter().any(holds).then_some((at, name))
    })
}

/// What names of variables that hold a credential have in them.
const CREDENTIALS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "API_KEY",
    "APIKEY",
    "CREDENTIAL",
    "PRIVATE_KEY",
    "ACCESS_KEY",
];

/// `curl`, `wget` or `nc` with a credential; `at` is where the program's name starts.
pub(super) fn request(text: &str, at: usize) -> Option<Match> {
    let program = word_at(text, at);
    if !program.is(&["curl", "wget", "nc", "ncat", "netcat"]) || !starts_word(text, at) {
        return None;
    }
    let line = command(text, at);
    let (place, name) = variable(line, CREDENTIALS)?;
    let before = line.get(..place).unwrap_or_default();
    let severity = if authenticates(before, line) { Severity::Low } else { Severity::Critical };
    let detail = format!("{} with ${name}", program.text);
    let end = at + place + 1 + name.len();
    Some(
        Match::new(&CURL_WITH_CREDS, Span::new(at, text.floor_char_boundary(end)))
            .with_severity(severity)
            .with_detail(detail),
    )
}

/// Whether the variable that follows `before` authenticates the request: in a header or as user and password, which is
/// how every interface is documented; in an address or a body it is being sent away.
fn authenticates(before: &str, line: &str) -> bool {
    let lower = before.to_ascii_lowercase();
    let header = [" -h", " --header", "authorization", " -u", " --user", "-token:", "-key:", "bearer "];
    let last_header = header.iter().filter_map(|flag| lower.rfind(flag)).max();
    let body = [" -d", " --data", " -f ", " --form", "http://", "https://", " -t ", "--post"];
    let last_body = body.iter().filter_map(|flag| lower.rfind(flag)).max();
    // `https://user:$TOKEN@host` is a password too.
    let userinfo = lower.rfind("://").is_some_and(|at| {
        let authority = lower.get(at + 3..).unwrap_or_default();
        !authority.contains(['/', '?']) && line.get(before.len()..).is_some_and(|rest| rest.contains('@'))
    });
    userinfo || last_header.is_some_and(|header| last_body.is_none_or(|body| header > body))
}

/// A file of credentials that is shown; `at` is the anchor within its path.
pub(super) fn secrets_file(text: &str, at: Span) -> Option<Match> {
    let path = at.of(text)?;
    let next = text.as_bytes().get(at.end).copied();
    let goes_on = next.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let key = path.ends_with("id_");
    if goes_on != key && (goes_on || key) {
        return None;
    }
    let end = at.end
        + text
            .as_bytes()
            .get(at.end..)
            .unwrap_or_default()
            .iter()
            .take(64)
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
            .count();
    let whole = text.get(at.start..end)?;
    let harmless = [".pub", ".example", ".sample", ".template", ".dist"];
    if harmless.iter().any(|ending| whole.ends_with(ending)) {
        return None;
    }
    let from = text.floor_char_boundary(at.start.saturating_sub(80));
    let before = text.get(from..at.start)?;
    let before = before.get(before.rfind(['\n', '|', ';', '&']).map_or(0, |cut| cut + 1)..)?;
    let cat = before.rfind("cat ").filter(|place| starts_word(before, *place))?;
    let argument = before.get(cat + 4..)?.trim_start();
    let home = argument.starts_with('~')
        || argument.starts_with("/home/")
        || argument.starts_with("/root/")
        || argument.starts_with("$HOME")
        || argument.starts_with("${HOME}")
        || (argument.is_empty() && !key);
    if argument.contains(' ') || !(home || argument.is_empty()) {
        return None;
    }
    let severity = if home && !argument.is_empty() { Severity::Critical } else { Severity::Medium };
    let start = from + (at.start - from - before.len()) + cat;
    Some(Match::new(&CAT_SECRETS_FILE, Span::new(start, end)).with_severity(severity))
}

/// `base64` of a credential; `at` is where the program's name starts.
pub(super) fn base64(text: &str, at: usize) -> Option<Match> {
    if !starts_word(text, at) || !text.as_bytes().get(at + 6).is_some_and(|byte| matches!(byte, b' ' | b'\t'))
    {
        return None;
    }
    let line = command(text, at);
    let (place, name) = variable(line, &["KEY", "TOKEN", "SECRET", "PASSWORD"])?;
    let detail = format!("base64 of ${name}");
    let span = Span::new(at, text.floor_char_boundary(at + place + 1 + name.len()));
    Some(Match::new(&BASE64_ENV_EXFIL, span).with_detail(detail))
}

/// The whole environment; `at` is where `printenv` or `env` starts.
pub(super) fn environment(text: &str, at: Span) -> Option<Match> {
    if !starts_word(text, at.start) || text.as_bytes().get(at.start.wrapping_sub(1)) == Some(&b'_') {
        return None;
    }
    let line = command(text, at.start);
    let leaves = line.contains('|')
        && ["curl", "wget", " nc ", "ncat", "base64", "/dev/tcp"].iter().any(|way| line.contains(way));
    let severity = if leaves { Severity::Critical } else { Severity::Low };
    Some(Match::new(&ENV_EXFIL_PRINTENV, at).with_severity(severity))
}
