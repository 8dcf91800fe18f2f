//! `fullsend harness lint`.

use std::path::PathBuf;

use anyhow::{Error, Result};
use fullsend_harness::path::normalize;
use fullsend_harness::{LintOptions, LintReport, LintTarget, TargetError, lint};
use fullsend_yaml::Severity;

use crate::cli::{LintArgs, ReportFormat};
use crate::command::fullsend_directory;
use crate::environment;
use crate::exit::Exit;
use crate::output::{Advice, Output, diagnostics, problems_json, sarif};

pub(super) fn run(args: LintArgs, output: &mut Output) -> Result<Exit> {
    let targets = targets(&args)?;
    let environment: Option<fullsend_harness::expand::Variables<'_>> =
        if args.check_env { Some(&environment::harness_variable) } else { None };
    let options = LintOptions { environment };
    let reports: Vec<LintReport> = targets.iter().map(|target| lint(target, &options)).collect();
    match args.format {
        ReportFormat::Text => {
            for report in &reports {
                diagnostics::print(output, &report.sources, &report.problems)?;
            }
            summarise(&reports, output);
        }
        ReportFormat::Json => output.json(&problems_json::document(&reports))?,
        ReportFormat::Sarif => output.json(&sarif::problems::document(&reports))?,
    }
    let errors = total(&reports, Severity::Error);
    let warnings = total(&reports, Severity::Warning);
    let failed = errors > 0 || args.deny_warnings && warnings > 0;
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn targets(args: &LintArgs) -> Result<Vec<LintTarget>> {
    let root = args.directory.fullsend_dir.as_deref();
    if args.paths.is_empty() {
        let directory = fullsend_directory(&args.directory)?;
        return Ok(vec![LintTarget::from_path(&directory, Some(&directory)).map_err(explain)?]);
    }
    let mut targets: Vec<LintTarget> = Vec::new();
    for path in &args.paths {
        let target = LintTarget::from_path(path, root).map_err(explain)?;
        match targets.iter_mut().find(|known| normalize(&known.root) == normalize(&target.root)) {
            Some(known) => known.files.extend(target.files),
            None => targets.push(target),
        }
    }
    for target in &mut targets {
        deduplicate(&mut target.files);
    }
    Ok(targets)
}

/// A file named twice, or once by itself and once by its directory, is linted once.
fn deduplicate(files: &mut Vec<PathBuf>) {
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(normalize(file)));
}

fn explain(error: TargetError) -> Error {
    let help = match &error {
        TargetError::Empty { .. } => {
            "put harness files under `harness/`, or run `fullsend init` to start with one"
        }
        TargetError::Missing { .. } | _ => "name a harness file, a fullsend directory or a repository",
    };
    Advice::new(error.to_string(), help).into()
}

fn total(reports: &[LintReport], severity: Severity) -> usize {
    reports.iter().map(|report| report.count(severity)).sum()
}

fn summarise(reports: &[LintReport], output: &mut Output) {
    let files: usize = reports.iter().map(|report| report.files.len()).sum();
    let (errors, warnings) = (total(reports, Severity::Error), total(reports, Severity::Warning));
    let found = match (errors, warnings) {
        (0, 0) => "no problems".to_owned(),
        (0, _) => count(warnings, "warning"),
        (_, 0) => count(errors, "error"),
        _ => format!("{}, {}", count(errors, "error"), count(warnings, "warning")),
    };
    output.note(&format!("checked {}: {found}", count(files, "harness file")));
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
