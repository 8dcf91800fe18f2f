//! File operations that never follow a symbolic link inside the cache.
//!
//! The cache lies in a directory that a hostile repository may have shaped before we arrived. Every step below the
//! cache root is therefore taken from an open directory with `O_NOFOLLOW`, so that no check can be raced and no link
//! leads reading or writing elsewhere.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use fullsend_origin::{Sha256Digest, Sha256Hasher, TreePath};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

/// Only the owner may enter.
const DIR_MODE: u32 = 0o700;
/// Only the owner may read and write.
const FILE_MODE: u32 = 0o600;
/// Large enough that system calls do not show, small enough to stay in the processor's cache.
pub(crate) const CHUNK: usize = 256 * 1024;
/// Bits of `open` for anything in the cache.
const SAFE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the directory `name` below `parent`; fails on links.
pub(crate) fn open_dir(parent: impl AsFd, name: &str) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(parent, name, SAFE | OFlags::DIRECTORY, Mode::empty())?)
}

/// Opens the directory at `path`; only its last segment must not be a link.
pub(crate) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, SAFE | OFlags::DIRECTORY, Mode::empty())?)
}

/// Opens the file `name` below `parent`. `None` when it is a link, pipe, device or directory.
pub(crate) fn open_regular(parent: impl AsFd, name: &str) -> io::Result<Option<File>> {
    // Without O_NONBLOCK, opening a planted pipe would wait for a writer forever.
    let opened = rustix::fs::openat(parent, name, SAFE | OFlags::NONBLOCK, Mode::empty());
    let file = match opened {
        Ok(descriptor) => File::from(descriptor),
        // A link, a socket, a device without driver.
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO | rustix::io::Errno::NODEV) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Opens the file at `path` below `root`, one segment at a time.
pub(crate) fn open_below(root: impl AsFd, path: &TreePath) -> io::Result<Option<File>> {
    let mut segments = path.segments();
    let name = segments.next_back().unwrap_or_default();
    match open_parents(root.as_fd(), segments)? {
        Some(parent) => open_regular(parent, name),
        None => open_regular(root, name),
    }
}

/// Opens the directory at `path` below `root`; an empty path is `root` itself.
pub(crate) fn open_dir_below(root: impl AsFd, path: &str) -> io::Result<OwnedFd> {
    match open_parents(root.as_fd(), path.split('/').filter(|segment| !segment.is_empty()))? {
        Some(directory) => Ok(directory),
        None => open_dir(root, "."),
    }
}

/// Follows directories down from `root`; `None` when there are no segments.
fn open_parents<'a>(root: impl AsFd, segments: impl Iterator<Item = &'a str>) -> io::Result<Option<OwnedFd>> {
    let mut current: Option<OwnedFd> = None;
    for segment in segments {
        current = Some(match &current {
            Some(parent) => open_dir(parent, segment)?,
            None => open_dir(root.as_fd(), segment)?,
        });
    }
    Ok(current)
}

/// What a directory entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    Special,
}

/// Names and kinds in a directory, without `.` and `..`. Names that are not UTF-8 are replaced and thus unknown.
pub(crate) fn list(directory: impl AsFd) -> io::Result<Vec<(String, Kind)>> {
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            let kind = kind_of(&directory, entry.file_name(), entry.file_type())?;
            entries.push((name, kind));
        }
    }
    Ok(entries)
}

/// The kind of an entry, asked for again where the file system does not say it in listings.
fn kind_of(directory: impl AsFd, name: &std::ffi::CStr, listed: FileType) -> io::Result<Kind> {
    let actual = if listed == FileType::Unknown {
        FileType::from_raw_mode(rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)
    } else {
        listed
    };
    Ok(match actual {
        FileType::RegularFile => Kind::Regular,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        FileType::Fifo
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Socket
        | FileType::Unknown => Kind::Special,
    })
}

/// The target of the link `name`, if it is one and its target is UTF-8.
pub(crate) fn link_target(directory: impl AsFd, name: &str) -> Option<String> {
    rustix::fs::readlinkat(directory, name, Vec::new()).ok()?.into_string().ok()
}

/// Whether `name` below `parent` still is the open directory `directory`.
pub(crate) fn is_same(parent: impl AsFd, name: &str, directory: impl AsFd) -> bool {
    let named = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    let open = rustix::fs::fstat(directory);
    matches!((named, open), (Ok(a), Ok(b)) if a.st_dev == b.st_dev && a.st_ino == b.st_ino)
}

/// Creates a directory for the owner only, whatever the umask says. An existing one is left as it is.
pub(crate) fn ensure_dir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(DIR_MODE).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(DIR_MODE)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Creates and fills a new file for the owner only, and waits until it is on disk.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Opens a file for appending and locking, creating it for the owner only; fails on links.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC).bits();
    let open = |options: &mut OpenOptions| {
        options.read(true).append(true).mode(FILE_MODE).custom_flags(flags.cast_signed()).open(path)
    };
    match open(OpenOptions::new().create_new(true)) {
        Ok(file) => file.set_permissions(Permissions::from_mode(FILE_MODE)).map(|()| file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(&mut OpenOptions::new()),
        Err(error) => Err(error),
    }
}

/// Reads a file of at most `limit` bytes. `None` when it is larger, or a link, pipe, device or directory.
pub(crate) fn read_small(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let (parent, name) = match (path.parent(), path.file_name().and_then(|name| name.to_str())) {
        (Some(parent), Some(name)) => (parent, name),
        (_, None) | (None, _) => return Ok(None),
    };
    let Some(file) = open_regular(open_root(parent)?, name)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Waits until the names in a directory are on disk.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Reads a whole file and its digest in one pass.
pub(crate) fn read_hashed(file: &mut File) -> io::Result<(Vec<u8>, Sha256Digest)> {
    let expected = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    let mut bytes = Vec::with_capacity(expected.saturating_add(1));
    let mut hasher = Sha256Hasher::new();
    loop {
        let start = bytes.len();
        let read = Read::by_ref(file).take(CHUNK as u64).read_to_end(&mut bytes)?;
        if read == 0 {
            return Ok((bytes, hasher.finish()));
        }
        hasher.update(bytes.get(start..).unwrap_or_default());
    }
}

/// The size and digest of a file, read through `buffer`.
pub(crate) fn digest_of(file: &mut File, buffer: &mut [u8]) -> io::Result<(u64, Sha256Digest)> {
    let mut hasher = Sha256Hasher::new();
    let mut size = 0;
    loop {
        let read = match file.read(buffer) {
            Ok(0) => return Ok((size, hasher.finish())),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(buffer.get(..read).unwrap_or_default());
        size += read as u64;
    }
}
