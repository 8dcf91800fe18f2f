//! Tests that cannot run here say so.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Names the file that collects the names of skipped tests; the test runner of the repository sets it.
const SKIPS: &str = "FULLSEND_TEST_SKIPS";

/// Declares that the test `name` did not run because of `reason`. The test then returns.
#[expect(clippy::print_stderr, reason = "a skip must be seen when no runner collects skips")]
pub fn declare_skip(name: &str, reason: &str) {
    let line = format!("{name}\t{}\n", reason.split_whitespace().collect::<Vec<_>>().join(" "));
    eprint!("SKIPPED: {line}");
    let Some(path) = std::env::var_os(SKIPS) else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(path).expect("the file of skips");
    file.write_all(line.as_bytes()).expect("a line in the file of skips");
}
