//! What a run is asked to be: everything that the caller decides.

use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use fullsend_harness::Library;
use fullsend_harness::config::Configuration;
use fullsend_harness::value::Platform;
use fullsend_resolve::Store;
use fullsend_resolve::lock::LockFile;
use fullsend_runtimes::{AgentRuntime, Cancel};
use fullsend_sandbox::{SandboxBackend, SandboxError};

use crate::environment::Environment;
use crate::outward::Outward;

/// What a run is asked to be.
#[derive(Debug)]
pub struct Request {
    /// The agent: its name, or the path of its harness.
    pub agent: String,
    /// The documents of the fullsend directory.
    pub library: Library,
    /// Its configuration, which is readable.
    pub configuration: Configuration,
    /// The way to content while the agent runs.
    pub store: Arc<Store>,
    /// What is locked.
    pub lock: LockFile,
    /// The platform whose overlay applies.
    pub platform: Option<Platform>,
    /// The repository that the agent works on. It is copied, never changed.
    pub target_repo: PathBuf,
    /// Where run directories are made.
    pub output_dir: PathBuf,
    /// Where the files of runs are put together; of this user alone.
    pub stages: PathBuf,
    /// The program to put into the sandbox.
    pub program: PathBuf,
    /// The environment of the caller, with what its files add.
    pub environment: Environment,
    /// Who drives the model.
    pub runtime: Arc<dyn AgentRuntime>,
    /// What makes sandboxes.
    pub backends: Arc<dyn Backends>,
    /// Services that are asked and told.
    pub outward: Outward,
    /// Switches of the command line.
    pub options: Options,
    /// The wish to end it.
    pub cancel: Cancel,
}

/// Switches of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// The image of containers, whatever the harness names.
    pub image: Option<String>,
    /// The engine's runtime for them.
    pub container_runtime: Option<String>,
    /// Whether the post-script is run.
    pub post_script: bool,
    /// Whether the sandbox and its files are kept.
    pub keep_sandbox: bool,
    /// The model, whatever the harness names.
    pub model: Option<String>,
    /// The model where neither this nor the harness nor the agent definition names one.
    pub usual_model: Option<String>,
    /// How long the agent may work, whatever the harness says.
    pub timeout: Option<Duration>,
    /// What to log for debugging.
    pub debug: Option<String>,
    /// Whether it is told which files the sandbox refused; every use of a file then takes longer.
    pub explain: bool,
    /// Whether nothing may be fetched.
    pub offline: bool,
}

/// A backend on its way.
pub type Connecting<'a> =
    Pin<Box<dyn Future<Output = Result<Arc<dyn SandboxBackend>, SandboxError>> + Send + 'a>>;

/// Which backend is wanted.
#[derive(Clone, Copy, Debug)]
pub struct BackendOrder<'a> {
    /// The image of containers; without one, sandboxes are made on this machine.
    pub image: Option<&'a str>,
    /// The engine's runtime for containers, if not its own choice.
    pub runtime: Option<&'a str>,
    /// Where decisions about connections go.
    pub egress_log: &'a Path,
}

/// Makes sandboxes: on this machine, or in containers of an image.
pub trait Backends: fmt::Debug + Send + Sync {
    /// The backend that is wanted.
    fn connect<'a>(&'a self, order: BackendOrder<'a>) -> Connecting<'a>;
}
