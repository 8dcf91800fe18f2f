//! What nobody asks of an agent by way of a text it reads: commands from afar, secrets, verdicts to order.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::overrides::NEGATIONS;
use super::words::{Words, starts_word};

/// Asked for by anyone who writes, in the words of an attacker.
const DANGEROUS: &[&str] = &[
    "curl ",
    "wget ",
    "invoke-webrequest",
    "| sh",
    "|sh",
    "| bash",
    "|bash",
    "base64 -d",
    "base64 --decode",
    "/dev/tcp/",
    ".ssh/",
    ".aws/",
    "id_rsa",
    ".env",
    "printenv",
    "/etc/passwd",
    "/etc/shadow",
    "rm -rf",
    "chmod 777",
    "environment variables",
    "env vars",
    "approve",
    "approved",
    "lgtm",
    "auto-merge",
    "merge this",
    "merge it",
    "mark it as safe",
    "mark this as safe",
    "report no issues",
    "no vulnerabilities",
    "exfiltrat",
    "--no-verify",
    "--dangerously",
    "disable security",
    "disable the security",
    "without confirmation",
    "without asking",
    "do not mention",
    "don't mention",
    "do not report",
    "do not disclose",
    "regardless of what",
    "authorized_keys",
    "crontab",
    ".git-credentials",
    "mcp.json",
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
    "token",
    "conversation",
    "system prompt",
];
const GIVING: &[&str] = &[
    "send", "post", "upload", "email", "forward", "print", "output", "include", "reveal", "append", "copy",
    "paste", "share", "return", "collect", "gather", "submit", "write", "embed", "leak", "provide", "list",
    "read", "put",
];

static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = DANGEROUS.iter().chain(SECRETS);
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(words)
        .ok()
});

/// Where, within `reach` bytes after `from`, something dangerous is asked for ends.
pub(super) fn asked(text: &str, from: usize, reach: usize) -> Option<usize> {
    let to = text.floor_char_boundary(text.len().min(from + reach));
    let window = text.get(from..to)?;
    AUTOMATON.as_ref()?.find_iter(window).find_map(|found| {
        let (start, end) = (from + found.start(), from + found.end());
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
        let secret = found.pattern().as_usize() >= DANGEROUS.len();
        let given = !secret || before.find(8, GIVING).is_some();
        (given && !negated && !own).then_some(end)
    })
}
