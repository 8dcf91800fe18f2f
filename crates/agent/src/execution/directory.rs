//! Where in the sandbox the next command starts.

use std::fmt;

/// The directory that commands start in, which they may leave for another.
pub trait Whereabouts: fmt::Debug + Send + Sync {
    /// The directory, as an absolute path in the sandbox.
    fn current(&self) -> String;

    /// The directory that everything starts in which does not depend on what was done before.
    fn home(&self) -> String;

    /// The absolute, normal form of a path as a model gives it; none if it lies outside of what is mounted.
    fn resolve(&self, path: &str) -> Option<String>;

    /// The next command starts there. A path that [`Whereabouts::resolve`] would not return is ignored.
    fn move_to(&self, path: &str);
}
