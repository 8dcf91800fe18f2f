//! Steps from an open directory that follow no link and open nothing but files and directories.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use fullsend_guard::files::open_directory;
use rustix::fs::CWD;

/// Opens the directory that a tree begins with, which is no link either.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    open_directory(CWD, path.as_os_str())
}

/// Where a link leads, as it is written.
pub(super) fn read_link(parent: impl AsFd, name: &OsStr) -> io::Result<OsString> {
    Ok(OsString::from_vec(rustix::fs::readlinkat(parent, name, Vec::new())?.into_bytes()))
}
