//! Calls to keep something from the user.

use super::found::Match;
use super::overrides::{NEGATIONS, starts_clause};
use super::rules::{DO_NOT_TELL, SILENT_COMMAND};
use super::words::{Word, Words, word_at};
use crate::finding::Span;
use crate::severity::Severity;

const PEOPLE: &[&str] = &[
    "user",
    "users",
    "human",
    "humans",
    "operator",
    "owner",
    "maintainer",
    "maintainers",
    "reviewer",
    "reviewers",
    "anyone",
    "anybody",
    "developer",
    "developers",
];
/// What makes of "user" the first half of a technical term.
const TERMS: &[&str] = &[
    "name",
    "names",
    "id",
    "ids",
    "agent",
    "agents",
    "data",
    "input",
    "space",
    "account",
    "accounts",
    "password",
    "passwords",
    "details",
    "information",
    "info",
    "interface",
    "interaction",
    "code",
    "specific",
    "mode",
    "defined",
    "group",
    "groups",
    "facing",
    "credentials",
    "identity",
    "supplied",
    "provided",
    "profile",
    "profiles",
];
const TELLING: &[&str] = &[
    "tell",
    "inform",
    "reveal",
    "mention",
    "disclose",
    "notify",
    "alert",
    "telling",
    "informing",
    "revealing",
    "mentioning",
    "disclosing",
    "notifying",
    "alerting",
    "warn",
    "warning",
];

/// "do not tell the user"; `at` is where the verb starts.
pub(super) fn tell(text: &str, at: usize) -> Option<Match> {
    let verb = word_at(text, at);
    if verb.is(&["hide", "conceal", "keep", "let", "user"]) {
        return keep_from(text, &verb);
    }
    if !verb.is(TELLING) {
        return None;
    }
    let before = Words::before(text, at);
    let gerund = verb.text.len() > 3
        && verb.text.as_bytes().last_chunk::<3>().is_some_and(|end| end.eq_ignore_ascii_case(b"ing"));
    let negation = before.get(0)?;
    let negated = if gerund {
        negation.is(&["without", "avoid"])
    } else {
        negation.is(&["don't", "dont", "never"])
            || (negation.is(&["not"]) && before.is(1, &["do", "must", "should", "shall"]))
    };
    if !negated {
        return None;
    }
    let after = Words::after(text, verb.end);
    if let Some(found) = unreported(&verb, &after, negation) {
        return Some(found);
    }
    let person = after.find(6, PEOPLE)?;
    let whom = after.get(person)?;
    let beside = after.get(person + 1).filter(|next| next.start - whom.end == 1);
    let term = beside.is_some_and(|next| next.is(TERMS)) || whom.text.contains('\'');
    let only = after.iter().take(person).all(|word| {
        word.is(&[
            "the", "this", "that", "to", "any", "it", "your", "about", "these", "of", "a", "anything",
            "other",
        ])
    });
    let to_them = person.checked_sub(2).is_some_and(|to| after.is(to, &["to"]) || after.is(to + 1, &["to"]));
    let speaks = verb.is(&["mention", "reveal", "disclose"]);
    if term || !(only || (to_them && speaks)) {
        return None;
    }
    let first = if negation.is(&["not"]) { before.get(1).unwrap_or(negation) } else { negation };
    // "programs do not tell the user" describes; "do not tell the user" demands.
    let demanded = gerund
        || starts_clause(text, first.start)
        || before.find(4, &["you", "and", "please", "but"]).is_some();
    let severity = match (demanded, gerund) {
        (true, false) if only => how_secret(text, &after, person),
        (true, false) => Severity::Medium,
        (_, true) => return silent_without(text, first.start, whom.end),
        (false, false) => Severity::Low,
    };
    Some(Match::new(&DO_NOT_TELL, Span::new(first.start, whom.end)).with_severity(severity))
}

/// "do not mention this in your summary".
fn unreported(verb: &Word<'_>, after: &Words<'_>, negation: &Word<'_>) -> Option<Match> {
    let own =
        after.is(0, &["this", "it", "these", "that", "them"]) && after.is(1, &["in", "step", "anywhere"]);
    let place = after
        .find(5, &["summary", "response", "answer", "reply", "report", "output", "description", "anywhere"]);
    let end = after.get(place.filter(|_| own)?)?.end;
    verb.is(&["mention", "reveal", "disclose"])
        .then(|| Match::new(&DO_NOT_TELL, Span::new(negation.start, end)))
}

/// "do not tell the user to restart" is about manners, "do not tell the user the file is missing" about the truth; what
/// ends there, or says of what, is about secrecy.
fn how_secret(text: &str, after: &Words<'_>, person: usize) -> Severity {
    let own = [
        "instruction",
        "instructions",
        "command",
        "request",
        "message",
        "script",
        "step",
        "steps",
        "comment",
        "ran",
        "executed",
    ];
    let manners = ["to", "twice", "again", "more", "on", "for", "by", "via", "with", "of", "in", "who"];
    let anyone = after.is(person, &["anyone", "anybody"]);
    // Markup ends the sentence.
    let next = after.get(person + 1).filter(|next| {
        let gap = after.get(person).and_then(|whom| text.get(whom.end..next.start));
        gap.is_some_and(|gap| gap.bytes().all(|byte| matches!(byte, b' ' | b'\n' | b'"' | b'\'')))
    });
    match next {
        Some(next) if next.is(&manners) => Severity::Low,
        _ if anyone => Severity::Medium,
        None => Severity::High,
        Some(next) if next.is(&["about", "this", "anything", "why", "and", "or", "but", "any"]) => {
            Severity::High
        }
        Some(_) if after.find(14, &own).is_some() => Severity::High,
        Some(_) => Severity::Medium,
    }
}

