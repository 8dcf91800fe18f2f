//! Tokens that are known by their inner structure rather than by a prefix.

use super::check;
use super::field;
use super::hit::{Hit, mask_keeping};
use super::rules;
use super::run::{Class, Runs};
use crate::finding::Span;
use crate::severity::Severity;

/// Whether a token may begin at `at`: nothing of the same kind stands before.
fn is_edge(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| bytes.get(before)).is_none_or(|before| !Class::Word.has(*before))
}

/// From which width on a line may have been cut by a terminal or a folded text.
const WRAPPED: usize = 60;

/// Over how many lines a part of a token may go. Without a limit, a text of such lines is read once per line.
const MOST_WRAPPED: usize = 64;

/// Where a part of a web token ends. A line that is long enough to have been cut goes on in the next, if that one holds
/// nothing but more of the token and is not longer.
fn part_end(bytes: &[u8], at: usize, runs: &mut Runs) -> usize {
    let is_token = |byte: &&u8| Class::Dotted.has(**byte);
    let mut end = runs.end(bytes, at, Class::Word);
    for _ in 0..MOST_WRAPPED {
        let rest = bytes.get(end..).unwrap_or_default();
        let gap =
            rest.iter().take(WRAPPED).take_while(|byte| matches!(byte, b'\r' | b'\n' | b' ' | b'\t')).count();
        let breaks = rest.get(..gap).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        if breaks != 1 {
            return end;
        }
        let before = bytes.get(..end).unwrap_or_default();
        let width = before.iter().rev().take(WRAPPED * 8).take_while(|byte| **byte != b'\n').count();
        let next = rest.get(gap..).unwrap_or_default();
        let line = next.iter().take(width + 1).take_while(is_token).count();
        let alone = matches!(next.get(line), None | Some(b'\n' | b'\r' | b'"' | b'\''));
        let token = next.get(..line).unwrap_or_default();
        let humped =
            |pair: &[u8]| matches!(pair, [one, two] if one.is_ascii_lowercase() && two.is_ascii_uppercase());
        let is_more = token.iter().any(u8::is_ascii_digit) || token.windows(2).any(humped);
        if width < WRAPPED || line > width || !alone || !is_more {
            return end;
        }
        let more = runs.end(bytes, end + gap, Class::Word);
        if more == end + gap {
            return end;
        }
        end = more;
        if bytes.get(end) == Some(&b'.') {
            return end;
        }
    }
    end
}

/// A JSON web token: three parts, the first of which says how the last was made.
pub(super) fn find_jwt(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let bytes = text.as_bytes();
    is_edge(bytes, at).then_some(())?;
    let header = part_end(bytes, at, runs);
    (header - at >= 12 && bytes.get(header) == Some(&b'.')).then_some(())?;
    let head: String = text.get(at..header)?.split_ascii_whitespace().collect();
    check::is_token_header(&head).then_some(())?;
    let payload = part_end(bytes, header + 1, runs);
    let encrypted = check::is_encrypted_header(&head);
    ((payload - header > 8 || encrypted) && bytes.get(payload) == Some(&b'.')).then_some(())?;
    let signature = part_end(bytes, payload + 1, runs);
    let mut end = signature;
    // An encrypted token has two parts more.
    for _ in 0..2 {
        if encrypted && bytes.get(end) == Some(&b'.') {
            end = part_end(bytes, end + 1, runs);
        }
    }
    let span = Span::new(at, end);
    let mask = mask_keeping(span.of(text)?, "eyJ".len());
    let signed = signature - payload > 20 || encrypted;
    // The token that every introduction shows.
    let shown = text.get(header + 1..payload)?.starts_with("eyJzdWIiOiIxMjM0NTY3ODkw");
    let (severity, note) = match (signed, shown) {
        (true, false) => (rules::JWT.severity, "its header decodes"),
        (true, true) => (Severity::Low, "looks like an example in documentation"),
        (false, _) => (Severity::Medium, "its header decodes, but it is hardly signed"),
    };
    Some(Hit { span, rule: &rules::JWT, severity, mask, note })
}

/// A Discord token: a number in base64, a time and a signature.
pub(super) fn find_discord(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let bytes = text.as_bytes();
    is_edge(bytes, at).then_some(())?;
    let number = runs.end(bytes, at, Class::Word);
    ((23..=28).contains(&(number - at)) && bytes.get(number) == Some(&b'.')).then_some(())?;
    let time = runs.end(bytes, number + 1, Class::Word);
    ((6..=7).contains(&(time - number - 1)) && bytes.get(time) == Some(&b'.')).then_some(())?;
    let end = runs.end(bytes, time + 1, Class::Word);
    let numbered = check::decoded(text.get(at..number)?)?.iter().all(u8::is_ascii_digit);
    (numbered && (27..=38).contains(&(end - time - 1)))
        .then(|| Hit::new(&rules::DISCORD_TOKEN, Span::new(at, end), "has the form of its provider"))
}

