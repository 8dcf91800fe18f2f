//! Files of the workspace, written whole: a reader sees the old bytes or the new ones, and a full disk loses neither.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use super::open::{expect_regular, open_regular, read_all};
use super::reach::{Gaps, Links, Reached, open_directory};
use super::{Access, FileProblem, SandboxPath, Workspace};

/// Names of new files until they are complete are tried this often.
const TRIES: usize = 64;
/// How the names of drafts begin and end; between them are the process, when it began, and a count.
const DRAFT_PREFIX: &str = ".fullsend-";
const DRAFT_SUFFIX: &str = ".tmp";
/// What of a file's mode a replacement keeps. Not the set-user-id bits: writing to a file takes them away.
const PERMISSIONS: u32 = 0o777;
/// Makes names of files that are written at once differ.
static NEXT: AtomicU64 = AtomicU64::new(0);
/// When this process began.
static START: OnceLock<u64> = OnceLock::new();

/// What to do about directories that are missing above a new file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// Refuse.
    #[default]
    MustExist,
    /// Create them.
    Create,
}

/// A place where a file is or can be, in a directory that is held.
pub struct Place {
    parent: OwnedFd,
    name: OsString,
    old: Option<Old>,
}

/// The file that is there.
struct Old {
    file: File,
    stat: Stat,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Workspace {
    /// Finds the place of a file to be written. Where the path ends in a link to a file inside, it is that file's place.
    pub fn place(&self, path: &SandboxPath, parents: Parents) -> Result<Place, FileProblem> {
        let (mount, _) = self.mount_of(path).ok_or(FileProblem::Outside)?;
        let gaps = match (mount.access(), parents) {
            (Access::Writable, Parents::Create) => Gaps::Create,
            (Access::Writable, Parents::MustExist) | (Access::ReadOnly, _) => Gaps::Refuse,
        };
        // What a read-only mount reserves is named as such: the answer must not depend on the mode of the mount.
        let reached = self.reach(path, gaps, Links::Follow);
        if mount.access() == Access::ReadOnly {
            return Err(reached.err().filter(is_about_place).unwrap_or(FileProblem::ReadOnlyMount));
        }
        match reached? {
            Reached::Directory(_) => Err(FileProblem::NotAFile("a directory")),
            Reached::Dangling => Err(FileProblem::DanglingLink),
            Reached::Free { parent, name } => Ok(Place { parent, name, old: None }),
            Reached::Entry { parent, name, kind } => {
                expect_regular(kind)?;
                // Open for writing: renaming over a file needs no permission of the file's own.
                let file = open_regular(parent.as_fd(), &name, OFlags::RDWR)?.into_file();
                let stat = rustix::fs::fstat(&file)?;
                Ok(Place { parent, name, old: Some(Old { file, stat }) })
            }
        }
    }
}

impl Workspace {
    /// Removes drafts beside a file that processes which are gone left there when they were killed.
    pub(crate) fn remove_drafts(&self, path: &SandboxPath) {
        let Ok(Reached::Free { parent, .. } | Reached::Entry { parent, .. }) =
            self.reach(path, Gaps::Refuse, Links::Follow)
        else {
            return;
        };
        // The handle only names the directory.
        let Ok(listed) = open_directory(parent.as_fd(), OsStr::new(".")) else { return };
        let Ok(entries) = rustix::fs::Dir::read_from(&listed) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_ok_and(is_orphan) {
                // One that cannot be removed does no harm but to be there.
                let _ = rustix::fs::unlinkat(&parent, entry.file_name(), AtFlags::empty());
            }
        }
    }
}

/// Whether this is the name of a draft whose process is gone. This process has none while it removes them.
fn is_orphan(name: &str) -> bool {
    let inner = name.strip_prefix(DRAFT_PREFIX).and_then(|rest| rest.strip_suffix(DRAFT_SUFFIX));
    let mut numbers = inner.into_iter().flat_map(|inner| inner.split('-')).map(str::parse::<u64>);
    let (Some(Ok(process)), Some(Ok(start)), Some(Ok(_)), None) =
        (numbers.next(), numbers.next(), numbers.next(), numbers.next())
    else {
        return false;
    };
    process == u64::from(std::process::id()) || start_of(process) != Some(start)
}

/// When a process began, in ticks since the machine did: together with its number it stands for no other.
fn start_of(process: u64) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may hold anything, also parentheses.
    let (_, after_name) = text.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

fn is_about_place(problem: &FileProblem) -> bool {
    matches!(problem, FileProblem::Outside | FileProblem::Reserved)
}

impl Place {
    /// Whether a file is there.
    pub fn is_taken(&self) -> bool {
        self.old.is_some()
    }

    /// The size of the file that is there.
    pub fn old_size(&self) -> Option<u64> {
        self.old.as_ref().map(|old| u64::try_from(old.stat.st_size).unwrap_or(0))
    }

