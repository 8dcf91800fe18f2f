//! Finds a planted token wherever it turns up, also encoded, reversed, taken apart or in part.
//!
//! The token has no business outside the place it was planted in. Text that holds it was made from what the agent should
//! not have passed on, whatever else it says.

mod forms;
mod glance;
pub mod rules;
mod search;
mod stream;
mod token;

use std::sync::OnceLock;

pub use rules::ALL as RULES;
pub use token::{CanaryToken, TokenError};

use self::forms::{Form, Forms};
use self::glance::Glance;
use self::search::Search;
use self::stream::{base64, decoded, plain};
use crate::edit::{Edit, Edits};
use crate::finding::{Finding, Span};
use crate::scanner::{FindingList, Scan, Scanner, ScannerId};

/// What stands where the token stood.
const MASK: &str = "[CANARY REDACTED]";

/// How often the masked text is looked at again.
const MOST_ROUNDS: usize = 8;

/// Finds planted tokens.
pub struct CanaryScanner {
    tokens: Vec<CanaryToken>,
    /// Made for the first text; some hooks never see one.
    glance: OnceLock<Glance>,
    /// Made for the first text that a glance does not clear.
    searches: OnceLock<Searches>,
}

/// All forms of the tokens.
struct Searches {
    /// Forms in which case does not count.
    folded: Option<Search>,
    /// Forms in which it does.
    exact: Option<Search>,
}

impl std::fmt::Debug for CanaryScanner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CanaryScanner").finish_non_exhaustive()
    }
}

impl CanaryScanner {
    /// Looks for `tokens`. Without any, nothing is ever found.
    pub fn new(tokens: impl IntoIterator<Item = CanaryToken>) -> Self {
        Self { tokens: tokens.into_iter().collect(), glance: OnceLock::new(), searches: OnceLock::new() }
    }

    fn forms(&self) -> Forms {
        let mut forms = Forms::default();
        for token in &self.tokens {
            forms.add(token);
        }
        forms
    }

    fn searches(&self) -> &Searches {
        self.searches.get_or_init(|| {
            let Forms { folded, exact } = self.forms();
            Searches { folded: Search::new(folded), exact: Search::new(exact) }
        })
    }

    /// Every leak in `text`, and in what is left of it after masking: what stood on both sides of a mask may be parts of
    /// the token too. What does not come to rest is masked from the first leak to the last.
    fn settled(&self, text: &str) -> Vec<(Span, Form)> {
        let mut leaks = joined(self.look(text));
        for _ in 0..MOST_ROUNDS {
            if leaks.is_empty() {
                return leaks;
            }
            let edits = masks(&leaks);
            let more = self.look(&edits.apply(text));
            if more.is_empty() {
                return leaks;
            }
            leaks.extend(more.into_iter().map(|(span, form)| (edits.to_original(span), form)));
            leaks = joined(leaks);
        }
        let end = leaks.last().map(|(span, _)| span.end);
        leaks.truncate(1);
        if let (Some((span, _)), Some(end)) = (leaks.first_mut(), end) {
            span.end = end;
        }
        leaks
    }

    fn look(&self, text: &str) -> Vec<(Span, Form)> {
        let mut leaks = Vec::new();
        let searches = self.searches();
        if let Some(search) = &searches.folded {
            search.run(plain(text), &mut leaks);
            if text.bytes().any(|byte| matches!(byte, b'%' | b'\\' | b'&')) {
                search.run(decoded(text), &mut leaks);
            }
        }
        if let Some(search) = &searches.exact {
            search.run(base64(text), &mut leaks);
        }
        leaks
    }
}

impl Scanner for CanaryScanner {
    fn id(&self) -> ScannerId {
        ScannerId::Canary
    }

    fn scan(&self, text: &str) -> Scan {
        if !self.glance.get_or_init(|| Glance::new(&self.forms())).sees(text) {
            return Scan::default();
        }
        let leaks = self.settled(text);
        let mut findings = FindingList::default();
        for (span, form) in &leaks {
            findings.push(Finding::new(&rules::CANARY_LEAK, *span, form.as_str()));
        }
        Scan { findings: findings.into_vec(), edits: masks(&leaks) }
    }
}

fn masks(leaks: &[(Span, Form)]) -> Edits {
    leaks.iter().map(|(span, _)| Edit { span: *span, replacement: MASK.into() }).collect()
}

/// Joins what overlaps: parts of one token are one leak.
fn joined(mut leaks: Vec<(Span, Form)>) -> Vec<(Span, Form)> {
    leaks.sort_by_key(|(span, _)| (span.start, span.end));
    let mut kept: Vec<(Span, Form)> = Vec::new();
    for (span, form) in leaks {
        match kept.last_mut() {
            Some((last, _)) if span.start < last.end => last.end = last.end.max(span.end),
            Some(_) | None => kept.push((span, form)),
        }
    }
    kept
}

#[cfg(test)]
mod tests;
