//! Where the files of runs are put together, and the removal of what killed runs have left there.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// The lock that a living run holds in its directory.
const LOCK: &str = "lock";

/// A directory of one run. Removed when dropped, and by the next run when this one is killed.
#[derive(Debug)]
pub(crate) struct Home {
    root: PathBuf,
    /// Held as long as the run lives. It says whether the directory is kept.
    lock: File,
    kept: bool,
}

impl Home {
    /// Makes a directory below `stages`, after removing those of runs that are gone.
    pub(crate) fn make(stages: &Path, name: &str) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(stages)?;
        sweep(stages)?;
        let root = stages.join(name);
        DirBuilder::new().mode(0o700).create(&root)?;
        let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(root.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { root, lock, kept: false })
    }

    /// The directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Leaves the directory where it is, also when other runs look for what can be removed.
    pub(crate) fn keep(&mut self) -> io::Result<()> {
        self.kept = true;
        self.lock.write_all(b"kept\n")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed now is tried again by the next run.
            let _later = remove(&self.root);
        }
    }
}

/// Removes directories whose run is gone. One that is being made has no lock yet, for an instant: it is left alone while
/// it is young.
fn sweep(stages: &Path) -> io::Result<()> {
    for entry in fs::read_dir(stages)? {
        let root = entry?.path();
        let abandoned = match OpenOptions::new().write(true).open(root.join(LOCK)) {
            Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
            Err(_) => is_old(&root),
        };
        if abandoned && !is_kept(&root) {
            let _another_run_may = remove(&root);
        }
    }
    Ok(())
}

fn is_old(path: &Path) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|found| found.modified());
    modified.ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age.as_secs() > 60)
}

/// Whether somebody asked for it to be kept: its lock says so.
fn is_kept(root: &Path) -> bool {
    fs::metadata(root.join(LOCK)).is_ok_and(|lock| lock.len() > 0)
}

/// Removes everything in a directory that an agent wrote to, and leaves the directory.
pub(crate) fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { remove(&entry.path())? } else { fs::remove_file(entry.path())? }
    }
    Ok(())
}

/// Removes a tree that an agent wrote to: directories may have lost their permissions, links are never followed.
pub(crate) fn remove(root: &Path) -> io::Result<()> {
    match fs::remove_dir_all(root) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(root)?;
            fs::remove_dir_all(root)
        }
        result => result,
    }
}

fn open_up(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::Home;

    #[test]
    fn a_living_run_is_left_alone_and_a_dead_one_is_removed() {
        let stages = tempfile::tempdir().unwrap();
        let alive = Home::make(stages.path(), "alive").unwrap();
        let dead = stages.path().join("dead");
        fs::create_dir_all(dead.join("closed/inner")).unwrap();
        fs::write(dead.join("lock"), "").unwrap();
        fs::set_permissions(dead.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        let other = Home::make(stages.path(), "other").unwrap();
        assert!(alive.root().is_dir() && other.root().is_dir() && !dead.exists());
        drop(alive);
        assert!(!stages.path().join("alive").exists());
    }
}