    /// The bytes of the file that is there, unless there are more than `limit`.
    pub fn old_bytes(&self, limit: u64) -> Result<Option<Vec<u8>>, FileProblem> {
        let (Some(old), Some(size)) = (&self.old, self.old_size()) else { return Ok(None) };
        let mut file = &old.file;
        std::io::Seek::rewind(&mut file)?;
        read_all(file, size, limit).map(Some)
    }

    /// Puts a new file in the place, whole or not at all. Permissions and owner of a file that is there are kept.
    ///
    /// With `expected`, the file must still have these bytes just before it is replaced. A place that was free must
    /// still be free.
    pub fn put(self, bytes: &[u8], expected: Option<&[u8]>) -> Result<Put, FileProblem> {
        let mut draft = Draft::create(self.parent.as_fd(), self.old.is_some())?;
        draft.file.write_all(bytes)?;
        if let Some(old) = &self.old {
            draft.take_after(&old.stat)?;
        }
        let file = draft.file.try_clone()?;
        match (&self.old, expected) {
            (None, _) => draft.publish_new(&self.name)?,
            (Some(_), None) => draft.publish_over(&self.name)?,
            (Some(_), Some(expected)) => {
                let now = open_regular(self.parent.as_fd(), &self.name, OFlags::RDONLY)
                    .and_then(|file| file.read_all(expected.len() as u64));
                match now {
                    Ok(now) if now == expected => draft.publish_over(&self.name)?,
                    Ok(_) | Err(FileProblem::NotFound | FileProblem::TooLarge { .. }) => {
                        return Err(FileProblem::Changed);
                    }
                    Err(problem) => return Err(problem),
                }
            }
        }
        // Its name is part of when it was changed, so it is looked at when it has the last one.
        Ok(Put { new: rustix::fs::fstat(&file)?, old: self.old.map(|old| old.stat) })
    }

    /// A handle of the file that is there, to ask what it is called.
    pub(crate) fn old_handle(&self) -> Option<BorrowedFd<'_>> {
        self.old.as_ref().map(|old| old.file.as_fd())
    }
}

/// A file that was put in its place.
#[derive(Clone, Copy, Debug)]
pub struct Put {
    /// The file as it is now.
    pub(crate) new: Stat,
    /// The file whose name it took.
    pub(crate) old: Option<Stat>,
}

/// What the file system says of a file that is made now in a directory, and is gone again at once.
pub(crate) fn newest_file(directory: BorrowedFd<'_>) -> Result<Stat, FileProblem> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match rustix::fs::openat(directory, ".", flags, Mode::from_raw_mode(0o600)) {
        Ok(file) => Ok(rustix::fs::fstat(&file)?),
        // Not every file system has files without names.
        Err(_) => Ok(rustix::fs::fstat(&Draft::create(directory, true)?.file)?),
    }
}

/// A file beside the one that it is to become. It is removed unless it is published.
struct Draft<'a> {
    parent: BorrowedFd<'a>,
    name: String,
    file: File,
    published: bool,
}

impl<'a> Draft<'a> {
    fn create(parent: BorrowedFd<'a>, replaces: bool) -> Result<Self, FileProblem> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A copy of a private file is private from the start; a new file has what the umask leaves.
        let mode = Mode::from_raw_mode(if replaces { 0o600 } else { 0o666 });
        let process = std::process::id();
        let start = START.get_or_init(|| start_of(process.into()).unwrap_or_default());
        for _ in 0..TRIES {
            let count = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{DRAFT_PREFIX}{process}-{start}-{count}{DRAFT_SUFFIX}");
            match rustix::fs::openat(parent, &name, flags, mode) {
                Ok(handle) => return Ok(Self { parent, name, file: handle.into(), published: false }),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    fn take_after(&self, old: &Stat) -> Result<(), FileProblem> {
        let new = rustix::fs::fstat(&self.file)?;
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
            let (owner, group) =
                (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
            rustix::fs::fchown(&self.file, Some(owner), Some(group)).map_err(|_| FileProblem::OtherOwner)?;
        }
        Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(old.st_mode & PERMISSIONS))?)
    }

    fn publish_over(mut self, name: &OsStr) -> Result<(), FileProblem> {
        rustix::fs::renameat(self.parent, &self.name, self.parent, name)?;
        self.published = true;
        Ok(())
    }

    fn publish_new(mut self, name: &OsStr) -> Result<(), FileProblem> {
        let renamed =
            rustix::fs::renameat_with(self.parent, &self.name, self.parent, name, RenameFlags::NOREPLACE);
        match renamed {
            Ok(()) => self.published = true,
            Err(Errno::EXIST) => return Err(FileProblem::Exists),
            // File systems that cannot do it can usually do this, which also never replaces.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(self.parent, &self.name, self.parent, name, AtFlags::empty())?;
            }
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.published {
            // Nothing better can be done about a file that cannot be removed.
            let _ = rustix::fs::unlinkat(self.parent, &self.name, AtFlags::empty());
        }
    }
}
