//! Single files out of a directory that the sandbox could write.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::tree::open_root;
use super::{ExtractError, Extracted, Limits};
use crate::durable;

/// Copies transcripts, which lie below `root`, into the directory `to`, each as `<agent>-<name>`. One that cannot be copied
/// is a warning: it is a record, not the result.
pub fn transcripts(
    root: &Path,
    paths: &[PathBuf],
    to: &Path,
    agent: &str,
    limits: Limits,
) -> Result<Extracted, ExtractError> {
    let at = |path: &Path, source| ExtractError::Io { path: path.to_owned(), source };
    let opened = open_root(root).map_err(|source| at(root, source))?;
    let (mut found, mut taken, mut left) = (Extracted::default(), BTreeSet::new(), limits.bytes);
    for path in paths {
        let inside = path.strip_prefix(root).unwrap_or(path);
        let file = match open(&opened, inside) {
            Ok(file) => file,
            Err(_) => {
                found.warn(inside, "it is not a file of the runtime's own directory");
                continue;
            }
        };
        let name = name_for(agent, inside, &mut taken);
        let most = limits.file_bytes.min(left);
        let mut target = durable::create_new(&to.join(&name)).map_err(|source| at(inside, source))?;
        let copied = io::copy(&mut file.take(most), &mut target).map_err(|source| at(inside, source))?;
        if copied == most {
            found.warn(inside, "it is too long, and what is beyond the limit is missing");
        }
        left = left.saturating_sub(copied);
        found.files.push(PathBuf::from(name));
    }
    Ok(found.told())
}

/// No part of the way may be a link: the runtime's directory is the agent's to change.
fn open(root: impl std::os::fd::AsFd, path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = File::from(rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

fn name_for(agent: &str, path: &Path, taken: &mut BTreeSet<String>) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let safe =
        |text: &str| text.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect::<String>();
    let base = path.file_name().unwrap_or_default().to_string_lossy();
    let short: String = safe(&base).chars().rev().take(150).collect();
    let short: String = short.chars().rev().collect();
    let agent: String = safe(agent).chars().take(80).collect();
    let mut name = format!("{agent}-{short}");
    let mut number = 2_u32;
    while !taken.insert(name.clone()) {
        name = format!("{agent}-{number}-{short}");
        number += 1;
    }
    name
}
