//! Takes what a command has left out of the workspace, and puts back what was there.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::item::{Item, What};
use super::tree::{Ground, open_below};

/// More is not copied to another file system; it is removed all the same.
const MOST_COPIED: u64 = 64 << 20;
const MOST_FILES: usize = 10_000;

/// At the end of names of what was taken out.
const SUFFIX: &str = ".quarantined";

/// Moves a path of the workspace to a place that no command reaches.
pub(super) fn take_out(ground: &Ground<'_>, path: &str, place: &Path) -> io::Result<()> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let parent = open_below(ground.mount.handle(), directory, OFlags::PATH)?;
    if let Some(above) = place.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(above)?;
    }
    let moved = || rustix::fs::renameat_with(&parent, name, CWD, place, RenameFlags::NOREPLACE);
    match moved() {
        Err(Errno::ACCESS | Errno::PERM) => {
            // The command may have taken the right away from whoever cleans up.
            make_ours(&parent, name);
            match moved() {
                Err(Errno::XDEV) => copy_out(&parent, name, place),
                other => Ok(other?),
            }
        }
        Err(Errno::XDEV) => copy_out(&parent, name, place),
        other => Ok(other?),
    }
}

/// A path that leads to the same place whatever happens to names: std can be asked to do things by it.
fn handle_path(parent: &OwnedFd, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", parent.as_raw_fd())).join(name)
}

fn make_ours(parent: &OwnedFd, name: &str) {
    let own = |path: PathBuf| {
        // Whoever may not change modes is told by the next attempt.
        let _told_later = std::fs::set_permissions(path, PermissionsExt::from_mode(0o700));
    };
    own(format!("/proc/self/fd/{}", parent.as_raw_fd()).into());
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(handle) = rustix::fs::openat(parent, name, flags, Mode::empty())
        && rustix::fs::fstat(&handle).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
    {
        own(format!("/proc/self/fd/{}", handle.as_raw_fd()).into());
    }
}

/// To another file system: as much as is reasonable, and then it is removed.
fn copy_out(parent: &OwnedFd, name: &str, place: &Path) -> io::Result<()> {
    let from = handle_path(parent, name);
    let (mut left, mut files) = (MOST_COPIED, MOST_FILES);
    copy(&from, place, &mut left, &mut files)?;
    if std::fs::symlink_metadata(&from)?.is_dir() {
        std::fs::remove_dir_all(&from)
    } else {
        Ok(rustix::fs::unlinkat(parent, name, AtFlags::empty())?)
    }
}

fn copy(from: &Path, to: &Path, left: &mut u64, files: &mut usize) -> io::Result<()> {
    let metadata = std::fs::symlink_metadata(from)?;
    *files = files.saturating_sub(1);
    if *files == 0 {
        return Ok(());
    }
    if metadata.is_symlink() {
        return std::os::unix::fs::symlink(std::fs::read_link(from)?, to);
    }
    if metadata.is_dir() {
        std::fs::DirBuilder::new().mode(0o700).create(to)?;
        for entry in std::fs::read_dir(from)?.flatten() {
            copy(&entry.path(), &to.join(entry.file_name()), left, files)?;
        }
    } else if metadata.is_file() && metadata.len() <= *left {
        *left = left.saturating_sub(metadata.len());
        std::fs::copy(from, to)?;
    }
    Ok(())
}

/// Puts back what was at a path. What is in the way goes to a directory outside of the workspace.
pub(super) fn put_back(ground: &Ground<'_>, path: &str, item: &Item, aside: &Path) -> io::Result<()> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let parent = make_directories(ground, directory, aside)?;
    match &item.what {
        What::Directory => match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        },
        What::Link(target) => Ok(rustix::fs::symlinkat(target.as_slice(), &parent, name)?),
        What::File { mode, copy } => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o600))?;
            let mut file = std::fs::File::from(file);
            io::Write::write_all(&mut file, copy)?;
            file.set_permissions(PermissionsExt::from_mode(*mode))
        }
        What::Large(..) | What::Other => {
            Err(io::Error::other("no copy of it was kept, because it is too large or no file"))
        }
    }
}

fn make_directories(ground: &Ground<'_>, path: &str, aside: &Path) -> io::Result<OwnedFd> {
    let mut handle = open_below(ground.mount.handle(), "", OFlags::RDONLY)?;
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    for above in ends.filter_map(|end| path.get(..end)).filter(|above| !above.is_empty()) {
        let name = above.rsplit_once('/').map_or(above, |(_, name)| name);
        handle = match directory_in(&handle, name) {
            Err(Errno::LOOP | Errno::NOTDIR) => {
                take_out(ground, above, &place_for(aside, above))?;
                directory_in(&handle, name)?
            }
            other => other?,
        };
    }
    Ok(handle)
}

fn directory_in(parent: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => open_below(parent.as_fd(), name, OFlags::RDONLY),
        Err(error) => Err(error),
    }
}

/// A place for what was at a path. It has another name, so that nothing takes it for what it was meant to be.
pub(super) fn place_for(directory: &Path, path: &str) -> PathBuf {
    let first = directory.join(format!("{path}{SUFFIX}"));
    let numbered = |number: usize| directory.join(format!("{path}.{number}{SUFFIX}"));
    let mut places = std::iter::once(first.clone()).chain((2..).map(numbered));
    places.find(|place| std::fs::symlink_metadata(place).is_err()).unwrap_or(first)
}
