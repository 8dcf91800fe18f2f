//! Secrets in URLs: passwords before the host, webhooks, signatures in queries.

use super::check::{self, Randomness};
use super::hit::Hit;
use super::rules;
use super::run::{Class, Runs};
use super::value;
use crate::finding::Span;
use crate::severity::Severity;

/// Schemes whose passwords open a database or a queue.
const STORES: [&str; 17] = [
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "mongodb",
    "mongodb+srv",
    "redis",
    "rediss",
    "amqp",
    "amqps",
    "mssql",
    "sqlserver",
    "oracle",
    "cockroachdb",
    "clickhouse",
    "nats",
    "kafka",
];
/// The shortest password that is masked; shorter ones say nothing.
const SHORTEST: usize = 4;
/// How far a password with a slash in it is followed.
const FAR: usize = 256;
/// Passwords that only stand for one.
const WORDS: [&str; 12] = [
    "password", "passwd", "pass", "secret", "user", "username", "test", "guest", "root", "admin", "token",
    "pwd",
];

/// Whether a password is a word that people write where one would stand.
pub(super) fn is_stand_in(password: &str) -> bool {
    WORDS.iter().any(|word| password.eq_ignore_ascii_case(word))
}

/// The password of the URL whose scheme ends at `colon`.
pub(super) fn find_password(text: &str, colon: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    let scheme_length = bytes
        .get(..colon)?
        .iter()
        .rev()
        .take(20)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        .count();
    let scheme = text.get(colon - scheme_length..colon)?;
    let is_store = is_store(scheme);
    bytes.get(colon - scheme_length).filter(|_| scheme_length > 0)?.is_ascii_alphabetic().then_some(())?;
    let authority_at = colon + "://".len();
    let Some((user, password)) = user_info(bytes, authority_at, is_store) else {
        return find_lone_token(text, authority_at);
    };
    let span = Span::new(authority_at + user + 1, authority_at + password);
    let written = span.of(text)?;
    if written.chars().count() < SHORTEST || value::is_placeholder(written) {
        return None;
    }
    let rule = if is_store { &rules::DB_CONNECTION_PASSWORD } else { &rules::URL_PASSWORD };
    let word = is_stand_in(written);
    let hit = Hit::new(rule, span, "between the user and the host");
    let example = word || host_is_example(text.get(authority_at + password + 1..)?);
    Some(if example { hit.severity(Severity::Low) } else { hit })
}

/// A token that stands alone before the host, as in addresses of repositories.
fn find_lone_token(text: &str, at: usize) -> Option<Hit> {
    let rest = text.as_bytes().get(at..)?;
    let length = rest.iter().take(FAR).take_while(|byte| Class::Word.has(**byte)).count();
    let token = text.get(at..at + length)?;
    let alone = rest.get(length) == Some(&b'@') && token.len() >= 20;
    (alone && check::randomness(token) == Randomness::Random && !value::is_placeholder(token)).then(|| {
        let span = Span::new(at, at + length);
        Hit::new(&rules::URL_PASSWORD, span, "a token before the host").severity(Severity::Medium)
    })
}

/// Whether a scheme is that of a store, with or without a driver as in `postgresql+asyncpg`.
fn is_store(scheme: &str) -> bool {
    let is = |name: &str| STORES.iter().any(|store| name.eq_ignore_ascii_case(store));
    is(scheme) || scheme.split_once('+').is_some_and(|(name, _driver)| is(name))
}

/// Where, after the start of the authority, the user's name and the password end.
fn user_info(bytes: &[u8], at: usize, is_store: bool) -> Option<(usize, usize)> {
    let rest = bytes.get(at..)?;
    let stops = |byte: &u8| *byte <= b' ' || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\');
    let ends = |byte: &u8| stops(byte) || matches!(byte, b'/' | b'?' | b'#');
    let authority = rest.iter().position(ends).map_or(rest, |end| rest.get(..end).unwrap_or_default());
    let user = memchr::memchr(b':', authority)?;
    if let Some(password) = memchr::memrchr(b'@', authority) {
        return (user < password).then_some((user, password));
    }
    // A slash in a password should be written `%2F`, and often is not; a port is no password.
    let begins_password = authority.get(user + 1..)?.iter().any(|byte| !byte.is_ascii_digit());
    (is_store && begins_password && rest.get(authority.len()) == Some(&b'/')).then_some(())?;
    let longer = rest.iter().take(FAR).position(stops).unwrap_or(rest.len().min(FAR));
    let password = memchr::memchr(b'@', rest.get(..longer)?)?;
    Some((user, password))
}

fn host_is_example(host: &str) -> bool {
    let host =
        host.split(|character: char| !character.is_ascii_alphanumeric() && !"-.".contains(character)).next();
    let host = host.unwrap_or_default();
    ["localhost", "127.0.0.1", "host", "hostname"].contains(&host)
        || ["example.com", "example.org", "example.net"].iter().any(|name| host.ends_with(name))
}

/// The part of a webhook's address that lets one post.
pub(super) fn find_webhook(text: &str, at: usize) -> Option<Hit> {
    let start = at + "hooks.slack.com/services/".len();
    let path = text.get(start..)?;
    let length =
        path.bytes().take(120).take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'/').count();
    let mut parts = path.get(..length)?.split('/');
    let (team, service, secret) = (parts.next()?, parts.next()?, parts.next()?);
    let fits = team.starts_with('T')
        && service.starts_with('B')
        && team.len() > 6
        && service.len() > 6
        && secret.len() >= 16;
    let hit =
        Hit::new(&rules::SLACK_WEBHOOK, Span::new(start, start + length), "has the form of its provider");
    fits.then(|| if check::is_example(secret) { hit.severity(Severity::Low) } else { hit })
}

/// The part of a Discord webhook's address that lets one post; its path begins at `at`.
pub(super) fn find_discord_webhook(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let bytes = text.as_bytes();
    let id = at + "/api/webhooks/".len();
    let digits = bytes.get(id..)?.iter().take(24).take_while(|byte| byte.is_ascii_digit()).count();
    let start = id + digits + 1;
    (digits >= 15 && bytes.get(start - 1) == Some(&b'/')).then_some(())?;
    let end = runs.end(bytes, start, Class::Word);
    (end - start >= 40)
        .then(|| Hit::new(&rules::DISCORD_WEBHOOK, Span::new(start, end), "has the form of its provider"))
}

/// The signature of a URL for a stored object, after `-Signature=` at `at`.
pub(super) fn find_signed(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let start = at + "-Signature=".len();
    let end = runs.end(text.as_bytes(), start, Class::Hex);
    (end - start >= 64).then(|| Hit::new(&rules::SIGNED_URL, Span::new(start, end), "a signature in a URL"))
}

/// The signature of a shared-access URL, whose query begins with `sig=` at `at`.
pub(super) fn find_signature(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let bytes = text.as_bytes();
    let start = at + "sig=".len();
    let end = runs.end(bytes, start, Class::Bare);
    let value = text.get(start..end.min(start + FAR))?.split('&').next()?;
    let around = bytes.get(at.saturating_sub(FAR)..end.min(at + FAR))?;
    let signed = [&b"sv=20"[..], b"se=20"].iter().any(|part| memchr::memmem::find(around, part).is_some());
    let span = Span::new(start, start + value.len());
    (signed && value.len() >= 40 && !value::is_placeholder(value))
        .then(|| Hit::new(&rules::AZURE_SAS, span, "a signature beside its dates"))
}
