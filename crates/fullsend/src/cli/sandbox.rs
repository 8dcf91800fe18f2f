//! The arguments of `fullsend sandbox` and `fullsend doctor`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::ShowFormat;

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a command in a sandbox
    ///
    /// The command sees the programs and libraries of the system, a private `/tmp` and home directory, and what the
    /// options grant; no other file, no process and no variable of yours, and no network. Its input and output are
    /// those of fullsend. The exit code is that of the command.
    #[command(
        after_help = "Exit codes: that of the command; 128 and the number of the signal that ended it; 124 time \
                      limit; 125 no sandbox could be made; 126 the command cannot be run; 127 there is no such \
                      command; 2 usage error."
    )]
    Exec(Box<SandboxExecArgs>),
    /// Show what a policy file grants, without running anything
    ///
    /// Checks the file as `sandbox exec --policy` does: relative paths start at the current directory, and what is listed
    /// must exist. Variables with keys need not be set.
    Policy(SandboxPolicyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SandboxPolicyArgs {
    /// The policy file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxExecArgs {
    /// What enforces the sandbox
    #[arg(long, value_enum, default_value_t = BackendName::Local)]
    pub(crate) backend: BackendName,
    /// Grant what this file lists; other options add to it, and their limits win
    ///
    /// YAML or JSON; `fullsend harness schema --kind sandbox-policy` describes it, `fullsend sandbox policy` shows what one
    /// grants.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// A variable for the command; nothing of your environment is passed on
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) env: Vec<(String, String)>,
    /// The directory to start in, as the command sees it; by default the current one if it is granted, else the first
    /// that can be written, else the home directory of the sandbox
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Give the command a terminal; its error output is then part of its output
    #[arg(long)]
    pub(crate) tty: bool,
    /// Print what is granted before the command runs, to standard error; and if it fails, also the files it was refused
    /// (only `--backend local`), which makes every file access slower
    #[arg(long)]
    pub(crate) explain: bool,
    /// How to print what the command does
    #[arg(long, value_enum, default_value_t = ExecFormat::Text, conflicts_with = "tty")]
    pub(crate) format: ExecFormat,
    /// The command and its arguments
    #[arg(
        required = true,
        last = true,
        value_name = "COMMAND",
        value_hint = ValueHint::CommandWithArguments
    )]
    pub(crate) command: Vec<OsString>,
    // Last, because a heading holds for everything that follows.
    #[command(flatten)]
    pub(crate) files: FileArgs,
    #[command(flatten)]
    pub(crate) network: EgressArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct FileArgs {
    /// A file or directory that the command can change, at the same path or at TARGET
    #[arg(long, value_name = "DIR[:TARGET]")]
    pub(crate) rw: Vec<PathBuf>,
    /// A file or directory that the command can read
    #[arg(long, value_name = "DIR[:TARGET]")]
    pub(crate) ro: Vec<PathBuf>,
    /// A directory of which the command changes its own copy, gone at the end
    #[arg(long, value_name = "DIR[:TARGET]")]
    pub(crate) overlay: Vec<PathBuf>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct EgressArgs {
    /// A host that can be reached, or `*.domain`; without a port on 80 and 443
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) allow_host: Vec<String>,
    /// A host that cannot be reached although `--allow-host` covers it
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) deny_host: Vec<String>,
    /// Give the command the network of this machine, without any filter
    #[arg(long, conflicts_with_all = ["allow_host", "deny_host"])]
    pub(crate) allow_network: bool,
    /// A service that the command reaches by the URL in `FULLSEND_ENDPOINT_<NAME>`
    #[arg(long, value_name = "NAME=URL", value_parser = parse_pair)]
    pub(crate) endpoint: Vec<(String, String)>,
    /// The variable of yours that has the key of an endpoint; it is sent as `Authorization: Bearer`, and the command
    /// never sees it
    #[arg(long, value_name = "NAME=VARIABLE", value_parser = parse_pair)]
    pub(crate) endpoint_key: Vec<(String, String)>,
    /// Append every decision about a connection to this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// End the command after this many seconds; fractions are allowed
    #[arg(long, value_name = "SECONDS", value_parser = super::parse_seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Memory of all processes together, in MiB
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) memory: Option<u32>,
    /// Processors that they share
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) cpus: Option<u32>,
    /// Processes and threads at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) processes: Option<u32>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Containers, with `--backend docker`")]
pub(crate) struct EngineArgs {
    /// The image that the command runs in; it must be there, nothing is fetched
    #[arg(long, visible_alias = "sandbox-image", value_name = "IMAGE", required_if_eq("backend", "docker"))]
    pub(crate) image: Option<String>,
    /// The runtime, such as `runsc`; by default the one of the engine
    #[arg(long, value_name = "NAME")]
    pub(crate) runtime: Option<String>,
    /// The client of the engine: `docker`, `podman` or a path; it finds its engine as usual
    #[arg(long, value_name = "PROGRAM", value_hint = ValueHint::ExecutablePath)]
    pub(crate) docker: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The client of the container engine to look at: `docker`, `podman` or a path
    #[arg(long, value_name = "PROGRAM", default_value = "docker", value_hint = ValueHint::ExecutablePath)]
    pub(crate) docker: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendName {
    /// The kernel of this machine, without privileges
    Local,
    /// A container of docker or podman
    Docker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExecFormat {
    /// The output of the command, byte for byte
    #[value(alias = "human")]
    Text,
    /// One JSON object per line: what the command writes, and how it ends
    Json,
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("there must be a name, `=` and a value".to_owned()),
    }
}
