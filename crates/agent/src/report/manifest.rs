//! The list of all files of a run, with their digests.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::store::{Counted, MANIFEST, RunId, RunStore, StoreError, count_files, read_manifest};

/// The files of a run when the list was made: `artifacts.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "fullsend.run-artifacts", rename_all = "camelCase")]
pub struct Manifest {
    /// The version of its form.
    pub version: u32,
    /// The run.
    pub run_id: RunId,
    /// When it was made.
    pub generated_at: String,
    /// Every file but the lock and the list itself, in the order of their names.
    pub files: Vec<FileEntry>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileEntry {
    /// Its name, from the directory of the run on.
    pub path: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// `sha256:` and 64 digits.
    pub digest: String,
    /// Whether it may grow: then only its first `bytes` bytes are vouched for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append_only: bool,
}

/// A file that is not as the list says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is gone.
    Missing(String),
    /// It has other bytes.
    Changed(String),
    /// It is not in the list.
    Unlisted(String),
}

impl Manifest {
    /// Reads the list of a run and compares it with the files: an empty answer means that all is as it was.
    pub fn verify(run: &Path) -> Result<(Self, Vec<Difference>), StoreError> {
        let manifest: Self = read_manifest(run)?;
        let listed: BTreeMap<&str, &FileEntry> =
            manifest.files.iter().map(|file| (file.path.as_str(), file)).collect();
        let limit = |path: &str| listed.get(path).filter(|file| file.append_only).map(|file| file.bytes);
        let found = count_files(run, limit)?;
        let found: BTreeMap<&str, &Counted> = found.iter().map(|file| (file.path.as_str(), file)).collect();
        let mut differences = Vec::new();
        for (path, file) in &listed {
            match found.get(path) {
                None => differences.push(Difference::Missing((*path).to_owned())),
                Some(now) if now.bytes == file.bytes && digest(now) == file.digest => {}
                Some(_) => differences.push(Difference::Changed((*path).to_owned())),
            }
        }
        let unlisted = found.keys().filter(|path| !listed.contains_key(*path));
        differences.extend(unlisted.map(|path| Difference::Unlisted((*path).to_owned())));
        Ok((manifest, differences))
    }
}

/// Makes the list.
pub(super) fn write(store: &RunStore, generated_at: &str) -> Result<(), StoreError> {
    let entry = |file: Counted| FileEntry {
        digest: digest(&file),
        append_only: file.append_only,
        path: file.path,
        bytes: file.bytes,
    };
    let files = count_files(store.run_dir(), |_| None)?.into_iter().map(entry).collect();
    let manifest =
        Manifest { version: 1, run_id: store.run_id().clone(), generated_at: generated_at.to_owned(), files };
    store.artifacts().write_rendered(MANIFEST, &manifest)?;
    Ok(())
}

fn digest(file: &Counted) -> String {
    format!("sha256:{}", file.digest)
}
