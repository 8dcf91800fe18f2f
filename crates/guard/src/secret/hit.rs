//! One secret in a text, and how hits become findings and edits.

use std::borrow::Cow;

use crate::edit::{Edit, Edits};
use crate::finding::{Finding, Span};
use crate::rule::Rule;
use crate::scanner::{FindingList, Scan};
use crate::severity::Severity;

/// What stands where a secret stood that keeps nothing. Plain letters need no quotes in JSON, YAML, shell or URLs.
pub(super) const MASK: &str = "REDACTED";
/// What stands where a private key stood.
pub(super) const KEY_MASK: &str = "[REDACTED PRIVATE KEY]";
/// The same where brackets would begin a YAML list.
pub(super) const BARE_KEY_MASK: &str = "REDACTED PRIVATE KEY";

/// One secret in a text.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    pub(super) span: Span,
    pub(super) rule: &'static Rule,
    pub(super) severity: Severity,
    pub(super) mask: Cow<'static, str>,
    /// Why it is as bad as it is, in words.
    pub(super) note: &'static str,
}

impl Hit {
    /// A hit as bad as its rule says, of which nothing is kept.
    pub(super) fn new(rule: &'static Rule, span: Span, note: &'static str) -> Self {
        Self { span, rule, severity: rule.severity, mask: Cow::Borrowed(MASK), note }
    }

    /// The same, as bad as `severity`.
    pub(super) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same, moved by `by` bytes.
    pub(super) fn moved(mut self, by: usize) -> Self {
        self.span = Span::new(self.span.start + by, self.span.end + by);
        self
    }

    fn finding(&self) -> Finding {
        Finding::new(self.rule, self.span, self.note).with_severity(self.severity)
    }
}

/// A mask that shows which kind of secret it was and which of several: its fixed prefix and, where they are at most a
/// quarter of the rest, its last four characters.
pub(super) fn mask_keeping(secret: &str, prefix: usize) -> Cow<'static, str> {
    let kept = secret.get(..prefix).unwrap_or_default();
    let rest = secret.get(prefix..).unwrap_or_default();
    let last = match rest.char_indices().rev().nth(3) {
        Some((at, _)) if at >= 12 => rest.get(at..).unwrap_or_default(),
        Some(_) | None => "",
    };
    let plain = last.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Cow::Owned(format!("{kept}...{}", if plain { last } else { "" }))
}

/// Hits as they come in.
#[derive(Debug, Default)]
pub(super) struct Hits {
    hits: Vec<Hit>,
    /// What is reported but stays, because it is part of the shape of a document.
    fixed: Vec<Hit>,
}

impl Hits {
    pub(super) fn push(&mut self, hit: Hit) {
        self.hits.push(hit);
    }

    pub(super) fn push_fixed(&mut self, hit: Hit) {
        self.fixed.push(hit);
    }

    /// What makes the text clean.
    fn edits(&self) -> Edits {
        let edit = |hit: &Hit| Edit { span: hit.span, replacement: hit.mask.clone() };
        self.hits.iter().map(edit).collect()
    }

    /// One finding and one edit per place.
    fn into_scan(self) -> Scan {
        let mut findings = FindingList::default();
        let mut reported: Vec<&Hit> = self.hits.iter().chain(&self.fixed).collect();
        reported.sort_by_key(|hit| (hit.span.start, hit.span.end));
        for hit in reported {
            findings.push(hit.finding());
        }
        Scan { findings: findings.into_vec(), edits: self.edits() }
    }
}

/// How often a text is looked at again after it was masked.
const MOST_ROUNDS: usize = 8;

/// What `look` finds in `text`, and in what is left of it after masking: a mask may stand where a name stood apart from a
/// value, or turn what was broken into a document.
pub(super) fn settled(text: &str, look: impl Fn(&str) -> Hits) -> Scan {
    let mut hits = look(text);
    hits.hits = apart(hits.hits);
    for _ in 0..MOST_ROUNDS {
        if hits.hits.is_empty() {
            break;
        }
        let edits = hits.edits();
        let more = look(&edits.apply(text)).hits;
        if more.is_empty() {
            break;
        }
        hits.hits.extend(more.into_iter().map(|hit| Hit { span: edits.to_original(hit.span), ..hit }));
        hits.hits = apart(hits.hits);
    }
    hits.into_scan()
}

/// Joins hits that overlap: a token in a field called `token` is one secret, named by what is known best about it.
fn apart(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.span.start, hit.span.end));
    let mut kept: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match kept.last_mut() {
            Some(last) if last.span.overlaps(hit.span) => *last = joined(last, hit),
            Some(_) | None => kept.push(hit),
        }
    }
    kept
}

fn joined(first: &Hit, second: Hit) -> Hit {
    let span = Span::new(first.span.start, first.span.end.max(second.span.end));
    let better = if is_named(&second, first) { second } else { first.clone() };
    let mask = if better.span == span { better.mask } else { Cow::Borrowed(MASK) };
    Hit { span, mask, ..better }
}

/// Whether more is known about `one` than about `other`: its form, not just the name it stands under.
fn is_named(one: &Hit, other: &Hit) -> bool {
    let generic = |hit: &Hit| hit.mask == MASK;
    (!generic(one), one.severity) > (!generic(other), other.severity)
}
