//! Files in the directory of a run: for the owner only, never through a link, whole or not at all.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use uuid::Uuid;

/// Files are for the owner.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// So are directories.
const DIR_MODE: Mode = Mode::RWXU;

/// What a file being written is called until it is whole.
pub(super) const UNFINISHED: &str = ".tmp";

/// Opens a directory that is one, and not a link to one.
pub(super) fn open_dir(path: &Path) -> io::Result<OwnedFd> {
    dir_at(CWD, path)
}

fn dir_at(parent: impl AsFd, name: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

/// Opens a directory in another one.
pub(super) fn dir_in(parent: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    dir_at(parent, Path::new(name))
}

/// Opens a directory in another one, which is made if it is missing.
pub(super) fn subdir(parent: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    match dir_at(parent.as_fd(), Path::new(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match rustix::fs::mkdirat(parent.as_fd(), name, DIR_MODE) {
        Ok(()) | Err(Errno::EXIST) => dir_at(parent, Path::new(name)),
        Err(error) => Err(error.into()),
    }
}

/// Opens a file of a directory. A pipe or a device is refused, and does not block.
pub(super) fn open_file(directory: impl AsFd, name: &str, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(directory, name, flags, FILE_MODE)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// A new file, where nothing may be yet.
pub(super) fn create_file(directory: impl AsFd, name: &str) -> io::Result<File> {
    open_file(directory, name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
}

/// What may be at the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    /// It is replaced.
    Replace,
    /// It stays, and the write fails.
    Keep,
}

/// Writes a file under another name, and gives it its own when it is whole.
pub(super) fn write_whole(
    directory: impl AsFd,
    name: &str,
    existing: Existing,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let unfinished = format!(".{}{UNFINISHED}", Uuid::new_v4());
    let file = create_file(directory.as_fd(), &unfinished)?;
    let written =
        fill_and_close(file, fill).and_then(|()| rename(directory.as_fd(), &unfinished, name, existing));
    if written.is_err() {
        let _the_first_error_counts = rustix::fs::unlinkat(directory, unfinished, AtFlags::empty());
    }
    written
}

fn fill_and_close(file: File, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(64 * 1024, file);
    fill(&mut writer)?;
    writer.flush()
}

fn rename(directory: impl AsFd, from: &str, to: &str, existing: Existing) -> io::Result<()> {
    let directory = directory.as_fd();
    if existing == Existing::Keep {
        match rustix::fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
            // Not every file system can; names are not used twice, so that replacing is a second line of defence.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            renamed => return Ok(renamed?),
        }
    }
    Ok(rustix::fs::renameat(directory, from, directory, to)?)
}

/// The names in a directory.
pub(super) fn names(directory: impl AsFd) -> io::Result<Vec<OsString>> {
    use std::os::unix::ffi::OsStringExt as _;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    Ok(names)
}

/// Removes what a writer that died left unfinished.
pub(super) fn sweep(directory: impl AsFd) -> io::Result<()> {
    for name in names(directory.as_fd())? {
        let is_unfinished =
            name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(UNFINISHED));
        if is_unfinished {
            let _another_sweep_may_have = rustix::fs::unlinkat(directory.as_fd(), name, AtFlags::empty());
        }
    }
    Ok(())
}

/// Whether there is something with this name.
pub(super) fn has(directory: impl AsFd, name: &str) -> bool {
    kind(directory, name).is_ok()
}

/// What has this name: a file, a directory, a link.
pub(super) fn kind(directory: impl AsFd, name: &str) -> io::Result<FileType> {
    let status = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(status.st_mode))
}
