//! The arguments of `fullsend scan`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};
use fullsend_guard::{FailMode, Severity, TraceId};

use super::{ReportFormat, RulesArgs, VerifyFindingsArgs};

/// Said by every command that judges.
const EXIT_CODES: &str = "Exit codes: 0 nothing that blocks, 2 usage error, 3 blocked.";

#[derive(Debug, Subcommand)]
pub(crate) enum ScanCommand {
    /// Scan what an agent would read in a repository
    ///
    /// Instructions such as `AGENTS.md` and `CLAUDE.md`, skills with all their files, agent definitions, commands, and the
    /// settings of agent runtimes, wherever they lie. Each is checked for invisible characters and for instructions to the
    /// model; settings that start programs are named.
    #[command(after_help = EXIT_CODES)]
    Context(ScanContextArgs),
    /// Scan a text that an agent is going to read
    #[command(after_help = EXIT_CODES)]
    Text(ScanTextArgs),
    /// Decide whether URLs may be requested
    ///
    /// Addresses and names of machines that must not be reached are refused without asking anybody. Other names are
    /// resolved, and every address they have is judged.
    #[command(after_help = EXIT_CODES)]
    Url(ScanUrlArgs),
    /// Find out what a shell command would do
    #[command(after_help = EXIT_CODES)]
    Command(ScanCommandArgs),
    /// Scan what an agent left behind, before it is passed on
    ///
    /// Every file is checked for secrets, canary tokens and invisible characters, whatever it is called. Files that are not
    /// text are searched too.
    #[command(after_help = EXIT_CODES)]
    Output(ScanOutputArgs),
    /// Find out whether a log of findings is whole and unchanged
    ///
    /// Every line of the log carries a hash over itself and the line before, and the last line says how many there are. The
    /// exit code is 1 when a line was changed, added or removed, or when the end is missing.
    VerifyFindings(VerifyFindingsArgs),
    /// List what scans look for
    Rules(RulesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ScanContextArgs {
    /// Directories, or files that are scanned whatever they are called
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Walk through `node_modules`, `vendor` and other directories of dependencies too
    #[arg(long)]
    pub(crate) include_dependencies: bool,
    /// The largest file that is read, in bytes; a larger one is a finding
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    pub(crate) max_size: u64,
    #[command(flatten)]
    pub(crate) report: ScanReportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScanTextArgs {
    /// The file to read; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The longest text that is read, in bytes; a longer one is a finding
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20)]
    pub(crate) max_size: u64,
    #[command(flatten)]
    pub(crate) report: ScanReportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScanUrlArgs {
    /// The URLs
    #[arg(value_name = "URL", required = true, value_hint = ValueHint::Url)]
    pub(crate) urls: Vec<String>,
    /// Resolve no names; they are judged by themselves only
    #[arg(long)]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) report: ScanReportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScanCommandArgs {
    /// The command, as one argument; `-` is standard input
    #[arg(value_name = "COMMAND", default_value = "-", allow_hyphen_values = true)]
    pub(crate) command: String,
    #[command(flatten)]
    pub(crate) report: ScanReportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScanOutputArgs {
    /// Files, and directories with all files below them
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Write texts back without what was found in them; the exit code is about what is left
    #[arg(long)]
    pub(crate) fix: bool,
    /// The largest file that is read, in bytes; a larger one is a finding
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub(crate) max_size: u64,
    #[command(flatten)]
    pub(crate) report: ScanReportArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScanReportArgs {
    /// How to print findings
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// The least severity that blocks; a check that could not be completed always does
    #[arg(long, value_name = "SEVERITY", default_value = "critical", value_parser = severity())]
    pub(crate) fail_on: Severity,
    /// Whether findings block, or are only reported
    #[arg(long, value_name = "MODE", default_value = "closed", value_parser = fail_mode())]
    pub(crate) fail_mode: FailMode,
    /// The least severity that is printed; what blocks always is
    #[arg(long, value_name = "SEVERITY", default_value = "info", value_parser = severity())]
    pub(crate) min_severity: Severity,
    /// A file with tokens, one per line, that must not appear anywhere
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) canary_file: Option<PathBuf>,
    /// A log of findings to append to, as a run keeps one; it is started if it is missing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) findings: Option<PathBuf>,
    /// The run that the findings in the log belong to, a UUID; without it a new one
    #[arg(long, value_name = "ID", requires = "findings")]
    pub(crate) trace_id: Option<TraceId>,
}

fn severity() -> impl TypedValueParser<Value = Severity> {
    PossibleValuesParser::new(Severity::ALL.map(Severity::as_str)).try_map(|word| word.parse::<Severity>())
}

fn fail_mode() -> impl TypedValueParser<Value = FailMode> {
    PossibleValuesParser::new(["closed", "open"]).map(|word| match word.as_str() {
        "open" => FailMode::Open,
        _ => FailMode::Closed,
    })
}
