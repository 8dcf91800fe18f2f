//! Finds a planted token wherever it turns up, also encoded, reversed, taken apart or in part.
//!
//! The token has no business outside the place it was planted in. Text that holds it was made from what the agent should
//! not have passed on, whatever else it says.

mod forms;
pub mod rules;
mod stream;
mod token;

use aho_corasick::automaton::Automaton as _;
use aho_corasick::nfa::contiguous::NFA;

pub use rules::ALL as RULES;
pub use token::{CanaryToken, TokenError};

use self::forms::{Form, Forms};
use self::stream::{Read, base64, decoded, plain};
use crate::edit::Edit;
use crate::finding::{Finding, Span};
use crate::scanner::{FindingList, Scan, Scanner, ScannerId};

/// What stands where the token stood.
const MASK: &str = "[CANARY REDACTED]";
/// The widest gap between two characters of the token, in bytes. What is further apart was not one text.
const WIDEST_GAP: usize = 256;

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

/// Looks for several texts at once.
struct Search {
    automaton: NFA,
    forms: Vec<Form>,
    /// The length of the longest text.
    longest: usize,
}

impl Search {
    /// None when there is nothing to look for.
    fn new(texts: Vec<(Vec<u8>, Form)>) -> Option<Self> {
        let longest = texts.iter().map(|(text, _)| text.len()).max()?;
        let automaton = NFA::new(texts.iter().map(|(text, _)| text)).ok()?;
        Some(Self { automaton, forms: texts.into_iter().map(|(_, form)| form).collect(), longest })
    }

    /// Reads all characters and notes where a text ends.
    fn run(&self, reads: impl Iterator<Item = Read>, leaks: &mut Vec<(Span, Form)>) {
        let unanchored = aho_corasick::Anchored::No;
        let Ok(start) = self.automaton.start_state(unanchored) else { return };
        let (mut state, mut count, mut last_end) = (start, 0, 0);
        // Where the last characters began, so that the beginning of a match is known however wide its gaps.
        let mut begins = vec![0; self.longest];
        for read in reads {
            if read.span.start.saturating_sub(last_end) > WIDEST_GAP {
                state = start;
            }
            last_end = read.span.end;
            if let Some(begin) = begins.get_mut(count % self.longest) {
                *begin = read.span.start;
            }
            count += 1;
            state = self.automaton.next_state(unanchored, state, read.byte);
            if !self.automaton.is_match(state) {
                continue;
            }
            let pattern = self.automaton.match_pattern(state, 0);
            let length = self.automaton.pattern_len(pattern);
            let begin = begins.get((count - length.min(count)) % self.longest).copied().unwrap_or(last_end);
            let form = self.forms.get(pattern.as_usize()).copied().unwrap_or(Form::Plain);
            push(leaks, Span::new(begin, last_end), form);
        }
    }
}

/// Notes a leak, or makes the last one longer: a text that repeats the token must not cost more memory than it has itself.
fn push(leaks: &mut Vec<(Span, Form)>, span: Span, form: Form) {
    match leaks.last_mut() {
        Some((last, _)) if last.start <= span.start && span.start < last.end => {
            last.end = last.end.max(span.end)
        }
        Some(_) | None => leaks.push((span, form)),
    }
}

#[cfg(test)]
mod tests;
