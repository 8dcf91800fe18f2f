//! Files as they were when they were checked.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use fullsend_guard::visible;
use fullsend_origin::Sha256Digest;
use fullsend_origin::digest::Sha256Hasher;
use rustix::fs::{CWD, Mode, OFlags};
use serde::Serialize;
use thiserror::Error;

/// How many directories may lie in each other.
const DEEPEST: usize = 130;

/// The SHA-256 of every file below a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frozen {
    files: BTreeMap<PathBuf, Sha256Digest>,
}

/// What was checked is not what is there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{}` was {how} after it was checked, so it is not passed on", visible(&path.to_string_lossy()))]
pub struct Changed {
    /// The first file that differs, relative to the directory.
    pub path: PathBuf,
    /// `changed`, `added` or `removed`; `made unreadable` for the directory itself.
    pub how: &'static str,
}

/// A file in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrozenFile {
    /// Relative to the directory.
    pub path: String,
    /// In hexadecimal.
    pub sha256: String,
}

impl Frozen {
    /// Reads every file below `directory`.
    pub fn take(directory: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        let mut left = vec![(PathBuf::new(), 0)];
        while let Some((inside, depth)) = left.pop() {
            for entry in std::fs::read_dir(directory.join(&inside))? {
                let entry = entry?;
                let path = inside.join(entry.file_name());
                let kind = entry.file_type()?;
                if kind.is_dir() && depth < DEEPEST {
                    left.push((path, depth + 1));
                } else if kind.is_file() {
                    let digest = digest(&directory.join(&path))?;
                    files.insert(path, digest);
                }
            }
        }
        Ok(Self { files })
    }

    /// Whether every file is as it was, and none was added.
    pub fn verify(&self, directory: &Path) -> Result<(), Changed> {
        let changed = |path: &Path, how| Changed { path: path.to_path_buf(), how };
        let now = Self::take(directory).map_err(|_| changed(Path::new("output"), "made unreadable"))?;
        for (path, digest) in &self.files {
            match now.files.get(path) {
                None => return Err(changed(path, "removed")),
                Some(other) if other != digest => return Err(changed(path, "changed")),
                Some(_) => {}
            }
        }
        match now.files.keys().find(|path| !self.files.contains_key(*path)) {
            Some(path) => Err(changed(path, "added")),
            None => Ok(()),
        }
    }

    /// The files, for a report; harmless to print.
    pub fn files(&self) -> Vec<FrozenFile> {
        let told = |(path, digest): (&PathBuf, &Sha256Digest)| FrozenFile {
            path: visible(&path.to_string_lossy()).into_owned(),
            sha256: digest.to_string(),
        };
        self.files.iter().map(told).collect()
    }
}

fn digest(path: &Path) -> io::Result<Sha256Digest> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    let (mut hasher, mut buffer) = (Sha256Hasher::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            read => hasher.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}
