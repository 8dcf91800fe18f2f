//! Where the repository is and how cargo sees it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::process;

/// A checkout of this repository.
#[derive(Debug)]
pub(crate) struct Repo {
    root: PathBuf,
}

impl Repo {
    /// The checkout that this program was started from.
    ///
    /// Cargo's runtime variable wins over the path compiled in: a target directory shared by two checkouts
    /// may hold a binary that was built in the other one.
    pub(crate) fn find() -> Result<Self> {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir.parent().context("xtask has no parent directory")?;
        Ok(Self { root: root.to_owned() })
    }

    /// The top directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the top directory.
    pub(crate) fn join(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// A program to be started in the top directory.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// The cargo that started us, so that `cargo +toolchain xtask` stays on one toolchain.
    pub(crate) fn cargo(&self) -> Command {
        self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// What `cargo metadata` says about the workspace members.
    pub(crate) fn metadata(&self) -> Result<Value> {
        let json = process::capture(self.cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
        serde_json::from_str(&json).context("cannot read the output of cargo metadata")
    }

    /// The directory all builds share.
    pub(crate) fn target_dir(&self) -> Result<PathBuf> {
        let metadata = self.metadata()?;
        let directory = metadata.get("target_directory").and_then(Value::as_str);
        directory.map(PathBuf::from).context("cargo metadata names no target directory")
    }
}
