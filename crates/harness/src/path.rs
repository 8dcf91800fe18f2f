//! Paths as harness files mean them: relative to the fullsend directory, and staying inside it.
//!
//! The rules are lexical. Symbolic links that an operator places in the fullsend directory are followed on purpose: the
//! directory is trusted configuration, and shared skill directories are commonly linked in.

use std::path::{Component, Path, PathBuf};

/// The path without `.` and with `..` applied, without touching the file system.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match normal.components().next_back() {
                Some(Component::Normal(_)) => {
                    normal.pop();
                }
                Some(Component::RootDir) => {}
                None | Some(Component::ParentDir | Component::CurDir | Component::Prefix(_)) => {
                    normal.push("..")
                }
            },
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => normal.push(component),
        }
    }
    normal
}

/// Where a path lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// Strictly below the directory.
    Inside,
    /// The directory itself or anything not below it.
    Outside,
}

/// Whether `path` lies below `root`, both taken lexically.
#[must_use]
pub fn containment(root: &Path, path: &Path) -> Containment {
    let (root, path) = (normalize(root), normalize(path));
    let inside = match path.strip_prefix(&root) {
        Ok(rest) => rest.components().next().is_some_and(|first| matches!(first, Component::Normal(_))),
        Err(_) => false,
    };
    if inside { Containment::Inside } else { Containment::Outside }
}

/// The path that a local reference of a harness names: absolute ones as they are, others below `root`. `None` when a
/// relative one leaves it.
#[must_use]
pub fn resolve(root: &Path, written: &str) -> Option<PathBuf> {
    let written = Path::new(written);
    if written.is_absolute() {
        return Some(written.to_owned());
    }
    let path = normalize(&root.join(written));
    (containment(root, &path) == Containment::Inside).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_stay_inside() {
        let root = Path::new("org/.fullsend");
        for (written, expected) in [
            ("agents/code.md", Some("org/.fullsend/agents/code.md")),
            ("./agents/../agents/code.md", Some("org/.fullsend/agents/code.md")),
            ("a/..", None),
            (".", None),
            ("../x", None),
            ("a/../../x", None),
            ("../.fullsend/x", Some("org/.fullsend/x")),
            ("/opt/x", Some("/opt/x")),
            ("..foo/x", Some("org/.fullsend/..foo/x")),
        ] {
            assert_eq!(resolve(root, written).as_deref(), expected.map(Path::new), "{written}");
        }
    }

    #[test]
    fn a_root_of_dots_works_too() {
        assert_eq!(resolve(Path::new("."), "a/b"), Some(PathBuf::from("a/b")));
        assert_eq!(resolve(Path::new("."), "../b"), None);
        assert_eq!(resolve(Path::new(".."), "b"), Some(PathBuf::from("../b")));
        assert_eq!(resolve(Path::new(".."), "../b"), None);
        assert_eq!(resolve(Path::new("/"), "../etc"), Some(PathBuf::from("/etc")));
    }
}
