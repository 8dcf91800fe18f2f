//! A directory of sidecars, and the names of containers that are safe to use as names of files.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::str::FromStr;

use rustix::fs::{Mode, OFlags};
use serde_json::{Map, Value};
use uuid::Uuid;

/// The longest result that is read.
const LONGEST: u64 = 1 << 20;
/// The longest name of a container.
const LONGEST_ID: usize = 128;

/// Why a sidecar cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SidecarError {
    /// A directory that depends on where somebody is.
    #[error("{0} must be an absolute host path")]
    NotAbsolute(&'static str),
    /// What the engine calls the container would lead elsewhere.
    #[error("failed to write CFC invocation context sidecar: the container id is not usable as a file name")]
    ContainerId,
    /// The record of the run, where it has to stand before the runtime is told.
    #[error("failed to put the CFC invocation context on record: {0}")]
    Record(#[from] crate::store::StoreError),
    /// The file system.
    #[error("failed to write CFC invocation context sidecar: {0}")]
    Io(#[from] io::Error),
}

/// What an engine calls a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerId(String);

impl ContainerId {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ContainerId {
    type Err = SidecarError;

    /// The first word of what an engine prints. A word that is more than a name could put a file anywhere.
    fn from_str(printed: &str) -> Result<Self, SidecarError> {
        let word = printed.split_whitespace().next().unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let usable = !matches!(word, "" | "." | "..") && word.len() <= LONGEST_ID && word.bytes().all(plain);
        if usable { Ok(Self(word.to_owned())) } else { Err(SidecarError::ContainerId) }
    }
}

/// A directory of sidecars.
#[derive(Debug)]
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn new(directory: PathBuf, name: &'static str) -> Result<Self, SidecarError> {
        if !directory.is_absolute() {
            return Err(SidecarError::NotAbsolute(name));
        }
        Ok(Self(directory))
    }

    fn file(&self, container: &ContainerId) -> PathBuf {
        self.0.join(format!("{}.json", container.as_str()))
    }

    /// Writes a document whole or not at all: the runtime may look at any time.
    pub(super) fn write(&self, container: &ContainerId, document: &Map<String, Value>) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        let mut text = serde_json::to_string_pretty(document)?;
        text.push('\n');
        let unfinished = self.0.join(format!(".{}.{}.tmp", container.as_str(), Uuid::now_v7().simple()));
        let written = || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&unfinished, self.file(container))
        };
        written().inspect_err(|_| drop(fs::remove_file(&unfinished)))
    }

    /// Reads and removes what the runtime wrote; nothing when it wrote nothing. The directory is shared with others, so that
    /// whatever is not a short file is an error.
    pub(super) fn take(&self, container: &ContainerId) -> io::Result<Option<Vec<u8>>> {
        let read = self.read(container);
        self.remove(container);
        read
    }

    fn read(&self, container: &ContainerId) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::open(self.file(container), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(error) if error == rustix::io::Errno::NOENT => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a file"));
        }
        let mut text = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut text)?;
        if text.len() as u64 > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "too long"));
        }
        Ok(Some(text))
    }

    /// Removes what is there; what cannot be removed is told apart by what is in it.
    pub(super) fn remove(&self, container: &ContainerId) {
        let _nothing_there = fs::remove_file(self.file(container));
    }
}
