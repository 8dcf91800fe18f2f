//! The text form of a mount: `name=docs,source=../docs,target=/docs,mode=readonly`.

use std::path::PathBuf;
use std::str::FromStr;

use super::{Access, PathProblem, SandboxPath};

/// A directory of the host that the sandbox is to see, as somebody asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMount {
    /// What it is called.
    pub name: String,
    /// Where it is on the host.
    pub source: PathBuf,
    /// Where the sandbox is to see it.
    pub target: SandboxPath,
    /// What may be done below it.
    pub access: Access,
}

/// What is wrong with the text of a mount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostMountError {
    /// Not of the form `key=value`, or one of the two is empty.
    #[error("`{0}` is not of the form `key=value`")]
    NotAPair(String),
    /// A key that means nothing.
    #[error("`{0}` is not a key of a host mount; the keys are name, source, target and mode")]
    UnknownKey(String),
    /// A key that was given before.
    #[error("`{0}` is given twice")]
    RepeatedKey(String),
    /// A key that every mount must have.
    #[error("`{0}` is missing; a host mount needs name, source and target")]
    MissingKey(&'static str),
    /// A name with other characters than names may have.
    #[error("`{0}` is not a name: start with a letter or digit, then letters, digits, `.`, `_` and `-`")]
    Name(String),
    /// Neither `readonly` nor `writable`.
    #[error("`{0}` is not a mode; the modes are readonly and writable")]
    Mode(String),
    /// A target that is not absolute, or is the root.
    #[error("target `{0}` must be an absolute path below `/`")]
    Target(String),
}

impl FromStr for HostMount {
    type Err = HostMountError;

    fn from_str(text: &str) -> Result<Self, HostMountError> {
        let [mut name, mut source, mut target, mut mode] = [None; 4];
        for segment in text.split(',').map(str::trim).filter(|segment| !segment.is_empty()) {
            let (key, value) = pair(segment)?;
            let place = match key {
                "name" => &mut name,
                "source" => &mut source,
                "target" => &mut target,
                "mode" => &mut mode,
                _ => return Err(HostMountError::UnknownKey(key.to_owned())),
            };
            if place.replace(value).is_some() {
                return Err(HostMountError::RepeatedKey(key.to_owned()));
            }
        }
        let access = match mode {
            None | Some("readonly") => Access::ReadOnly,
            Some("writable") => Access::Writable,
            Some(other) => return Err(HostMountError::Mode(other.to_owned())),
        };
        Ok(Self {
            name: checked_name(name.ok_or(HostMountError::MissingKey("name"))?)?,
            source: source.ok_or(HostMountError::MissingKey("source"))?.into(),
            target: checked_target(target.ok_or(HostMountError::MissingKey("target"))?)?,
            access,
        })
    }
}

fn pair(segment: &str) -> Result<(&str, &str), HostMountError> {
    let (key, value) =
        segment.split_once('=').map(|(key, value)| (key.trim(), value.trim())).unwrap_or_default();
    if key.is_empty() || value.is_empty() {
        return Err(HostMountError::NotAPair(segment.to_owned()));
    }
    Ok((key, value))
}

fn checked_name(name: &str) -> Result<String, HostMountError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(allowed) {
        return Ok(name.to_owned());
    }
    Err(HostMountError::Name(name.to_owned()))
}

fn checked_target(target: &str) -> Result<SandboxPath, HostMountError> {
    let refused = || HostMountError::Target(target.to_owned());
    if !target.starts_with('/') {
        return Err(refused());
    }
    let normal = SandboxPath::absolute(target).map_err(|_: PathProblem| refused())?;
    if normal.as_str() == "/" { Err(refused()) } else { Ok(normal) }
}
