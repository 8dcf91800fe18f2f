//! What a program leaves in its own directory. The agent could write there: nothing in it is what its name says.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::driver::LONGEST_LOG;
use crate::runtime::RuntimeError;

/// How many transcripts there may be.
const MOST_TRANSCRIPTS: usize = 1000;
/// How deep they may lie.
const DEEPEST: usize = 8;

/// Opens what is a file and no link to one, without waiting for somebody to write into a pipe that is there in its stead.
fn open(path: &Path) -> Option<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path).ok()?;
    file.metadata().is_ok_and(|found| found.is_file()).then_some(file)
}

/// The beginning of a text in the agent's copy of the repository, if there is one.
pub(crate) fn text(path: &Path, longest: u64) -> Option<String> {
    let mut bytes = Vec::new();
    open(path)?.take(longest).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Copies a log out of the sandbox, if it is a file at all.
pub(crate) fn keep(from: &Path, to: &Path) -> Result<(), RuntimeError> {
    let Some(file) = open(from) else { return Ok(()) };
    copy(file, to).map_err(|source| RuntimeError::Io { doing: format!("write `{}`", to.display()), source })
}

fn copy(from: File, to: &Path) -> io::Result<()> {
    let mut to = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to)?;
    io::copy(&mut from.take(LONGEST_LOG), &mut to).map(drop)
}

/// The files below a directory whose names end like those of transcripts, in order. Links are not followed, and whoever reads
/// a file must not follow one that has taken its place.
pub(crate) fn transcripts(directory: &Path) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![(directory.to_owned(), DEEPEST)]);
    while let Some((directory, depth)) = todo.pop() {
        let is_directory = fs::symlink_metadata(&directory).is_ok_and(|found| found.is_dir());
        let entries = if is_directory { fs::read_dir(&directory).ok() } else { None };
        for entry in entries.into_iter().flatten().flatten() {
            let (Ok(kind), path) = (entry.file_type(), entry.path()) else { continue };
            if kind.is_dir() && depth > 0 {
                todo.push((path, depth - 1));
            } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "jsonl") {
                found.push(path);
            }
            if found.len() >= MOST_TRANSCRIPTS || todo.len() >= MOST_TRANSCRIPTS {
                found.sort();
                return found;
            }
        }
    }
    found.sort();
    found
}

/// Empties a directory, but for what other things are mounted on. An agent could otherwise leave settings for the next
/// iteration.
pub(crate) fn clear(directory: &Path, mount_points: &[&str]) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if mount_points.iter().any(|point| entry.file_name() == *point) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{clear, keep, transcripts};

    #[test]
    fn nothing_leads_outside() {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("inside"), place.path().join("outside"));
        fs::create_dir_all(inside.join("p/q")).unwrap();
        fs::create_dir_all(inside.join("skills")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret.jsonl"), "secret").unwrap();
        fs::write(inside.join("p/q/b.jsonl"), "").unwrap();
        fs::write(inside.join("p/a.jsonl"), "").unwrap();
        fs::write(inside.join("p/c.txt"), "").unwrap();
        symlink(&outside, inside.join("p/link")).unwrap();
        symlink(outside.join("secret.jsonl"), inside.join("p/l.jsonl")).unwrap();
        assert_eq!(transcripts(&inside.join("p")), [inside.join("p/a.jsonl"), inside.join("p/q/b.jsonl")]);
        assert!(transcripts(&inside.join("p/link")).is_empty());
        let log = place.path().join("log");
        keep(&inside.join("p/l.jsonl"), &log).unwrap();
        assert!(!log.exists());
        fs::write(inside.join("d.log"), "debug").unwrap();
        keep(&inside.join("d.log"), &log).unwrap();
        assert_eq!(fs::read(&log).unwrap(), b"debug");
        clear(&inside, &["skills"]).unwrap();
        let left: Vec<_> = fs::read_dir(&inside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["skills"]);
        assert!(outside.join("secret.jsonl").exists());
    }
}
