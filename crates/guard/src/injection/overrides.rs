//! Calls to set earlier instructions aside, in English.

use super::found::Match;
use super::rules::IGNORE_INSTRUCTIONS;
use super::words::{Gap, Word, Words, is_word_byte, starts_word, word_at};
use crate::finding::Span;
use crate::severity::Severity;

/// Verbs that hardly ever have instructions as their object in technical prose.
const SET_ASIDE: &[&str] = &["ignore", "disregard", "forget", "neglect", "dismiss", "unlearn", "disobey"];
/// Verbs that technical prose also uses of rules and commands.
const GET_AROUND: &[&str] = &[
    "override",
    "bypass",
    "circumvent",
    "overlook",
    "supersede",
    "supersedes",
    "overrides",
    "follow",
    "obey",
    "discard",
    "abandon",
    "set",
    "pay",
    "drop",
    "cancel",
];
const GERUNDS: &[&str] = &[
    "ignoring",
    "disregarding",
    "forgetting",
    "neglecting",
    "dismissing",
    "disobeying",
    "overriding",
    "bypassing",
    "circumventing",
    "overlooking",
    "superseding",
    "following",
    "obeying",
];
const NOUNS: &[&str] = &[
    "instruction",
    "instructions",
    "guideline",
    "guidelines",
    "prompt",
    "prompts",
    "orders",
    "programming",
    "guidance",
];
const TECHNICAL_NOUNS: &[&str] = &[
    "rule",
    "rules",
    "constraint",
    "constraints",
    "restriction",
    "restrictions",
    "directive",
    "directives",
    "command",
    "commands",
    "policy",
    "policies",
    "safeguards",
    "limitations",
    "context",
    "message",
    "messages",
    "conversation",
    "task",
    "tasks",
    "filters",
    "protocols",
    "training",
    "directions",
];
/// Those that say what may be done.
const RULE_NOUNS: &[&str] = &[
    "rule",
    "rules",
    "restriction",
    "restrictions",
    "policy",
    "policies",
    "safeguards",
    "limitations",
    "constraints",
];
/// What says that the instructions are those the model already has.
const GIVEN: &[&str] = &[
    "previous",
    "prior",
    "above",
    "earlier",
    "preceding",
    "foregoing",
    "former",
    "your",
    "original",
    "initial",
    "system",
    "developer",
    "past",
    "aforementioned",
    "previously",
    "safety",
    "preexisting",
];
const ANY: &[&str] = &["any", "all", "every", "these", "those", "existing", "current", "other"];
const GIVEN_AFTER: &[&str] =
    &["above", "earlier", "before", "previously", "preceding", "given", "told", "far", "received"];
/// What may stand before a verb that is a command.
const BEFORE_COMMAND: &[&str] = &[
    "please",
    "now",
    "must",
    "should",
    "to",
    "and",
    "then",
    "just",
    "simply",
    "will",
    "can",
    "shall",
    "you",
    "first",
    "immediately",
    "also",
    "kindly",
    "instead",
    "so",
    "but",
    "always",
    "completely",
    "totally",
    "could",
    "would",
    "may",
    "i",
    "entirely",
    "fully",
];
pub(super) const NEGATIONS: &[&str] =
    &["not", "never", "don't", "dont", "cannot", "can't", "won't", "didn't", "doesn't", "nor"];
const FILLERS: usize = 5;

/// How sure it is that what is set aside are the model's instructions.
struct Target {
    end: usize,
    given: bool,
    yours: bool,
    /// Given only in that they are those of the system, as manuals of programs for models say.
    system: bool,
    noun: bool,
    rules: bool,
    joined: bool,
    /// Of another text, which careful people tell their agents not to follow.
    elsewhere: bool,
}

