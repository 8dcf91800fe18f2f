//! What there is in the workspace that may not be changed.
//!
//! Names are found by one walk. After that only directories are looked at again whose inode has changed: a name that is
//! added, removed or replaced changes its directory, and no process can hide that.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode, OFlags, ResolveFlags};

use super::item::{Item, Stamp, What};
use super::realm::{Judge, Realm};
use crate::workspace::reach::Identity;
use crate::workspace::{Mount, Workspace};

/// More directories are not looked at: each costs a call after every command.
const MOST_DIRECTORIES: usize = 50_000;
/// More things are not kept in mind.
const MOST_ITEMS: usize = 20_000;
/// How much is kept of them all, to be put back.
const MOST_BYTES: usize = 16 << 20;
/// Directories further down are not looked at.
const DEEPEST: usize = 64;

/// A directory that is looked at again when it has changed.
#[derive(Debug)]
struct Watched {
    stamp: Stamp,
    realm: Realm,
}

/// What there is, as it was when it was looked at last.
#[derive(Debug, Default)]
pub(super) struct Tree {
    directories: BTreeMap<String, Watched>,
    pub(super) items: BTreeMap<String, Item>,
    room: usize,
    /// Whether something was left out for its depth or number.
    pub(super) incomplete: bool,
}

/// Where names are looked for, and by which rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) mount: &'a Mount,
    pub(super) judge: Judge<'a>,
}

impl Ground<'_> {
    /// A directory of the workspace, by a path without links.
    pub(super) fn open(&self, path: &str) -> Option<OwnedFd> {
        open_below(self.mount.handle(), path, OFlags::RDONLY).ok()
    }
}

/// Opens a directory below another. No name on the way may be a link: a command could have put it there.
pub(super) fn open_below(
    root: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
) -> Result<OwnedFd, rustix::io::Errno> {
    let path = if path.is_empty() { "." } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, path, flags | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), resolve)
}

impl Tree {
    /// Looks again at whatever has changed.
    pub(super) fn refresh(&mut self, ground: &Ground<'_>) {
        self.incomplete = false;
        self.room = MOST_BYTES.saturating_sub(self.items.values().map(Item::weight).sum());
        if self.directories.is_empty() {
            self.list("", Realm::Plain, ground);
        } else {
            let root = ground.mount.handle();
            let changed: Vec<(String, Realm)> = self
                .directories
                .iter()
                .filter(|(path, watched)| !is_still(root, path, &watched.stamp))
                .map(|(path, watched)| (path.clone(), watched.realm))
                .collect();
            for (path, realm) in changed {
                // It may have gone with a directory above it.
                if self.directories.contains_key(&path) {
                    self.list(&path, realm, ground);
                }
            }
        }
        self.look_again(ground);
    }

    /// Lists a directory: forgets what is gone, and walks into what is new.
    fn list(&mut self, path: &str, realm: Realm, ground: &Ground<'_>) {
        let mut open = vec![(path.to_owned(), realm)];
        while let Some((path, realm)) = open.pop() {
            let Some(handle) = ground.open(&path) else {
                self.unlisted(&path, realm, ground);
                continue;
            };
            let Ok(stat) = rustix::fs::fstat(&handle) else { continue };
            if ground.workspace.is_reserved(Identity::of(&stat)) {
                continue;
            }
            if self.directories.len() >= MOST_DIRECTORIES && !self.directories.contains_key(&path) {
                self.incomplete = true;
                continue;
            }
            // Before it is read: what changes meanwhile changes it again.
            self.directories.insert(path.clone(), Watched { stamp: Stamp::of(&stat), realm });
            let (entries, odd) = entries(handle);
            self.incomplete |= odd;
            self.forget_missing(&path, &entries);
            for (name, kind) in entries {
                open.extend(self.meet(&path, &name, kind, realm, ground));
            }
        }
    }

    /// A directory that cannot be listed is gone, or is kept in mind so that it is tried again.
    fn unlisted(&mut self, path: &str, realm: Realm, ground: &Ground<'_>) {
        let handle = open_below(ground.mount.handle(), path, OFlags::PATH);
        let stat = handle.ok().and_then(|handle| rustix::fs::fstat(&handle).ok());
        match stat {
            Some(stat) => {
                let stamp = Stamp::of(&stat).unsettled();
                self.directories.insert(path.to_owned(), Watched { stamp, realm });
            }
            None => self.forget(path),
        }
    }

