//! What lies over files that commands may not read: something that cannot be read, in the same place.
//!
//! It is not an empty file that can be read: a command would take it for the content, and the next commit would have it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use fullsend_sandbox::{FilesystemAccess, FilesystemMount, SandboxError, WriteMode};

use crate::sources::Sources;

/// The name of the file that covers others.
const COVER: &str = ".covered";

/// Covers what may not be read.
#[derive(Clone, Debug)]
pub(super) struct Covers {
    sources: Arc<Sources>,
    directory: PathBuf,
}

impl Covers {
    pub(super) fn new(sources: Arc<Sources>, directory: PathBuf) -> Self {
        sources.mask();
        Self { sources, directory }
    }

    /// A mount for each.
    pub(super) fn mounts(&self) -> Result<Vec<FilesystemMount>, SandboxError> {
        let masks = self.sources.masks();
        let source = if masks.iter().any(|mask| !mask.is_directory) { self.cover()? } else { PathBuf::new() };
        let mount = |mask: &crate::sources::Mask| FilesystemMount {
            source: if mask.is_directory { PathBuf::new() } else { source.clone() },
            target: mask.target.clone(),
            access: FilesystemAccess::ReadOnly,
            write_mode: WriteMode::Direct,
        };
        Ok(masks.iter().map(mount).collect())
    }

    fn cover(&self) -> Result<PathBuf, SandboxError> {
        let path = self.directory.join(COVER);
        let failed = |error| SandboxError::io(format!("cannot make `{}`", path.display()))(error);
        match OpenOptions::new().write(true).create_new(true).mode(0o0).open(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
        std::fs::canonicalize(&path).map_err(failed)
    }
}
