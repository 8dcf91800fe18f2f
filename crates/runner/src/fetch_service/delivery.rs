//! Skills into the sandbox: complete or not at all, and never through a link.
//!
//! A skill is put together where no sandbox sees it and then moved into place by one rename. The directory that it is
//! moved into is opened without following links: whatever the agent has done to its own directory, nothing is written
//! outside of it.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fullsend_origin::TreeDigest;
use fullsend_resolve::SkillUrl;
use fullsend_runtimes::Stage;
use fullsend_sandbox::FilesystemMount;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use tempfile::TempDir;

/// What the directory of skills is called in the directory of a runtime.
const SKILLS: &str = "skills";
/// The skill in the directory where it is put together.
const COPY: &str = "tree";

/// Where skills go.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Skills are put together here.
    private: PathBuf,
    /// The directory of skills on the host.
    skills: PathBuf,
    /// The directory of skills in the sandbox.
    inside: String,
    delivered: Mutex<HashMap<String, TreeDigest>>,
}

/// A skill that is being put together. It is gone when this is dropped.
#[derive(Debug)]
pub(super) struct Draft {
    directory: TempDir,
}

impl Draft {
    /// Where the skill goes.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join(COPY)
    }
}

/// The name under which a skill is delivered: part of its digest, so that two skills of one name do not meet.
pub(super) fn destination(skill: &SkillUrl) -> String {
    let digest = skill.digest().to_string();
    format!("{}-{}", digest.get(..8).unwrap_or(&digest), skill.name())
}

impl Delivery {
    pub(super) fn new(stage: &Stage, skills: PathBuf, config_dir: &str) -> io::Result<Self> {
        let private = stage.root().join("fetched");
        DirBuilder::new().recursive(true).mode(0o700).create(&private)?;
        let inside = format!("{config_dir}/{SKILLS}");
        let delivery = Self { private, skills, inside, delivered: Mutex::default() };
        delivery.skills()?;
        Ok(delivery)
    }

    /// The directory of skills, for the agent to read.
    pub(super) fn mount(&self) -> FilesystemMount {
        FilesystemMount::read_only(&self.skills, &self.inside)
    }

    /// The path of a delivered skill in the sandbox.
    pub(super) fn path_inside(&self, name: &str) -> String {
        format!("{}/{name}", self.inside)
    }

    /// Room for putting a skill together.
    pub(super) fn draft(&self) -> io::Result<Draft> {
        Ok(Draft { directory: tempfile::tempdir_in(&self.private)? })
    }

    /// Whether the skill is where it belongs already.
    pub(super) fn has(&self, name: &str, digest: TreeDigest) -> bool {
        self.delivered().get(name) == Some(&digest) && self.is_directory(name)
    }

    /// Moves a skill into place. What was there under its name is replaced as a whole.
    pub(super) fn deliver(&self, name: &str, digest: TreeDigest, draft: &Draft) -> io::Result<()> {
        open_to_all(&draft.path())?;
        let from = open_directory(draft.directory.path())?;
        let skills = self.skills()?;
        let mut delivered = self.delivered();
        if delivered.get(name) == Some(&digest) && self.is_directory(name) {
            return Ok(());
        }
        let moved = rustix::fs::renameat_with(&from, COPY, &skills, name, RenameFlags::NOREPLACE);
        match moved {
            Err(Errno::EXIST) => {
                // What stood there goes away with the draft.
                rustix::fs::renameat_with(&from, COPY, &skills, name, RenameFlags::EXCHANGE)?;
            }
            other => other?,
        }
        delivered.insert(name.to_owned(), digest);
        Ok(())
    }

    /// The directory of skills, made if it is missing; a link in its place is an error.
    fn skills(&self) -> io::Result<OwnedFd> {
        let (Some(parent), Some(name)) = (self.skills.parent(), self.skills.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let parent = open_directory(parent)?;
        match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(rustix::fs::openat(&parent, name, DIRECTORY, Mode::empty())?)
    }

    fn is_directory(&self, name: &str) -> bool {
        let status = self
            .skills()
            .and_then(|skills| Ok(rustix::fs::statat(&skills, name, AtFlags::SYMLINK_NOFOLLOW)?));
        status.is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Directory)
    }

    fn delivered(&self) -> MutexGuard<'_, HashMap<String, TreeDigest>> {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Lets any user of the sandbox read the skill; on the host it lies in a directory that is one user's alone. The tree is
/// still where nobody else sees it, so nothing changes under this.
fn open_to_all(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_to_all(&entry.path())?;
        } else {
            let program = entry.metadata()?.permissions().mode() & 0o100 != 0;
            fs::set_permissions(entry.path(), Permissions::from_mode(if program { 0o755 } else { 0o644 }))?;
        }
    }
    fs::set_permissions(directory, Permissions::from_mode(0o755))
}
