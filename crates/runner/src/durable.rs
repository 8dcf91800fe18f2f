//! Files that are whole or not there, readable by their owner only.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};

/// Puts `content` in the place of `path`, for good: a machine that goes off leaves the old file or the new one.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    put(path, content, |file| file.sync_data())
}

/// Puts `content` in the place of `path`: a process that is killed leaves the old file or the new one. Does not wait for the
/// disk, so it is what is written again and again.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    put(path, content, |_| Ok(()))
}

fn put(path: &Path, content: &[u8], settle: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".fullsend-").tempfile_in(directory)?;
    file.write_all(content)?;
    settle(file.as_file())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Opens a file to add lines to. Nothing may be there yet.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Makes a directory that only its owner sees.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Reads at most `limit` bytes of the regular file at `path`, which may not be a link; none when it has more.
///
/// Without `O_NONBLOCK`, opening a pipe that somebody put there would wait for a writer.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}
