//! Takes a request target apart the way every kind of program would, and keeps the worst reading.
//!
//! Browsers read `\` as `/`, drop tabs and line ends, and invent missing slashes; libraries that follow RFC 3986 do none of
//! this; old ones look for the `@` in the query. A check that reads a target in one way is passed with a target that the
//! program behind it reads in another.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use memchr::memmem;

use super::allowed::Allowed;
use super::host::{self, HostPort};
use super::schemes::{self, SchemeKind};
use super::spelling;
use super::verdict::{BlockReason, Malformed, Suspicion, Verdict};

/// What a request to `text` leads to, with what the operator allows.
pub(super) fn judge(text: &str, allowed: &Allowed) -> Verdict {
    let trimmed = trim(text);
    let target = without_line_ends(trimmed);
    let verdict = judge_trimmed(&target, allowed);
    let controls = trimmed.chars().any(char::is_control);
    if controls { verdict.at_least(Suspicion::Control) } else { verdict }
}

/// Without the spaces and controls at either end that every reader drops.
fn trim(text: &str) -> &str {
    text.trim_matches(|edge: char| edge.is_whitespace() || edge.is_control() || edge == '\u{feff}')
}

/// Browsers drop tabs and line ends wherever they stand.
fn without_line_ends(text: &str) -> Cow<'_, str> {
    let dropped = ['\t', '\n', '\r'];
    if text.contains(dropped) { Cow::Owned(text.replace(dropped, "")) } else { Cow::Borrowed(text) }
}

fn judge_trimmed(target: &str, allowed: &Allowed) -> Verdict {
    if target.is_empty() {
        return Verdict::Reject { reason: Malformed::Empty };
    }
    // An IPv6 address without brackets, as fields for hosts have it.
    let bare = target.split('%').next().unwrap_or(target);
    if matches!(bare.parse(), Ok(IpAddr::V6(_))) {
        let verdict = host::judge_literal(target, None, allowed);
        return verdict.unwrap_or_else(|reason| Verdict::Reject { reason });
    }
    match split_scheme(target) {
        Lead::NoScheme => judge_without_scheme(target, allowed),
        Lead::BadScheme => Verdict::Reject { reason: Malformed::Scheme },
        Lead::Scheme { name, kind, rest } => judge_with_scheme(&name, kind, rest, allowed),
        Lead::SchemeOrHost { name } => {
            let host = judge_without_scheme(target, allowed);
            let host_too = matches!(host, Verdict::Block { .. });
            let reason = BlockReason::DisallowedScheme { scheme: name, host_too };
            host.worse(Verdict::Block { reason, host: String::new() })
        }
    }
}

/// How a target starts.
#[derive(Debug, PartialEq, Eq)]
enum Lead<'a> {
    NoScheme,
    BadScheme,
    Scheme {
        name: String,
        kind: SchemeKind,
        rest: &'a str,
    },
    /// `name:rest`, which is a scheme for some and a host with a path for others.
    SchemeOrHost {
        name: String,
    },
}

fn split_scheme(target: &str) -> Lead<'_> {
    let mark = target.find([':', '/', '?', '#', '\\', '@', '[']);
    let Some((name, rest)) = mark.and_then(|at| target.split_at_checked(at)) else { return Lead::NoScheme };
    let Some(rest) = rest.strip_prefix(':') else { return Lead::NoScheme };
    let absolute = rest.starts_with("//");
    if !schemes::is_scheme(name) {
        return if absolute { Lead::BadScheme } else { Lead::NoScheme };
    }
    let name_lower = name.to_ascii_lowercase();
    match schemes::kind(&name_lower) {
        SchemeKind::Unknown if absolute => Lead::Scheme { name: name_lower, kind: SchemeKind::Unknown, rest },
        SchemeKind::Unknown if starts_with_port(rest) || name.contains('.') => Lead::NoScheme,
        SchemeKind::Unknown => Lead::SchemeOrHost { name: name_lower },
        kind @ (SchemeKind::Web | SchemeKind::Remote | SchemeKind::Blocked) => {
            Lead::Scheme { name: name_lower, kind, rest }
        }
    }
}

/// Whether what follows a colon is a port and then the end or a path.
fn starts_with_port(rest: &str) -> bool {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = rest.get(digits..).unwrap_or_default();
    digits > 0 && (after.is_empty() || after.starts_with(['/', '?', '#', '\\']))
}

