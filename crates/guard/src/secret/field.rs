//! A value under a name: which rule it falls under, and how much of it is the secret.

use super::check;
use super::hit::Hit;
use super::name::{self, Promise};
use super::rules;
use super::value::{self, Written};
use crate::finding::Span;
use crate::rule::Rule;
use crate::severity::Severity;

/// Words before the credentials in an `Authorization` header.
const SCHEMES: [&str; 7] = ["bearer ", "basic ", "token ", "apikey ", "api-key ", "negotiate ", "bot "];

/// The secret that `value` is when it stands under `name`; its span is within `value`.
pub(super) fn find(name: &str, value: &str, written: Written, rule: &'static Rule) -> Option<Hit> {
    let promise = name::promise(name)?;
    if promise == Promise::Header {
        return find_credentials(value);
    }
    let whole = Span::new(0, value.len());
    if let Some(hit) = find_known(name, value, whole, written) {
        return Some(hit);
    }
    // `token: Bearer abc` holds what a header would.
    if scheme_of(value).is_some() {
        return find_credentials(value);
    }
    let bare_key = name == "KEY" && written == Written::Tight;
    if bare_key && value.len() >= 8 && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Hit::new(rule, whole, "digits under a bare KEY").severity(Severity::Low));
    }
    let severity = value::judge(promise, value, written)?;
    if severity <= Severity::Medium && echoes(name, value) {
        return None;
    }
    let header =
        name.len() > 2 && name.as_bytes().get(..2).is_some_and(|start| start.eq_ignore_ascii_case(b"x-"));
    let rule = if header { &rules::AUTH_HEADER } else { rule };
    let note = match severity {
        Severity::High | Severity::Critical => "a random value under a name that says secret",
        Severity::Info | Severity::Low | Severity::Medium => "a chosen value under a name that says secret",
    };
    Some(Hit::new(rule, whole, note).severity(severity))
}

/// Whether a value only repeats its name, as constants for names do.
fn echoes(name: &str, value: &str) -> bool {
    let letters = |text: &str| {
        text.bytes().filter(u8::is_ascii_alphabetic).map(|byte| byte.to_ascii_lowercase()).collect::<Vec<_>>()
    };
    let (name, value) = (letters(name), letters(value.get(..80).unwrap_or(value)));
    value.len() >= 6 && memchr::memmem::find(&name, &value).is_some()
}

/// Values whose name and form together say exactly what they are.
fn find_known(name: &str, value: &str, whole: Span, written: Written) -> Option<Hit> {
    let squeezed: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    let base64 =
        || value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    let secret_key = squeezed.ends_with("secretaccesskey") && value.len() == 40 && base64();
    if value::is_placeholder(value) {
        let hit = Hit::new(&rules::AWS_SECRET_KEY, whole, "looks like an example in documentation");
        return secret_key.then(|| hit.severity(Severity::Low));
    }
    if secret_key {
        return Some(Hit::new(&rules::AWS_SECRET_KEY, whole, "has the form of its provider"));
    }
    let account = squeezed.ends_with("accountkey") && value.len() == 88 && value.ends_with("==");
    let shared = squeezed.ends_with("sharedaccesskey") && value.len() == 44 && value.ends_with('=');
    if (account || shared) && base64() {
        return Some(Hit::new(&rules::AZURE_KEY, whole, "has the form of its provider"));
    }
    let docker = squeezed == "auth"
        && written != Written::Argument
        && value.len() >= 12
        && value.len().is_multiple_of(4);
    (docker && check::is_basic(value))
        .then(|| Hit::new(&rules::DOCKER_AUTH, whole, "a name and a password in base64"))
}

/// How long the scheme at the start of a header's value is.
fn scheme_of(value: &str) -> Option<usize> {
    let starts =
        |scheme: &&&str| value.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    SCHEMES.iter().find(starts).map(|scheme| scheme.len())
}

/// How long the first of two words is, where it may be a scheme that some service made up.
fn unknown_scheme(value: &str) -> Option<usize> {
    let (scheme, rest) = value.split_once(' ')?;
    let length = scheme.len() + 1;
    let plain = value.get(..length).is_some_and(may_be_scheme);
    // `Digest realm=…` and its like have parameters with names of their own.
    let lone = !rest.is_empty() && !rest.trim_end_matches('=').contains([' ', '=', '"']);
    (plain && lone).then_some(length)
}

/// Whether `text` is a word and a blank, as a scheme that some service made up would be.
pub(super) fn may_be_scheme(text: &str) -> bool {
    let word = text.strip_suffix(' ').unwrap_or_default();
    (2..=16).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether `text` is nothing but a scheme and the blank after it.
pub(super) fn is_scheme(text: &str) -> bool {
    scheme_of(text) == Some(text.len())
}

/// The credentials in the value of an `Authorization` header, with or without a scheme.
pub(super) fn find_credentials(value: &str) -> Option<Hit> {
    let scheme = scheme_of(value).or_else(|| unknown_scheme(value)).unwrap_or_default();
    let rest = value.get(scheme..)?;
    let start = scheme + (rest.len() - rest.trim_start_matches(' ').len());
    let token = value.get(start..)?.split(char::is_whitespace).next()?.trim_end_matches([',', ';', ')']);
    let span = Span::new(start, start + token.len());
    let basic = value.get(..scheme).is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic "));
    if basic && token.len() >= 8 && check::is_basic(token) {
        return Some(Hit::new(&rules::AUTH_HEADER, span, "a name and a password in base64"));
    }
    let written = if scheme > 0 { Written::Tight } else { Written::Spaced };
    let severity = value::judge(Promise::Header, token, written)?;
    Some(Hit::new(&rules::AUTH_HEADER, span, "credentials in a header").severity(severity))
}
