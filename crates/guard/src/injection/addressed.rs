//! Text that speaks to whichever model reads it, and steps it makes a condition for going on.

use super::danger::Danger;
use super::found::Match;
use super::overrides::starts_clause;
use super::rules::{ADDRESSES_MODEL, FORCED_STEP};
use super::words::Words;
use crate::finding::Span;
use crate::severity::Severity;

/// How far what is asked of the one addressed is looked for.
const REACH: usize = 400;

/// What comes before those who are spoken to.
const SALUTES: &[&str] = &[
    "note",
    "notes",
    "message",
    "instruction",
    "instructions",
    "important",
    "attention",
    "notice",
    "hey",
    "dear",
    "hello",
    "reminder",
    "warning",
    "hint",
    "to",
    "for",
    "attn",
    "hi",
    "todo",
    "info",
    "information",
    "guidance",
    "directive",
    "urgent",
];
const MODALS: &[&str] = &[
    "must",
    "should",
    "shall",
    "need",
    "needs",
    "have",
    "has",
    "please",
    "reading",
    "processing",
    "reviewing",
    "are",
    "is",
    "will",
    "that",
    "who",
    "working",
    "parsing",
    "analyzing",
    "summarizing",
    "only",
    "run",
    "execute",
    "ignore",
    "when",
    "you",
    "can",
    "may",
];

/// "Note to AI agents: …", "if you are a language model, …"; `at` is the name of those who are spoken to.
pub(super) fn audience(text: &str, at: Span, danger: &Danger) -> Option<Match> {
    let before = Words::before(text, at.start);
    let end = at.end
        + text.as_bytes().get(at.end..)?.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let kin = [
        "agents",
        "agent",
        "assistants",
        "assistant",
        "models",
        "bots",
        "reviewers",
        "code",
        "tools",
        "systems",
    ];
    let named = Words::after(text, end);
    let end = named.get(0).filter(|word| word.is(&kin)).map_or(end, |word| word.end);
    let after = Words::after(text, end);
    let reads = at.of(text).is_some_and(|name| name.ends_with("ing"));
    let conditional = before.find(6, &["if"]).is_some()
        && (reads || before.find(5, &["you", "you're", "by", "this"]).is_some());
    let saluted = before.find(4, SALUTES).is_some();
    let told =
        starts_clause(text, at.start) && (after.is(0, MODALS) || text.as_bytes().get(end) == Some(&b':'));
    let identity = before.find(4, &["as"]).is_some() && after.find(2, &["you", "your"]).is_some();
    if !(conditional || saluted || told || identity) {
        return None;
    }
    let span = Span::new(at.start, end);
    let severity = match (danger.asked(text, end, REACH), conditional) {
        (Some(_), _) => Severity::High,
        (None, true) => Severity::Medium,
        (None, false) => Severity::Low,
    };
    Some(Match::new(&ADDRESSES_MODEL, span).with_severity(severity))
}

/// "Before continuing, run …"; `at` is the condition.
pub(super) fn step(text: &str, at: Span, danger: &Danger) -> Option<Match> {
    let end = danger.asked(text, at.end, 240)?;
    let sentence = text.get(at.end..end)?;
    // What comes after another paragraph is no longer the condition.
    (!sentence.contains("\n\n")).then(|| Match::new(&FORCED_STEP, Span::new(at.start, end)))
}