/// The call that starts, or ends, with the verb at `at`.
pub(super) fn find(text: &str, at: usize) -> Option<Match> {
    let verb = word_at(text, at);
    if let Some(found) = run_together(&verb) {
        return Some(found);
    }
    if verb.is(&["ignored", "disregarded", "forgotten", "overridden", "bypassed", "superseded", "dismissed"])
    {
        return passive(text, &verb);
    }
    // "set aside", "pay no attention to"
    if verb.is(&["set", "pay"])
        && !Words::after(text, verb.end).is(usize::from(verb.is(&["pay"])), &["aside", "attention"])
    {
        return None;
    }
    // An option of a program, such as `--ignore-rules`.
    if text.get(..at).is_some_and(|before| before.ends_with("--")) {
        return None;
    }
    let after = Words::after(text, verb.end);
    let command = Command::of(text, &verb)?;
    if let Some(found) = whole(&verb, &after, &command) {
        return Some(found);
    }
    let Some(target) = target_after(&after) else { return the_rules(&verb, &after, &command) };
    let mut severity = severity(&verb, &target, &command)?;
    // Part of a name in source code.
    if text.get(..at).is_some_and(|lead| lead.ends_with('_') && !starts_word(lead, lead.len() - 1)) {
        severity = severity.min(Severity::Medium);
    }
    if target.joined && severity == Severity::Medium && stands_alone(text, verb.start, target.end) {
        severity = Severity::High;
    }
    Some(Match::new(&IGNORE_INSTRUCTIONS, Span::new(verb.start, target.end)).with_severity(severity))
}

/// "forget the rules and …", "ignore the guidelines you got": which ones is not said, but hardly any others are meant.
fn the_rules(verb: &Word<'_>, after: &Words<'_>, command: &Command) -> Option<Match> {
    let plain = verb.is(SET_ASIDE) && *command == Command::Given && after.is(0, &["the", "any", "all"]);
    let rules = ["rules", "guidelines", "restrictions", "instructions", "safeguards"];
    let rules = after.get(1).filter(|word| plain && word.is(&rules))?;
    let own =
        after.is(2, &["you", "and", "from"]) && !after.is(3, &["the", "use", "see", "run", "just", "a"]);
    let severity = if own { Severity::High } else { Severity::Medium };
    Some(Match::new(&IGNORE_INSTRUCTIONS, Span::new(verb.start, rules.end)).with_severity(severity))
}

/// Whether four words or more that are joined to one are not a name in source code or part of an address.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let joins =
        |byte: Option<&u8>| byte.is_some_and(|byte| is_word_byte(*byte) || b"_-/.(:=\"'`".contains(byte));
    let words =
        text.get(start..end).map_or(0, |part| part.split(|letter: char| !letter.is_alphanumeric()).count());
    let before = start.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    let after = text
        .as_bytes()
        .get(end)
        .filter(|byte| **byte != b'.' || text.as_bytes().get(end + 1).is_some_and(u8::is_ascii_alphanumeric));
    words >= 4 && !joins(before) && !joins(after)
}

/// How the verb is used.
#[derive(PartialEq)]
enum Command {
    Given,
    /// "to forget past commands", which may be what a program does.
    Purpose,
    Described,
    Negated,
}

impl Command {
    /// None where the verb means something only with a negation and has none, or the other way round.
    fn of(text: &str, verb: &Word<'_>) -> Option<Self> {
        let before = Words::before(text, verb.start);
        let previous = before.get(0);
        let negated = previous.is_some_and(|word| word.is(NEGATIONS));
        let stopped = negated || previous.is_some_and(|word| word.is(&["stop", "quit"]));
        if verb.starts_with(&["follow", "obey"]) {
            return stopped.then_some(Self::Given);
        }
        let purpose = previous.is_some_and(|word| word.is(&["to"]));
        if negated || (purpose && before.get(1).is_some_and(|word| word.is(NEGATIONS))) {
            return Some(Self::Negated);
        }
        if purpose && !before.is(1, &["you", "need", "have", "want", "going"]) {
            return Some(Self::Purpose);
        }
        // "you can override the prompt with --system"
        if verb.is(GET_AROUND)
            && previous.is_some_and(|word| word.is(&["can", "could", "may", "to", "would", "i"]))
        {
            return Some(Self::Described);
        }
        let decreed = verb.is(&["supersedes", "overrides"])
            && previous
                .is_some_and(|word| word.is(&["message", "document", "file", "text", "note", "prompt"]))
            && before.is(1, &["this"]);
        let command =
            decreed || starts_clause(text, verb.start) || previous.is_none_or(|word| word.is(BEFORE_COMMAND));
        Some(if command { Self::Given } else { Self::Described })
    }
}

