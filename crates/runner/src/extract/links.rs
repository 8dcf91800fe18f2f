//! Links in a copied tree, kept only where the kernel says that they lead to something inside it.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::tree::open_root;

/// The kernel follows no longer chain. Taking one link away can leave those that led through it without an end.
const ROUNDS: usize = 41;

/// Makes links below `root`, and gives the paths of those that were not.
///
/// They are made and then looked at in the copy, not in the tree they come from: nobody else can change the copy.
pub(super) fn make(root: &Path, links: &[(PathBuf, OsString)]) -> io::Result<Vec<PathBuf>> {
    let root = open_root(root)?;
    let mut kept: Vec<&Path> = Vec::new();
    let mut gone: Vec<PathBuf> = Vec::new();
    for (path, text) in links {
        // Relative to what it will be moved with; an absolute one means another machine's path.
        if Path::new(text).is_absolute() {
            gone.push(path.clone());
            continue;
        }
        rustix::fs::symlinkat(text, &root, path.as_path())?;
        kept.push(path);
    }
    for _ in 0..ROUNDS {
        let before = kept.len();
        let mut still = Vec::with_capacity(before);
        for path in kept {
            if leads_inside(&root, path)? {
                still.push(path);
            } else {
                rustix::fs::unlinkat(&root, path, AtFlags::empty())?;
                gone.push(path.to_path_buf());
            }
        }
        kept = still;
        if kept.len() == before {
            break;
        }
    }
    Ok(gone)
}

fn leads_inside(root: impl AsFd, path: &Path) -> io::Result<bool> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(root, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve) {
        Ok(_) => Ok(true),
        Err(Errno::NOSYS) => Err(Errno::NOSYS.into()),
        Err(_) => Ok(false),
    }
}
