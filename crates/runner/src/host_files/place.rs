//! From a path in the sandbox to its place in the stage.

use std::path::PathBuf;

use fullsend_runtimes::{HOOKS, Stage, WORKSPACE};
use fullsend_sandbox::FilesystemMount;
use fullsend_sandbox::spec::is_at_or_below;

use super::{HostFileContent, HostFileError};
use crate::beneath::Directory;
use crate::env_file::{EnvDirFile, assignments};

/// What came of placing files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Files that lie outside the directories of the stage, each a mount of its own.
    pub mounts: Vec<FilesystemMount>,
    /// Files with variables, by name.
    pub env_files: Vec<EnvDirFile>,
}

/// Where a file goes in the stage.
enum Spot {
    /// Below a directory of the stage, which the sandbox sees already.
    Below { root: PathBuf, relative: String },
    /// Among the files with variables.
    Variables { name: String },
    /// Anywhere else.
    Elsewhere,
}

/// Writes files into the stage. `config_dir` is the runtime's own directory in the sandbox.
pub fn place(files: &[HostFileContent], stage: &Stage, config_dir: &str) -> Result<Placed, HostFileError> {
    let mut placed = Placed::default();
    for (number, file) in files.iter().enumerate() {
        let mode = if file.executable { 0o755 } else { 0o644 };
        let failed = |source| HostFileError::Write { dest: file.dest.clone(), source };
        let write = |root: PathBuf, relative: &str| {
            let root = Directory::open(&root).map_err(failed)?;
            root.write(relative.as_ref(), &file.bytes, mode).map_err(failed)
        };
        match spot(&file.dest, stage, config_dir)? {
            Spot::Below { root, relative } => write(root, &relative)?,
            Spot::Variables { name } => {
                write(stage.fixed().join("env.d"), &name)?;
                if name.ends_with(".env") {
                    let variables = variables(file)?;
                    placed.env_files.push(EnvDirFile { name, variables });
                }
            }
            Spot::Elsewhere => {
                let relative = format!("extra/{number}");
                write(stage.root().to_owned(), &relative)?;
                placed.mounts.push(FilesystemMount::read_only(stage.root().join(relative), &file.dest));
            }
        }
    }
    // As the shell reads them.
    placed.env_files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(placed)
}

fn variables(file: &HostFileContent) -> Result<Vec<(String, String)>, HostFileError> {
    let dest = || file.dest.clone();
    let text =
        std::str::from_utf8(&file.bytes).map_err(|_| HostFileError::NotText { path: file.src.clone() })?;
    assignments(text).map_err(|problem| HostFileError::Variables { dest: dest(), problem })
}

fn spot(dest: &str, stage: &Stage, config_dir: &str) -> Result<Spot, HostFileError> {
    let taken = |why| Err(HostFileError::Taken { dest: dest.to_owned(), why });
    let below = |base: &str| dest.strip_prefix(base)?.strip_prefix('/').map(str::to_owned);
    if is_at_or_below(dest, HOOKS) {
        return taken("it belongs to the hooks");
    }
    if let Some(relative) = below(config_dir) {
        return Ok(Spot::Below { root: stage.config(), relative });
    }
    if [WORKSPACE, config_dir, "/sandbox"].contains(&dest) || dest == stage.repo_in_sandbox() {
        return taken("it is a directory of the run");
    }
    let Some(relative) = below(WORKSPACE) else { return Ok(Spot::Elsewhere) };
    let (first, rest) = relative.split_once('/').unwrap_or((&relative, ""));
    match (first, rest) {
        (".env" | ".fullsend" | "output", _) => taken("the run makes it itself"),
        ("bin", "" | "fullsend" | "fullsend-check-output") => taken("programs of the run are there"),
        ("bin", program) => Ok(Spot::Below { root: stage.fixed().join("bin"), relative: program.to_owned() }),
        (".env.d", "") => taken("it is a directory of the run"),
        (".env.d", name) if name.contains('/') => taken("only files right in `.env.d` are read"),
        (".env.d", name) => Ok(Spot::Variables { name: name.to_owned() }),
        (_, _) => Ok(Spot::Below { root: stage.workspace(), relative }),
    }
}
