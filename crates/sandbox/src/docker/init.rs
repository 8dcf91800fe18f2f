//! The program that is process 1 of containers, as a file that the engine can mount.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::arguments::ContainerUser;
use crate::error::SandboxError;
use crate::local::environment::HOME;
use crate::local::image::PROGRAM;

/// Makes a directory that nobody else can enter, and returns its path without symbolic links.
pub(super) fn make_private(directory: &Path) -> Result<PathBuf, SandboxError> {
    let failed = || SandboxError::io(format!("cannot make the state directory `{}`", directory.display()));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed())?;
    std::fs::canonicalize(directory).map_err(failed())
}

/// Writes the program into the state directory, unless it is there already.
pub(super) fn install(state: &Path) -> Result<PathBuf, SandboxError> {
    let path = state.join("init");
    if std::fs::read(&path).is_ok_and(|bytes| bytes == PROGRAM) {
        return Ok(path);
    }
    let fresh = state.join(format!("init.{}", std::process::id()));
    write(&fresh, &path).map_err(SandboxError::io(format!("cannot write `{}`", path.display())))?;
    Ok(path)
}

/// Containers that run keep the file they were started with.
fn write(fresh: &Path, path: &Path) -> io::Result<()> {
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o555).open(fresh)?;
    file.write_all(PROGRAM)?;
    drop(file);
    // Whatever the umask of the caller is, other users run it.
    std::fs::set_permissions(fresh, Permissions::from_mode(0o555))?;
    std::fs::rename(fresh, path)
}

/// The only accounts that commands know: their own, and two that every program expects.
#[derive(Debug)]
pub(super) struct Accounts {
    pub(super) users: PathBuf,
    pub(super) groups: PathBuf,
}

impl Accounts {
    /// Writes both files into the state directory.
    pub(super) fn write(state: &Path, user: ContainerUser) -> Result<Self, SandboxError> {
        let ContainerUser { uid, gid } = user;
        let accounts =
            Self { users: state.join(format!("passwd.{uid}")), groups: state.join(format!("group.{gid}")) };
        let users = format!(
            "agent:x:{uid}:{gid}:agent:{HOME}:/bin/sh\nroot:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
        );
        let groups = format!("agent:x:{gid}:\nroot:x:0:\nnogroup:x:65534:\n");
        for (path, text) in [(&accounts.users, users), (&accounts.groups, groups)] {
            let written = std::fs::write(path, text)
                .and_then(|()| std::fs::set_permissions(path, Permissions::from_mode(0o644)));
            written.map_err(SandboxError::io(format!("cannot write `{}`", path.display())))?;
        }
        Ok(accounts)
    }
}
