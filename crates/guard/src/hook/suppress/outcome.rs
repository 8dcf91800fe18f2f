//! How the success of a check shows in its output.

use std::collections::BTreeSet;

/// How success shows.
pub(super) enum Outcome {
    /// One of these phrases, in any case; then this line.
    Says(&'static [&'static str], &'static str),
    /// Nothing is printed; then this line.
    Blank(&'static str),
    /// Every hook of pre-commit passed, or only fixed files.
    PreCommit,
    /// Packages that are `ok`, and none that failed.
    GoTest,
    /// A last line that counts what passed, and nothing that failed.
    Pytest,
    /// Passing tests, and no word of failure.
    NpmTest,
    /// The words of success, and none of failure.
    MakeTest,
}

impl Outcome {
    /// The line for `output`, when it shows success.
    pub(super) fn summary(&self, output: &str) -> Option<String> {
        match self {
            Self::Says(phrases, line) => {
                let lower = output.to_lowercase();
                phrases.iter().any(|phrase| lower.contains(phrase)).then(|| (*line).to_owned())
            }
            Self::Blank(line) => output.trim().is_empty().then(|| (*line).to_owned()),
            Self::PreCommit => pre_commit(output),
            Self::GoTest => go_test(output),
            Self::Pytest => pytest(output),
            Self::NpmTest => npm_test(output),
            Self::MakeTest => make_test(output),
        }
    }
}

/// How many fixed files are named.
const NAMED_FILES: usize = 10;

fn pre_commit(output: &str) -> Option<String> {
    let statuses: Vec<&str> = output.lines().filter_map(hook_status).collect();
    if statuses.is_empty() {
        return output.trim().is_empty().then(|| "pre-commit: passed".to_owned());
    }
    if statuses.iter().all(|status| matches!(*status, "Passed" | "Skipped")) {
        return Some(format!("pre-commit: all {} hooks passed", statuses.len()));
    }
    let fixed: BTreeSet<&str> = output.lines().filter_map(fixed_file).collect();
    if statuses.contains(&"Failed") || fixed.is_empty() {
        return None;
    }
    let named: Vec<&str> = fixed.iter().take(NAMED_FILES).copied().collect();
    let more = match fixed.len().saturating_sub(NAMED_FILES) {
        0 => String::new(),
        more => format!(" (+{more} more)"),
    };
    let files = named.join(", ");
    Some(format!("pre-commit: auto-fixed [{files}{more}] — re-stage modified files before commit"))
}

/// The status in `name of the hook....(remark)Passed`.
fn hook_status(line: &str) -> Option<&str> {
    let line = line.trim_end();
    let status =
        ["Passed", "Failed", "Skipped", "Fixed"].into_iter().find(|status| line.ends_with(status))?;
    let rest = line.strip_suffix(status)?.trim_end();
    let rest = match rest.strip_suffix(')') {
        Some(inside) => inside.rsplit_once('(')?.0,
        None => rest,
    };
    rest.ends_with("...").then_some(status)
}

/// The file in `Fixing a.py`, `fixed a.py`, `reformatted a.py`.
fn fixed_file(line: &str) -> Option<&str> {
    let (verb, file) = line.trim().split_once(' ')?;
    let file = match verb {
        "would" => file.strip_prefix("reformat ")?,
        "Fixing" | "Fixed" | "fixed" | "reformatted" => file,
        _ => return None,
    };
    (!file.trim().is_empty()).then(|| file.trim())
}

fn go_test(output: &str) -> Option<String> {
    let failed = |line: &str| {
        line.strip_prefix("FAIL").is_some_and(|rest| rest.trim_start().len() < rest.len() || rest.is_empty())
    };
    if output.lines().any(failed) {
        return None;
    }
    let times: Vec<f64> = output.lines().filter_map(package_time).collect();
    let seconds: f64 = times.iter().sum();
    (!times.is_empty()).then(|| format!("tests: {} packages passed ({seconds:.1}s)", times.len()))
}

/// The seconds in a line like `ok example.org/pkg 0.123s`; none were spent on a package whose result was cached.
fn package_time(line: &str) -> Option<f64> {
    let mut words = line.strip_prefix("ok")?.strip_prefix([' ', '\t'])?.split_ascii_whitespace();
    let time = words.nth(1)?;
    if time == "(cached)" { Some(0.0) } else { seconds(time) }
}

fn seconds(word: &str) -> Option<f64> {
    let number = word.strip_suffix('s')?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.then(|| number.parse().ok()).flatten()
}

fn pytest(output: &str) -> Option<String> {
    let summary = output.lines().rev().find_map(pytest_summary)?;
    let failed = |line: &str| count_before(line, &["failed", "error", "errors"]).is_some();
    let telling = output.lines().filter(|line| line.contains("===") || pytest_summary(line).is_some());
    (!telling.into_iter().any(failed)).then(|| format!("tests: {} passed ({})", summary.0, summary.1))
}

/// The count and the time in `==== 3 passed, 1 skipped in 0.12s ====`.
fn pytest_summary(line: &str) -> Option<(&str, &str)> {
    let count = count_before(line, &["passed"])?;
    let time = line.rsplit_once(" in ")?.1.split_ascii_whitespace().next()?;
    seconds(time).map(|_| (count, time))
}

/// The number before one of `words`.
fn count_before<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    let mut before = "";
    for word in line.split_ascii_whitespace() {
        if words.contains(&word.trim_end_matches(','))
            && !before.is_empty()
            && before.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Some(before);
        }
        before = word;
    }
    None
}

fn npm_test(output: &str) -> Option<String> {
    let lower = output.to_lowercase();
    let passed = !lower.contains("fail") && (lower.contains("passing") || lower.contains("tests passed"));
    passed.then(|| "tests: passed".to_owned())
}

fn make_test(output: &str) -> Option<String> {
    let lower = output.to_lowercase();
    if lower.contains("fail") || lower.contains("error") {
        return None;
    }
    let mut words = lower.split(|character: char| !character.is_alphanumeric() && character != '_');
    words.any(|word| matches!(word, "ok" | "pass" | "passed")).then(|| "tests: passed".to_owned())
}