fn judge_with_scheme(name: &str, kind: SchemeKind, rest: &str, allowed: &Allowed) -> Verdict {
    let from = Origin { scheme: Some(kind), default_port: default_port(name) };
    let host = match split_slashes(rest) {
        (slashes, _) if slashes.len() < 2 && kind != SchemeKind::Web => {
            Verdict::Reject { reason: Malformed::NoHost }
        }
        (slashes, rest) => judge_rest(slashes, rest, from, allowed),
    };
    let host_too = matches!(host, Verdict::Block { .. });
    let shown = || host.host().unwrap_or_default().to_owned();
    let scheme = || name.to_owned();
    match kind {
        SchemeKind::Web | SchemeKind::Remote => host,
        SchemeKind::Blocked => Verdict::Block {
            reason: BlockReason::BlockedScheme { scheme: scheme(), host_too },
            host: shown(),
        },
        SchemeKind::Unknown => Verdict::Block {
            reason: BlockReason::DisallowedScheme { scheme: scheme(), host_too },
            host: shown(),
        },
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" | "git+http" => Some(80),
        "https" | "wss" | "git+https" => Some(443),
        "ssh" | "git+ssh" | "ssh+git" | "svn+ssh" => Some(22),
        "git" => Some(9418),
        _ => None,
    }
}

fn judge_without_scheme(target: &str, allowed: &Allowed) -> Verdict {
    let from = Origin { scheme: None, default_port: None };
    match split_slashes(target) {
        ("", rest) => judge_rest("//", rest, from, allowed),
        (slashes, _) if slashes.len() == 1 => Verdict::Reject { reason: Malformed::NoHost },
        (slashes, rest) => judge_rest(slashes, rest, from, allowed),
    }
}

/// The slashes of either kind in front, and the rest.
fn split_slashes(text: &str) -> (&str, &str) {
    let slashes = text.bytes().take_while(|byte| matches!(byte, b'/' | b'\\')).count();
    text.split_at_checked(slashes).unwrap_or(("", text))
}

/// Where an authority comes from.
#[derive(Clone, Copy, Debug)]
struct Origin {
    scheme: Option<SchemeKind>,
    default_port: Option<u16>,
}

/// Judges what follows the slashes, in every reading.
fn judge_rest(slashes: &str, rest: &str, from: Origin, allowed: &Allowed) -> Verdict {
    let strict = until(rest, &['/', '?', '#']);
    let usual = until(strict, &['\\']);
    if strict.matches('@').count() > 1 {
        return Verdict::Reject { reason: Malformed::SeveralAts };
    }
    // Some readers end the URL at a blank, some drop it, some take it for part of the user.
    if strict.contains(char::is_whitespace) {
        let before = judge_authority(until(strict, &[' ', '\u{a0}']), from, allowed);
        return before.worse(Verdict::Reject { reason: Malformed::Character });
    }
    let mut verdict = judge_authority(usual, from, allowed);
    if slashes.len() != 2 {
        verdict = verdict.worse(Verdict::Reject { reason: Malformed::NoHost });
    }
    if strict.len() > usual.len() {
        if let Some((_, other)) = strict.rsplit_once('@') {
            verdict = verdict.worse(judge_authority(until(other, &['\\']), from, allowed));
        }
        verdict = verdict.at_least(Suspicion::Backslash);
    }
    if slashes.contains('\\') {
        verdict = verdict.at_least(Suspicion::Backslash);
    }
    if at_behind_host(rest, strict, from) {
        verdict = verdict.at_least(Suspicion::AtBehindHost);
    }
    let tail = rest.get(usual.len()..).unwrap_or_default();
    if carries_special(tail) { verdict.at_least(Suspicion::NestedTarget) } else { verdict }
}

/// The part in front of the first of `marks`.
fn until<'a>(text: &'a str, marks: &[char]) -> &'a str {
    text.split(marks).next().unwrap_or(text)
}

/// Whether a reader that ends the authority at the first slash only would go to a special host.
fn at_behind_host(rest: &str, strict: &str, from: Origin) -> bool {
    let legacy = until(rest, &['/']);
    let behind = legacy.get(strict.len()..).unwrap_or_default();
    let other = behind.rsplit_once('@').map(|(_, other)| until(other, &['\\', '?', '#']));
    other.is_some_and(|other| leads_inside(other, from))
}

/// Whether a request to the authority would be blocked.
fn leads_inside(authority: &str, from: Origin) -> bool {
    matches!(judge_authority(authority, from, &Allowed::nothing_more()), Verdict::Block { .. })
}

