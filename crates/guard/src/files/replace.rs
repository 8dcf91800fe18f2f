//! Puts new text in the place of a file.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::files::open::{Root, open_file};

/// How many names are tried for the new file before it takes the place of the old.
const TRIES: u32 = 100;

/// Replaces the file at `path`, relative to `root`, with `content`: all of it or, on failure, nothing.
///
/// The new file has the permissions of the old one and, where that is allowed, its owner. Other names of the old file
/// (hard links), extended attributes and access lists stay behind with the old file. Nothing on the way to it may be a
/// link, so what is written stays inside the root.
pub fn replace(root: &Root, path: &Path, content: &[u8]) -> io::Result<()> {
    let (parent, name) = root.open_parent(path)?;
    let old = rustix::fs::fstat(open_file(&parent, name)?)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (temporary, file) = (0..TRIES)
        .find_map(|number| {
            let temporary = format!(".fullsend-{number}.tmp");
            match rustix::fs::openat(&parent, temporary.as_str(), flags, Mode::RUSR | Mode::WUSR) {
                Err(rustix::io::Errno::EXIST) => None,
                opened => Some(opened.map(|file| (temporary, File::from(file)))),
            }
        })
        .unwrap_or(Err(rustix::io::Errno::EXIST))?;
    let written = write(&file, content, &old)
        .and_then(|()| Ok(rustix::fs::renameat(&parent, temporary.as_str(), &parent, name)?));
    if written.is_err() {
        let _the_first_error_counts = rustix::fs::unlinkat(&parent, temporary.as_str(), AtFlags::empty());
    }
    written
}

fn write(mut file: &File, content: &[u8], old: &rustix::fs::Stat) -> io::Result<()> {
    file.write_all(content)?;
    let (user, group) = (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
    // Only root may give files away. The owner first: changing it takes permissions away.
    let _stays_with_the_caller = rustix::fs::fchown(file, Some(user), Some(group));
    rustix::fs::fchmod(file, Mode::from_raw_mode(old.st_mode))?;
    file.sync_all()
}
