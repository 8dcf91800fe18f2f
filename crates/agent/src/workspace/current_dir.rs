//! The directory that relative paths start at, which commands change and all tools share.

use std::sync::{Arc, Mutex, PoisonError};

use super::{SandboxPath, WORKSPACE_TARGET};

/// A handle of the current directory of a run. Clones share it.
#[derive(Clone, Debug)]
pub struct CurrentDir(Arc<Mutex<SandboxPath>>);

impl CurrentDir {
    /// Starts somewhere.
    pub fn new(start: SandboxPath) -> Self {
        Self(Arc::new(Mutex::new(start)))
    }

    /// Where it is.
    pub fn get(&self) -> SandboxPath {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes elsewhere.
    pub fn set(&self, path: SandboxPath) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = path;
    }
}

impl Default for CurrentDir {
    fn default() -> Self {
        Self::new(SandboxPath::known(WORKSPACE_TARGET))
    }
}
