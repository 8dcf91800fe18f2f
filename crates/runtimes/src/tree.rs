//! Directories of skills and plugins, copied to where a sandbox sees them.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use fullsend_guard::hook::Runtime;

use crate::runtime::RuntimeError;

/// The most bytes that all files of one directory may have.
const MOST_BYTES: u64 = 256 << 20;
/// How deep directories may lie in each other.
const DEEPEST: usize = 32;

/// The directories of `kind` by their names; an error where two have the same, or one has a name that `reserved` holds.
pub(crate) fn by_name<'p>(
    runtime: Runtime,
    kind: &str,
    paths: &'p [PathBuf],
    reserved: &[&str],
) -> Result<BTreeMap<&'p str, &'p Path>, RuntimeError> {
    let refuse = |problem: String| RuntimeError::Unsupported { runtime: runtime.as_str(), problem };
    let mut named: BTreeMap<&str, &Path> = BTreeMap::new();
    for path in paths.iter().filter(|path| !path.as_os_str().is_empty()) {
        let plain = |name: &&str| is_plain(name) && !reserved.contains(name);
        let name = path.file_name().and_then(|name| name.to_str()).filter(plain).ok_or_else(|| {
            refuse(format!("cannot have a {kind} in a directory called `{}`; rename it", path.display()))
        })?;
        match named.insert(name, path) {
            Some(other) if other != path => {
                let (one, two) = (other.display(), path.display());
                return Err(refuse(format!(
                    "cannot tell the {kind}s `{one}` and `{two}` apart; rename one of the directories"
                )));
            }
            Some(_) | None => {}
        }
    }
    Ok(named)
}

/// Whether a name means nothing but itself, to a file system and to a command line.
pub(crate) fn is_plain(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | '+' | '@');
    !name.is_empty() && !name.starts_with(['.', '-']) && name.chars().all(plain)
}

/// The agent's name without an ending; an error if a command line could take it for something else.
pub(crate) fn agent_name(runtime: Runtime, name: &str) -> Result<&str, RuntimeError> {
    let bare = name.strip_suffix(".md").unwrap_or(name);
    if is_plain(bare) {
        return Ok(bare);
    }
    let problem = format!(
        "cannot run an agent called `{}`; rename it to letters, digits, `-`, `_` and `.`",
        name.escape_debug()
    );
    Err(RuntimeError::Unsupported { runtime: runtime.as_str(), problem })
}

/// Makes a directory and those above it.
pub(crate) fn make(path: &Path) -> Result<(), RuntimeError> {
    let made = DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(|source| RuntimeError::Io { doing: format!("make `{}`", path.display()), source })
}

/// Writes a file that every user may read.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), RuntimeError> {
    let written =
        fs::write(path, content).and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o644)));
    written.map_err(|source| RuntimeError::Io { doing: format!("write `{}`", path.display()), source })
}

/// Copies what is in the directory `from` into `to`, which is made. A link is followed to a file of the same directory; one
/// that leads elsewhere would bring in what nobody has looked at.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), RuntimeError> {
    let doing = || format!("copy `{}`", from.display());
    let root = from.canonicalize().map_err(|source| RuntimeError::Io { doing: doing(), source })?;
    let mut copy = Copy { root: &root, left: MOST_BYTES };
    copy.directory(&root, to, DEEPEST).map_err(|source| RuntimeError::Io { doing: doing(), source })
}

struct Copy<'a> {
    root: &'a Path,
    left: u64,
}

impl Copy<'_> {
    fn directory(&mut self, from: &Path, to: &Path, depth: usize) -> io::Result<()> {
        if depth == 0 {
            return Err(io::Error::other(format!("`{}` lies too deep", from.display())));
        }
        DirBuilder::new().recursive(true).mode(0o755).create(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
            if kind.is_dir() {
                self.directory(&entry.path(), &target, depth - 1)?;
            } else {
                self.file(&entry.path(), &target)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let real = from.canonicalize()?;
        let found = fs::metadata(&real)?;
        if !real.starts_with(self.root) || !found.is_file() {
            let why = format!("`{}` is neither a file nor a link to a file beside it", from.display());
            return Err(io::Error::other(why));
        }
        self.left = self
            .left
            .checked_sub(found.len())
            .ok_or_else(|| io::Error::other(format!("it has more than {MOST_BYTES} bytes")))?;
        fs::copy(&real, to)?;
        let mode = if found.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(to, Permissions::from_mode(mode))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;

    use fullsend_guard::hook::Runtime;

    use super::{by_name, copy};

    #[test]
    fn a_copy_has_what_belongs_to_it_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("scripts")).unwrap();
        fs::write(from.join("scripts/run.sh"), "x").unwrap();
        fs::set_permissions(from.join("scripts/run.sh"), fs::Permissions::from_mode(0o700)).unwrap();
        symlink("scripts/run.sh", from.join("link")).unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read(to.join("link")).unwrap(), b"x");
        assert_eq!(fs::metadata(to.join("scripts/run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
        fs::write(place.path().join("outside"), "y").unwrap();
        for target in ["../outside", "/etc/passwd", "nowhere", "scripts"] {
            fs::remove_file(from.join("link")).unwrap();
            symlink(target, from.join("link")).unwrap();
            copy(&from, &place.path().join(format!("to-{}", target.len()))).unwrap_err();
        }
    }

    #[test]
    fn names_are_plain_different_and_free() {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        let names = |list: &[&str]| {
            by_name(Runtime::Claude, "plugin", &paths(list), &["cache"])
                .map(|named| named.into_keys().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(names(&["/a/one", "", "/b/two", "/a/one"]).unwrap(), ["one", "two"]);
        for bad in [&["/a/one", "/b/one"][..], &["/a/cache"], &["/a/.."], &["/a/-x"], &["/a/x y"], &["/"]] {
            names(bad).unwrap_err();
        }
    }
}