    /// Keeps a name in mind if it may not be changed; the directory to be listed next, if it is a new one.
    fn meet(
        &mut self,
        directory: &str,
        name: &str,
        kind: FileType,
        realm: Realm,
        ground: &Ground<'_>,
    ) -> Option<(String, Realm)> {
        let path = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
        let class = ground.judge.class(realm, &path, name, kind == FileType::Directory);
        if let Some(needs) = class.needs.filter(|_| !self.items.contains_key(&path)) {
            if self.items.len() >= MOST_ITEMS {
                self.incomplete = true;
            } else if let Some(parent) = ground.open(directory)
                && let Ok(item) = Item::look(parent.as_fd(), name.as_bytes(), needs, &mut self.room)
                && !is_reserved(&item, ground)
            {
                self.items.insert(path.clone(), item);
            }
        }
        let below = class.below.filter(|_| !self.directories.contains_key(&path))?;
        if path.split('/').count() > DEEPEST {
            self.incomplete = true;
            return None;
        }
        Some((path, below))
    }

    /// Looks at each thing itself: a file can be changed without its directory.
    fn look_again(&mut self, ground: &Ground<'_>) {
        let root = ground.mount.handle();
        let mut gone = Vec::new();
        for (path, item) in &mut self.items {
            if is_still(root, path, &item.stamp) || item.what == What::Directory && is_directory(root, path) {
                continue;
            }
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            let looked = ground.open(directory).and_then(|parent| {
                Item::look(parent.as_fd(), name.as_bytes(), item.needs, &mut self.room).ok()
            });
            match looked {
                Some(looked) => *item = looked,
                None => gone.push(path.clone()),
            }
        }
        for path in gone {
            self.items.remove(&path);
        }
    }

    fn forget_missing(&mut self, directory: &str, entries: &[(String, FileType)]) {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let names: std::collections::HashMap<&str, FileType> =
            entries.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
        let is_gone = |path: &str, needs_directory: bool| {
            let name = path.strip_prefix(&prefix).filter(|name| !name.is_empty() && !name.contains('/'));
            name.is_some_and(|name| match names.get(name) {
                Some(kind) => needs_directory && *kind != FileType::Directory,
                None => true,
            })
        };
        let directories = below(&self.directories, &prefix).into_iter().filter(|path| is_gone(path, true));
        let items = below(&self.items, &prefix).into_iter().filter(|path| is_gone(path, false));
        let gone: Vec<String> = directories.chain(items).collect();
        for path in gone {
            self.forget(&path);
        }
    }

    /// Forgets a path and everything below it.
    fn forget(&mut self, path: &str) {
        self.directories.remove(path);
        self.items.remove(path);
        let prefix = format!("{path}/");
        for gone in below(&self.directories, &prefix) {
            self.directories.remove(&gone);
        }
        for gone in below(&self.items, &prefix) {
            self.items.remove(&gone);
        }
    }
}

/// The paths that begin so.
fn below<T>(all: &BTreeMap<String, T>, prefix: &str) -> Vec<String> {
    let from = all.range(prefix.to_owned()..).map(|(path, _)| path);
    from.take_while(|path| path.starts_with(prefix)).cloned().collect()
}

fn is_still(root: BorrowedFd<'_>, path: &str, before: &Stamp) -> bool {
    let path = if path.is_empty() { "." } else { path };
    before.settled
        && rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| before.is_still(&stat))
}

fn is_directory(root: BorrowedFd<'_>, path: &str) -> bool {
    open_below(root, path, OFlags::PATH).is_ok()
}

/// The records of runs change all the time, and no command reaches them.
fn is_reserved(item: &Item, ground: &Ground<'_>) -> bool {
    let (device, inode) = item.stamp.file;
    item.what == What::Directory && ground.workspace.is_reserved(Identity::new(device, inode))
}

/// The names in a directory, and whether there are some that no pattern can speak of.
fn entries(handle: OwnedFd) -> (Vec<(String, FileType)>, bool) {
    let (mut found, mut odd) = (Vec::new(), false);
    let Ok(directory) = Dir::read_from(&handle) else { return (found, true) };
    for entry in directory.flatten() {
        let told = entry.file_type();
        let kind = if told == FileType::Unknown { kind_of(&handle, &entry) } else { told };
        match entry.file_name().to_str() {
            Ok("." | "..") => {}
            Ok(name) => found.push((name.to_owned(), kind)),
            Err(_) => odd |= kind == FileType::Directory,
        }
    }
    (found, odd)
}

fn kind_of(directory: &OwnedFd, entry: &DirEntry) -> FileType {
    rustix::fs::statat(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}