/// Whether nothing but space and markup lies between the start of a clause and `at`.
pub(super) fn starts_clause(text: &str, at: usize) -> bool {
    let from = at.saturating_sub(16);
    let before = text.as_bytes().get(from..at).unwrap_or_default().trim_ascii_end();
    let blank = text.as_bytes().get(from..at).unwrap_or_default().get(before.len()..).unwrap_or_default();
    let Some(mark) = before.last().filter(|_| !blank.iter().any(|byte| matches!(byte, b'\n' | b'\r'))) else {
        return true;
    };
    b":\"'`.!?,;>*#-([_|)]{}+=~".contains(mark) || before.ends_with(b"//") || before.ends_with(b"\\n")
}

/// "forget everything above", "ignore the above and …".
fn whole(verb: &Word<'_>, after: &Words<'_>, command: &Command) -> Option<Match> {
    if !verb.is(SET_ASIDE) || *command != Command::Given {
        return None;
    }
    let found = |end: usize, severity| {
        let end = after.get(end).map_or(verb.end, |word| word.end);
        Some(Match::new(&IGNORE_INSTRUCTIONS, Span::new(verb.start, end)).with_severity(severity))
    };
    if let Some(all) = after.find(2, &["everything", "anything", "all", "what", "whatever"]) {
        let told = after.find(all + 6, &["told", "instructed", "taught"]).filter(|at| *at > all);
        if let Some(told) = told.filter(|at| *at > 0 && after.find(*at + 2, &["you", "you've"]).is_some()) {
            return found(told, Severity::Critical);
        }
        if after.is(all, &["everything"]) && after.is(all + 1, &["above", "previously", "prior"]) {
            return found(all + 1, Severity::High);
        }
    }
    let above = after.find(5, &["above", "foregoing", "previous"])?;
    let lead =
        after.iter().take(above).all(|word| word.is(&["all", "of", "the", "everything", "everything's"]));
    let turn = after.is(above + 1, &["and", "but", "then", "instead"])
        && (after.find(above + 6, &["instead"]).is_some()
            || after.is(
                above + 2,
                &["say", "print", "output", "respond", "reply", "write", "tell", "translate", "do"],
            ));
    if lead && turn { found(above + 2, Severity::Critical) } else { None }
}

/// What the words after the verb set aside.
fn target_after(after: &Words<'_>) -> Option<Target> {
    let mut qualifier: Option<(usize, bool)> = None;
    let (mut yours, mut system, mut joined) = (false, true, true);
    for (at, word) in after.iter().enumerate() {
        // What is that far away must have been announced.
        if at > FILLERS && qualifier.is_none() {
            return None;
        }
        joined &= word.gap == Gap::Joined;
        let noun = word.is(NOUNS);
        let near = qualifier.is_some_and(|(place, _)| at - place <= FILLERS + 1);
        if noun || (near && word.is(TECHNICAL_NOUNS)) {
            let given = qualifier.is_some_and(|(_, given)| given);
            // "the system prompt of …" and "previous instruction pointer" go on with what is really meant.
            if let Some(target) = noun_target(after, at, near, given) {
                let elsewhere = stands_elsewhere(after, at);
                return Some(Target {
                    yours,
                    system,
                    joined,
                    noun,
                    elsewhere,
                    rules: word.is(RULE_NOUNS),
                    ..target
                });
            }
        }
        if word.is(GIVEN) && (at <= FILLERS || qualifier.is_some()) && !is_of_machine(after, at) {
            qualifier = Some((at, true));
            yours |= word.is(&["your"]);
            system &= word.is(&["system", "developer", "initial", "original"]);
        } else if word.is(ANY) && at <= FILLERS && qualifier.is_none() && !is_occasion(after, at) {
            qualifier = Some((at, false));
        }
    }
    None
}

