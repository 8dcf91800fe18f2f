//! What can go wrong with a forge.

use std::fmt;

use fullsend_fetch::FetchError;
use fullsend_fetch::get::CredentialError;
use fullsend_origin::{ForgeUrlError, TreeError, TreePath, UrlError};
use jiff::Timestamp;
use thiserror::Error;

use super::{BlobId, Place, hosts};

/// Why a forge did not yield a directory or file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ForgeError {
    /// There is no such thing, or it is hidden.
    #[error("{place} was not found")]
    NotFound {
        /// What was asked for.
        place: Box<Place>,
        /// Whether a token was sent.
        token: TokenUse,
    },
    /// The forge does not let us in.
    #[error("the forge refused access to {place} (status {status})")]
    Unauthorised {
        /// What was asked for.
        place: Box<Place>,
        /// 401 or 403.
        status: u16,
        /// Whether a token was sent.
        token: TokenUse,
    },
    /// We asked too often, and the wait would be too long.
    #[error("the quota of requests for {place} is used up{}", Until(*reset))]
    RateLimited {
        /// What was asked for.
        place: Box<Place>,
        /// When to ask again, if the forge said so.
        reset: Option<Timestamp>,
        /// Whether a token was sent.
        token: TokenUse,
    },
    /// The repository was renamed or moved.
    #[error("the forge has {place} under another name now")]
    Moved {
        /// What was asked for.
        place: Box<Place>,
    },
    /// The directory has an entry that is not a plain file.
    #[error("`{}` is {kind}", path.escape_debug())]
    Entry {
        /// Its path below the directory.
        path: String,
        /// What it is.
        kind: EntryKind,
    },
    /// The directory has too many files.
    #[error("the directory has more than {limit} files")]
    TooManyFiles {
        /// The most files allowed.
        limit: usize,
    },
    /// The directory has too many bytes.
    #[error("the files of the directory have more than {limit} bytes together")]
    TooManyBytes {
        /// The most bytes allowed.
        limit: u64,
    },
    /// The listing does not end.
    #[error("the directory cannot be listed with {limit} requests")]
    TooManyRequests {
        /// The most requests allowed.
        limit: usize,
    },
    /// The listing has an entry that no honest listing has.
    #[error("the listing has the entry `{}`, which is refused", path.escape_debug())]
    Listing {
        /// The path as listed.
        path: String,
        /// What is wrong with it.
        source: ListingFault,
    },
    /// The forge cut the listing of a single directory.
    #[error("the forge cut the listing of {place}")]
    Truncated {
        /// The directory.
        place: Box<Place>,
    },
    /// The directory has no files.
    #[error("{place} has no files")]
    Empty {
        /// The directory.
        place: Box<Place>,
    },
    /// A file is not the one that was listed.
    #[error("`{path}` is not the file that was listed: it has the id {found}, listed was {listed}")]
    Changed {
        /// Its path.
        path: TreePath,
        /// The id in the listing.
        listed: BlobId,
        /// The id of what arrived.
        found: BlobId,
    },
    /// The content of a file is not in the repository.
    #[error("`{path}` is kept in Git LFS, so its content is not in the repository")]
    LargeFile {
        /// Its path.
        path: TreePath,
    },
    /// The forge answered with something else than its API promises.
    #[error("the forge did not answer as its API says about {place}")]
    Answer {
        /// What was asked for.
        place: Box<Place>,
        /// What is wrong with it, if it should have been JSON.
        source: Option<serde_json::Error>,
    },
    /// A client was asked about another forge, or a token is for a host that is none.
    #[error("`{host}` is not a forge that is known here")]
    OtherHost {
        /// The host.
        host: String,
    },
    /// The URL does not name what is needed.
    #[error(transparent)]
    ForgeUrl(#[from] ForgeUrlError),
    /// No request can be made of the names given.
    #[error("the request cannot be written as a URL")]
    Url(#[from] UrlError),
    /// The token cannot be sent.
    #[error(transparent)]
    Token(#[from] CredentialError),
    /// The forge could not be asked.
    #[error("the forge could not be asked")]
    Transport(#[from] FetchError),
}

impl ForgeError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "forge-not-found",
            Self::Unauthorised { .. } => "forge-unauthorised",
            Self::RateLimited { .. } => "forge-rate-limited",
            Self::Moved { .. } => "forge-moved",
            Self::Entry { kind, .. } => kind.code(),
            Self::TooManyFiles { .. } => "forge-too-many-files",
            Self::TooManyBytes { .. } => "forge-too-many-bytes",
            Self::TooManyRequests { .. } => "forge-too-many-requests",
            Self::Listing { .. } => "forge-bad-listing",
            Self::Truncated { .. } => "forge-truncated-listing",
            Self::Empty { .. } => "forge-empty-directory",
            Self::Changed { .. } => "forge-file-changed",
            Self::LargeFile { .. } => "forge-large-file",
            Self::Answer { .. } => "forge-answer",
            Self::OtherHost { .. } => "forge-other-host",
            Self::ForgeUrl(error) => error.code(),
            Self::Url(error) => error.code(),
            Self::Token(error) => error.code(),
            Self::Transport(error) => error.code(),
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::NotFound { place, token: TokenUse::None } => {
                return Some(format!(
                    "check the URL; a private repository needs a token {}",
                    in_variables(place)
                ));
            }
            Self::NotFound { place, token: TokenUse::Sent } => {
                return Some(format!(
                    "check the URL, and that the token {} may read the repository",
                    in_variables(place)
                ));
            }
            Self::Unauthorised { place, token: TokenUse::None, .. } => {
                return Some(format!("give a token that may read the repository {}", in_variables(place)));
            }
            Self::Unauthorised { place, token: TokenUse::Sent, .. } => {
                return Some(format!("check the token {}: it is not accepted", in_variables(place)));
            }
            Self::RateLimited { place, token: TokenUse::None, .. } => {
                return Some(format!(
                    "wait, or give a token, which has a larger quota, {}",
                    in_variables(place)
                ));
            }
            Self::RateLimited { token: TokenUse::Sent, .. } => "wait, or use another token",
            Self::Moved { .. } => "open the URL in a browser and use the one it ends at",
            Self::Entry { .. } => "use a directory of plain files only",
            Self::TooManyFiles { .. } | Self::TooManyBytes { .. } | Self::TooManyRequests { .. } => {
                "use a smaller directory: a skill is text and a few scripts"
            }
            Self::Truncated { .. } => "use a smaller directory",
            Self::Empty { .. } => "check the path: it may be a file, or a directory without files",
            Self::Changed { .. } => "try again; if it stays, the forge or something before it is broken",
            Self::LargeFile { .. } => "commit the file itself, or use a directory without it",
            Self::Listing { source, .. } => return source.help(),
            Self::OtherHost { .. } => "name the host under `forges:` in the org config",
            Self::Answer { .. } => "check that the host is a forge of the kind that the configuration says",
            Self::ForgeUrl(error) => return error.help(),
            Self::Url(error) => return error.help(),
            Self::Token(error) => return error.help(),
            Self::Transport(error) => return error.help(),
        };
        Some(help.to_owned())
    }
}

