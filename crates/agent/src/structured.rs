//! A result that a program reads: a file that the agent writes, held against a schema.

use std::path::PathBuf;
use std::sync::Arc;

use fullsend_origin::Sha256Digest;
use serde::Serialize;
use serde_json::Value;

use crate::schema::{Schema, SchemaError};
use crate::workspace::{Contained, FileProblem, Workspace};

/// The largest file that is taken for a result.
const LARGEST: u64 = 16 << 20;

/// What is expected at the end of a run.
#[derive(Debug)]
pub struct StructuredResult {
    /// The file.
    pub place: Contained,
    /// `sha256:` of the schema as compact JSON.
    pub schema_digest: String,
    schema: Schema,
    text: String,
    workspace: Arc<Workspace>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct StructuredOutcome {
    /// Always `fullsend.structured-result-validation`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `valid` or `invalid`.
    pub status: &'static str,
    /// Of the schema.
    pub schema_digest: String,
    /// Where the result is.
    pub result_path: PathBuf,
    /// What is wrong with it; nothing of what it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_error: Option<String>,
}

/// Why a run with this expectation cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StructuredError {
    /// The schema is none.
    #[error("the schema of the structured result cannot be used: {0}")]
    Schema(#[from] SchemaError),
    /// There is a file already, which could be taken for the result of this run.
    #[error("`{}` exists already; remove it, or name another file, so that an old result is not taken for a new one", .0.display())]
    Stale(PathBuf),
}

impl StructuredResult {
    /// An expectation. The file must not exist yet, unless the run is `resumed`.
    pub fn expect(
        workspace: Arc<Workspace>,
        place: Contained,
        schema: &Value,
        resumed: bool,
    ) -> Result<Self, StructuredError> {
        let text = schema.to_string();
        let compiled = Schema::compile(schema)?;
        if !resumed && place.host.symlink_metadata().is_ok() {
            return Err(StructuredError::Stale(place.host));
        }
        let schema_digest = format!("sha256:{}", Sha256Digest::of(text.as_bytes()));
        Ok(Self { place, schema_digest, schema: compiled, text, workspace })
    }

    /// The schema, as compact JSON.
    pub fn schema_text(&self) -> &str {
        &self.text
    }

    /// Whether the file is there and fits.
    pub fn check(&self) -> StructuredOutcome {
        let problem = self.problem();
        StructuredOutcome {
            kind: "fullsend.structured-result-validation",
            status: if problem.is_none() { "valid" } else { "invalid" },
            schema_digest: self.schema_digest.clone(),
            result_path: self.place.host.clone(),
            validation_error: problem,
        }
    }

    fn problem(&self) -> Option<String> {
        let bytes = match self.read() {
            Ok(bytes) => bytes,
            Err(problem) => return Some(format!("the file cannot be read: {problem}")),
        };
        if bytes.trim_ascii().is_empty() {
            return Some("the file is empty".to_owned());
        }
        let value: Value = match serde_json::from_slice(&bytes) {
            Ok(value) => value,
            Err(error) => {
                return Some(format!(
                    "the file is not JSON: line {}, column {}",
                    error.line(),
                    error.column()
                ));
            }
        };
        let mismatches = self.schema.mismatches(&value);
        let told = |place: &str| if place.is_empty() { "/".to_owned() } else { place.to_owned() };
        let lines: Vec<String> =
            mismatches.iter().map(|one| format!("at `{}`: {}", told(&one.place), one.expected)).collect();
        (!lines.is_empty()).then(|| format!("the file does not fit the schema: {}", lines.join("; ")))
    }

    /// A regular file of reasonable size. Links are not followed, since the agent could point one anywhere, also while this
    /// looks: what it left running may still run.
    fn read(&self) -> Result<Vec<u8>, FileProblem> {
        self.workspace.open_unlinked_file(&self.place.sandbox)?.read_all(LARGEST)
    }
}
