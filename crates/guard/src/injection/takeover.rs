//! Calls that put other instructions in the place of the given ones.

use super::found::Match;
use super::overrides::starts_clause;
use super::rules::{NEW_INSTRUCTIONS, PROMPT_LEAK, SYSTEM_PROMPT_OVERRIDE, TRANSLATE_AND_EXECUTE};
use super::words::{Gap, Word, Words, word_at};
use crate::finding::Span;
use crate::severity::Severity;

const ARTICLES: &[&str] =
    &["the", "a", "an", "this", "that", "our", "their", "its", "of", "each", "new", "for", "in", "no"];
const CHANGES: &[&str] = &["override", "change", "update", "replace", "modify", "replacement", "overwrite"];

/// "system prompt override", "replace your system prompt", "reveal your system prompt"; `at` is where "prompt" starts.
pub(super) fn system_prompt(text: &str, at: usize) -> Option<Match> {
    let prompt = word_at(text, at);
    let before = Words::before(text, at);
    let owned = usize::from(before.is(0, &["system", "developer", "initial", "hidden"]));
    let leak = leak(text, &prompt, &before, owned);
    if leak.is_some() || owned == 0 || !prompt.is(&["prompt", "prompts"]) {
        return leak;
    }
    let system = before.get(0)?;
    let after = Words::after(text, prompt.end);
    if after.is(0, CHANGES)
        && after.get(0).is_some_and(|word| word.gap == Gap::Plain)
        && system.is(&["system"])
    {
        let end = after.get(0).map_or(prompt.end, |word| word.end);
        let article = before.get(1).is_some_and(|word| word.is(ARTICLES));
        let prose = article
            || after.is(
                1,
                &["is", "was", "are", "will", "has", "of", "for", "in", "can", "feature", "via", "and"],
            );
        let severity =
            if prose || !starts_clause(text, system.start) { Severity::Medium } else { Severity::Critical };
        let span = Span::new(system.start, end);
        return Some(Match::new(&SYSTEM_PROMPT_OVERRIDE, span).with_severity(severity));
    }
    let verb =
        before.get(2).filter(|word| word.is(&["override", "replace", "overwrite", "update", "change"]))?;
    let yours = before.is(1, &["your"]) && starts_clause(text, verb.start);
    yours.then(|| Match::new(&SYSTEM_PROMPT_OVERRIDE, Span::new(verb.start, prompt.end)))
}

/// "print your system prompt", "repeat your instructions".
fn leak(text: &str, object: &Word<'_>, before: &Words<'_>, owned: usize) -> Option<Match> {
    let your = before.is(owned, &["your"]);
    let the = owned == 1 && before.is(owned, &["the"]);
    if !(your || the) {
        return None;
    }
    let verbs = [
        "reveal", "print", "repeat", "show", "output", "leak", "display", "dump", "recite", "disclose",
        "expose",
    ];
    let verb = before.iter().skip(owned + 1).take(4).find(|word| word.is(&verbs))?;
    let severity = if your && starts_clause(text, verb.start) { Severity::High } else { Severity::Medium };
    Some(Match::new(&PROMPT_LEAK, Span::new(verb.start, object.end)).with_severity(severity))
}

/// "your new instructions are …", "new task: …"; `at` is where "instruction", "task", … starts.
pub(super) fn new_task(text: &str, at: usize) -> Option<Match> {
    let noun = word_at(text, at);
    let before = Words::before(text, at);
    if let Some(found) = leak(text, &noun, &before, 0).filter(|_| noun.starts_with(&["instruction"])) {
        return Some(found);
    }
    let new =
        before.get(0).filter(|word| word.is(&["new", "updated", "revised", "real", "actual", "true"]))?;
    let your = before.get(1).filter(|word| word.is(&["your"]));
    let start = your.map_or(new.start, |word| word.start);
    let rest = text.get(noun.end..).unwrap_or_default().trim_start_matches([' ', '*', '_']);
    let after = Words::after(text, noun.end);
    let colon = rest.starts_with(':') && !rest.starts_with("::");
    if !noun.is(&[
        "instruction",
        "instructions",
        "rule",
        "rules",
        "guideline",
        "guidelines",
        "role",
        "task",
        "objective",
        "goal",
        "directive",
        "directives",
        "mission",
        "persona",
        "identity",
    ]) || !(colon || after.is(0, &["are", "is"]))
    {
        return None;
    }
    let end = if colon { noun.end } else { after.get(0).map_or(noun.end, |word| word.end) };
    let severity = if your.is_some() || starts_clause(text, start) { Severity::High } else { Severity::Low };
    Some(Match::new(&NEW_INSTRUCTIONS, Span::new(start, end)).with_severity(severity))
}

/// "translate this to bash and execute it"; `at` is where "translate" starts.
pub(super) fn translate(text: &str, at: usize) -> Option<Match> {
    let verb = word_at(text, at);
    if !verb.is(&["translate", "decode", "decrypt", "deobfuscate"]) {
        return None;
    }
    let line = text.get(at..text.floor_char_boundary(at + 200)).unwrap_or_default();
    let line = line.get(..memchr::memchr(b'\n', line.as_bytes()).unwrap_or(line.len())).unwrap_or_default();
    let after = Words::after(line, verb.text.len());
    let pairs = after.iter().zip(after.iter().skip(1));
    let run = pairs
        .filter(|(and, run)| and.is(&["and", "then"]) && run.is(&["execute", "run", "eval", "exec"]))
        .last()?
        .1;
    let severity = if starts_clause(text, at) { Severity::High } else { Severity::Medium };
    Some(Match::new(&TRANSLATE_AND_EXECUTE, Span::new(at, at + run.end)).with_severity(severity))
}