/// Where the token for a place comes from.
fn in_variables(place: &Place) -> String {
    format!("in `{}`", hosts::token_variables(place.repo.kind(), place.repo.host()).join("` or `"))
}

/// Whether a token was sent with the request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    /// There was none for this forge.
    None,
    /// It was.
    Sent,
}

/// The end of a sentence about a limit.
struct Until(Option<Timestamp>);

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(reset) => write!(f, " until {reset:.0}"),
            None => Ok(()),
        }
    }
}

/// What an entry is instead of a plain file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntryKind {
    /// A symbolic link, which may point out of the directory.
    #[error("a symbolic link, and links are not followed")]
    Symlink,
    /// A submodule, whose content is in another repository.
    #[error("a submodule, and its content is in another repository")]
    Submodule,
    /// Something else.
    #[error("neither a file nor a directory (mode `{}`)", mode.escape_debug())]
    Special {
        /// Its mode as listed.
        mode: String,
    },
}

impl EntryKind {
    /// Stable name of this kind for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Symlink => "forge-entry-symlink",
            Self::Submodule => "forge-entry-submodule",
            Self::Special { .. } => "forge-entry-special",
        }
    }
}

/// What is wrong with an entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ListingFault {
    /// The path is not one inside a directory, or occurs twice.
    #[error(transparent)]
    Path(#[from] TreeError),
    /// The path is not below the directory that was asked for.
    #[error("it is not in the directory that was asked for")]
    Outside,
    /// The path has a segment that belongs to git itself.
    #[error("it is inside a `.git` directory, which no repository contains")]
    Git,
    /// The name is not text, or the forge could not show it as such.
    #[error("its name is not UTF-8")]
    NotUtf8,
    /// There is a file where another file needs a directory.
    #[error("it is a file, and there are files below it")]
    FileAndDirectory,
    /// A directory without files, which git does not keep.
    #[error("it is a directory, but the files in it are not listed")]
    Incomplete,
    /// The id of the object is none.
    #[error("its object id is not one")]
    Id,
}

impl ListingFault {
    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Path(error) => return error.help(),
            Self::NotUtf8 => "rename the file in its repository",
            Self::Incomplete => "try again; if it stays, the forge is broken",
            Self::Outside | Self::Git | Self::FileAndDirectory | Self::Id => {
                "do not use this repository: its listing is forged or broken"
            }
        };
        Some(help.to_owned())
    }
}
