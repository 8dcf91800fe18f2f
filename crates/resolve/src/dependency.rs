//! What a harness turned out to depend on.

use std::path::PathBuf;

use fullsend_fetch::audit::Source;
use fullsend_harness::value::Platform;
use fullsend_origin::{Sha256Digest, TreePath};
use jiff::Timestamp;

use crate::lock::LockedKind;

/// One verified dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// Where the harness names it, such as `skills[0]`.
    pub field: String,
    /// The URL without its pin.
    pub url: String,
    /// The digest of the file or tree, verified.
    pub sha256: Sha256Digest,
    /// What it is.
    pub kind: LockedKind,
    /// The verified copy, under the name that consumers expect.
    pub path: PathBuf,
    /// The files of a directory.
    pub files: Vec<(TreePath, Sha256Digest)>,
    /// Where it came from this time.
    pub source: Source,
    /// When it was fetched from its origin.
    pub fetched_at: Timestamp,
    /// The platform whose overlay it belongs to, when it belongs to one only.
    pub platform: Option<Platform>,
}
