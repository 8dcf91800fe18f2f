//! The walk over what an agent reads in a repository.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::files::open::{Identity, Root, Shape, identity, names, open_directory, open_file, shape};
use crate::files::place::{ContextKind, Place, comparable, is_dependencies};
use crate::files::read::{is_binary, read, text, unreadable};
use crate::files::rules::{LINK_OUTSIDE, NOT_A_FILE, TOO_DEEP, UNREADABLE};
use crate::finding::Finding;

/// Whether directories of dependencies are walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dependencies {
    /// They are named, not walked.
    #[default]
    Skip,
    /// They are walked like any other.
    Walk,
}

/// How far the walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimits {
    /// The largest file that is read, in bytes.
    pub file_size: u64,
    /// How many directories may lie in each other.
    pub depth: usize,
    /// Whether directories of dependencies are walked.
    pub dependencies: Dependencies,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self { file_size: 1 << 20, depth: 32, dependencies: Dependencies::Skip }
    }
}

/// A file that an agent reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    /// Relative to the root.
    pub path: PathBuf,
    /// What it is to an agent.
    pub kind: ContextKind,
    /// What it says.
    pub text: String,
}

/// Why something was not looked at although it is no problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// A directory of dependencies, or of the version control system.
    Dependencies,
    /// Not text, where that is nothing unusual.
    Binary,
    /// Another name of a file or directory that was looked at already.
    Seen,
    /// A link out of the tree, where nothing says that an agent follows it.
    LinkOutside,
}

/// What the walk came by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A file to scan.
    File(ContextFile),
    /// Something that was not looked at, on purpose.
    Skipped {
        /// Relative to the root.
        path: PathBuf,
        /// Why not.
        why: Skip,
    },
    /// Something that should have been looked at and could not be.
    Problem {
        /// Relative to the root.
        path: PathBuf,
        /// What is wrong with it.
        finding: Finding,
    },
}

/// Walks over what an agent that works in `root` would read as instructions, skills or settings.
///
/// The order depends on names only. Each file and directory is looked at once for each thing it can be to an agent,
/// however many links lead to it, so the work is bounded by the size of the tree.
pub fn context(root: Root, limits: ContextLimits) -> Context {
    let place = Place::Anywhere.below(&comparable(root.name()));
    let mut walk = Context {
        root,
        limits,
        frames: Vec::new(),
        seen_directories: HashSet::new(),
        seen_files: HashSet::new(),
        waiting: None,
    };
    let opened = walk.root.directory();
    walk.waiting = walk.enter(PathBuf::new(), opened, place);
    walk
}

/// The walk of [`context`].
#[derive(Debug)]
pub struct Context {
    root: Root,
    limits: ContextLimits,
    frames: Vec<Frame>,
    seen_directories: HashSet<(Identity, Place)>,
    seen_files: HashSet<(Identity, ContextKind)>,
    waiting: Option<Entry>,
}

/// A directory that the walk is in.
#[derive(Debug)]
struct Frame {
    directory: OwnedFd,
    path: PathBuf,
    place: Place,
    names: std::vec::IntoIter<OsString>,
}

impl Iterator for Context {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if let Some(entry) = self.waiting.take() {
            return Some(entry);
        }
        loop {
            let frame = self.frames.last_mut()?;
            let Some(name) = frame.names.next() else {
                self.frames.pop();
                continue;
            };
            if let Some(entry) = self.visit(&name) {
                return Some(entry);
            }
        }
    }
}

impl Context {
    /// Looks at `name` in the innermost directory.
    fn visit(&mut self, name: &OsStr) -> Option<Entry> {
        let frame = self.frames.last()?;
        let (path, place, lower) = (frame.path.join(name), frame.place, comparable(name));
        let kind = place.kind(&lower);
        match shape(&frame.directory, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(problem(path, unreadable(&error))),
            Ok(Shape::File) => {
                let kind = kind?;
                let opened = open_file(&frame.directory, name);
                self.file(path, opened, kind)
            }
            Ok(Shape::Special) => {
                kind.map(|_| problem(path, Finding::new(&NOT_A_FILE, None, "not a regular file")))
            }
            Ok(Shape::Directory) if self.is_skipped(place, &lower) => {
                Some(Entry::Skipped { path, why: Skip::Dependencies })
            }
            Ok(Shape::Directory) => {
                let opened = open_directory(&frame.directory, name);
                self.enter(path, opened, place.below(&lower))
            }
            Ok(Shape::Link) => self.link(path, place, &lower),
        }
    }

