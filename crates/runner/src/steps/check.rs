//! Finds everything that is wrong with a harness before anything is done for it.

use std::path::Path;

use fullsend_harness::{LintOptions, LintTarget, lint};
use fullsend_yaml::Diagnostic;

use crate::environment::Environment;
use crate::stop::Stop;

/// The warnings, as lines; errors stop the run.
pub(crate) fn lint_harness(
    root: &Path,
    harness: &Path,
    environment: &Environment,
) -> Result<Vec<String>, Stop> {
    let target = LintTarget { root: root.to_owned(), files: vec![harness.to_owned()] };
    let look_up = |name: &str| environment.get(name).map(str::to_owned);
    let report = lint(&target, &LintOptions { environment: Some(&look_up) });
    if report.problems.iter().any(Diagnostic::is_error) {
        return Err(Stop::Broken { sources: Box::new(report.sources), problems: report.problems });
    }
    let line = |problem: &Diagnostic| {
        let place = report.sources.resolve(problem.at);
        let place = place.map(|(file, at)| format!("{}:{}: ", file.display(), at.line));
        format!("{}{}", place.unwrap_or_default(), problem.message)
    };
    Ok(report.problems.iter().map(line).collect())
}
