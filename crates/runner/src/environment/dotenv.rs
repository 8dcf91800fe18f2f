//! Files with variables: `KEY=value` lines.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use fullsend_harness::value::EnvName;
use fullsend_yaml::FromText as _;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Why a file with variables is not used. Values are in no message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DotenvError {
    /// It cannot be read.
    #[error("cannot read the variables in `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no regular file, so that reading it could wait forever.
    #[error("`{}` with variables is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// It is too long.
    #[error("`{}` has more than {MAX_BYTES} bytes; variables do not need that much", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not text.
    #[error("`{}` with variables is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A line names no variable.
    #[error("{}:{line}: `{}` is not the name of a variable; write `NAME=value`", path.display(), name.escape_debug())]
    Name {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What stands before `=`.
        name: String,
    },
    /// A value that no process can have.
    #[error("{}:{line}: the value of `{name}` has a NUL character", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The variable.
        name: String,
    },
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Vec<(String, String)>, DotenvError> {
    let failed = |source| DotenvError::Io { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(DotenvError::NotAFile { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(DotenvError::TooLarge { path: path.to_owned() });
    }
    let text = String::from_utf8(bytes).map_err(|_| DotenvError::NotText { path: path.to_owned() })?;
    parse(path, &text)
}

/// The variables in the text of a file, in order.
///
/// One per line, after an optional `export` and exactly one space. Quotes of one kind around a value are taken off, and what
/// follows them is ignored; a comment starts with `#` at the start of a line, or after a space in a value without quotes.
/// Lines without `=` say nothing.
pub fn parse(path: &Path, text: &str) -> Result<Vec<(String, String)>, DotenvError> {
    let mut variables = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.strip_prefix("export ").unwrap_or(line).split_once('=') else {
            continue;
        };
        let (path, line) = (|| path.to_owned(), number + 1);
        if EnvName::from_text(name).is_err() {
            return Err(DotenvError::Name { path: path(), line, name: name.to_owned() });
        }
        let value = plain(value);
        if value.contains('\0') {
            return Err(DotenvError::Value { path: path(), line, name: name.to_owned() });
        }
        variables.push((name.to_owned(), value.to_owned()));
    }
    Ok(variables)
}

/// The value without its quotes or its comment.
fn plain(written: &str) -> &str {
    let value = written.trim();
    for quote in ['"', '\''] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inside;
        }
    }
    if value.starts_with(['"', '\'']) {
        return value;
    }
    written.split_once(" #").map_or(value, |(before, _)| before.trim())
}
