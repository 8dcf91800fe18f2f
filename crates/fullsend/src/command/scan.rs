//! `fullsend scan`.

mod context;
mod form;
mod outputs;
mod recorder;
mod rules;
mod shell;
mod text;
mod url;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context as _, Result};
use fullsend_guard::files::{NOT_TEXT, TOO_LARGE};
use fullsend_guard::log::Phase;
use fullsend_guard::{CanaryToken, Checks, Finding, Outcome, Pipeline, Policy};

use self::recorder::Recorder;
use crate::cli::{ScanCommand, ScanReportArgs};
use crate::exit::Exit;
use crate::output::findings::{Report, Source};
use crate::output::{Advice, Output};

/// Runs a scan.
pub(super) fn run(command: ScanCommand, output: &mut Output) -> Result<Exit> {
    match command {
        ScanCommand::Context(args) => context::run(&args, output),
        ScanCommand::Text(args) => text::run(&args, output),
        ScanCommand::Url(args) => url::run(&args, output),
        ScanCommand::Command(args) => shell::run(&args, output),
        ScanCommand::Output(args) => outputs::run(&args, output),
        ScanCommand::VerifyFindings(args) => super::verify_findings::run(&args, output),
        ScanCommand::Rules(args) => rules::run(&args, output),
    }
}

/// The checks and the report of one scan.
struct Scan {
    checks: Checks,
    report: Report,
    recorder: Option<Recorder>,
}

impl Scan {
    /// A scan of what is looked at in `phase` of a run.
    fn new(args: &ScanReportArgs, phase: Phase) -> Result<Self> {
        let policy = Policy { fail_mode: args.fail_mode, fail_on: args.fail_on };
        let canaries = args.canary_file.as_deref().map(canaries).transpose()?.unwrap_or_default();
        Ok(Self {
            checks: Checks::default().with_canaries(canaries),
            report: Report::new(policy, args.min_severity),
            recorder: args
                .findings
                .as_deref()
                .map(|path| Recorder::open(path, args.trace_id.clone(), phase))
                .transpose()?,
        })
    }

    /// Adds what was found in `text`. Whatever part of it is shown goes through the masks first.
    fn add(&mut self, source: Source, text: &str, findings: Vec<Finding>) {
        let masks = if findings.is_empty() { Default::default() } else { self.checks.masks(text) };
        self.report.add(source, text, &masks, findings);
    }

    /// Runs `pipeline` over `text`.
    fn text(&mut self, pipeline: &Pipeline, source: Source, text: &str) {
        let findings = pipeline.run(text).findings;
        self.add(source, text, findings);
    }

    /// Records what was found and prints the report.
    fn finish(&self, args: &ScanReportArgs, output: &mut Output) -> Result<Exit> {
        if let Some(recorder) = &self.recorder {
            recorder.record(&self.report)?;
        }
        self.report.print(args.format, output)?;
        Ok(match self.report.outcome() {
            Outcome::Blocked => Exit::Blocked,
            Outcome::Clean | Outcome::Warned => Exit::Done,
        })
    }
}

/// The text of a file or, for `-`, of standard input; what cannot be scanned is a finding.
fn read_text(path: &Path, limit: u64) -> Result<(Source, Result<String, Finding>)> {
    if path == Path::new("-") {
        return Ok((
            Source::Stdin,
            bounded_text(io::stdin().lock(), limit).context("cannot read standard input")?,
        ));
    }
    let explain = || {
        let message = format!("cannot read `{}`", path.display());
        Advice::new(message, "name a file that exists and can be read, or `-` for standard input")
    };
    let text = File::open(path).and_then(|file| bounded_text(file, limit)).with_context(explain)?;
    Ok((Source::File(path.to_path_buf()), text))
}

fn bounded_text(from: impl Read, limit: u64) -> io::Result<Result<String, Finding>> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Ok(Err(Finding::new(&TOO_LARGE, None, format!("larger than {limit} bytes"))));
    }
    Ok(String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Finding::new(&NOT_TEXT, None, format!("not valid UTF-8 from byte {at} on"))
    }))
}

/// The tokens in a file, one per line. On a command line everybody on the machine could read them.
pub(in crate::command) fn canaries(path: &Path) -> Result<Vec<CanaryToken>> {
    let help = "write one token per line, each with at least eight letters and digits";
    let explain = || Advice::new(format!("cannot use `{}` as canary tokens", path.display()), help);
    let text = std::fs::read_to_string(path).with_context(explain)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let tokens: Vec<CanaryToken> =
        lines.map(CanaryToken::parse).collect::<Result<_, _>>().with_context(explain)?;
    anyhow::ensure!(
        !tokens.is_empty(),
        Advice::new(format!("`{}` has no canary tokens", path.display()), help)
    );
    Ok(tokens)
}

/// A path that was named and does not exist, or cannot be looked at.
fn cannot_scan(path: &Path) -> Advice {
    Advice::new(
        format!("cannot scan `{}`", path.display()),
        "name a file or directory that exists and can be read",
    )
}
