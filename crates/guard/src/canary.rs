//! Finds a planted token wherever it turns up, also encoded, reversed, taken apart or in part.
//!
//! The token has no business outside the place it was planted in. Text that holds it was made from what the agent should
//! not have passed on, whatever else it says.

mod forms;
pub mod rules;
mod search;
mod stream;
mod token;

pub use rules::ALL as RULES;
pub use token::{CanaryToken, TokenError};

use self::forms::{Form, Forms};
use self::search::Search;
use self::stream::{base64, decoded, plain};
use crate::edit::Edit;
use crate::finding::{Finding, Span};
use crate::scanner::{FindingList, Scan, Scanner, ScannerId};

/// What stands where the token stood.
const MASK: &str = "[CANARY REDACTED]";

/// Finds planted tokens.
pub struct CanaryScanner {
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
        let mut forms = Forms::default();
        for token in tokens {
            forms.add(&token);
        }
        Self { folded: Search::new(forms.folded), exact: Search::new(forms.exact) }
    }
}

impl Scanner for CanaryScanner {
    fn id(&self) -> ScannerId {
        ScannerId::Canary
    }

    fn scan(&self, text: &str) -> Scan {
        let mut leaks = Vec::new();
        if let Some(search) = &self.folded {
            search.run(plain(text), &mut leaks);
            if text.bytes().any(|byte| matches!(byte, b'%' | b'\\' | b'&')) {
                search.run(decoded(text), &mut leaks);
            }
        }
        if let Some(search) = &self.exact {
            search.run(base64(text), &mut leaks);
        }
        let mut findings = FindingList::default();
        let leaks = joined(leaks);
        for (span, form) in &leaks {
            findings.push(Finding::new(&rules::CANARY_LEAK, *span, form.as_str()));
        }
        let edits = leaks.into_iter().map(|(span, _)| Edit { span, replacement: MASK.into() });
        Scan { findings: findings.into_vec(), edits: edits.collect() }
    }
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
