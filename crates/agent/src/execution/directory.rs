//! Where in the sandbox the next command starts.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use fullsend_sandbox::spec::is_at_or_below;

/// The directory that commands start in, which they may leave for another.
pub trait Whereabouts: fmt::Debug + Send + Sync {
    /// The directory, as an absolute path in the sandbox.
    fn current(&self) -> String;

    /// The absolute, normal form of a path as a model gives it; none if it lies outside of what is mounted.
    fn resolve(&self, path: &str) -> Option<String>;

    /// The next command starts there. A path that [`Whereabouts::resolve`] would not return is ignored.
    fn move_to(&self, path: &str);
}

/// A current directory within a list of roots.
#[derive(Debug)]
pub struct Directories {
    roots: Vec<String>,
    current: Mutex<String>,
}

impl Directories {
    /// Starts in `current`; `roots` are absolute and normal.
    pub fn new(roots: Vec<String>, current: impl Into<String>) -> Self {
        Self { roots, current: Mutex::new(current.into()) }
    }
}

impl Whereabouts for Directories {
    fn current(&self) -> String {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn resolve(&self, path: &str) -> Option<String> {
        let joined =
            if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", self.current()) };
        let normal = normal(&joined);
        self.roots.iter().any(|root| is_at_or_below(&normal, root)).then_some(normal)
    }

    fn move_to(&self, path: &str) {
        if let Some(path) = self.resolve(path) {
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = path;
        }
    }
}

fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{Directories, Whereabouts as _};

    #[test]
    fn paths_stay_within_the_roots() {
        let place = Directories::new(vec!["/workspace".to_owned(), "/tmp".to_owned()], "/workspace/a");
        for (asked, expected) in [
            ("b", Some("/workspace/a/b")),
            ("", Some("/workspace/a")),
            ("..", Some("/workspace")),
            ("..foo", Some("/workspace/a/..foo")),
            ("/tmp/./x//y/", Some("/tmp/x/y")),
            ("../..", None),
            ("/", None),
            ("/etc", None),
            ("/workspaces", None),
            ("/workspace/../etc", None),
            ("/workspace/a/../../workspace/b", Some("/workspace/b")),
        ] {
            assert_eq!(place.resolve(asked).as_deref(), expected, "{asked}");
        }
        place.move_to("/etc");
        assert_eq!(place.current(), "/workspace/a");
        place.move_to("../c");
        assert_eq!(place.current(), "/workspace/c");
    }
}
