//! Links that lead elsewhere than they say.

use super::found::Match;
use super::rules::MISLEADING_LINK;
use crate::finding::Span;

/// A markdown link; `at` is the `](` and the start of the target.
pub(super) fn markdown(text: &str, at: Span) -> Option<Match> {
    let from = text.floor_char_boundary(at.start.saturating_sub(200));
    let before = text.get(from..at.start)?;
    let open = before.rfind('[')?;
    let label = before.get(open + 1..)?;
    let target = text.get(at.start + 2..text.ceil_char_boundary(text.len().min(at.start + 300)))?;
    compare(label, target, Span::new(from + open, at.end))
}

/// An HTML link; `at` is the `href=`.
pub(super) fn html(text: &str, at: Span) -> Option<Match> {
    let window = text.get(at.end..text.ceil_char_boundary(text.len().min(at.end + 400)))?;
    let target = window.trim_start_matches(['"', '\'']);
    let label = window.get(window.find('>')? + 1..)?;
    let label = label.get(..label.find('<')?)?;
    compare(label, target, at)
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