    /// Dependencies of a skill or of an agent's own directory are part of what the agent is given.
    fn is_skipped(&self, place: Place, name: &str) -> bool {
        let dependencies =
            self.limits.dependencies == Dependencies::Skip && !place.is_context() && is_dependencies(name);
        name == ".git" || dependencies
    }

    fn file(&mut self, path: PathBuf, opened: io::Result<File>, kind: ContextKind) -> Option<Entry> {
        let limit = self.limits.file_size;
        let content = opened.and_then(|file| {
            // Before reading: a thousand links to one file must not cost a thousand files.
            let is_new = self.seen_files.insert((identity(&file)?, kind));
            Ok(if is_new { Some(read(&file, limit)?) } else { None })
        });
        let content = match content {
            Ok(Some(content)) => content,
            Ok(None) => return Some(Entry::Skipped { path, why: Skip::Seen }),
            Err(error) => return Some(problem(path, unreadable(&error))),
        };
        if kind.may_be_binary() && is_binary(&content.bytes) {
            return Some(Entry::Skipped { path, why: Skip::Binary });
        }
        Some(match text(content, limit) {
            Ok(text) => Entry::File(ContextFile { path, kind, text }),
            Err(finding) => problem(path, finding),
        })
    }

    /// Goes on in a directory; an entry is the reason why not.
    fn enter(&mut self, path: PathBuf, opened: io::Result<OwnedFd>, place: Place) -> Option<Entry> {
        if self.frames.len() > self.limits.depth {
            let detail = format!("more than {} directories in each other", self.limits.depth);
            return Some(problem(path, Finding::new(&TOO_DEEP, None, detail)));
        }
        let listed = opened.and_then(|directory| {
            let (identity, names) = (identity(&directory)?, names(&directory)?);
            Ok((directory, identity, names))
        });
        let (directory, identity, names) = match listed {
            Ok(listed) => listed,
            Err(error) => return Some(problem(path, unreadable(&error))),
        };
        let lower: Vec<String> = names.iter().map(|name| comparable(name)).collect();
        let place = place.holding(lower.iter().map(String::as_str));
        if !self.seen_directories.insert((identity, place)) {
            return Some(Entry::Skipped { path, why: Skip::Seen });
        }
        self.frames.push(Frame { directory, path, place, names: names.into_iter() });
        None
    }

    /// Follows a link to what an agent would read, as long as it stays inside the root.
    fn link(&mut self, path: PathBuf, place: Place, name: &str) -> Option<Entry> {
        let (kind, below) = (place.kind(name), place.below(name));
        let matters = kind.is_some() || below != Place::Anywhere;
        let target = match self.root.resolve(&path) {
            Ok(Some(target)) => target,
            Ok(None) if matters => {
                return Some(problem(
                    path,
                    Finding::new(&LINK_OUTSIDE, None, "a link out of the scanned directory"),
                ));
            }
            Ok(None) => return Some(Entry::Skipped { path, why: Skip::LinkOutside }),
            Err(error) if matters => {
                let detail = format!("a link that leads nowhere: {error}");
                return Some(problem(path, Finding::new(&UNREADABLE, None, detail)));
            }
            Err(_) => return None,
        };
        // What is nothing in particular is reached under its own name, unless that is skipped.
        let is_hidden = || target.iter().any(|part| self.is_skipped(Place::Anywhere, &comparable(part)));
        if matters || is_hidden() { self.follow(path, &target, kind, below) } else { None }
    }

    fn follow(
        &mut self,
        path: PathBuf,
        target: &Path,
        kind: Option<ContextKind>,
        below: Place,
    ) -> Option<Entry> {
        if target.as_os_str().is_empty() {
            let opened = self.root.directory();
            return self.enter(path, opened, below);
        }
        let found = self
            .root
            .open_parent(target)
            .and_then(|(parent, name)| Ok((shape(&parent, name)?, parent, name)));
        match found {
            Err(error) => Some(problem(path, unreadable(&error))),
            Ok((Shape::Directory, parent, name)) => self.enter(path, open_directory(&parent, name), below),
            Ok((Shape::File, parent, name)) => self.file(path, open_file(&parent, name), kind?),
            Ok((Shape::Link | Shape::Special, ..)) => kind.map(|_| {
                problem(path, Finding::new(&NOT_A_FILE, None, "a link to something that is no regular file"))
            }),
        }
    }
}

fn problem(path: PathBuf, finding: Finding) -> Entry {
    Entry::Problem { path, finding }
}

#[cfg(test)]
mod tests;