/// Whether "system" at a place only names a part of a machine, as in "interrupted system-call".
fn is_of_machine(after: &Words<'_>, at: usize) -> bool {
    after.is(at, &["system"]) && after.is(at + 1, &["call", "calls", "clock", "bus", "headers", "libraries"])
}

/// Whether what follows "these" at a place is only when, and not what, is set aside: "ignore clearing bits for these
/// instructions".
fn is_occasion(after: &Words<'_>, at: usize) -> bool {
    let doing = after.get(0).is_some_and(|word| word.text.ends_with("ing"));
    let thing =
        ["everything", "anything", "nothing", "following", "obeying", "existing", "preceding", "foregoing"];
    let before = at.checked_sub(1).filter(|before| *before > 0);
    doing && !after.is(0, &thing) && before.is_some_and(|before| after.is(before, &["for", "during"]))
}

/// Whether the instructions are said to stand in something that is read, and not in what the model was given.
fn stands_elsewhere(after: &Words<'_>, noun: usize) -> bool {
    let place = [
        "in",
        "inside",
        "within",
        "from",
        "found",
        "embedded",
        "contained",
        "that",
        "which",
        "hidden",
        "appearing",
    ];
    let own = [
        "system",
        "prompt",
        "developer",
        "user",
        "user's",
        "your",
        "you",
        "operator",
        "claude",
        "agents",
        "skill",
        "openai",
        "anthropic",
        "above",
        "before",
        "earlier",
        "previous",
        "prior",
    ];
    let rest: Vec<_> = after.iter().skip(noun + 1).take(8).collect();
    rest.iter().take(2).any(|word| word.is(&place)) && !rest.iter().any(|word| word.is(&own))
}

fn noun_target(after: &Words<'_>, at: usize, qualified: bool, given: bool) -> Option<Target> {
    let word = after.get(at)?;
    let later = after.iter().enumerate().skip(at + 1).take(FILLERS).find(|(_, word)| word.is(GIVEN_AFTER));
    let target = |end, given| Target {
        end,
        given,
        yours: false,
        system: false,
        noun: true,
        rules: false,
        joined: false,
        elsewhere: false,
    };
    match later {
        _ if qualified && given => Some(target(word.end, true)),
        Some((_, later)) if at <= FILLERS && word.is(NOUNS) => Some(target(later.end, true)),
        _ if qualified => Some(target(word.end, false)),
        _ => None,
    }
}

/// How bad a call is; none when it is ordinary technical prose.
fn severity(verb: &Word<'_>, target: &Target, command: &Command) -> Option<Severity> {
    use Severity::{Critical, High, Low, Medium};
    let given = *command == Command::Given || (*command == Command::Purpose && target.noun);
    let aside = verb.is(SET_ASIDE) || verb.starts_with(&["ignor", "disregard", "forg", "disobey"]);
    let worst = match (aside, target.given, target.noun) {
        (true, true, true) => Some(Critical),
        (true, false, true) => Some(if given { Critical } else { Low }),
        (true, true, false) => Some(if given { Critical } else { Medium }),
        // "ignore all errors in commands" is a flag of many a program.
        (true, false, false) => (given && target.rules).then_some(High),
        (false, true, _) if target.yours => Some(if given { Critical } else { High }),
        (false, true, true) => Some(if given && !target.system { Critical } else { Medium }),
        (false, true, false) | (false, false, true) => given.then_some(Medium),
        (false, false, false) => given.then_some(Low),
    }?;
    let form = if verb.is(SET_ASIDE) || verb.is(GET_AROUND) {
        Critical
    } else if verb.is(GERUNDS) {
        High
    } else {
        Low
    };
    // Careful people tell their agents to ignore the instructions in what they read.
    if target.elsewhere && !target.given {
        return Some(Low);
    }
    let name = if target.joined { Medium } else { Critical };
    let negated = if *command == Command::Negated { Low } else { Critical };
    Some(worst.min(form).min(name).min(negated))
}

