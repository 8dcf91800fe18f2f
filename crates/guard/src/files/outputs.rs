//! The walk over what an agent leaves behind.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::files::open::{Root, Shape, names, open_directory, open_file, shape};
use crate::files::read::{Bytes, is_binary, read, too_large, unreadable};
use crate::files::rules::{LINK_OUTSIDE, NOT_A_FILE, TOO_DEEP};
use crate::finding::Finding;

/// How many directories may lie in each other.
const DEEPEST: usize = 128;

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Anything else. It can be searched, and is never rewritten.
    Bytes(Vec<u8>),
}

impl Content {
    /// What can be searched for text as it is, byte for byte: in place of each byte that is no visible ASCII character
    /// stands a space.
    pub fn searchable(bytes: &[u8]) -> String {
        let shown = |byte: &u8| if matches!(byte, b' '..=b'~' | b'\n') { char::from(*byte) } else { ' ' };
        bytes.iter().map(shown).collect()
    }

    /// The ASCII text in UTF-16 text; none where the bytes look like nothing of that kind.
    pub fn from_utf16_ascii(bytes: &[u8]) -> Option<String> {
        let zeros = bytes.iter().filter(|byte| **byte == 0).count();
        let without: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        (zeros.saturating_mul(4) >= bytes.len().max(1)).then(|| Self::searchable(&without))
    }
}

/// A file that an agent left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Relative to the root.
    pub path: PathBuf,
    /// What it holds.
    pub content: Content,
}

/// What the walk came by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A file to scan.
    File(OutputFile),
    /// Something that could not be looked at.
    Problem {
        /// Relative to the root.
        path: PathBuf,
        /// What is wrong with it.
        finding: Finding,
    },
}

/// Walks over every file below `root`, whatever it is called. Links are not followed: what they lead to inside the root is
/// looked at anyway, and a link to elsewhere is a problem.
pub fn outputs(root: Root, largest: u64) -> Outputs {
    let mut walk = Outputs { root, largest, frames: Vec::new(), waiting: None };
    let opened = walk.root.directory();
    walk.waiting = walk.enter(PathBuf::new(), opened);
    walk
}

/// The walk of [`outputs`].
#[derive(Debug)]
pub struct Outputs {
    root: Root,
    largest: u64,
    frames: Vec<Frame>,
    waiting: Option<Output>,
}

#[derive(Debug)]
struct Frame {
    directory: OwnedFd,
    path: PathBuf,
    names: std::vec::IntoIter<OsString>,
}

impl Iterator for Outputs {
    type Item = Output;

    fn next(&mut self) -> Option<Output> {
        if let Some(output) = self.waiting.take() {
            return Some(output);
        }
        loop {
            let frame = self.frames.last_mut()?;
            let Some(name) = frame.names.next() else {
                self.frames.pop();
                continue;
            };
            if let Some(output) = self.visit(&name) {
                return Some(output);
            }
        }
    }
}

impl Outputs {
    fn visit(&mut self, name: &OsStr) -> Option<Output> {
        let frame = self.frames.last()?;
        let path = frame.path.join(name);
        match shape(&frame.directory, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(problem(path, unreadable(&error))),
            Ok(Shape::File) => {
                let content = open_file(&frame.directory, name).and_then(|file| read(&file, self.largest));
                Some(file(path, content, self.largest))
            }
            Ok(Shape::Directory) => {
                let opened = open_directory(&frame.directory, name);
                self.enter(path, opened)
            }
            Ok(Shape::Link) => self.link(path),
            Ok(Shape::Special) => Some(problem(path, Finding::new(&NOT_A_FILE, None, "not a regular file"))),
        }
    }

    fn enter(&mut self, path: PathBuf, opened: io::Result<OwnedFd>) -> Option<Output> {
        if self.frames.len() > DEEPEST {
            let detail = format!("more than {DEEPEST} directories in each other");
            return Some(problem(path, Finding::new(&TOO_DEEP, None, detail)));
        }
        match opened.and_then(|directory| names(&directory).map(|names| (directory, names))) {
            Ok((directory, names)) => self.frames.push(Frame { directory, path, names: names.into_iter() }),
            Err(error) => return Some(problem(path, unreadable(&error))),
        }
        None
    }

    /// A link that leads nowhere yet may lead anywhere later, as far as its text goes.
    fn link(&self, path: PathBuf) -> Option<Output> {
        let inside = match self.root.resolve(&path) {
            Ok(target) => target.is_some(),
            Err(_) => false,
        };
        (!inside).then(|| {
            let detail = "a link that does not lead to a file in the scanned directory";
            problem(path, Finding::new(&LINK_OUTSIDE, None, detail))
        })
    }
}

/// A file by itself, as [`outputs`] would give it.
impl OutputFile {
    /// Reads the file at `path`, which is relative to `root`; nothing on the way may be a link.
    pub fn read(root: &Root, path: &Path, largest: u64) -> Output {
        let content = root
            .open_parent(path)
            .and_then(|(parent, name)| open_file(&parent, name))
            .and_then(|opened| read(&opened, largest));
        file(path.to_path_buf(), content, largest)
    }
}

fn file(path: PathBuf, content: io::Result<Bytes>, largest: u64) -> Output {
    match content {
        Err(error) => problem(path, unreadable(&error)),
        Ok(read) if read.cut => problem(path, too_large(largest)),
        Ok(read) if is_binary(&read.bytes) => {
            Output::File(OutputFile { path, content: Content::Bytes(read.bytes) })
        }
        Ok(read) => {
            let content = match String::from_utf8(read.bytes) {
                Ok(text) => Content::Text(text),
                Err(error) => Content::Bytes(error.into_bytes()),
            };
            Output::File(OutputFile { path, content })
        }
    }
}

fn problem(path: PathBuf, finding: Finding) -> Output {
    Output::Problem { path, finding }
}

#[cfg(test)]
mod tests;
