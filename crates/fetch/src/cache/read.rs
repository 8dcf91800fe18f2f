//! Reading entries: every byte is compared with the digest that was asked for, every time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use fullsend_origin::{Sha256Digest, TreeDigest, TreePath};

use super::files::{self, Kind};
use super::{Cache, CacheError, Corruption, EntryId, FileHit, Lookup, METADATA, Metadata, TreeHit, tree};

/// A record of a thousand files takes a fraction of this.
const MAX_METADATA: u64 = 16 * 1024 * 1024;
/// How often a read starts over because the entry was replaced under it.
const ATTEMPTS: u32 = 16;

/// Why reading an entry stopped.
#[derive(Debug)]
pub(super) enum Halt {
    /// Nothing complete is there.
    Miss,
    /// Something else is there.
    Corrupt(Corruption),
    /// The system refused.
    Failed(CacheError),
}

impl From<Corruption> for Halt {
    fn from(reason: Corruption) -> Self {
        Self::Corrupt(reason)
    }
}

impl From<CacheError> for Halt {
    fn from(error: CacheError) -> Self {
        Self::Failed(error)
    }
}

/// What a step of reading gives.
pub(super) type Step<T> = Result<T, Halt>;

/// An entry whose record was read.
#[derive(Debug)]
pub(super) struct Opened {
    /// The entry's directory.
    pub(super) dir: OwnedFd,
    /// Its record, which names the right digest.
    pub(super) metadata: Metadata,
}

impl Cache {
    /// The file with the digest `digest`.
    pub fn get_file(&self, digest: &Sha256Digest) -> Result<Lookup<FileHit>, CacheError> {
        let id = EntryId::File(*digest);
        self.read_stable(id, |opened| {
            let mut file = body_file(&opened)?;
            let (bytes, found) = files::read_hashed(&mut file).map_err(self.reading(id))?;
            expect_content(found, *digest)?;
            Ok(FileHit { bytes, path: self.body_path(id), metadata: opened.metadata })
        })
    }

    /// The directory with the tree digest `digest`.
    pub fn get_tree(&self, digest: &TreeDigest) -> Result<Lookup<TreeHit>, CacheError> {
        let id = EntryId::Tree(*digest);
        self.read_stable(id, |opened| {
            let found = tree::verify(&opened, digest, &self.entry_path(id), self.threads)?;
            Ok(TreeHit { dir: self.body_path(id), files: found, metadata: opened.metadata })
        })
    }

    /// Verifies an entry without keeping its content; a hit gives its size in bytes.
    pub fn verify(&self, id: EntryId) -> Result<Lookup<u64>, CacheError> {
        match id {
            EntryId::File(digest) => self.read_stable(id, |opened| {
                let mut buffer = vec![0; files::CHUNK];
                let mut file = body_file(&opened)?;
                let (size, found) = files::digest_of(&mut file, &mut buffer).map_err(self.reading(id))?;
                expect_content(found, digest)?;
                Ok(size)
            }),
            EntryId::Tree(digest) => {
                let found = self.get_tree(&digest)?;
                Ok(found.map(|hit| hit.files.iter().map(|file| file.size).sum()))
            }
        }
    }

    /// Reads an entry, again if it was replaced or removed meanwhile.
    ///
    /// Removal happens by renaming the whole entry away first. A reader that holds the old directory open may then
    /// see its files disappear, which must not be taken for damage.
    pub(super) fn read_stable<T>(
        &self,
        id: EntryId,
        read: impl Fn(Opened) -> Step<T>,
    ) -> Result<Lookup<T>, CacheError> {
        let name = id.digest().to_string();
        for _ in 0..ATTEMPTS {
            let Some(parent) = self.entries_dir()? else {
                return Ok(Lookup::Miss);
            };
            let dir = match files::open_dir(&parent, &name) {
                Ok(dir) => dir,
                Err(error) => return self.unopened(id, error),
            };
            let witness = dir.try_clone().map_err(CacheError::io("read", &self.entry_path(id)))?;
            let answer = match self.open_entry(dir, id).and_then(&read) {
                Ok(hit) => return Ok(Lookup::Hit(hit)),
                Err(Halt::Failed(error)) => Err(error),
                Err(Halt::Miss) => Ok(Lookup::Miss),
                Err(Halt::Corrupt(reason)) => Ok(Lookup::Corrupt(reason)),
            };
            if files::is_same(&parent, &name, &witness) {
                return answer;
            }
        }
        Err(CacheError::Contended { digest: id.digest() })
    }

