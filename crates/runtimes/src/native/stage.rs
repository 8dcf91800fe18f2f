//! What the built-in agent has in the stage: the agent definition and its skills.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::layout::Stage;
use crate::runtime::{Bootstrap, RuntimeError};

/// How deep a directory of a skill may lie.
const DEEPEST: usize = 16;

/// The agent definition, below the runtime's own directory.
pub(super) const AGENTS: &str = "agents";
/// Skills, likewise.
pub(super) const SKILLS: &str = "skills";

/// Where skills are, on the host.
pub(super) fn skills(stage: &Stage) -> PathBuf {
    stage.config().join(SKILLS)
}

/// Puts the agent and its skills into the stage.
pub(super) fn fill(input: &Bootstrap<'_>) -> Result<(), RuntimeError> {
    let agents = input.stage.config().join(AGENTS);
    for directory in [&agents, &skills(input.stage)] {
        make(directory)?;
    }
    let file = agents.join(format!("{}.md", plain_name(&input.agent.name)));
    fs::write(&file, &input.agent.source).map_err(doing(format!("write `{}`", file.display())))?;
    for skill in input.skills {
        let name = skill.file_name().unwrap_or_default();
        let real = skill.canonicalize().map_err(doing(format!("read the skill `{}`", skill.display())))?;
        copy(&real, &real, &skills(input.stage).join(name), 0)?;
    }
    Ok(())
}

/// The name of a file, whatever the agent is called.
fn plain_name(name: &str) -> String {
    let name = name.strip_suffix(".md").unwrap_or(name);
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '_' };
    let name: String = name.chars().map(plain).collect();
    if name.is_empty() || name.starts_with('.') { format!("agent{name}") } else { name }
}

/// Copies a directory. Links are followed where they end in `root`, and refused elsewhere: what they lead to is no part of
/// what was pinned and scanned.
fn copy(root: &Path, from: &Path, to: &Path, depth: usize) -> Result<(), RuntimeError> {
    let reading = || format!("read the skill `{}`", from.display());
    if depth > DEEPEST {
        let problem = io::Error::new(io::ErrorKind::InvalidInput, "its directories are too deep");
        return Err(doing(reading())(problem));
    }
    make(to)?;
    for entry in fs::read_dir(from).map_err(doing(reading()))? {
        let entry = entry.map_err(doing(reading()))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let told = || format!("copy `{}`", source.display());
        let kind = entry.file_type().map_err(doing(told()))?;
        if kind.is_dir() {
            copy(root, &source, &target, depth + 1)?;
            continue;
        }
        let real = source.canonicalize().map_err(doing(told()))?;
        let is_file = real.metadata().is_ok_and(|metadata| metadata.is_file());
        if !real.starts_with(root) || !is_file {
            let problem = "it is neither a file nor a link to one of the same skill";
            return Err(doing(told())(io::Error::new(io::ErrorKind::InvalidInput, problem)));
        }
        fs::copy(&real, &target).map_err(doing(told()))?;
        let mode = real.metadata().map_or(0o644, |metadata| metadata.permissions().mode());
        // Whoever the sandbox is can read it.
        let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(&target, fs::Permissions::from_mode(mode)).map_err(doing(told()))?;
    }
    Ok(())
}

fn make(directory: &Path) -> Result<(), RuntimeError> {
    let made = DirBuilder::new().recursive(true).mode(0o755).create(directory);
    made.map_err(doing(format!("make `{}`", directory.display())))
}

fn doing(doing: String) -> impl FnOnce(io::Error) -> RuntimeError {
    move |source| RuntimeError::Io { doing, source }
}
