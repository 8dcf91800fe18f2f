//! URLs in text: no requests, but worth knowing where they lead before someone follows them.

use fullsend_origin::AddressClass;
use memchr::memmem;

use super::allowed::Allowed;
use super::schemes;
use super::target;
use super::verdict::{BlockReason, Malformed, Suspicion, Verdict};
use crate::edit::Edits;
use crate::finding::{Finding, Span};
use crate::scanner::{FindingList, Scan, Scanner, ScannerId};
use crate::severity::Severity;

/// The longest scheme that is looked for in front of `://`.
const LONGEST_SCHEME: usize = 24;

/// Finds URLs that lead to this machine, private networks and metadata services, or that hide where they lead.
///
/// They are data, so no finding is worse than medium, and nothing is changed. Documentation is full of `localhost`.
#[derive(Clone, Copy, Debug, Default)]
pub struct UrlScanner;

impl Scanner for UrlScanner {
    fn id(&self) -> ScannerId {
        ScannerId::SsrfValidator
    }

    fn scan(&self, text: &str) -> Scan {
        let mut findings = FindingList::default();
        let mut done = 0;
        for mark in memmem::find_iter(text.as_bytes(), "://") {
            // A URL inside one that was read already belongs to that one.
            if mark < done {
                continue;
            }
            let Some(span) = url_around(text, mark) else { continue };
            done = span.end;
            if let Some(mut finding) = span.of(text).and_then(finding_about) {
                finding.span = Some(span);
                findings.push(finding);
            }
        }
        Scan { findings: findings.into_vec(), edits: Edits::default() }
    }
}

/// The URL whose `://` stands at `mark`.
fn url_around(text: &str, mark: usize) -> Option<Span> {
    let before = text.as_bytes().get(mark.saturating_sub(LONGEST_SCHEME)..mark)?;
    let length =
        before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(byte)).count();
    let candidate = text.get(mark - length..mark)?;
    let skipped = candidate.find(|first: char| first.is_ascii_alphabetic())?;
    let start = mark - length + skipped;
    if !schemes::is_scheme(text.get(start..mark)?) {
        return None;
    }
    let rest = text.get(mark + 3..)?;
    let run = rest.find(ends_url).and_then(|end| rest.get(..end)).unwrap_or(rest);
    let trimmed = trim_end(run);
    (!trimmed.is_empty()).then(|| Span::new(start, mark + 3 + trimmed.len()))
}

fn ends_url(character: char) -> bool {
    character.is_whitespace() || character.is_control() || "\"'`|;<>()".contains(character)
}

/// Without the punctuation of the sentence around it, and without brackets that were opened in front of it.
fn trim_end(run: &str) -> &str {
    let (square, curly) = (run.contains('['), run.contains('{'));
    run.trim_end_matches(|last: char| match last {
        ']' => !square,
        '}' => !curly,
        other => ".,;:!?*_\\".contains(other),
    })
}

/// What a URL that nobody requests is worth.
fn finding_about(url: &str) -> Option<Finding> {
    let verdict = target::judge(url, &Allowed::nothing_more());
    let severity = match &verdict {
        Verdict::Allow { .. } | Verdict::Resolve { .. } => return None,
        Verdict::Ask { reason, .. } => suspicion_in_text(*reason)?,
        Verdict::Reject { reason } => malformed_in_text(*reason)?,
        Verdict::Block { reason, host } if hides(url, host) => reason_in_text(reason)?.max(Severity::Medium),
        Verdict::Block { reason, .. } => reason_in_text(reason)?,
    };
    verdict.finding().map(|finding| finding.with_severity(severity))
}

/// Whether a reader of the URL would not see that it leads to `host`.
fn hides(url: &str, host: &str) -> bool {
    let behind_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = behind_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    user.contains('.') || !place.to_ascii_lowercase().contains(host)
}

/// Spellings that only serve to hide are worse than places that are merely private.
fn suspicion_in_text(reason: Suspicion) -> Option<Severity> {
    match reason {
        Suspicion::UserLooksLikeHost
        | Suspicion::AtBehindHost
        | Suspicion::DisguisedHost
        | Suspicion::UnusualNumber
        | Suspicion::LookAlike
        | Suspicion::NestedTarget => Some(Severity::Medium),
        Suspicion::PrivateName | Suspicion::AddressInName => Some(Severity::Low),
        Suspicion::Control | Suspicion::Backslash | Suspicion::Port => None,
    }
}

/// Text is full of templates such as `http://<host>:$PORT/`, which are no URLs and no tricks either.
fn malformed_in_text(reason: Malformed) -> Option<Severity> {
    match reason {
        Malformed::SeveralAts | Malformed::Punycode | Malformed::Number => Some(Severity::Low),
        Malformed::Empty
        | Malformed::Scheme
        | Malformed::NoHost
        | Malformed::Brackets
        | Malformed::Colons
        | Malformed::Port
        | Malformed::EmptyLabel
        | Malformed::Character
        | Malformed::Escape
        | Malformed::TooLong => None,
    }
}

fn reason_in_text(reason: &BlockReason) -> Option<Severity> {
    match reason {
        BlockReason::Metadata => Some(Severity::Medium),
        BlockReason::BlockedScheme { host_too: true, .. }
        | BlockReason::DisallowedScheme { host_too: true, .. } => Some(Severity::Low),
        BlockReason::BlockedScheme { .. } => Some(Severity::Info),
        BlockReason::DisallowedScheme { .. } => None,
        BlockReason::Name(_) | BlockReason::NameOfAddress { .. } => Some(Severity::Low),
        // Addresses for documents are in documents.
        BlockReason::Address { class: AddressClass::Documentation, .. } => None,
        BlockReason::Address { .. } => Some(Severity::Low),
    }
}
