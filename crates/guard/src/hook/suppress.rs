//! Output of a check that passed, in one line.
//!
//! Not a security control: it keeps what says nothing new from filling the model's context. Whatever is not plainly the
//! output of one successful check stays as it is.

mod outcome;

use outcome::Outcome;

/// A kind of check and how its success shows.
struct Family {
    /// The words of the command, side by side.
    words: &'static [&'static str],
    outcome: Outcome,
}

const fn family(words: &'static [&'static str], outcome: Outcome) -> Family {
    Family { words, outcome }
}

/// In this order: the first that fits decides.
const FAMILIES: &[Family] = &[
    family(
        &["scan-secrets"],
        Outcome::Says(&["no leaks", "no secrets", "0 findings"], "scan-secrets: passed (no findings)"),
    ),
    family(&["gitleaks", "detect"], Outcome::Says(&["no leaks"], "gitleaks: passed (no leaks detected)")),
    family(&["pre-commit", "run"], Outcome::PreCommit),
    family(&["go", "test"], Outcome::GoTest),
    family(&["pytest"], Outcome::Pytest),
    family(&["npm", "test"], Outcome::NpmTest),
    family(&["make", "test"], Outcome::MakeTest),
    family(&["make", "check"], Outcome::MakeTest),
    family(&["go", "vet"], Outcome::Blank("go vet: clean")),
    family(&["go", "build"], Outcome::Blank("go build: clean")),
    family(&["golangci-lint", "run"], Outcome::Blank("golangci-lint: clean")),
    family(&["eslint"], Outcome::Blank("eslint: clean")),
    family(&["ruff", "format"], Outcome::Blank("ruff-format: clean")),
    family(&["ruff", "check"], Outcome::Blank("ruff: clean")),
    family(&["make", "lint"], Outcome::Blank("lint: clean")),
    family(&["gitlint"], Outcome::Blank("gitlint: passed")),
];

/// Words that may stand before a check without changing what its output means.
const LAUNCHERS: &[&str] = &[
    "-m", "bundle", "exec", "hatch", "npx", "nice", "pdm", "pipenv", "pipx", "pnpm", "poetry", "python",
    "python3", "run", "time", "tox", "uv", "uvx", "yarn",
];

/// The line that says as much as `output` does, when `command` is one check and it passed.
pub(super) fn summary(command: &str, output: &str) -> Option<String> {
    // Shell tools put this before the output of a command that failed.
    if output.starts_with("Exit code") {
        return None;
    }
    let words = words_of_one_command(command)?;
    let family = FAMILIES.iter().find(|family| runs(&words, family.words))?;
    family.outcome.summary(output)
}

/// The words of a command that is only one command: the output of others must not vanish with that of a check.
fn words_of_one_command(command: &str) -> Option<Vec<&str>> {
    let mut command = command.trim();
    if let Some((directory, rest)) = command.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
        is_plain(directory).then_some(())?;
        command = rest.trim();
    }
    let command = command.strip_suffix("2>&1").unwrap_or(command);
    is_plain(command).then(|| command.split_ascii_whitespace().collect())
}

fn is_plain(command: &str) -> bool {
    !command.bytes().any(|byte| b";|&<>`\n\r#(){}".contains(&byte))
}

/// Whether the command is the check: its words, after nothing but settings and launchers.
fn runs(command: &[&str], check: &[&str]) -> bool {
    let named = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let start = command.iter().position(|word| check.first().is_some_and(|first| named(word) == *first));
    let Some((before, from)) = start.and_then(|start| command.split_at_checked(start)) else { return false };
    let harmless = |word: &&str| LAUNCHERS.contains(word) || is_setting(word);
    before.iter().all(harmless)
        && from.iter().skip(1).zip(check.iter().skip(1)).all(|(word, part)| word == part)
        && from.len() >= check.len()
}

/// `NAME=value`.
fn is_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests;