/// "hide this from the user", "keep this secret from the user", "do not let the user know", "the user must not know".
fn keep_from(text: &str, verb: &Word<'_>) -> Option<Match> {
    let (before, after) = (Words::before(text, verb.start), Words::after(text, verb.end));
    let knowing =
        ["know", "see", "notice", "find", "learn", "aware", "told", "informed", "realize", "realise"];
    let negated = before.find(2, NEGATIONS).is_some();
    let found = |last: usize, severity| {
        let end = after.get(last).map_or(verb.end, |word| word.end);
        Some(Match::new(&DO_NOT_TELL, Span::new(verb.start, end)).with_severity(severity))
    };
    if verb.is(&["let"]) {
        let known = after.find(5, &knowing).filter(|_| negated && after.find(3, PEOPLE).is_some())?;
        let severity = if after.is(known, &["see"]) { Severity::Low } else { Severity::High };
        return found(known, severity);
    }
    if verb.is(&["user"]) {
        let known = after.find(5, &knowing)?;
        let severity = if after.is(known, &["see"]) { Severity::Low } else { Severity::High };
        return found(known, severity);
    }
    let from = after.find(7, &["from"]).filter(|_| !negated)?;
    let person = after.find(from + 3, PEOPLE).filter(|at| *at > from && !after.is(at + 1, TERMS))?;
    // "hide this from", not "hide this column from"
    let object = after
        .find(from, &["instruction", "instructions", "command", "secret", "message", "step", "request"])
        .or_else(|| from.checked_sub(1).filter(|last| after.is(*last, &["this", "it", "these", "that"])));
    let secret =
        verb.is(&["hide", "conceal"]) || after.find(from, &["secret", "hidden", "confidential"]).is_some();
    let ordered =
        starts_clause(text, verb.start) || before.is(0, &["and", "then", "must", "should", "to", "please"]);
    object.filter(|_| secret)?;
    found(person, if ordered { Severity::High } else { Severity::Low })
}

const ACTIONS: &[&str] = &[
    "run",
    "execute",
    "install",
    "download",
    "fetch",
    "curl",
    "send",
    "upload",
    "post",
    "delete",
    "commit",
    "push",
    "exfiltrate",
    "transmit",
    "email",
    "add",
    "insert",
    "copy",
    "invoke",
    "call",
    "modify",
];

/// "run this without telling the user".
fn silent_without(text: &str, start: usize, end: usize) -> Option<Match> {
    let before = Words::before(text, start);
    let place = before.iter().position(|word| word.is(ACTIONS));
    // "never push without telling the maintainer"
    if place.is_some_and(|place| before.find(place + 4, NEGATIONS).is_some()) {
        return None;
    }
    match place.and_then(|place| before.get(place)) {
        Some(action) if starts_clause(text, action.start) => {
            Some(Match::new(&SILENT_COMMAND, Span::new(action.start, end)))
        }
        Some(action) => {
            Some(Match::new(&SILENT_COMMAND, Span::new(action.start, end)).with_severity(Severity::Medium))
        }
        None => Some(Match::new(&DO_NOT_TELL, Span::new(start, end)).with_severity(Severity::Low)),
    }
}

/// "silently run …", "secretly send …"; `at` is where the adverb starts.
pub(super) fn silently(text: &str, at: usize) -> Option<Match> {
    let adverb = word_at(text, at);
    let after = Words::after(text, adverb.end);
    let before = Words::before(text, at);
    let next = after.get(0).filter(|word| word.is(ACTIONS));
    let previous = before.iter().find(|word| word.is(ACTIONS) && starts_clause(text, word.start));
    let ordered = next.is_some()
        && (starts_clause(text, at) || before.is(0, &["and", "then", "must", "should", "to", "also"]));
    let timed = |words: &Words<'_>| {
        words.find(16, &["before", "after", "whenever", "while", "when", "first"]).is_some()
    };
    let around = timed(&after) || timed(&before);
    let sly = adverb.is(&["secretly", "covertly", "stealthily"]);
    let severity = match (ordered || previous.is_some(), around, sly) {
        (true, _, true) | (true, true, false) => Severity::High,
        (true, false, false) => Severity::Low,
        (false, _, _) => return None,
    };
    let start = if ordered { at } else { previous.map_or(at, |word| word.start) };
    let end = if ordered { next.map_or(adverb.end, |word| word.end) } else { adverb.end };
    Some(Match::new(&SILENT_COMMAND, Span::new(start.min(at), end.max(adverb.end))).with_severity(severity))
}
