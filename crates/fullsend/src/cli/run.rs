//! The arguments of `fullsend run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use fullsend_harness::value::{Platform, RuntimeName};
use fullsend_runner::outward::status::{RunUrl, StatusNumber, StatusRepo};

use super::agent::ModelArgs;
use super::{DirectoryArgs, NetworkArgs, ShowFormat};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A registered agent, the name of a file under `harness/`, or a path
    pub(crate) agent: String,
    /// The repository to work on; the agent gets a copy
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) target_repo: PathBuf,
    /// Where run directories are made [default: `fullsend/runs` in the directory for state]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) output_dir: Option<PathBuf>,
    /// Who drives the model: `native`, `claude`, `opencode`, `codex` or `replay` [default: what the configuration says, or
    /// `native`]
    #[arg(long, value_name = "NAME", value_parser = parse_runtime)]
    pub(crate) runtime: Option<RuntimeName>,
    /// The program of the runtime, where it is not on the search path
    #[arg(long, value_name = "FILE", value_hint = ValueHint::ExecutablePath)]
    pub(crate) runtime_program: Option<PathBuf>,
    /// Run everything of the agent in containers of this image instead of on this machine's kernel; it must be there, nothing
    /// is fetched [default: `FULLSEND_SANDBOX_IMAGE`, or `image` of the harness]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) sandbox_image: Option<String>,
    /// The engine's runtime for such containers, such as `runsc` [default: `FULLSEND_SANDBOX_DOCKER_RUNTIME`, or the
    /// engine's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) sandbox_docker_runtime: Option<String>,
    /// A file of variables, `NAME=value` on each line; later files win
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) env_file: Vec<PathBuf>,
    /// Apply the overlay of a platform [default: the platform whose CI this is]
    #[arg(long, value_name = "PLATFORM", value_parser = super::parse_platform)]
    pub(crate) forge: Option<Platform>,
    /// End the agent after this many seconds, whatever `timeout_minutes` says; fractions are allowed
    #[arg(long, value_name = "SECONDS", value_parser = super::parse_seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Do not run the post-script
    #[arg(long)]
    pub(crate) no_post_script: bool,
    /// Keep the files of the sandbox, for a look at what the agent saw
    #[arg(long)]
    pub(crate) keep_sandbox: bool,
    /// Tell which files the sandbox refused; makes commands of the agent slower
    #[arg(long)]
    pub(crate) explain: bool,
    /// Keep a debug log of the runtime, of everything or of what the filter names
    #[arg(long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = "*")]
    pub(crate) debug: Option<String>,
    /// Comment on an issue or change of this repository: when the run begins, and in the same comment how it ended
    #[arg(long, value_name = "OWNER/NAME", requires = "status_number")]
    pub(crate) status_repo: Option<StatusRepo>,
    /// The issue or change to comment on; on GitLab `!N` is a merge request
    #[arg(long, value_name = "N", requires = "status_repo", allow_hyphen_values = true)]
    pub(crate) status_number: Option<StatusNumber>,
    /// Where the run can be watched, for that comment
    #[arg(long, value_name = "URL", requires = "status_repo")]
    pub(crate) run_url: Option<RunUrl>,
    /// Get the token of the agent's role from this mint [default: `FULLSEND_MINT_URL`, or in CI what the configuration says]
    #[arg(long, value_name = "URL")]
    pub(crate) mint_url: Option<String>,
    /// The program to put into the sandbox [default: this one]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) fullsend_binary: Option<PathBuf>,
    /// How to print what happens: for people, or every event and the report as lines of JSON
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

fn parse_runtime(word: &str) -> Result<RuntimeName, String> {
    use fullsend_yaml::FromText;
    RuntimeName::from_text(word).map_err(|problem| problem.message)
}
