//! Copies what the agent left out of the sandbox's files, after the session has ended.
//!
//! The tree was shaped by whatever ran in the sandbox. It is walked from open directories without following links; only
//! regular files, directories and links that stay inside are copied, into a directory that nobody else sees. A copy is a new
//! file: other names of the old one, its owner and its special permissions stay behind.

mod git;
mod links;
mod patch;
mod single;
mod tree;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use fullsend_guard::files::{Shape, names, open_directory, open_file, shape};
use fullsend_guard::visible;
use rustix::fs::{Mode, OFlags};
use thiserror::Error;

pub use self::git::{GitConfig, harden_git};
pub use self::patch::{Base, Compared, PatchError, changes};
pub use self::single::transcripts;

/// How many directories may lie in each other.
const DEEPEST: usize = 128;

/// How much of a file is copied before it is asked whether the run is to end.
const PART: u64 = 8 << 20;

/// The most warnings that are told one by one: a tree can have a million pipes.
const MOST_WARNINGS: usize = 50;

/// How much is copied.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Files, directories and links.
    pub entries: u64,
    /// Bytes of one file. What counts is its length, also where it has holes.
    pub file_bytes: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Limits {
    /// For what an agent delivers.
    pub const OUTPUT: Self = Self { entries: 10_000, file_bytes: 256 << 20, bytes: 1 << 30 };
    /// For a repository.
    pub const REPO: Self = Self { entries: 1_000_000, file_bytes: 2 << 30, bytes: 16 << 30 };
}

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Regular files, relative to the root, in the order of the walk.
    pub files: Vec<PathBuf>,
    /// What was left out, and why; harmless to print.
    pub warnings: Vec<String>,
    /// Links of a repository that were left out, relative to the root.
    pub left_out_links: Vec<PathBuf>,
    left_out: usize,
}

/// Why nothing can be said about what the agent left. What was copied so far must not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The file system.
    #[error("cannot extract `{}`", path.display())]
    Io {
        /// Relative to the root; empty for the root itself.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The run is to end.
    #[error("the run ended before everything was extracted")]
    Over,
    /// More than the limits allow.
    #[error("cannot extract what the agent left: {0}; have the agent remove what is not part of its work")]
    TooMuch(String),
}

/// What is copied, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Files that are delivered. A link is none.
    Output,
    /// A repository: links are part of it, and of git's own directory only what holds history is copied.
    Repo,
}

/// Whether the run is to end; asked before every entry, and in large files now and then.
pub type IsOver<'a> = &'a dyn Fn() -> bool;

/// Copies every file below `from`, which is what the agent delivers, to `to`, which is made. An agent that removed the
/// directory delivers nothing.
pub fn output(
    from: &Path,
    to: &Path,
    limits: Limits,
    is_over: IsOver<'_>,
) -> Result<Extracted, ExtractError> {
    match from.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let made = crate::durable::create_dir(to);
            made.map_err(|source| ExtractError::Io { path: PathBuf::new(), source })?;
            let warnings = vec!["the agent removed its output directory".to_owned()];
            Ok(Extracted { warnings, ..Extracted::default() })
        }
        Ok(_) | Err(_) => copy(from, to, limits, Kind::Output, is_over),
    }
}

/// Copies the agent's repository from `from` to `to`, which is made. Git's own settings are those of `config`: what the agent
/// wrote into them could start programs as soon as git is run in the copy.
pub fn repo(
    from: &Path,
    to: &Path,
    limits: Limits,
    config: &GitConfig,
    is_over: IsOver<'_>,
) -> Result<Extracted, ExtractError> {
    let extracted = copy(from, to, limits, Kind::Repo, is_over)?;
    let git = to.join(".git");
    if git.is_dir() {
        let failed = |source| ExtractError::Io { path: PathBuf::from(".git"), source };
        config.write_to(&git).map_err(failed)?;
    }
    Ok(extracted)
}

fn copy(
    from: &Path,
    to: &Path,
    limits: Limits,
    kind: Kind,
    is_over: IsOver<'_>,
) -> Result<Extracted, ExtractError> {
    let at_root = |source| ExtractError::Io { path: PathBuf::new(), source };
    crate::durable::create_dir(to).map_err(at_root)?;
    let source = tree::open_root(from).map_err(at_root)?;
    let target = tree::open_root(to).map_err(at_root)?;
    let mut walk =
        Walk { kind, limits, is_over, entries: 0, bytes: 0, links: Vec::new(), found: Extracted::default() };
    let names = names(&source).map_err(at_root)?;
    let mut frames = vec![Frame { source, target, path: PathBuf::new(), names: names.into_iter() }];
    while let Some(frame) = frames.last_mut() {
        let Some(name) = frame.names.next() else {
            frames.pop();
            continue;
        };
        let path = frame.path.join(&name);
        match walk.visit(frame, &name, &path) {
            Ok(Some(inner)) if frames.len() >= DEEPEST => {
                drop(inner);
                return Err(ExtractError::TooMuch(format!("more than {DEEPEST} directories in each other")));
            }
            Ok(Some(inner)) => frames.push(inner),
            Ok(None) => {}
            Err(Stop::Over) => return Err(ExtractError::Over),
            Err(Stop::TooMuch(what)) => return Err(ExtractError::TooMuch(what)),
            Err(Stop::Io(source)) => return Err(ExtractError::Io { path, source }),
        }
    }
    let links = std::mem::take(&mut walk.links);
    for gone in links::make(to, &links).map_err(at_root)? {
        walk.found.warn(&gone, "a link that does not lead to something in the same tree");
        walk.found.left_out_links.push(gone);
    }
    Ok(walk.found.told())
}