/// "the instructions above should be ignored".
fn passive(text: &str, verb: &Word<'_>) -> Option<Match> {
    let before = Words::before(text, verb.start);
    let auxiliary = before.find(4, &["be", "are", "is", "been", "were"])?;
    let called_for = before.find(5, &["should", "must", "to", "shall", "can", "now", "please"]).is_some();
    let noun = before.iter().take(10).position(|word| word.is(NOUNS))?;
    let given = before.iter().take(noun + FILLERS + 1).any(|word| word.is(GIVEN));
    let negated = before.iter().take(noun).any(|word| word.is(NEGATIONS));
    if noun < auxiliary || !given {
        return None;
    }
    let severity = match (negated, called_for) {
        (true, _) => Severity::Low,
        (false, true) => Severity::Critical,
        (false, false) => Severity::Medium,
    };
    let start = before.get(noun).map_or(verb.start, |word| word.start);
    Some(Match::new(&IGNORE_INSTRUCTIONS, Span::new(start, verb.end)).with_severity(severity))
}

/// "previous instructions no longer apply".
pub(super) fn expired(text: &str, at: usize) -> Option<Match> {
    let before = Words::before(text, at);
    let end = Words::after(text, at)
        .get(2)
        .filter(|word| word.is(&["apply", "applies", "valid", "matter", "count"]))?
        .end;
    let noun = before.find(4, NOUNS)?;
    let given = before.find(noun + FILLERS, GIVEN)?;
    let start = before.get(given.max(noun))?.start;
    Some(Match::new(&IGNORE_INSTRUCTIONS, Span::new(start, end)))
}

/// "your instructions are void", "all restrictions are lifted"; `at` is where "are" starts.
pub(super) fn lapsed(text: &str, at: usize) -> Option<Match> {
    let before = Words::before(text, at);
    let noun = before.find(2, NOUNS).or_else(|| before.find(2, RULE_NOUNS))?;
    let owned = ["your", "assistant's", "model's", "ai's", "safety", "previous", "prior", "earlier"];
    let owner = before.find(noun + 4, &owned)?;
    let end = Words::after(text, at).get(1).filter(|_| !before.is(noun, &["orders"]))?.end;
    let instructions = before.get(noun).is_some_and(|word| word.is(NOUNS));
    let severity = if instructions { Severity::Critical } else { Severity::High };
    let start = before.get(owner.max(noun))?.start;
    Some(Match::new(&IGNORE_INSTRUCTIONS, Span::new(start, end)).with_severity(severity))
}

/// "ignoreallpreviousinstructions", also as what is left of letters that were spaced out.
pub(super) fn run_together(word: &Word<'_>) -> Option<Match> {
    let long = word.text.len() > 15 && word.starts_with(&["ignore", "disregard", "forget", "override"]);
    if !long {
        return None;
    }
    let lower = word.text.to_ascii_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    let target = says(&["previous", "prior", "above", "your", "all"])
        && says(&["instruction", "rules", "guideline", "prompt"]);
    // A name in source code, such as `ignorePreviousInstructions`, reads the same; only text in one case is a trick.
    let one_case = word.text.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
        || word.text.bytes().all(|byte| byte.is_ascii_uppercase());
    let severity = if one_case { Severity::High } else { Severity::Low };
    let span = Span::new(word.start, word.end);
    target.then(|| Match::new(&IGNORE_INSTRUCTIONS, span).with_severity(severity))
}
