//! Permissions that nobody gave, and senders who never wrote.

use super::danger::Danger;
use super::found::Match;
use super::overrides::starts_clause;
use super::rules::{CLAIMED_AUTHORITY, NEW_INSTRUCTIONS};
use super::words::{Words, word_at};
use crate::finding::Span;
use crate::severity::Severity;

/// Phrases that are enough by themselves: a change of the task or of who is in command.
pub(super) const PHRASES: &[&str] = &[
    "system override",
    "admin override",
    "administrator override",
    "security override",
    "emergency override",
    "override code",
    "override protocol",
    "priority override",
    "your task is now",
    "your task has changed",
    "your job is now",
    "your goal is now",
    "your only task is now",
    "your real task",
    "your true task",
    "your instructions have changed",
    "your instructions have been",
    "message from your developer",
    "message from your creator",
    "message from the system administrator",
    "message from the developers of this model",
    "this is your developer",
    "this is your creator",
    "this is your administrator",
    "this is the system administrator",
    "this is anthropic",
    "this is openai",
    "anthropic has authorized",
    "anthropic has authorised",
    "openai has authorized",
    "end of system prompt",
    "end of user input",
    "end of untrusted",
    "end of document. new",
    "stop what you are doing and",
    "begin new instructions",
    "start of new instructions",
];

/// A phrase that claims command; `at` is all of it.
pub(super) fn phrase(text: &str, at: Span) -> Option<Match> {
    let words = at.of(text)?;
    let task = words
        .get(..4)
        .is_some_and(|start| ["your", "stop"].iter().any(|word| start.eq_ignore_ascii_case(word)));
    let rule = if task { &NEW_INSTRUCTIONS } else { &CLAIMED_AUTHORITY };
    let next = text.as_bytes().get(at.end);
    if next.is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let overriding =
        words.get(words.len().saturating_sub(8)..).is_some_and(|end| end.eq_ignore_ascii_case("override"));
    // Products have system overrides; a line that begins with one and a colon gives orders.
    let severity = match overriding {
        true if starts_clause(text, at.start) && next == Some(&b':') => Severity::High,
        true => Severity::Low,
        false if starts_clause(text, at.start) || task => Severity::High,
        false => Severity::Medium,
    };
    Some(Match::new(rule, at).with_severity(severity))
}

/// "I authorise you to …", "the user has already approved …"; `at` is where the verb starts.
pub(super) fn consent(text: &str, at: Span, danger: &Danger) -> Option<Match> {
    let verb = word_at(text, at.start);
    let before = Words::before(text, at.start);
    let after = Words::after(text, verb.end);
    let object = after.is(0, &["you", "this", "all", "the", "any", "these", "it"]);
    let first = before.find(2, &["i", "we"]).is_some();
    let done = before.find(4, &["has", "have", "already", "been", "pre", "is", "was"]).is_some();
    if !(first && object || done) {
        return None;
    }
    let user = before.find(6, &["user", "owner", "operator", "admin", "administrator", "maintainer"]);
    let negated = before
        .find(
            4,
            &["not", "never", "until", "unless", "if", "when", "once", "after", "whether", "what", "that"],
        )
        .is_some();
    let you = after.find(2, &["you"]).is_some() || before.find(2, &["you"]).is_some();
    if negated || !verb.starts_with(&["authori", "approv", "consent", "permi", "grant"]) {
        return None;
    }
    let start = before.get(user.unwrap_or(0)).map_or(at.start, |word| word.start);
    // "We grant you a licence."
    let licence = verb.starts_with(&["grant", "permi"]);
    let dangerous = || danger.asked(text, verb.end, 240).is_some();
    let severity = match (first && object, user.is_some() && done) {
        (true, _) if (you && !licence) || dangerous() => Severity::High,
        (_, true) if you || dangerous() => Severity::High,
        (true, _) => Severity::Low,
        _ => return None,
    };
    Some(Match::new(&CLAIMED_AUTHORITY, Span::new(start, verb.end)).with_severity(severity))
}
