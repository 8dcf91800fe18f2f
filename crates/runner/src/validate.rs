//! Whether what the agent delivers is what was asked for, and what the agent is told if it is not.

mod attempts;
mod feedback;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fullsend_agent::schema::{Schema, SchemaError};
use fullsend_runtimes::Cancel;
use thiserror::Error;

pub use self::attempts::{Attempt, Attempts, Budget, Next, StopReason, Winner};
pub use self::feedback::{Feedback, FeedbackError, WITHHELD};
use crate::check_output;
use crate::durable;
use crate::script::{self, End, Program, Script, ScriptError, Stream};

/// The largest schema file that is read.
const LARGEST_SCHEMA: u64 = 1 << 20;

/// A schema, and the file that must satisfy it.
#[derive(Debug)]
pub struct ResultSchema {
    schema: Schema,
    /// The name of the file in the output directory.
    pub file: String,
}

/// Why a schema cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResultSchemaError {
    /// It cannot be read.
    #[error("cannot read the schema `{}`", path.display())]
    Io {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not JSON, or not plainly.
    #[error("the schema `{}` {problem}", path.display())]
    NotJson {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
    /// It is no schema.
    #[error("the schema `{}` cannot be used: {problem}", path.display())]
    Invalid {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        problem: SchemaError,
    },
}

impl ResultSchema {
    /// Reads the schema at `path` for the output file `file`.
    pub fn read(path: &Path, file: &str) -> Result<Self, ResultSchemaError> {
        let failed = |source| ResultSchemaError::Io { path: path.to_owned(), source };
        let not_json = |problem| ResultSchemaError::NotJson { path: path.to_owned(), problem };
        // Whoever names a link means what it leads to.
        let real = path.canonicalize().map_err(failed)?;
        let bytes =
            durable::read(&real, LARGEST_SCHEMA).map_err(failed)?.ok_or_else(|| not_json("is too large"))?;
        let value =
            fullsend_guard::hook::parse_strict(&bytes).map_err(|problem| not_json(problem.as_str()))?;
        let schema = Schema::compile(&value)
            .map_err(|problem| ResultSchemaError::Invalid { path: path.to_owned(), problem })?;
        Ok(Self { schema, file: file.to_owned() })
    }

    /// What is wrong with the result below `output`; nothing if it fits. Says nothing of the values in it.
    pub fn problems(&self, output: &Path) -> Vec<String> {
        check_output::problems(&output.join(&self.file), &self.schema)
    }
}

/// How the result is checked.
#[derive(Debug)]
pub struct Validator<'a> {
    /// By a schema.
    pub schema: Option<&'a ResultSchema>,
    /// By a script, which accepts it with exit code 0.
    pub script: Option<&'a Path>,
    /// All variables of the script, besides those of [`Subject`].
    pub env: &'a BTreeMap<String, String>,
    /// How long the script may take.
    pub timeout: Duration,
    /// The wish to end it.
    pub cancel: &'a Cancel,
}

/// What is checked.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The directory of the run.
    pub run: &'a Path,
    /// The directory of the iteration: the script runs in it.
    pub iteration: &'a Path,
    /// The agent's copy of the repository, if it could be extracted.
    pub repo: Option<&'a Path>,
    /// The schema on the host, if there is one.
    pub schema: Option<&'a Path>,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It is what was asked for.
    Valid,
    /// There is nothing that it could be held against.
    NothingToCheck,
    /// It is not; what the checks say, as they say it.
    Invalid {
        /// In their words: not fit to be shown to anybody yet.
        said: String,
    },
    /// Nothing can be said about it.
    Unchecked {
        /// Why not.
        reason: String,
    },
    /// The run is to end.
    Cancelled,
}

impl Validator<'_> {
    /// Checks what an iteration left: the schema first, since it is quick and exact, then the script.
    pub async fn check(
        &self,
        subject: &Subject<'_>,
        told: &mut (dyn FnMut(Stream, &str) + Send),
    ) -> Result<Verdict, ScriptError> {
        if let Some(schema) = self.schema {
            let problems = schema.problems(&subject.iteration.join("output"));
            if !problems.is_empty() {
                return Ok(Verdict::Invalid { said: problems.join("\n") });
            }
        }
        let Some(path) = self.script else {
            return Ok(if self.schema.is_some() { Verdict::Valid } else { Verdict::NothingToCheck });
        };
        let env = self.env_of(subject);
        let (program, directory) = (Program::File(path), subject.iteration);
        let script = Script { program, directory, env: &env, timeout: self.timeout, cancel: self.cancel };
        let ran = script::run(&script, told).await?;
        Ok(match ran.end {
            End::Exited(0) => Verdict::Valid,
            End::Exited(code) if ran.output.trim().is_empty() => Verdict::Invalid {
                said: format!("the validation script exited with code {code} and said nothing"),
            },
            End::Exited(_) => Verdict::Invalid { said: ran.output },
            End::Signal(signal) => {
                Verdict::Unchecked { reason: format!("the validation script was ended by signal {signal}") }
            }
            End::TimedOut => Verdict::Unchecked { reason: "the validation script took too long".to_owned() },
            End::Cancelled(_) => Verdict::Cancelled,
        })
    }

    /// An empty `TARGET_REPO_DIR` says that there is no copy to look at; a missing one would be inherited by mistake.
    fn env_of(&self, subject: &Subject<'_>) -> BTreeMap<String, String> {
        let text = |path: Option<&Path>| path.map(|path| path.display().to_string()).unwrap_or_default();
        let mut env = self.env.clone();
        env.insert("TARGET_REPO_DIR".to_owned(), text(subject.repo));
        env.insert("FULLSEND_RUN_DIR".to_owned(), text(Some(subject.run)));
        env.insert("FULLSEND_OUTPUT_SCHEMA".to_owned(), text(subject.schema));
        env
    }
}
