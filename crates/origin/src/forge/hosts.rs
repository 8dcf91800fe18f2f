//! Which hosts are forges.

use std::collections::BTreeMap;
use std::fmt;

use super::ForgeHostError;
use crate::host::HostPattern;

/// Where GitHub lives.
pub(super) const GITHUB: &str = "github.com";
/// Where GitLab lives.
pub(super) const GITLAB: &str = "gitlab.com";
/// Where GitHub serves the bytes of single files.
pub(super) const RAW_GITHUB: &str = "raw.githubusercontent.com";

/// The API that a forge speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ForgeKind {
    /// github.com or GitHub Enterprise Server.
    GitHub,
    /// gitlab.com or a self-managed GitLab.
    GitLab,
}

impl ForgeKind {
    /// The word used in configuration and audit records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
        }
    }
}

impl fmt::Display for ForgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The forges that are known: the two public ones, and those the org config names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeHosts {
    kinds: BTreeMap<String, ForgeKind>,
}

impl Default for ForgeHosts {
    fn default() -> Self {
        let public = [(GITHUB, ForgeKind::GitHub), (GITLAB, ForgeKind::GitLab)];
        Self { kinds: public.map(|(host, kind)| (host.to_owned(), kind)).into() }
    }
}

impl ForgeHosts {
    /// The two public forges.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a self-hosted forge. The public forges cannot be given another meaning.
    pub fn with_host(mut self, host: &str, kind: ForgeKind) -> Result<Self, ForgeHostError> {
        let pattern = HostPattern::parse(host)?;
        if pattern.is_wildcard() {
            return Err(ForgeHostError::Wildcard);
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if [GITHUB, GITLAB, RAW_GITHUB].contains(&host.as_str()) {
            return Err(ForgeHostError::BuiltIn { host });
        }
        if self.kinds.contains_key(&host) {
            return Err(ForgeHostError::Duplicate { host });
        }
        self.kinds.insert(host, kind);
        Ok(self)
    }

    /// The forge at `host` (without brackets), in any case.
    pub fn kind_of(&self, host: &str) -> Option<ForgeKind> {
        self.kinds.get(&host.to_ascii_lowercase()).copied()
    }

    /// All known hosts, in lower case and in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, ForgeKind)> {
        self.kinds.iter().map(|(host, kind)| (host.as_str(), *kind))
    }
}
