//! Which paths a command wanted and could not have: read from its system calls while they wait.
//!
//! Only for sessions that ask for it, because every such call then takes a detour. What is reported is what the view and
//! the rules of the session forbid, never a guess from what a program prints.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use fullsend_sandbox_init::kernel::notifications::Notification;
use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::environment::HOME;
use super::mounts::Pinned;
use crate::spec::{Denial, Denied, FilesystemAccess, is_at_or_below};

/// Where every session may write.
const SCRATCH: [&str; 6] = ["/tmp", "/var/tmp", "/dev", "/proc", HOME, "/.fullsend"];
/// Directories of the system, which are the same in every session.
const SYSTEM: [&str; 10] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/dev", "/proc", "/sys"];

const LONGEST_PATH: usize = 4096;

/// What is needed to judge the paths of a session.
#[derive(Debug)]
pub(crate) struct PathRules {
    /// The deepest first.
    mounts: Vec<Arc<Pinned>>,
    /// Process 1 on the host; it opens paths for its own purposes.
    init: u32,
}

/// How a call uses a path: the argument with the path, that with the directory it is relative to, and the kind of use.
struct Use {
    path: usize,
    directory: Option<usize>,
    access: Access,
}

enum Access {
    Read,
    Write,
    /// As the flags in this argument say.
    Flags(usize),
}

impl PathRules {
    pub(crate) fn new(mounts: &[Arc<Pinned>], init: u32) -> Self {
        let mut mounts = mounts.to_vec();
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.target.len()));
        Self { mounts, init }
    }

    /// What the call asks for, if the session does not allow it. `None` also for calls that have nothing to do with paths.
    pub(crate) fn judge(&self, call: &Notification) -> Option<Denial> {
        if call.pid == self.init {
            return None;
        }
        let usage = usage(call.call)?;
        let path = absolute(call, &usage)?;
        let writes = match usage.access {
            Access::Read => false,
            Access::Write => true,
            Access::Flags(argument) => writes(*call.arguments.get(argument)?),
        };
        let refused = if writes { !self.is_writable(&path) } else { self.is_hidden(&path, call.pid) };
        refused.then(|| self.explain(path, writes))
    }

    fn is_writable(&self, path: &str) -> bool {
        match self.mount(path) {
            Some(mount) => mount.access == FilesystemAccess::ReadWrite,
            None => SCRATCH.iter().any(|place| is_at_or_below(path, place)),
        }
    }

    /// Not there inside, but there on the host: without the sandbox it would have been found. Settings of the system are
    /// left out, because programs look for many of them and go on without.
    fn is_hidden(&self, path: &str, pid: u32) -> bool {
        if self.mount(path).is_some() || SYSTEM.iter().any(|place| is_at_or_below(path, place)) {
            return false;
        }
        Path::new(path).symlink_metadata().is_ok() && !exists_inside(path, pid)
    }

    fn mount(&self, path: &str) -> Option<&Arc<Pinned>> {
        self.mounts.iter().find(|mount| is_at_or_below(path, &mount.target))
    }

    fn explain(&self, path: String, writes: bool) -> Denial {
        let (place, path) = (grantable(&path), printable(&path));
        let of_the_system = SYSTEM.iter().any(|place| is_at_or_below(&path, place));
        let (reason, remedy) = match (writes, self.mount(&path)) {
            (true, Some(mount)) => (
                format!("`{path}` is in a mount that is read-only"),
                Some(format!("--rw {}:{}", mount.source.path.display(), mount.target)),
            ),
            (true, None) if of_the_system => {
                (format!("`{path}` is a system path, writable in no sandbox"), None)
            }
            (true, None) => {
                // The whole machine is granted to nobody.
                let remedy = (place != "/").then(|| format!("write: [\"{place}\"] (--rw {place})"));
                (format!("`{path}` is not writable in this sandbox"), remedy)
            }
            (false, _) => {
                let remedy = format!("read: [\"{place}\"] (--ro {place})");
                (format!("`{path}` is not part of this sandbox"), Some(remedy))
            }
        };
        let access = if writes { "write" } else { "read" };
        Denial { what: Denied::Path { path, access: access.to_owned() }, reason, remedy, count: 1 }
    }
}

