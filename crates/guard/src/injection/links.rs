//! Links that lead elsewhere than they say.

use super::found::Match;
use super::rules::MISLEADING_LINK;
use crate::finding::Span;

/// How far the parts of a link are looked for.
const REACH: usize = 300;

/// A markdown link; `at` is the `[` and the start of the address it shows.
pub(super) fn markdown(text: &str, at: Span) -> Option<Match> {
    let window = text.get(at.start + 1..text.floor_char_boundary(text.len().min(at.end + REACH)))?;
    let close = memchr::memchr2(b']', b'\n', window.as_bytes())?;
    let target = window.get(close..)?.strip_prefix("](")?;
    compare(window.get(..close)?, target, Span::new(at.start, at.start + 1 + close))
}

/// An HTML link; `at` is the `>` before the address it shows.
pub(super) fn html(text: &str, at: Span) -> Option<Match> {
    let from = text.floor_char_boundary(at.start.saturating_sub(REACH));
    let tag = text.get(from..at.start)?;
    let tag = tag.get(tag.rfind('<')?..)?;
    let target = tag.get(tag.find("href=")? + 5..)?.trim_start_matches(['"', '\'']);
    let label = text.get(at.start + 1..text.floor_char_boundary(text.len().min(at.end + REACH)))?;
    let label = label.get(..label.find('<')?)?;
    compare(label, target, Span::new(at.start + 1, at.start + 1 + label.len()))
}

fn compare(label: &str, target: &str, span: Span) -> Option<Match> {
    let (shown, real) = (host(label.trim())?, host(target)?);
    let related =
        shown == real || shown.ends_with(&format!(".{real}")) || real.ends_with(&format!(".{shown}"));
    (!related).then(|| {
        Match::new(&MISLEADING_LINK, span)
            .with_detail(format!("a link that shows {shown} and leads to {real}"))
    })
}

/// The host of an address that starts the text, without `www.`.
fn host(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let authority = rest.get(
        ..rest
            .find(|character: char| !(character.is_ascii_alphanumeric() || ".-@:_".contains(character)))
            .unwrap_or(rest.len()),
    )?;
    let host = authority.rsplit('@').next()?.split(':').next()?.to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host).trim_end_matches('.').to_owned();
    (host.contains('.') && host.len() > 3).then_some(host)
}