#[derive(Debug)]
struct Frame {
    source: OwnedFd,
    target: OwnedFd,
    path: PathBuf,
    names: std::vec::IntoIter<OsString>,
}

struct Walk<'a> {
    kind: Kind,
    limits: Limits,
    is_over: IsOver<'a>,
    entries: u64,
    bytes: u64,
    /// Path and text of each, made when everything else is there.
    links: Vec<(PathBuf, OsString)>,
    found: Extracted,
}

enum Stop {
    Over,
    TooMuch(String),
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Walk<'_> {
    fn visit(&mut self, frame: &Frame, name: &OsString, path: &Path) -> Result<Option<Frame>, Stop> {
        if (self.is_over)() {
            return Err(Stop::Over);
        }
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(Stop::TooMuch(format!("more than {} files", self.limits.entries)));
        }
        let shape = match shape(&frame.source, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            shape => shape?,
        };
        if self.kind == Kind::Repo
            && let Some(why) = git::refused(path, shape)
        {
            if let Some(why) = why.worth_telling() {
                self.found.warn(path, why);
            }
            return Ok(None);
        }
        match shape {
            Shape::File => self.file(frame, name, path).map(|()| None),
            Shape::Directory => self.directory(frame, name, path),
            Shape::Link if self.kind == Kind::Repo => {
                let text = tree::read_link(&frame.source, name)?;
                self.links.push((path.to_path_buf(), text));
                Ok(None)
            }
            Shape::Link => {
                self.found.warn(path, "a link; only files are delivered");
                Ok(None)
            }
            Shape::Special => {
                self.found.warn(path, "neither a file nor a directory");
                Ok(None)
            }
        }
    }

    fn directory(&mut self, frame: &Frame, name: &OsString, path: &Path) -> Result<Option<Frame>, Stop> {
        let source = match open_directory(&frame.source, name) {
            Ok(source) => source,
            Err(error) => return self.unreadable(path, error).map(|()| None),
        };
        let names = names(&source)?.into_iter();
        rustix::fs::mkdirat(&frame.target, name, Mode::RWXU).map_err(io::Error::from)?;
        let target = open_directory(&frame.target, name)?;
        Ok(Some(Frame { source, target, path: path.to_path_buf(), names }))
    }

    fn file(&mut self, frame: &Frame, name: &OsString, path: &Path) -> Result<(), Stop> {
        let source = match open_file(&frame.source, name) {
            Ok(source) => source,
            Err(error) => return self.unreadable(path, error),
        };
        let length = source.metadata()?.len();
        self.room(path, length)?;
        let executable = rustix::fs::fstat(&source).map_err(io::Error::from)?.st_mode & 0o100 != 0;
        let mode = if executable { Mode::RWXU } else { Mode::RUSR | Mode::WUSR };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target = rustix::fs::openat(&frame.target, name, flags, mode).map_err(io::Error::from)?;
        // It may grow while it is read.
        let mut source = source.take(self.limits.file_bytes.saturating_add(1));
        let copied = self.bytes(&mut source, &mut File::from(target))?;
        self.room(path, copied)?;
        self.bytes = self.bytes.saturating_add(copied);
        self.found.files.push(path.to_path_buf());
        Ok(())
    }

    /// Copies a file in parts.
    fn bytes(&self, source: &mut io::Take<File>, target: &mut File) -> Result<u64, Stop> {
        let mut copied = 0;
        loop {
            match io::copy(&mut source.take(PART), target)? {
                0 => return Ok(copied),
                _ if (self.is_over)() => return Err(Stop::Over),
                part => copied += part,
            }
        }
    }

    fn room(&self, path: &Path, length: u64) -> Result<(), Stop> {
        if length > self.limits.file_bytes {
            let limit = self.limits.file_bytes;
            let name = path.to_string_lossy();
            return Err(Stop::TooMuch(format!("`{}` has more than {limit} bytes", visible(&name))));
        }
        if self.bytes.saturating_add(length) > self.limits.bytes {
            return Err(Stop::TooMuch(format!("more than {} bytes in all files", self.limits.bytes)));
        }
        Ok(())
    }

    /// The agent can take away the permission to read its own files; that hides nothing but the file itself.
    fn unreadable(&mut self, path: &Path, error: io::Error) -> Result<(), Stop> {
        let hidden = [io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound].contains(&error.kind());
        if !hidden {
            return Err(error.into());
        }
        self.found.warn(path, "it cannot be read");
        Ok(())
    }
}

impl Extracted {
    fn warn(&mut self, path: &Path, why: &str) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(format!("`{}` was left out: {why}", visible(&path.to_string_lossy())));
        } else {
            self.left_out += 1;
        }
    }

    fn told(mut self) -> Self {
        if self.left_out > 0 {
            self.warnings.push(format!("and {} more were left out", self.left_out));
            self.left_out = 0;
        }
        self
    }
}
