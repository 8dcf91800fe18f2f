//! What a run of all suites adds up to, and the closing lines that say it.

use std::collections::BTreeSet;
use std::process::ExitCode;

/// Something that did not run, and why. A skip is always said aloud: silence would read as a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// Sums over every suite of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skips: Vec<Skip>,
}

impl Totals {
    /// Adds what another suite counted.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skips.extend(other.skips);
    }

    /// Moves tests that returned early and said so from passed to skipped.
    ///
    /// The test harness counts such a test as passed. A test may give several reasons; it is moved once.
    pub(crate) fn move_declared_skips(&mut self, declared: &str) {
        let skips: Vec<Skip> = declared.lines().filter_map(parse_declared_skip).collect();
        let names: BTreeSet<&str> = skips.iter().map(|skip| skip.name.as_str()).collect();
        self.passed = self.passed.saturating_sub(names.len());
        for name in names {
            let reasons: BTreeSet<&str> =
                skips.iter().filter(|skip| skip.name == name).map(|skip| skip.reason.as_str()).collect();
            let reason = reasons.into_iter().collect::<Vec<_>>().join("; ");
            self.skips.push(Skip { name: name.to_owned(), reason });
        }
    }

    /// The closing lines; the sums stand alone on the last one, for people and scripts.
    pub(crate) fn closing_lines(&self) -> Vec<String> {
        let skips = self.skips.iter().map(|skip| format!("SKIPPED: {}: {}", skip.name, skip.reason));
        let sums = format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skips.len());
        skips.chain([sums]).collect()
    }

    /// Prints the closing lines and decides the exit code of the whole run.
    pub(crate) fn close(&self) -> ExitCode {
        for line in self.closing_lines() {
            println!("{line}");
        }
        if self.failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

fn parse_declared_skip(line: &str) -> Option<Skip> {
    let (name, reason) = line.split_once('\t')?;
    Some(Skip { name: name.to_owned(), reason: reason.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Skip, Totals};

    fn skip(name: &str, reason: &str) -> Skip {
        Skip { name: name.into(), reason: reason.into() }
    }

    #[test]
    fn declared_skips_are_not_counted_as_passed() {
        let mut totals = Totals { passed: 5, failed: 0, skips: Vec::new() };
        totals.move_declared_skips(
            "landlock\tkernel too old\ndocker\tno daemon\ndocker\tno binary\ndocker\tno daemon\n",
        );
        let expected = vec![skip("docker", "no binary; no daemon"), skip("landlock", "kernel too old")];
        assert_eq!(totals, Totals { passed: 3, failed: 0, skips: expected });
    }

    #[test]
    fn the_sums_stand_alone_on_the_last_line() {
        let mut totals = Totals { passed: 2, failed: 1, skips: vec![skip("cargo-deny", "offline")] };
        totals.add(Totals { passed: 3, failed: 0, skips: Vec::new() });
        assert_eq!(totals.closing_lines(), ["SKIPPED: cargo-deny: offline", "5 passed, 1 failed, 1 skipped"]);
    }
}
