//! A script in a form that can be executed.

use std::fmt;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use tempfile::TempDir;
use tokio::process::Command;

use super::{Program, ScriptError};

impl fmt::Display for Program<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Shell(line) => formatter.write_str(line),
            Self::Command(name, _) => formatter.write_str(name),
        }
    }
}

/// What can be executed. A private copy lives as long as this.
#[derive(Debug)]
pub(super) enum Prepared<'a> {
    Path(PathBuf),
    Copy { path: PathBuf, _directory: TempDir },
    Words(&'a str, Vec<&'a str>),
}

impl<'a> Prepared<'a> {
    pub(super) fn new(program: Program<'a>) -> Result<Self, ScriptError> {
        match program {
            Program::Shell(line) => Ok(Self::Words("/bin/sh", vec!["-c", line])),
            Program::Command(name, arguments) => Ok(Self::Words(name, arguments.to_vec())),
            Program::File(path) => file(path),
        }
    }

    pub(super) fn command(&self) -> Command {
        match self {
            Self::Path(path) | Self::Copy { path, .. } => Command::new(path),
            Self::Words(name, arguments) => {
                let mut command = Command::new(name);
                command.args(arguments);
                command
            }
        }
    }
}

fn file(path: &Path) -> Result<Prepared<'static>, ScriptError> {
    let failed = |source| ScriptError::Start { name: path.display().to_string(), source };
    // The child starts in another directory.
    let path = std::path::absolute(path).map_err(failed)?;
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(ScriptError::NotAFile(path));
    }
    if rustix::fs::access(&path, Access::EXEC_OK).is_ok() {
        return Ok(Prepared::Path(path));
    }
    copy(&path).map_err(failed)
}

/// The operator's file stays as it is: a changed mode would show up in version control.
fn copy(path: &Path) -> io::Result<Prepared<'static>> {
    let directory = tempfile::Builder::new().prefix("fullsend-script-").tempdir()?;
    let private = directory.path().join(path.file_name().unwrap_or_default());
    std::fs::copy(path, &private)?;
    std::fs::set_permissions(&private, Permissions::from_mode(0o500))?;
    Ok(Prepared::Copy { path: private, _directory: directory })
}
