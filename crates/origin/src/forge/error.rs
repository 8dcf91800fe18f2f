//! What can be wrong with a forge URL or a forge host.

use thiserror::Error;

use super::ForgeKind;
use crate::host::HostPatternError;
use crate::url::UrlError;

/// Why a URL does not name a place on a forge.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ForgeUrlError {
    /// The host is not a known forge.
    #[error("`{host}` is not a known forge")]
    UnknownHost {
        /// The host in lower case.
        host: String,
    },
    /// The URL can be read in more than one way.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The URL names a port, which the API would not use.
    #[error("a forge URL has no port")]
    Port,
    /// The URL has a query, which the API would not see.
    #[error("a forge URL has no query")]
    Query,
    /// The URL still has its fragment.
    #[error("a forge URL has no fragment")]
    Fragment,
    /// A path segment is not text.
    #[error("a path segment is not UTF-8 once decoded")]
    NotUtf8,
    /// The path ends too early.
    #[error("the path is too short for a {kind} directory or file")]
    TooShort {
        /// Whose grammar applies.
        kind: ForgeKind,
    },
    /// A GitLab path has no `/-/`.
    #[error("the path has no `/-/` between repository and `tree`")]
    NoSeparator,
    /// The path shows neither a directory nor a file.
    #[error("`{found}` is neither `tree` nor `blob`")]
    PathKind {
        /// The segment found.
        found: String,
    },
    /// An owner, group or repository has an impossible name.
    #[error("`{name}` cannot be the name of an owner or repository")]
    Name {
        /// The name as written.
        name: String,
    },
    /// The ref could be taken for a command-line option.
    #[error("`{reference}` cannot be the name of a branch, tag or commit")]
    Reference {
        /// The ref as written.
        reference: String,
    },
    /// A file where a directory is needed.
    #[error("the URL names a file (`blob`), a directory is needed")]
    NotADirectory,
    /// A whole repository where a directory in it is needed.
    #[error("the URL names a whole repository, a directory in it is needed")]
    RepositoryRoot,
}

impl ForgeUrlError {
    /// The error for a path that ends too early.
    pub(super) const fn too_short(kind: ForgeKind) -> Self {
        Self::TooShort { kind }
    }

    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownHost { .. } => "forge-unknown-host",
            Self::Url(error) => error.code(),
            Self::Port => "forge-port",
            Self::Query => "forge-query",
            Self::Fragment => "forge-fragment",
            Self::NotUtf8 => "forge-not-utf8",
            Self::TooShort { .. } => "forge-path-too-short",
            Self::NoSeparator => "forge-no-separator",
            Self::PathKind { .. } => "forge-path-kind",
            Self::Name { .. } => "forge-name",
            Self::Reference { .. } => "forge-reference",
            Self::NotADirectory => "forge-not-a-directory",
            Self::RepositoryRoot => "forge-repository-root",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::UnknownHost { .. } => {
                "use a github.com or gitlab.com URL, or name the host under `forges:` in the org config"
            }
            Self::Url(error) => return error.help(),
            Self::Port | Self::Query | Self::Fragment => "write host and path only",
            Self::NotUtf8 => "rename the directory in its repository",
            Self::TooShort { kind: ForgeKind::GitHub } => {
                "write `https://github.com/{owner}/{repo}/tree/{ref}/{path}`"
            }
            Self::TooShort { kind: ForgeKind::GitLab } | Self::NoSeparator => {
                "write `https://gitlab.com/{group}/{repo}/-/tree/{ref}/{path}`"
            }
            Self::PathKind { .. } => {
                "open the directory in the browser and copy its URL; it has `/tree/` in it"
            }
            Self::Name { .. } => "check owner and repository in the URL",
            Self::Reference { .. } => "use a branch, a tag or, best, a commit id",
            Self::NotADirectory => {
                "write the URL of the directory around the file, with `/tree/` for `/blob/`"
            }
            Self::RepositoryRoot => "append the path of the directory",
        };
        Some(help.to_owned())
    }
}

/// Why a host cannot be declared a forge.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ForgeHostError {
    /// The text is not a host.
    #[error(transparent)]
    Host(#[from] HostPatternError),
    /// The text stands for many hosts.
    #[error("a forge is one host, not a pattern")]
    Wildcard,
    /// The host is a public forge, whose meaning is fixed.
    #[error("`{host}` is built in and cannot be redefined")]
    BuiltIn {
        /// The host in lower case.
        host: String,
    },
    /// The host was declared before.
    #[error("`{host}` is declared twice")]
    Duplicate {
        /// The host in lower case.
        host: String,
    },
}

impl ForgeHostError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Host(error) => error.code(),
            Self::Wildcard => "forge-host-wildcard",
            Self::BuiltIn { .. } => "forge-host-built-in",
            Self::Duplicate { .. } => "forge-host-duplicate",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Host(error) => error.help(),
            Self::Wildcard => Some("list each host by its full name".to_owned()),
            Self::BuiltIn { .. } | Self::Duplicate { .. } => Some("remove the entry".to_owned()),
        }
    }
}
