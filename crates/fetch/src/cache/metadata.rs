//! The record beside every cached content: `metadata.json`.
//!
//! It says where the content came from, for people and audits. It proves nothing: whoever can change the content can
//! change the record, so every read compares the content with the digest that was *asked for*.

use std::collections::BTreeSet;

use fullsend_origin::{Sha256Digest, TreeDigestBuilder};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CacheError, Corruption, Listing};
use crate::json;

/// The `type` of a directory entry.
const DIRECTORY: &str = "directory";

/// Where cached content came from. The order of the fields is the order in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    url: String,
    fetch_time: Timestamp,
    sha256: String,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileRecord>,
    #[serde(default, skip_serializing_if = "is_false")]
    full_listing: bool,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    executable: BTreeSet<String>,
}

/// One file of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its path below the directory.
    pub path: String,
    /// The digest of its bytes.
    pub sha256: String,
}

impl Metadata {
    /// The record of a file.
    pub(crate) fn file(url: &str, fetch_time: Timestamp, digest: Sha256Digest) -> Self {
        Self {
            url: url.to_owned(),
            fetch_time,
            sha256: digest.to_string(),
            kind: None,
            files: Vec::new(),
            full_listing: false,
            executable: BTreeSet::new(),
        }
    }

    /// The record of a directory.
    pub(crate) fn tree(
        url: &str,
        fetch_time: Timestamp,
        files: &TreeDigestBuilder,
        listing: Listing,
        executable: BTreeSet<String>,
    ) -> Self {
        let record = |(path, digest): (&fullsend_origin::TreePath, Sha256Digest)| FileRecord {
            path: path.to_string(),
            sha256: digest.to_string(),
        };
        Self {
            kind: Some(DIRECTORY.to_owned()),
            files: files.files().map(record).collect(),
            full_listing: listing == Listing::Full,
            executable,
            ..Self::file(url, fetch_time, files.finish().as_sha256())
        }
    }

    /// Reads the text of a `metadata.json`.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Corruption> {
        serde_json::from_slice(text).map_err(|error| Corruption::Metadata { reason: error.to_string() })
    }

    /// The text of the `metadata.json`.
    pub(crate) fn to_text(&self) -> Result<String, CacheError> {
        json::pretty(self).map_err(CacheError::Json)
    }

    /// The URL of whoever stored the content last, without a pin.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// When it was stored last.
    pub fn fetch_time(&self) -> Timestamp {
        self.fetch_time
    }

    /// Whether the content is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind.as_deref() == Some(DIRECTORY)
    }

    /// The files of a directory in byte order of their paths; empty for a file.
    pub fn files(&self) -> &[FileRecord] {
        &self.files
    }

    /// Whether the listing of a directory is known to be complete.
    pub fn listing(&self) -> Listing {
        if self.full_listing { Listing::Full } else { Listing::Unstated }
    }

    /// Paths of the files that were executable where they came from.
    pub fn executable(&self) -> &BTreeSet<String> {
        &self.executable
    }

    /// Refuses a record that belongs to another entry.
    pub(crate) fn expect_digest(&self, digest: Sha256Digest) -> Result<(), Corruption> {
        if self.sha256 == digest.to_string() {
            Ok(())
        } else {
            Err(Corruption::MetadataDigest { found: self.sha256.clone() })
        }
    }
}

/// For fields that are left out when false.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(value: &bool) -> bool {
    !value
}
