//! What nobody asks of an agent by way of a text it reads: commands from afar, secrets, verdicts to order.

use std::cell::Cell;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::overrides::NEGATIONS;
use super::words::{Words, starts_word};
use crate::finding::Span;

/// Dangerous as they stand. Whatever honest notes for agents ask for is left out: to install, to read the settings, to
/// go ahead without asking.
const DANGEROUS: &[&str] = &[
    "| sh",
    "|sh",
    "| bash",
    "|bash",
    "| sudo",
    "<(curl",
    "curl -d",
    "curl --data",
    "curl -x post",
    "curl -f ",
    "base64 -d",
    "base64 --decode",
    "/dev/tcp/",
    "printenv",
    "/etc/passwd",
    "/etc/shadow",
    "rm -rf",
    "chmod 777",
    "approve this",
    "approve it",
    "approve the pull",
    "approve all",
    "and approve",
    "is approved",
    "lgtm",
    "auto-merge",
    "merge this",
    "merge it",
    "mark it as safe",
    "mark this as safe",
    "report no issues",
    "no vulnerabilities",
    "exfiltrat",
    "--dangerously",
    "disable security",
    "disable the security",
    "authorized_keys",
];
/// Dangerous together with a verb that gives them away.
const SECRETS: &[&str] = &[
    "credential",
    "secret",
    "api key",
    "api_key",
    "apikey",
    "private key",
    "password",
    "access token",
    "conversation",
    "system prompt",
    "environment variables",
    "env vars",
    "contents of .env",
    "content of .env",
];
/// Dangerous where they are to be read or given away.
const FILES: &[&str] = &[".ssh/", ".aws/", "id_rsa", ".git-credentials", "mcp.json", ".env"];
const GIVING: &[&str] = &[
    "send",
    "post",
    "http_post",
    "upload",
    "email",
    "forward",
    "reveal",
    "share",
    "leak",
    "submit",
    "paste",
    "print",
    "append",
    "embed",
    "dump",
    "exfiltrate",
];
const READING: &[&str] = &["cat", "read", "open", "copy", "contents", "content"];

static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = DANGEROUS.iter().chain(SECRETS).chain(FILES);
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(words)
        .ok()
});

/// The longest of the words.
const LONGEST: usize = {
    let (mut longest, mut lists): (usize, &[&[&str]]) = (0, &[DANGEROUS, SECRETS, FILES]);
    while let [list, rest @ ..] = lists {
        let mut words = *list;
        while let [word, rest @ ..] = words {
            longest = if word.len() > longest { word.len() } else { longest };
            words = rest;
        }
        lists = rest;
    }
    longest
};

/// What is known of a text: a part in which none of the words starts. A text that says one thing over and over would be
/// searched as often, each time as far as anyone may reach.
#[derive(Debug, Default)]
pub(super) struct Danger {
    none: Cell<Span>,
}

impl Danger {
    /// Where, within `reach` bytes after `from`, something dangerous is asked for ends. To be asked about one text only.
    pub(super) fn asked(&self, text: &str, from: usize, reach: usize) -> Option<usize> {
        let to = text.floor_char_boundary(text.len().min(from + reach));
        let none = self.none.get();
        let known = (none.start..=none.end).contains(&from);
        let start = if known { text.ceil_char_boundary(none.end).max(from) } else { from };
        let part = text.get(start..to)?;
        let automaton = AUTOMATON.as_ref()?;
        let first = automaton.find(part).map(|found| start + found.start());
        // What starts nearer to the end may go on after it.
        let whole = (to + 1).saturating_sub(LONGEST);
        let none_to = first.map_or(whole, |first| first.min(whole)).max(start);
        self.none.set(Span::new(if known { none.start } else { from }, none_to));
        counted(automaton, text, Span::new(first?, to))
    }
}

/// Where the first word in `within` that asks for something dangerous ends.
fn counted(automaton: &AhoCorasick, text: &str, within: Span) -> Option<usize> {
    let window = within.of(text)?;
    automaton.find_iter(window).find_map(|found| {
        let (start, end) = (within.start + found.start(), within.start + found.end());
        let word = window.as_bytes().get(found.start()).is_some_and(u8::is_ascii_alphabetic);
        if word && !starts_word(text, start) {
            return None;
        }
        let before = Words::before(text, start);
        let own = window.get(found.start()..).is_some_and(|part| {
            let line = part.get(..part.find('\n').unwrap_or(part.len())).unwrap_or_default();
            line.contains("localhost") || line.contains("127.0.0.1")
        });
        let negation =
            before.find(7, NEGATIONS).or_else(|| before.find(7, &["no", "avoid", "without", "nobody"]));
        // "no confirmation needed: run …"
        let negated = negation
            .and_then(|at| text.get(before.get(at)?.end..start))
            .is_some_and(|between| !between.contains(": "));
        let place = found.pattern().as_usize();
        let file = place >= DANGEROUS.len() + SECRETS.len();
        let given = place < DANGEROUS.len()
            || before.find(8, GIVING).is_some()
            || (file && before.find(6, READING).is_some());
        (given && !negated && !own).then_some(end)
    })
}