    /// What it means that the entry's directory cannot be opened.
    fn unopened<T>(&self, id: EntryId, error: io::Error) -> Result<Lookup<T>, CacheError> {
        if error.kind() == io::ErrorKind::NotFound {
            Ok(Lookup::Miss)
        } else if is_not_a_directory(&error) {
            Ok(Lookup::Corrupt(Corruption::NotADirectory))
        } else {
            Err(CacheError::io("open", &self.entry_path(id))(error))
        }
    }

    /// Checks the names in an entry and reads its record.
    fn open_entry(&self, dir: OwnedFd, id: EntryId) -> Step<Opened> {
        let listed = files::list(&dir).map_err(CacheError::io("list", &self.entry_path(id)))?;
        let names: BTreeMap<String, Kind> = listed.into_iter().collect();
        let Some(kind) = names.get(METADATA) else {
            return Err(Halt::Miss);
        };
        if *kind != Kind::Regular {
            return Err(Corruption::NotRegular { path: METADATA.to_owned() }.into());
        }
        let metadata = read_metadata(&dir, &self.entry_path(id))?;
        if metadata.is_directory() != matches!(id, EntryId::Tree(_)) || !names.contains_key(id.body()) {
            return Err(Halt::Miss);
        }
        metadata.expect_digest(id.digest())?;
        refuse_strangers(&dir, &names, id)?;
        Ok(Opened { dir, metadata })
    }

    /// Wraps an error of the system while reading the content of `id`.
    fn reading(&self, id: EntryId) -> impl FnOnce(io::Error) -> CacheError {
        let path = self.body_path(id);
        move |source| CacheError::Io { action: "read", path, source }
    }
}

/// Whether the system says that a link or a file is where a directory should be.
pub(super) fn is_not_a_directory(error: &io::Error) -> bool {
    let codes = [rustix::io::Errno::LOOP, rustix::io::Errno::NOTDIR];
    codes.iter().any(|code| error.raw_os_error() == Some(code.raw_os_error()))
}

/// Refuses everything in an entry but its record, its content and links that name the content.
fn refuse_strangers(dir: &OwnedFd, names: &BTreeMap<String, Kind>, id: EntryId) -> Step<()> {
    for (name, kind) in names {
        let belongs = match (name.as_str(), kind) {
            (METADATA, _) => true,
            (name, kind) if name == id.body() => match (id, kind) {
                (EntryId::File(_), Kind::Regular) | (EntryId::Tree(_), Kind::Directory) => true,
                _ => return Err(Corruption::NotRegular { path: name.to_owned() }.into()),
            },
            (name, Kind::Link) => files::link_target(dir, name).as_deref() == Some(id.body()),
            (_, Kind::Regular | Kind::Directory | Kind::Special) => false,
        };
        if !belongs {
            return Err(Corruption::Unexpected { path: name.clone() }.into());
        }
    }
    Ok(())
}

/// Reads the record of an entry.
pub(super) fn read_metadata(dir: &OwnedFd, entry: &Path) -> Step<Metadata> {
    let path = entry.join(METADATA);
    let opened = match files::open_regular(dir, METADATA) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Halt::Miss),
        Err(error) => return Err(CacheError::io("open", &path)(error).into()),
    };
    let file = opened.ok_or_else(|| Corruption::NotRegular { path: METADATA.to_owned() })?;
    let mut text = Vec::new();
    file.take(MAX_METADATA + 1).read_to_end(&mut text).map_err(CacheError::io("read", &path))?;
    if text.len() as u64 > MAX_METADATA {
        return Err(Corruption::Metadata { reason: "it is too large".to_owned() }.into());
    }
    Ok(Metadata::parse(&text)?)
}

/// Opens the content of a file entry.
fn body_file(opened: &Opened) -> Step<File> {
    match files::open_regular(&opened.dir, super::CONTENT) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(Corruption::NotRegular { path: super::CONTENT.to_owned() }.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Halt::Miss),
        Err(error) => Err(CacheError::io("open", Path::new(super::CONTENT))(error).into()),
    }
}

/// Refuses bytes other than those asked for.
fn expect_content(found: Sha256Digest, expected: Sha256Digest) -> Step<()> {
    if found == expected { Ok(()) } else { Err(Corruption::Content { found }.into()) }
}

/// Refuses a listing with a path that is no path.
pub(super) fn tree_path(text: &str) -> Step<TreePath> {
    TreePath::parse(text).map_err(|error| Corruption::Metadata { reason: error.to_string() }.into())
}
