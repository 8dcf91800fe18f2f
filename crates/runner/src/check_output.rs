//! Whether a file is the result that was asked for: what `fullsend check-output` says.

use std::path::{Path, PathBuf};

use fullsend_agent::schema::Schema;
use fullsend_guard::hook::parse_strict;
use thiserror::Error;

use crate::durable;
use crate::validate::{ResultSchema, ResultSchemaError};

/// What the result is called, unless the harness says otherwise.
pub const DEFAULT_FILE: &str = "agent-result.json";

/// The largest file that is taken for a result.
const LARGEST: u64 = 16 << 20;

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The file has another name.
    #[error("the result must be in a file called `{expected}`, and `{}` is not", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// What it should be called.
        expected: String,
    },
    /// There is no schema.
    #[error(transparent)]
    Schema(#[from] ResultSchemaError),
}

/// What is wrong with the file at `path`, held against the schema at `schema`; nothing if it fits. `expected` is the name that
/// the file must have.
pub fn check(path: &Path, schema: &Path, expected: &str) -> Result<Vec<String>, CheckError> {
    if path.file_name().is_none_or(|name| name != expected) {
        return Err(CheckError::Name { path: path.to_owned(), expected: expected.to_owned() });
    }
    let schema = ResultSchema::read(schema, expected)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(schema.problems(directory))
}

/// What is wrong with a file; nothing of what it says.
pub(crate) fn problems(path: &Path, schema: &Schema) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes = match durable::read(path, LARGEST) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return vec![format!("`{name}` is missing: write the result to it")];
        }
        Err(error) => return vec![format!("`{name}` cannot be read: {error}")],
        Ok(None) => return vec![format!("`{name}` has more than {LARGEST} bytes")],
        Ok(Some(bytes)) => bytes,
    };
    if bytes.trim_ascii().is_empty() {
        return vec![format!("`{name}` is empty")];
    }
    match parse_strict(&bytes) {
        Err(problem) => vec![format!("`{name}` {}", problem.as_str())],
        Ok(value) => {
            let place = |pointer: &str| pointer.trim_start_matches('/').replace('/', ".");
            let told = |one: fullsend_agent::schema::Mismatch| match place(&one.place) {
                root if root.is_empty() => one.expected,
                place => format!("{} at: {place}", one.expected),
            };
            schema.mismatches(&value).into_iter().map(told).collect()
        }
    }
}
