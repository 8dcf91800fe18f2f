//! Computing pins: the digest of what a URL or a path names.

use std::path::{Path, PathBuf};

use fullsend_fetch::Fetcher;
use fullsend_origin::{
    ForgeHosts, ForgeUrl, PathKind, PinnedUrl, RemoteUrl, Sha256Digest, TreeDigestBuilder, TreePath,
};
use thiserror::Error;

use crate::error::DependencyError;
use crate::file::download_file;
use crate::forge::Forges;
use crate::store::{digest_of, download};

/// Why a path cannot be hashed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PinPathError {
    /// The operating system said no.
    #[error("cannot read `{}`", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A link, pipe or device.
    #[error("`{}` is neither a regular file nor a directory", path.display())]
    Special {
        /// The entry.
        path: PathBuf,
    },
    /// A name that cannot be part of a tree digest.
    #[error("`{}` cannot be part of a tree digest: {reason}", path.display())]
    Name {
        /// The entry.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A directory without files.
    #[error("`{}` has no files", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
}

/// The digest of a local file, or the tree digest of a local directory. Directories named `.git` are left out, as they
/// are on a forge.
///
/// # Errors
/// When something cannot be read, is neither file nor directory, or has a name that a digest cannot hold.
pub fn pin_path(path: &Path) -> Result<Sha256Digest, PinPathError> {
    if path.is_dir() {
        let mut files = TreeDigestBuilder::new();
        add_directory(path, path, &mut files)?;
        if files.is_empty() {
            return Err(PinPathError::Empty { path: path.to_owned() });
        }
        return Ok(files.finish().as_sha256());
    }
    file_digest(path)
}

fn file_digest(path: &Path) -> Result<Sha256Digest, PinPathError> {
    let io = |source| PinPathError::Io { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(PinPathError::Special { path: path.to_owned() });
    }
    std::fs::read(path).map(|bytes| Sha256Digest::of(&bytes)).map_err(io)
}

fn add_directory(root: &Path, directory: &Path, files: &mut TreeDigestBuilder) -> Result<(), PinPathError> {
    let io = |source| PinPathError::Io { path: directory.to_owned(), source };
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let entry = entry.map_err(io)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(io)?);
        if kind.is_dir() {
            if entry.file_name() != ".git" {
                add_directory(root, &path, files)?;
            }
        } else if kind.is_file() {
            let named = |reason: String| PinPathError::Name { path: path.clone(), reason };
            let relative = path.strip_prefix(root).ok().and_then(Path::to_str);
            let relative = relative.ok_or_else(|| named("it is not UTF-8".to_owned()))?;
            let tree_path = TreePath::parse(relative).map_err(|error| named(error.to_string()))?;
            files.add(tree_path, file_digest(&path)?).map_err(|error| named(error.to_string()))?;
        } else {
            return Err(PinPathError::Special { path });
        }
    }
    Ok(())
}

/// Fetches what a URL names and gives the URL with its pin.
///
/// # Errors
/// When it cannot be fetched.
pub async fn pin_url(
    fetcher: &Fetcher,
    forges: &Forges,
    hosts: &ForgeHosts,
    url: &RemoteUrl,
) -> Result<PinnedUrl, DependencyError> {
    let digest = match ForgeUrl::parse(url.as_https(), hosts) {
        Ok(directory) if directory.path_kind() == PathKind::Tree => {
            directory.require_tree_directory()?;
            digest_of(&download(forges, &directory).await?)?
        }
        Ok(_) | Err(_) => Sha256Digest::of(&download_file(fetcher, forges, hosts, url).await?),
    };
    Ok(PinnedUrl::new(url.clone(), digest))
}