/// Judges `user@host:port`.
fn judge_authority(authority: &str, from: Origin, allowed: &Allowed) -> Verdict {
    let (user, place) =
        authority.rsplit_once('@').map_or((None, authority), |(user, place)| (Some(user), place));
    // Some readers take an IPv6 address without brackets; nobody who means well writes one.
    if place.parse::<Ipv6Addr>().is_ok() {
        let verdict = host::judge_literal(place, from.default_port, allowed);
        let blocked = verdict.ok().filter(|verdict| matches!(verdict, Verdict::Block { .. }));
        return blocked.unwrap_or(Verdict::Reject { reason: Malformed::Colons });
    }
    let (host, port) = match split_port(place, from) {
        Ok(split) => split,
        Err(reason) => return Verdict::Reject { reason },
    };
    let mut verdict = host::judge(HostPort { host, port: port.or(from.default_port) }, allowed);
    if user.is_some_and(|user| user_looks_like_host(user, from)) {
        verdict = verdict.at_least(Suspicion::UserLooksLikeHost);
    }
    let web = matches!(from.scheme, None | Some(SchemeKind::Web));
    if web && port.is_some_and(schemes::is_odd_web_port) {
        verdict = verdict.at_least(Suspicion::Port);
    }
    verdict
}

/// Splits `host:port`. Without a scheme, what follows the colon may be the path of a copy command.
fn split_port(place: &str, from: Origin) -> Result<(&str, Option<u16>), Malformed> {
    let host_ends = match place.strip_prefix('[') {
        Some(rest) => rest.find(']').ok_or(Malformed::Brackets)? + 2,
        None => place.find(':').unwrap_or(place.len()),
    };
    let (host, rest) = place.split_at_checked(host_ends).ok_or(Malformed::Brackets)?;
    let Some(digits) = rest.strip_prefix(':') else {
        return if rest.is_empty() { Ok((host, None)) } else { Err(Malformed::Brackets) };
    };
    if digits.is_empty() {
        return Ok((host, None));
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let port = digits.parse().ok().filter(|port| *port != 0);
        return port.map(|port| (host, Some(port))).ok_or(Malformed::Port);
    }
    match from.scheme {
        None => Ok((host, None)),
        Some(_) if digits.contains(':') => Err(Malformed::Colons),
        Some(_) => Err(Malformed::Port),
    }
}

/// Whether the user part would make a person, or a program that decodes too early, see a host.
fn user_looks_like_host(user: &str, from: Origin) -> bool {
    let folded = spelling::fold(&spelling::percent_decode_lossy(user));
    if folded.contains(['/', '\\', '?', '#', '[', ']']) || folded.chars().any(char::is_control) {
        return true;
    }
    let name = folded.split(':').next().unwrap_or(&folded);
    // Accounts on machines are often called `first.last`.
    let web = from.scheme == Some(SchemeKind::Web);
    (web && looks_like_name(name))
        || folded.split(['@', ':']).any(|piece| !is_secret_like(piece) && leads_inside(piece, from))
}

/// Whether a text has the shape of a public host name.
fn looks_like_name(text: &str) -> bool {
    let last = text.rsplit_once('.').map(|(_, last)| last);
    last.is_some_and(|last| last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic()))
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
}

/// A number without dots, which as a password is not an address.
fn is_secret_like(piece: &str) -> bool {
    piece.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether path, query or fragment carry a URL that leads inside, as written or escaped once or twice.
fn carries_special(tail: &str) -> bool {
    if !tail.contains('%') {
        return carries_plain_special(tail);
    }
    let once = spelling::percent_decode_lossy(tail);
    let twice = spelling::percent_decode_lossy(&once);
    [tail, &once, &twice].into_iter().any(carries_plain_special)
}

fn carries_plain_special(text: &str) -> bool {
    let from = Origin { scheme: Some(SchemeKind::Web), default_port: None };
    if text.match_indices('=').any(|(at, _)| value_leads_inside(text.get(at + 1..).unwrap_or_default(), from))
    {
        return true;
    }
    memmem::find_iter(text.as_bytes(), "//").any(|at| {
        let starts = text.get(..at).is_some_and(|before| before.ends_with([':', '=']));
        let authority = text.get(at + 2..).map(|after| until(after, ENDS_NESTED)).unwrap_or_default();
        starts && !authority.is_empty() && leads_inside(authority, from)
    })
}

/// Whether the value of a parameter is a URL without slashes, as browsers complete it, that leads inside.
fn value_leads_inside(text: &str, from: Origin) -> bool {
    const LONGEST: usize = 80;
    let text = text.get(..text.floor_char_boundary(LONGEST.min(text.len()))).unwrap_or_default();
    let value = until(text, ENDS_NESTED);
    let authority = ["http:", "https:"].iter().find_map(|scheme| value.strip_prefix(scheme));
    authority.is_some_and(|authority| !authority.is_empty() && leads_inside(authority, from))
}

/// What ends the authority of a URL inside another.
const ENDS_NESTED: &[char] = &['/', '\\', '?', '#', '&', ';', ',', '"', '\'', ' ', ')', '>'];
