//! Files of the host that a harness puts into the sandbox: read and checked first, put into the stage later.
//!
//! In between they are scanned; what is placed is what was scanned, not what the path leads to by then.

mod place;

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use fullsend_harness::expand::DENIED;
use fullsend_harness::schema::HostFile;
use fullsend_sandbox::SandboxError;
use fullsend_sandbox::spec::normal_target;
use rustix::fs::OFlags;

pub use place::{Placed, place};

use crate::env_file::AssignmentError;
use crate::environment::Environment;

/// The largest file, in bytes: what is placed is held in memory from the scan on.
pub const MAX_BYTES: u64 = 16 << 20;

/// A file that goes into the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFileContent {
    /// Where it was read.
    pub src: PathBuf,
    /// Where it goes: absolute, without `.` and `..`.
    pub dest: String,
    /// What it says, with its variables replaced if the harness asks for that.
    pub bytes: Vec<u8>,
    /// Whether it can be run.
    pub executable: bool,
}

/// Why a file of the host does not go into the sandbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostFileError {
    /// It cannot be read.
    #[error("host_files: cannot read `{}`; correct `src`, or add `optional: true`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no regular file.
    #[error("host_files: `{}` is not a regular file; name files one by one", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// It is too large.
    #[error("host_files: `{}` has more than {MAX_BYTES} bytes; put large files into the image", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It stands in the target repository and leads out of it.
    #[error(
        "host_files: `{}` stands in the target repository and leads out of it, to `{}`; name the file itself",
        path.display(), target.display()
    )]
    Outside {
        /// The file.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Its content is to have variables replaced, and is not text.
    #[error("host_files: `{}` has `expand: true` and is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// Its content refers to a variable that is not set.
    #[error("host_files: {}:{line}: `${{{name}}}` is not set", path.display())]
    Unset {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The variable.
        name: String,
    },
    /// Its destination cannot be.
    #[error("host_files: {0}")]
    Dest(SandboxError),
    /// Its destination belongs to the run.
    #[error("host_files: `{dest}` cannot be a destination: {why}")]
    Taken {
        /// The destination.
        dest: String,
        /// Whose it is.
        why: &'static str,
    },
    /// Two files have one destination.
    #[error("host_files: two files go to `{dest}`; give one of them another `dest`")]
    Twice {
        /// The destination.
        dest: String,
    },
    /// It is read by shells and is no list of variables.
    #[error("host_files: `{dest}` is read as variables of the sandbox, and {problem}")]
    Variables {
        /// The destination.
        dest: String,
        /// What is wrong.
        problem: AssignmentError,
    },
    /// It cannot be put into the stage.
    #[error("host_files: cannot write `{dest}`")]
    Write {
        /// The destination.
        dest: String,
        /// Why.
        source: io::Error,
    },
}

/// Where relative sources are, and whose files are not trusted.
#[derive(Clone, Copy, Debug)]
pub struct Roots<'a> {
    /// The fullsend directory, at which relative sources start.
    pub fullsend_dir: &'a Path,
    /// The target repository, whose links must not lead out of it.
    pub target_repo: &'a Path,
}

/// Reads all files of a harness. `sources` are theirs with variables replaced, as [`crate::environment::expand`] gives them.
///
/// Optional files that are not there are left out.
pub fn read(
    files: &[HostFile],
    sources: &[Option<String>],
    roots: Roots<'_>,
    environment: &Environment,
) -> Result<Vec<HostFileContent>, HostFileError> {
    let mut contents: Vec<HostFileContent> = Vec::new();
    for (file, source) in files.iter().zip(sources) {
        let (Some(source), Some(dest)) = (source, &file.dest) else { continue };
        let dest = normal_target(dest).map_err(HostFileError::Dest)?;
        if contents.iter().any(|other| other.dest == dest) {
            return Err(HostFileError::Twice { dest });
        }
        let is = |flag: &Option<fullsend_yaml::Located<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
        let src = roots.fullsend_dir.join(source);
        let bytes = match read_one(&src, roots.target_repo) {
            Err(HostFileError::Io { source, .. }) if is_missing(&source) && is(&file.optional) => continue,
            read => read?,
        };
        let bytes = if is(&file.expand) { expanded(&src, bytes, environment)? } else { bytes };
        let executable = dest.contains("/bin/");
        contents.push(HostFileContent { src, dest, bytes, executable });
    }
    Ok(contents)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn read_one(path: &Path, target_repo: &Path) -> Result<Vec<u8>, HostFileError> {
    let failed = |source| HostFileError::Io { path: path.to_owned(), source };
    let real = path.canonicalize().map_err(failed)?;
    // Whoever can change the repository could otherwise have any file of this machine handed to the agent.
    let repo = target_repo.canonicalize().map_err(failed)?;
    let within = |path: &Path| path.starts_with(target_repo) || path.starts_with(&repo);
    if within(path) && !real.starts_with(&repo) {
        return Err(HostFileError::Outside { path: path.to_owned(), target: real });
    }
    // Opening a pipe would wait for a writer.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(&real).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(HostFileError::NotAFile { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(HostFileError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

fn expanded(path: &Path, bytes: Vec<u8>, environment: &Environment) -> Result<Vec<u8>, HostFileError> {
    let text = String::from_utf8(bytes).map_err(|_| HostFileError::NotText { path: path.to_owned() })?;
    let fill = |name: &str| match environment.get(name) {
        None if DENIED.contains(&name) => Some(""),
        value => value,
    };
    match fill_template(&text, fill) {
        Ok(text) => Ok(text.into_bytes()),
        Err(Unset { at, name }) => {
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            Err(HostFileError::Unset { path: path.to_owned(), line, name })
        }
    }
}

struct Unset {
    at: usize,
    name: String,
}

/// Replaces `${NAME}` and `$NAME`. Values are escaped for double quotes of a shell, so that `export X="${X}"` sets `X` to
/// the value and runs nothing. Anything else after a `$` stays.
fn fill_template<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> Result<String, Unset> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let (name, tail) = reference(after);
        if name.is_empty() {
            filled.push('$');
            rest = after;
            continue;
        }
        let at = text.len() - after.len();
        let value = value(name).ok_or_else(|| Unset { at, name: name.to_owned() })?;
        for letter in value.chars() {
            if matches!(letter, '\\' | '"' | '$' | '`') {
                filled.push('\\');
            }
            filled.push(letter);
        }
        rest = tail;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The name after a `$`, empty when there is none, and what follows it.
fn reference(after: &str) -> (&str, &str) {
    let name_end = |text: &str| {
        let starts = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let length = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        if starts { length.unwrap_or(text.len()) } else { 0 }
    };
    match after.strip_prefix('{') {
        Some(inside) => {
            let (name, tail) = inside.split_at(name_end(inside));
            tail.strip_prefix('}').map_or(("", after), |tail| (name, tail))
        }
        None => after.split_at(name_end(after)),
    }
}
