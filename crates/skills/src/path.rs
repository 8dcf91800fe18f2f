//! Paths of resources as models write them.

use thiserror::Error;

/// Why a text is not the path of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// Nothing is left of it.
    #[error("the path names the skill's directory itself; name a file in it")]
    Empty,
    /// It starts at the root of the file system.
    #[error("the path is absolute; write it relative to the skill's directory")]
    Absolute,
    /// It leads out of the skill.
    #[error("the path leads out of the skill's directory")]
    Outside,
    /// It holds a control character.
    #[error("the path holds a control character")]
    Control,
}

/// The one spelling of a path below a skill's directory: `/` between segments, no empty ones, no `.` and no `..`.
///
/// A segment that merely starts with two dots, as `..notes` does, is a name like any other.
///
/// # Errors
/// When the path is absolute, leads out, names nothing, or holds control characters.
pub fn normalize(path: &str) -> Result<String, PathError> {
    let path = path.trim().replace('\\', "/");
    if path.chars().any(char::is_control) {
        return Err(PathError::Control);
    }
    if path.starts_with('/') {
        return Err(PathError::Absolute);
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." if segments.pop().is_none() => return Err(PathError::Outside),
            ".." => {}
            name => segments.push(name),
        }
    }
    if segments.is_empty() { Err(PathError::Empty) } else { Ok(segments.join("/")) }
}