/// A client secret of Azure's directory, whose fourth character is at `at`.
pub(super) fn find_azure(text: &str, at: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    let inside = |byte: &u8| Class::Dotted.has(*byte) || *byte == b'~';
    let start = at.checked_sub(3)?;
    let after = bytes.get(at + 3..)?.iter().take(40).take_while(|byte| inside(byte)).count();
    let edge = start.checked_sub(1).and_then(|before| bytes.get(before)).is_none_or(|before| !inside(before));
    let fits = edge && bytes.get(start..at)?.iter().all(inside) && (31..=34).contains(&after);
    fits.then(|| {
        Hit::new(&rules::AZURE_APP_SECRET, Span::new(start, at + 3 + after), "has the form of its provider")
    })
}

/// A bot token: a number, a colon and 35 characters; `at` is at the last two digits.
pub(super) fn find_bot(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let bytes = text.as_bytes();
    let colon = at + 2;
    let digits = bytes.get(..colon)?.iter().rev().take(11).take_while(|byte| byte.is_ascii_digit()).count();
    (8..=10).contains(&digits).then_some(())?;
    let start = colon - digits;
    let before = start.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
    let edge = !before.is_ascii_alphanumeric() || text.get(..start)?.ends_with("bot");
    let end = runs.end(bytes, colon + 1, Class::Word);
    let body = text.get(colon + 1..end)?;
    let random = check::randomness(body) == check::Randomness::Random;
    (edge && body.len() == 35 && (random || body.starts_with("AA"))).then_some(())?;
    let hit = Hit::new(&rules::TELEGRAM_TOKEN, Span::new(start, end), "has the form of its provider");
    Some(if check::is_example(body) { hit.severity(Severity::Low) } else { hit })
}

/// The id of a Twilio key.
pub(super) fn find_twilio(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let bytes = text.as_bytes();
    let end = runs.end(bytes, at + 2, Class::Hex);
    let closed = !bytes.get(end).is_some_and(|after| Class::Word.has(*after));
    (is_edge(bytes, at) && closed && end - at == 34).then_some(())?;
    let span = Span::new(at, end);
    let hit = Hit::new(&rules::TWILIO_KEY, span, "has the form of its provider");
    let hit = Hit { mask: mask_keeping(span.of(text)?, 2), ..hit };
    Some(if check::is_example(text.get(at + 2..end)?) { hit.severity(Severity::Low) } else { hit })
}

/// Credentials after the word `Bearer`, outside any header.
pub(super) fn find_bearer(text: &str, at: usize, runs: &mut Runs) -> Option<Hit> {
    let bytes = text.as_bytes();
    is_edge(bytes, at).then_some(())?;
    let start = at + "bearer ".len();
    let end = runs.end(bytes, start, Class::Bare);
    let hit = field::find_credentials(text.get(at..end)?)?;
    (hit.severity >= Severity::High && hit.span.len() >= 20).then(|| hit.moved(at))
}

/// The secret that belongs to the AWS key id which ends at `id_end`, as in a downloaded list of keys.
pub(super) fn find_paired_secret(text: &str, id_end: usize, runs: &mut Runs) -> Option<Hit> {
    let bytes = text.as_bytes();
    let window = bytes.get(id_end..)?.iter().take(80);
    let mut starts = window.enumerate().filter(|(offset, byte)| {
        let before = bytes.get((id_end + offset).saturating_sub(1)).copied().unwrap_or_default();
        Class::Base64.has(**byte) && (before == b'=' || !Class::Base64.has(before))
    });
    starts.find_map(|(offset, _)| {
        let start = id_end + offset;
        let end = runs.end(bytes, start, Class::Base64);
        let secret = text.get(start..end)?;
        let fits = secret.len() == 40 && secret.bytes().any(|byte| byte.is_ascii_uppercase());
        (fits && check::randomness(secret) == check::Randomness::Random).then_some(())?;
        let hit = Hit::new(&rules::AWS_SECRET_KEY, Span::new(start, end), "beside its key id");
        Some(if check::is_example(secret) { hit.severity(Severity::Low) } else { hit })
    })
}
