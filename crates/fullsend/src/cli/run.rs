//! The arguments of `fullsend run`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use fullsend_harness::value::{Platform, RuntimeName};

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
