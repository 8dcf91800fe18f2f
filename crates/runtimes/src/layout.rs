//! Where the files of a run are: on the host, where they are put together, and in the sandbox.
//!
//! What the agent may change and what it may not lie in different directories of the host, so that each is one mount. The
//! agent's directories are `workspace` and `config`; everything in `fixed` and `hooks` is mounted read-only.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use fullsend_sandbox::FilesystemMount;

/// Everything the agent works with.
pub const WORKSPACE: &str = "/sandbox/workspace";
/// What the agent delivers.
pub const OUTPUT: &str = "/sandbox/workspace/output";
/// What the harness gives the agent to work on.
pub const AGENT_INPUT: &str = "/sandbox/workspace/agent-input";
/// Programs of ours, first on the search path. Read-only.
pub const BIN: &str = "/sandbox/workspace/bin";
/// This program. Read-only.
pub const PROGRAM: &str = "/sandbox/workspace/bin/fullsend";
/// Variables, in a form that shells read. Read-only.
pub const ENV_FILE: &str = "/sandbox/workspace/.env";
/// More of them, from files of the host. Read-only.
pub const ENV_DIR: &str = "/sandbox/workspace/.env.d";
/// The schema that the result must satisfy. Read-only.
pub const SCHEMA: &str = "/sandbox/workspace/.fullsend/output-schema.json";
/// What wires hooks up. Read-only.
pub const HOOKS: &str = "/sandbox/hooks";
/// The configuration of the hook, which names the service that decides.
pub const HOOK_CONFIG: &str = "/sandbox/hooks/hook.json";
/// The directory with the socket of that service. Read-only.
pub const HOOK_SERVICE: &str = "/sandbox/hooks/service";

/// The directories of one run, put together on the host. Removed by whoever made it.
#[derive(Clone, Debug)]
pub struct Stage {
    root: PathBuf,
    repo_name: String,
}

/// Why there is no stage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// The name of the repository could mean something to a shell, or leave its directory.
    #[error(
        "the target repository's directory is called `{}`, and the agent's copy of it cannot be; rename it to letters, digits, `-`, `_` and `.`",
        name.escape_debug()
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A directory cannot be made.
    #[error("cannot make `{}`", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Stage {
    /// Makes the directories below `root`, which must be the caller's alone.
    pub fn create(root: &Path, repo_name: &str) -> Result<Self, StageError> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let taken = ["output", "bin", "agent-input"].contains(&repo_name);
        if repo_name.is_empty() || repo_name.starts_with(['.', '-']) || taken || !repo_name.chars().all(plain) {
            return Err(StageError::Name { name: repo_name.to_owned() });
        }
        let stage = Self { root: root.to_owned(), repo_name: repo_name.to_owned() };
        let fixed = ["bin", "env.d", "fullsend"].map(|name| stage.fixed().join(name));
        let made = [stage.repo(), stage.output(), stage.agent_input(), stage.config(), stage.hooks().join("service")];
        for path in made.into_iter().chain(fixed) {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(&path);
            made.map_err(|source| StageError::Io { path, source })?;
        }
        Ok(stage)
    }

    /// All of it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// [`WORKSPACE`] on the host.
    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    /// The agent's copy of the target repository, on the host.
    pub fn repo(&self) -> PathBuf {
        self.workspace().join(&self.repo_name)
    }

    /// The name of the target repository's directory.
    pub fn repo_name(&self) -> &str {
        &self.repo_name
    }

    /// The agent's copy of the target repository, in the sandbox.
    pub fn repo_in_sandbox(&self) -> String {
        format!("{WORKSPACE}/{}", self.repo_name)
    }

    /// [`OUTPUT`] on the host.
    pub fn output(&self) -> PathBuf {
        self.workspace().join("output")
    }

    /// [`AGENT_INPUT`] on the host.
    pub fn agent_input(&self) -> PathBuf {
        self.workspace().join("agent-input")
    }

    /// What the agent can read in the workspace and not change: `bin`, `env`, `env.d` and `fullsend`.
    pub fn fixed(&self) -> PathBuf {
        self.root.join("fixed")
    }

    /// The runtime's own directory, on the host.
    pub fn config(&self) -> PathBuf {
        self.root.join("config")
    }

    /// [`HOOKS`] on the host.
    pub fn hooks(&self) -> PathBuf {
        self.root.join("hooks")
    }

    /// The mounts that every runtime has. `config_dir` is the runtime's own directory in the sandbox.
    pub fn mounts(&self, config_dir: &str) -> Vec<FilesystemMount> {
        let fixed = self.fixed();
        vec![
            FilesystemMount::read_write(self.workspace(), WORKSPACE),
            FilesystemMount::read_only(fixed.join("bin"), BIN),
            FilesystemMount::read_only(fixed.join("env"), ENV_FILE),
            FilesystemMount::read_only(fixed.join("env.d"), ENV_DIR),
            FilesystemMount::read_only(fixed.join("fullsend"), format!("{WORKSPACE}/.fullsend")),
            FilesystemMount::read_write(self.config(), config_dir),
            FilesystemMount::read_only(self.hooks(), HOOKS),
        ]
    }
}
