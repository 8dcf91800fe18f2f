//! Keeps source files short enough to be read in one sitting.
//!
//! The limit holds from the first commit because splitting a file later is work nobody schedules. Functions
//! have a limit of their own, which clippy enforces.

use anyhow::{Result, bail};

use crate::process;
use crate::repo::Repo;

/// Lines up to the inline tests of a file.
const LIMIT: usize = 600;
/// Stands in the first lines of a file that may be longer, such as a table, with the reason in parentheses.
const EXEMPT: &str = "//! lengths: exempt (";
/// How many lines count as the first ones.
const HEAD: usize = 10;

/// The `lengths` command.
pub(crate) fn check(repo: &Repo) -> Result<()> {
    let listed = process::capture(repo.command("git").args(["ls-files", "-z", "--", "*.rs"]))?;
    let mut offenders = Vec::new();
    for file in listed.split('\0').filter(|file| !file.is_empty() && !is_test_file(file)) {
        // A file that git still lists may be deleted already.
        let Ok(source) = std::fs::read_to_string(repo.join(file)) else {
            continue;
        };
        let lines = code_lines(&source);
        if lines > LIMIT && !is_exempt(&source) {
            offenders.push(format!("{file}: {lines} lines, the limit is {LIMIT}"));
        }
    }
    if !offenders.is_empty() {
        bail!("{}", offenders.join("\n"));
    }
    Ok(())
}

fn is_test_file(file: &str) -> bool {
    let mut parts = file.rsplit('/');
    parts.next() == Some("tests.rs") || parts.any(|directory| directory == "tests")
}

/// Lines before the first inline test module. `#[cfg(test)]` on anything else does not end the code: a file
/// that declares `mod tests;` at its top has all its code after it.
fn code_lines(source: &str) -> usize {
    let lines: Vec<&str> = source.lines().collect();
    let is_inline_tests = |start: usize| {
        let mut rest = lines.iter().skip(start + 1).skip_while(|line| line.trim_start().starts_with("#["));
        rest.next().is_some_and(|line| line.contains("mod ") && line.trim_end().ends_with('{'))
    };
    let tests =
        lines.iter().enumerate().find(|(at, line)| line.trim() == "#[cfg(test)]" && is_inline_tests(*at));
    tests.map_or(lines.len(), |(at, _)| at)
}

fn is_exempt(source: &str) -> bool {
    source
        .lines()
        .take(HEAD)
        .filter_map(|line| line.strip_prefix(EXEMPT))
        .any(|reason| reason.len() > ")".len())
}

#[cfg(test)]
mod tests {
    use super::{code_lines, is_exempt, is_test_file};

    #[test]
    fn code_ends_where_inline_tests_begin() {
        assert_eq!(code_lines("a\nb\n\n#[cfg(test)]\nmod tests {\n}\n"), 3);
        assert_eq!(code_lines("a\n#[cfg(test)]\n#[allow(x)]\npub(crate) mod tests {\n}\n"), 1);
        assert_eq!(code_lines("a\nb\n"), 2);
    }

    #[test]
    fn a_declared_test_module_does_not_hide_the_code_after_it() {
        assert_eq!(code_lines("#[cfg(test)]\nmod tests;\nfn a() {\n}\n"), 4);
        assert_eq!(code_lines("#[cfg(test)]\nuse x::y;\nfn a() {}\n"), 3);
    }

    #[test]
    fn an_exemption_needs_a_reason_near_the_top() {
        assert!(is_exempt("//! Table.\n//! lengths: exempt (generated table)\n"));
        assert!(!is_exempt("//! lengths: exempt ()\n"));
        assert!(!is_exempt("//! lengths: exempt\n"));
        assert!(!is_exempt(&format!("{}//! lengths: exempt (late)\n", "\n".repeat(10))));
    }

    #[test]
    fn test_files_are_known_by_their_place() {
        assert!(is_test_file("crates/origin/tests/suite/urls.rs"));
        assert!(is_test_file("crates/origin/src/url/tests.rs"));
        assert!(!is_test_file("crates/origin/src/tests_of_faith.rs"));
    }
}