/// Whether a process of the session would find the path. Links inside lead nowhere else.
fn exists_inside(path: &str, pid: u32) -> bool {
    let Ok(root) = File::open(format!("/proc/{pid}/root")) else { return true };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT).is_ok()
}

/// A path is any text that a command likes, and ends up in messages: nothing in it moves a cursor or starts a line.
fn printable(path: &str) -> String {
    let escape = |character: char| match character.is_control() {
        true => character.escape_debug().to_string(),
        false => character.to_string(),
    };
    path.chars().map(escape).collect()
}

/// What can be mounted: the path if it exists, else the nearest directory above that does.
fn grantable(path: &str) -> String {
    let existing = Path::new(path).ancestors().find(|path| path.exists());
    existing.map_or_else(|| path.to_owned(), |path| path.display().to_string())
}

fn writes(flags: u64) -> bool {
    let flags = flags as i32;
    flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0
}

fn absolute(call: &Notification, usage: &Use) -> Option<String> {
    let path = read_text(call.pid, *call.arguments.get(usage.path)?)?;
    if path.starts_with('/') {
        return normal(Path::new(&path));
    }
    if path.is_empty() {
        return None;
    }
    let link = match usage.directory.and_then(|argument| call.arguments.get(argument)) {
        Some(directory) if *directory as i32 != libc::AT_FDCWD => {
            format!("/proc/{}/fd/{}", call.pid, *directory as i32)
        }
        Some(_) | None => format!("/proc/{}/cwd", call.pid),
    };
    normal(&std::fs::read_link(link).ok()?.join(path))
}

fn normal(path: &Path) -> Option<String> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => normal.push(component),
        }
    }
    normal.to_str().filter(|path| path.starts_with('/')).map(str::to_owned)
}

/// A string of a process that waits in a system call.
fn read_text(pid: u32, address: u64) -> Option<String> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST_PATH {
        let mut chunk = [0; 256];
        // Not across a page, the next of which may not be there.
        let position = address.checked_add(bytes.len() as u64)?;
        let room = (4096 - position % 4096).min(256) as usize;
        let count = memory.read_at(chunk.get_mut(..room)?, position).ok()?;
        let read = chunk.get(..count)?;
        match read.iter().position(|byte| *byte == 0) {
            Some(end) => {
                bytes.extend_from_slice(read.get(..end)?);
                return String::from_utf8(bytes).ok();
            }
            None if count == 0 => return None,
            None => bytes.extend_from_slice(read),
        }
    }
    None
}

fn usage(call: i32) -> Option<Use> {
    let at = |access| Some(Use { path: 1, directory: Some(0), access });
    match i64::from(call) {
        libc::SYS_openat => at(Access::Flags(2)),
        libc::SYS_newfstatat | libc::SYS_statx | libc::SYS_faccessat | libc::SYS_faccessat2 => {
            at(Access::Read)
        }
        libc::SYS_unlinkat
        | libc::SYS_mkdirat
        | libc::SYS_mknodat
        | libc::SYS_fchmodat
        | libc::SYS_renameat2 => at(Access::Write),
        libc::SYS_chdir => Some(Use { path: 0, directory: None, access: Access::Read }),
        libc::SYS_truncate => Some(Use { path: 0, directory: None, access: Access::Write }),
        other => old_usage(other),
    }
}

#[cfg(target_arch = "x86_64")]
fn old_usage(call: i64) -> Option<Use> {
    let plain = |access| Some(Use { path: 0, directory: None, access });
    match call {
        libc::SYS_open => plain(Access::Flags(1)),
        libc::SYS_stat | libc::SYS_lstat | libc::SYS_access => plain(Access::Read),
        libc::SYS_creat
        | libc::SYS_unlink
        | libc::SYS_rmdir
        | libc::SYS_mkdir
        | libc::SYS_mknod
        | libc::SYS_chmod => plain(Access::Write),
        libc::SYS_rename => plain(Access::Write),
        libc::SYS_renameat => Some(Use { path: 1, directory: Some(0), access: Access::Write }),
        _ => None,
    }
}

#[cfg(target_arch = "aarch64")]
fn old_usage(_call: i64) -> Option<Use> {
    None
}
