//! The cleaned spelling of a URL, for messages.
//!
//! Nothing is ever fetched or allowed because its *cleaned* form would be fine: an allow-list that cleans the URL and
//! a fetcher that sends it as written are the classic mismatch. The cleaned form is what an error offers the user to
//! paste instead.

use super::authority::Authority;
use super::{UrlPart, check_escapes, is_scheme, refuse_controls, split_at_first};
use crate::percent;

/// The URL or path with its path decoded twice, cleaned of `.`, `..` and empty segments, and escaped again.
///
/// Scheme case apart, everything before the path and after it stays as written. `None` when `text` cannot be read,
/// cannot be decoded twice, or has a backslash in its path.
pub fn normalize_path(text: &str) -> Option<String> {
    refuse_controls(text).ok()?;
    let (rest, fragment) = split_at_first(text, '#');
    check_escapes(fragment.unwrap_or_default(), UrlPart::Fragment).ok()?;
    let (rest, query) = split_at_first(rest, '?');
    let (mut out, raw_path) = split_prefix(rest)?;
    push_clean_path(&mut out, raw_path)?;
    for (mark, part) in [('?', query), ('#', fragment)] {
        if let Some(part) = part {
            out.push(mark);
            out.push_str(part);
        }
    }
    Some(out)
}

/// Separates scheme and authority, spelled for output, from the path.
fn split_prefix(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix("//").filter(|rest| !rest.starts_with('/')) {
        return split_authority("", rest);
    }
    let first_segment = text.split('/').next().unwrap_or(text);
    let Some((scheme, _)) = first_segment.split_once(':') else {
        return Some((String::new(), text));
    };
    if !is_scheme(scheme) {
        return None;
    }
    let after_scheme = text.get(scheme.len() + 1..)?;
    let scheme = scheme.to_ascii_lowercase();
    if let Some(rest) = after_scheme.strip_prefix("//") {
        return split_authority(&format!("{scheme}:"), rest);
    }
    // `mailto:x` and its like have no path to clean.
    after_scheme.starts_with('/').then(|| (format!("{scheme}:"), after_scheme))
}

/// Checks the authority at the start of `text` and separates it from the path.
fn split_authority<'a>(scheme: &str, text: &'a str) -> Option<(String, &'a str)> {
    let (authority, path) = text.split_at(text.find('/').unwrap_or(text.len()));
    Authority::parse(authority).ok()?;
    Some((format!("{scheme}//{authority}"), path))
}

/// Appends the cleaned path to `out`.
fn push_clean_path(out: &mut String, raw: &str) -> Option<()> {
    let twice = percent::decode(&percent::decode(raw.as_bytes()).ok()?).ok()?;
    if twice.contains(&b'\\') {
        return None;
    }
    let rooted = raw.is_empty() || twice.starts_with(b"/");
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in twice.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => climb(&mut segments, rooted),
            name => segments.push(name),
        }
    }
    if rooted || segments.is_empty() {
        out.push('/');
    }
    percent::escape_into(out, &segments.join(&b'/'), |byte| {
        byte == b'/' || percent::is_plain_in_segment(byte)
    });
    if raw.ends_with('/') && !out.ends_with('/') {
        out.push('/');
    }
    Some(())
}

/// Applies `..`; at the root there is nowhere to go.
fn climb(segments: &mut Vec<&[u8]>, rooted: bool) {
    let can_pop = segments.last().is_some_and(|last| *last != b"..");
    if can_pop {
        segments.pop();
    } else if !rooted {
        segments.push(b"..");
    }
}
