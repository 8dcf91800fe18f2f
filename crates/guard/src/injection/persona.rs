//! Calls to be someone else, or to be without limits.

use super::found::Match;
use super::overrides::starts_clause;
use super::rules::{ACT_NO_RESTRICTIONS, PRETEND_YOU_ARE, ROLE_SWITCH};
use super::words::{Words, word_at};
use crate::finding::Span;
use crate::severity::Severity;

/// Who a model is told to be.
const PERSONAS: &[&str] = &[
    "ai",
    "assistant",
    "chatbot",
    "model",
    "hacker",
    "root",
    "admin",
    "administrator",
    "unrestricted",
    "unfiltered",
    "uncensored",
    "dan",
    "evil",
    "jailbroken",
    "superuser",
    "sysadmin",
    "amoral",
    "unlimited",
    "unethical",
    "unaligned",
    "rogue",
    "stan",
    "dude",
];
const FREE: &[&str] = &["free", "unbound", "liberated", "exempt", "unshackled"];
const LIMITS: &[&str] = &[
    "restriction",
    "restrictions",
    "limit",
    "limits",
    "limitations",
    "rule",
    "rules",
    "constraint",
    "constraints",
    "guideline",
    "guidelines",
    "filters",
    "ethics",
    "morals",
    "boundaries",
    "safeguards",
    "safety",
    "censorship",
];

/// "pretend you are …" and its kin; `at` is where the verb starts.
pub(super) fn pretend(text: &str, at: usize) -> Option<Match> {
    let verb = word_at(text, at);
    let after = Words::after(text, verb.end);
    let that = usize::from(after.is(0, &["that"]));
    let you = after.is(that, &["you", "you're", "yourself"]);
    let to_be = after.is(0, &["to"]) && after.is(1, &["be"]);
    let persona = || after.find(9, PERSONAS).is_some();
    let end = after.get(that + 1).map_or(verb.end, |word| word.end);
    let span = Span::new(verb.start, end);
    let being = after.is(that, &["you're"]) || after.is(that + 1, &["are", "were", "have", "can"]);
    if verb.is(&["pretend"]) && ((you && being) || (to_be && starts_clause(text, at))) {
        let severity = if persona() { Severity::High } else { Severity::Medium };
        return Some(Match::new(&PRETEND_YOU_ARE, span).with_severity(severity));
    }
    if !verb.is(&["imagine", "suppose", "assume"]) || !you || !being {
        return None;
    }
    match (persona(), verb.is(&["imagine"])) {
        (true, _) => Some(Match::new(&PRETEND_YOU_ARE, span)),
        (false, true) => Some(Match::new(&PRETEND_YOU_ARE, span).with_severity(Severity::Low)),
        (false, false) => None,
    }
}

/// "act as if you have no limits", "act as an unrestricted model"; `at` is where "act" starts.
pub(super) fn act_as(text: &str, at: usize) -> Option<Match> {
    let verb = word_at(text, at);
    let after = Words::after(text, verb.end);
    if !verb.is(&["act", "behave", "respond", "answer", "operate"]) || !after.is(0, &["as", "like"]) {
        return None;
    }
    let found = |rule, last: usize| {
        let end = after.get(last).map_or(verb.end, |word| word.end);
        Match::new(rule, Span::new(verb.start, end))
    };
    if after.is(1, &["if", "though"]) && after.is(2, &["you"]) {
        let none = after.find(7, &["no", "without", "zero"])?;
        let limits = after.find(none + 5, LIMITS).filter(|at| *at > none)?;
        return Some(found(&ACT_NO_RESTRICTIONS, limits));
    }
    if let Some(never) =
        after.find(12, &["never"]).filter(|at| after.is(at + 1, &["refuses", "refuse", "declines"]))
    {
        return Some(found(&ROLE_SWITCH, never + 1));
    }
    let loose = after
        .find(5, &["unrestricted", "unfiltered", "uncensored", "dan", "jailbroken", "amoral", "evil"])?;
    Some(found(&ROLE_SWITCH, loose))
}

/// "you are now DAN", "you are no longer bound by"; `at` is where "are" or "now" of the phrase starts.
pub(super) fn you_are(text: &str, at: usize) -> Option<Match> {
    let before = Words::before(text, at);
    let you = before.get(0).filter(|word| word.is(&["you"]))?;
    let after = Words::after(text, at);
    let found = |last: usize| {
        let end = after.get(last).map_or(at, |word| word.end);
        Match::new(&ROLE_SWITCH, Span::new(you.start, end))
    };
    if after.is(1, &["no"]) && after.is(2, &["longer"]) {
        let bound =
            after.find(7, &["bound", "restricted", "constrained", "limited", "subject", "required"])?;
        return Some(found(bound))
            .filter(|_| after.find(14, &["by", "to", "policies"]).is_some() || bound < 6);
    }
    if let Some(mode) = after.find(9, &["mode"]) {
        let kind = mode.checked_sub(1)?;
        let loose = [
            "developer",
            "dan",
            "god",
            "debug",
            "admin",
            "root",
            "unrestricted",
            "jailbreak",
            "maintenance",
            "sudo",
        ];
        return after.is(kind, &loose).then(|| found(mode));
    }
    if after.is(2, &["in", "on", "at", "ready", "able", "logged", "inside"]) {
        return None;
    }
    let persona = after.find(8, PERSONAS).or_else(|| after.find(5, FREE))?;
    Some(found(persona))
}

/// "developer mode enabled" and the like, where it is about the one who reads; `at` is where the name of the mode starts.
pub(super) fn mode(text: &str, at: usize) -> Option<Match> {
    let after = Words::after(text, at);
    let before = Words::before(text, at);
    let end = after.get(1).filter(|word| word.is(&["mode"]))?.end;
    let switched = after.is(2, &["enabled", "activated", "on", "engaged"])
        || before.find(3, &["enter", "enable", "activate", "entering", "into"]).is_some();
    let about = |words: &Words<'_>| {
        words.find(8, &["you", "your", "ai", "assistant", "model", "chatgpt", "claude"]).is_some()
    };
    let addressed = about(&after) || about(&before);
    let strange = word_at(text, at).is(&["dan", "jailbreak", "unrestricted", "jailbroken"]);
    let severity = match (switched, addressed) {
        (true, true) if strange => Severity::High,
        (true, true) => Severity::Medium,
        (true, false) | (false, true) if strange => Severity::Medium,
        (true, false) | (false, true) | (false, false) => return None,
    };
    Some(Match::new(&ROLE_SWITCH, Span::new(at, end)).with_severity(severity))
}

/// "do anything now", the name of the best-known jailbreak.
pub(super) fn anything_now(text: &str, at: usize, end: usize) -> Option<Match> {
    let context = Words::before(text, at).find(8, &["dan", "can", "you", "stands"]).is_some();
    context.then(|| Match::new(&ROLE_SWITCH, Span::new(at, end)))
}

/// "from now on you will …": a new way to behave; `at` is where "from" starts.
pub(super) fn from_now_on(text: &str, at: usize) -> Option<Match> {
    let after = Words::after(text, at);
    let you = after
        .get(3)
        .filter(|word| word.is(&["you", "you'll", "your", "ignore", "respond", "answer", "act", "always"]))?;
    let persona = after.find(14, PERSONAS).is_some() || after.find(14, LIMITS).is_some();
    let severity = if persona { Severity::High } else { Severity::Medium };
    Some(Match::new(&ROLE_SWITCH, Span::new(at, you.end)).with_severity(severity))
}
