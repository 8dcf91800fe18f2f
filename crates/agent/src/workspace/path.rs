//! Paths as the sandbox sees them.

use std::fmt;

use serde::Serialize;

/// Longer paths exist on no file system that Linux can walk in one step.
const LONGEST: usize = 4096;

/// An absolute path in the sandbox: no `.`, no `..`, no empty components, no slash at its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SandboxPath(String);

/// Why a text is not a path that a tool can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathProblem {
    /// Nothing at all.
    #[error("the path is empty; name a file, or `.` for the current directory")]
    Empty,
    /// A NUL, which ends paths for the system and would make it see another one.
    #[error("the path has a NUL character")]
    Nul,
    /// More than the system takes.
    #[error("the path is longer than {LONGEST} bytes")]
    TooLong,
    /// Below none of the mounts.
    #[error("the path is outside of the workspace and of every mounted directory")]
    Outside,
}

impl SandboxPath {
    /// The normal form of an absolute path. A `..` at the root stays at the root, as it does everywhere.
    pub fn absolute(text: &str) -> Result<Self, PathProblem> {
        Self::known("/").join(text)
    }

    /// A path that is known to be normal.
    pub(super) fn known(normal: &str) -> Self {
        Self(normal.to_owned())
    }

    /// What `given` means where this is the current directory. `..` is taken back by spelling.
    pub fn join(&self, given: &str) -> Result<Self, PathProblem> {
        if given.is_empty() {
            return Err(PathProblem::Empty);
        }
        if given.len() > LONGEST {
            return Err(PathProblem::TooLong);
        }
        if given.contains('\0') {
            return Err(PathProblem::Nul);
        }
        let start = if given.starts_with('/') { "" } else { self.0.trim_start_matches('/') };
        let mut parts: Vec<&str> = Vec::new();
        for part in start.split('/').chain(given.split('/')) {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                name => parts.push(name),
            }
        }
        let joined = format!("/{}", parts.join("/"));
        if joined.len() > LONGEST {
            return Err(PathProblem::TooLong);
        }
        Ok(Self(joined))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What comes after the last slash.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The rest below `base`, without a slash at its start; empty for `base` itself; none where it is not below.
    pub fn below(&self, base: &Self) -> Option<&str> {
        if base.0 == "/" {
            return self.0.strip_prefix('/');
        }
        let rest = self.0.strip_prefix(base.0.as_str())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    }
}

impl fmt::Display for SandboxPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
