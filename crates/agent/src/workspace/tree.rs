//! Walks the files below a directory, in order, without following links and without what ignore files leave out.
//!
//! Directories are opened relative to each other, so that one that is swapped for a link meanwhile is not entered; and
//! by identity, so that a reserved one is not entered either.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{AtFlags, Dir, FileType, OFlags};
use rustix::io::Errno;

use super::open::open_regular;
use super::reach::{Identity, open_directory};
use super::{FileProblem, SandboxPath, Workspace};

/// Deeper directories are not entered: each level holds a handle.
pub(crate) const DEEPEST: usize = 64;
/// After this many entries a walk ends.
const MOST_ENTRIES: usize = 500_000;
/// Larger ignore files, and more lines of one, count as absent: each line is compiled.
const LARGEST_IGNORE_FILE: u64 = 128 * 1024;
const MOST_IGNORE_LINES: usize = 2_000;
/// In the order in which later ones win.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Which files are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ignoring {
    /// What ignore files say, and what is in `.git`.
    Ignored,
    /// None.
    Nothing,
}

/// What to walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreePlan<'a> {
    pub(crate) start: &'a SandboxPath,
    /// 1 for the entries of the directory itself.
    pub(crate) depth: usize,
    pub(crate) ignoring: Ignoring,
}

/// Something below the directory.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    /// The directory that it is in.
    pub(crate) parent: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
    /// Its path from where the walk started; odd bytes replaced.
    pub(crate) path: &'a str,
    pub(crate) kind: FileType,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeEnd {
    /// The visitor, or the bound on entries, ended it early.
    pub(crate) stopped: bool,
    /// Directories that could not be read, or lie too deep.
    pub(crate) unread: usize,
}

/// One directory under way.
struct Level {
    handle: OwnedFd,
    /// Its path from the start of the walk, with a slash at its end; empty for the start.
    prefix: String,
    /// What is left of it, the next one last.
    entries: Vec<(OsString, FileType)>,
    rules: Option<Gitignore>,
}

impl Workspace {
    /// Shows everything below a directory to `visit`, each directory before what is in it.
    pub(crate) fn walk(
        &self,
        plan: TreePlan<'_>,
        visit: &mut dyn FnMut(&Node<'_>) -> ControlFlow<()>,
    ) -> Result<TreeEnd, FileProblem> {
        let root = self.open_directory(plan.start)?;
        let outer =
            if plan.ignoring == Ignoring::Ignored { self.outer_rules(plan.start) } else { Vec::new() };
        let mut walk =
            Walk { workspace: self, plan, outer, levels: Vec::new(), seen: 0, end: TreeEnd::default() };
        walk.enter(root, String::new())?;
        walk.run(visit);
        Ok(walk.end)
    }

    /// The rules of the directories above the start, from the mount on.
    fn outer_rules(&self, start: &SandboxPath) -> Vec<Gitignore> {
        let Some((mount, below)) = self.mount_of(start) else { return Vec::new() };
        let mut rules = Vec::new();
        let mut directory = mount.target().clone();
        for name in below.split('/').filter(|name| !name.is_empty()) {
            let handle = self.open_directory(&directory);
            rules.extend(
                handle.ok().and_then(|handle| rules_of(handle.as_fd(), Path::new(directory.as_str()))),
            );
            let Ok(next) = directory.join(name) else { break };
            directory = next;
        }
        rules
    }
}

struct Walk<'a> {
    workspace: &'a Workspace,
    plan: TreePlan<'a>,
    outer: Vec<Gitignore>,
    levels: Vec<Level>,
    seen: usize,
    end: TreeEnd,
}

impl Walk<'_> {
    fn run(&mut self, visit: &mut dyn FnMut(&Node<'_>) -> ControlFlow<()>) {
        while let Some(level) = self.levels.last_mut() {
            let Some((name, kind)) = level.entries.pop() else {
                self.levels.pop();
                continue;
            };
            let path = format!("{}{}", level.prefix, name.to_string_lossy());
            if self.is_ignored(&path, &name, kind) {
                continue;
            }
            let Some(level) = self.levels.last() else { return };
            let opened = (kind == FileType::Directory).then(|| open_directory(level.handle.as_fd(), &name));
            if let Some(Ok(handle)) = &opened
                && self.is_reserved(handle)
            {
                continue;
            }
            self.seen += 1;
            let node = Node { parent: level.handle.as_fd(), name: &name, path: &path, kind };
            if self.seen > MOST_ENTRIES || visit(&node).is_break() {
                self.end.stopped = true;
                return;
            }
            if let Some(opened) = opened
                && self.levels.len() < self.plan.depth
            {
                self.descend(opened, &path);
            }
        }
    }

    /// Goes into a directory, or counts it where that is not possible.
    fn descend(&mut self, opened: Result<OwnedFd, Errno>, path: &str) {
        let entered = match opened {
            Ok(handle) if self.levels.len() < DEEPEST => self.enter(handle, format!("{path}/")).is_ok(),
            Ok(_) | Err(_) => false,
        };
        if !entered {
            self.end.unread += 1;
        }
    }

    fn is_reserved(&self, handle: &OwnedFd) -> bool {
        // A directory that cannot be identified is not entered.
        rustix::fs::fstat(handle).map_or(true, |stat| self.workspace.is_reserved(Identity::of(&stat)))
    }

    fn enter(&mut self, handle: OwnedFd, prefix: String) -> Result<(), FileProblem> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() >= MOST_ENTRIES {
                self.end.stopped = true;
                break;
            }
            entries.push((name.to_owned(), kind_of(&handle, &entry)));
        }
        entries.sort_unstable_by(|left, right| right.0.cmp(&left.0));
        let rules = match self.plan.ignoring {
            Ignoring::Nothing => None,
            Ignoring::Ignored => rules_of(handle.as_fd(), &Path::new(self.plan.start.as_str()).join(&prefix)),
        };
        self.levels.push(Level { handle, prefix, entries, rules });
        Ok(())
    }

    /// Whether rules leave it out; those of the nearest directory win.
    fn is_ignored(&self, path: &str, name: &OsStr, kind: FileType) -> bool {
        if self.plan.ignoring == Ignoring::Nothing {
            return false;
        }
        let is_directory = kind == FileType::Directory;
        if is_directory && name == ".git" {
            return true;
        }
        let whole = Path::new(self.plan.start.as_str()).join(path);
        let inner = self.levels.iter().rev().filter_map(|level| level.rules.as_ref());
        for rules in inner.chain(self.outer.iter().rev()) {
            match rules.matched(&whole, is_directory) {
                ignore::Match::None => {}
                ignore::Match::Ignore(_) => return true,
                ignore::Match::Whitelist(_) => return false,
            }
        }
        false
    }
}

/// The kind of an entry; asked for where the directory does not tell.
fn kind_of(directory: &OwnedFd, entry: &rustix::fs::DirEntry) -> FileType {
    let told = entry.file_type();
    if told != FileType::Unknown {
        return told;
    }
    rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

/// The rules in the ignore files of a directory. Files that cannot be read or understood count as absent.
fn rules_of(directory: BorrowedFd<'_>, path: &Path) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(path);
    let mut found = false;
    for name in IGNORE_FILES {
        let bytes = open_regular(directory, OsStr::new(name), OFlags::RDONLY)
            .and_then(|file| file.read_all(LARGEST_IGNORE_FILE));
        let Ok(bytes) = bytes else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for line in text.trim_start_matches('\u{feff}').lines().take(MOST_IGNORE_LINES) {
            found |= builder.add_line(None, line).is_ok();
        }
    }
    if !found {
        return None;
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
