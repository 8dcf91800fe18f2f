//! Reads what `cargo test` prints, line by line, and adds it up.

use crate::totals::{Skip, Totals};

/// Sums of the test binaries seen so far.
#[derive(Debug, Default)]
pub(crate) struct LibtestLog {
    started: usize,
    finished: usize,
    passed: usize,
    failed: usize,
    ignored: usize,
    ignored_by_name: Vec<Skip>,
}

impl LibtestLog {
    /// Takes the next line of output.
    pub(crate) fn line(&mut self, line: &str) {
        if is_start(line) {
            self.started += 1;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            self.finished += 1;
            self.passed += count(result, "passed");
            self.failed += count(result, "failed");
            self.ignored += count(result, "ignored");
        } else if let Some(skip) = ignored_test(line) {
            self.ignored_by_name.push(skip);
        }
    }

    /// The sums, given whether cargo itself was content.
    ///
    /// A binary that died before its result line counts as one failure, and so does a run that failed without
    /// any failing test, which is a compile error.
    pub(crate) fn totals(self, cargo_succeeded: bool) -> Totals {
        let mut failed = self.failed + self.started.saturating_sub(self.finished);
        if !cargo_succeeded && failed == 0 {
            failed = 1;
        }
        let mut skips = self.ignored_by_name;
        let unnamed = Skip { name: "unnamed test".into(), reason: "ignored".into() };
        skips.resize(self.ignored.max(skips.len()), unnamed);
        Totals { passed: self.passed, failed, skips }
    }
}

/// `running 3 tests`
fn is_start(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("running ") else {
        return false;
    };
    matches!(rest.split_once(' '), Some((number, "test" | "tests")) if number.parse::<usize>().is_ok())
}

/// The number before `word` in `ok. 3 passed; 0 failed; 1 ignored; 0 measured; …`
fn count(result: &str, word: &str) -> usize {
    let parts = result.split([';', '.']).filter_map(|part| part.trim().split_once(' '));
    parts.filter(|(_, what)| *what == word).find_map(|(number, _)| number.parse().ok()).unwrap_or(0)
}

/// `test name ... ignored` with or without `, reason`
fn ignored_test(line: &str) -> Option<Skip> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ignored")?;
    let reason = match outcome.strip_prefix(", ") {
        Some(reason) => reason,
        None if outcome.is_empty() => "marked #[ignore] without a reason",
        None => return None,
    };
    Some(Skip { name: name.to_owned(), reason: reason.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::LibtestLog;
    use crate::totals::{Skip, Totals};

    fn totals(output: &str, cargo_succeeded: bool) -> Totals {
        let mut log = LibtestLog::default();
        output.lines().for_each(|line| log.line(line));
        log.totals(cargo_succeeded)
    }

    #[test]
    fn binaries_and_doc_tests_add_up() {
        let output = "
running 3 tests
test a ... ok
test slow ... ignored, needs a kernel with Landlock
test b ... FAILED

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests fullsend_origin

running 2 tests
test crates/origin/src/lib.rs - parse (line 7) ... ok
test crates/origin/src/lib.rs - draft (line 9) ... ignored

test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.25s
";
        let skips = vec![
            Skip { name: "slow".into(), reason: "needs a kernel with Landlock".into() },
            Skip {
                name: "crates/origin/src/lib.rs - draft (line 9)".into(),
                reason: "marked #[ignore] without a reason".into(),
            },
        ];
        assert_eq!(totals(output, false), Totals { passed: 2, failed: 1, skips });
    }

    #[test]
    fn a_binary_that_dies_counts_as_a_failure() {
        let output = "
running 2 tests
test a ... ok
running 1 test
test c ... ok
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";
        assert_eq!(totals(output, false), Totals { passed: 1, failed: 1, skips: Vec::new() });
    }

    #[test]
    fn a_run_that_did_not_compile_counts_as_a_failure() {
        assert_eq!(totals("", false), Totals { passed: 0, failed: 1, skips: Vec::new() });
    }

    #[test]
    fn a_quiet_success_has_no_failures() {
        let output =
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(totals(output, true), Totals::default());
    }
}
