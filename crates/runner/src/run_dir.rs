//! The directory of a run: its name, and where everything in it is.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

use crate::durable;

/// How many letters of the agent's name are in the name of a run.
const LETTERS: usize = 3;
/// How many random digits are.
const DIGITS: usize = 12;

/// The name of a run, and of its sandbox: `fs-`, three letters, `-` and twelve hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunName(String);

impl RunName {
    /// A new one, which begins with the first letters of the agent's name.
    pub fn generate(agent: &str) -> Self {
        let letters =
            agent.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase());
        let letters: String = letters.chain(std::iter::repeat('x')).take(LETTERS).collect();
        let digits: String = Uuid::new_v4().simple().to_string().chars().take(DIGITS).collect();
        Self(format!("fs-{letters}-{digits}"))
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl FromStr for RunName {
    type Err = NotARunName;

    fn from_str(text: &str) -> Result<Self, NotARunName> {
        let parts = text.strip_prefix("fs-").and_then(|rest| rest.split_once('-'));
        let (letters, digits) = parts.ok_or(NotARunName)?;
        let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let fits = letters.len() == LETTERS
            && letters.bytes().all(|byte| byte.is_ascii_lowercase())
            && digits.len() == DIGITS
            && digits.bytes().all(hexadecimal);
        if fits { Ok(Self(text.to_owned())) } else { Err(NotARunName) }
    }
}

/// A text that is not the name of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the name of a run is `fs-`, three letters, `-` and twelve hexadecimal digits, such as `fs-rev-0123456789ab`"
)]
pub struct NotARunName;

/// Why there is no run directory.
#[derive(Debug, Error)]
#[error("cannot make the run directory `{}`", path.display())]
pub struct RunDirError {
    path: PathBuf,
    source: io::Error,
}

/// The directory of one run.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Makes `<output_dir>/<name>`, which must not exist yet, for the owner only.
    pub fn create(output_dir: &Path, name: &RunName) -> Result<Self, RunDirError> {
        let path = output_dir.join(name.as_str());
        let failed = |source| RunDirError { path: path.clone(), source };
        std::fs::create_dir_all(output_dir).map_err(failed)?;
        // Scripts of the harness run in another directory, and are told these paths.
        let path = output_dir.canonicalize().map_err(failed)?.join(name.as_str());
        let made = Self { path };
        let directories = [made.path.clone(), made.security(), made.logs()];
        for directory in directories {
            durable::create_dir(&directory).map_err(|source| {
                // Half a directory would claim a run that never was. It is ours: nothing was there before.
                let _as_empty_as_it_was =
                    made.path.ne(&directory).then(|| std::fs::remove_dir_all(&made.path));
                RunDirError { path: directory, source }
            })?;
        }
        Ok(made)
    }

    /// A directory that exists already.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the run stands.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.json")
    }

    /// What the run used.
    pub fn metrics(&self) -> PathBuf {
        self.path.join("metrics.json")
    }

    /// The trace of the run.
    pub fn telemetry(&self) -> PathBuf {
        self.path.join("run-telemetry.jsonl")
    }

    /// Everything that happened.
    pub fn events(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// The directory of the findings log.
    pub fn security(&self) -> PathBuf {
        self.path.join("security")
    }

    /// The findings log.
    pub fn findings(&self) -> PathBuf {
        self.security().join("findings.jsonl")
    }

    /// Logs of the sandbox.
    pub fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// What the pre-script says about the run.
    pub fn pre_script_output(&self) -> PathBuf {
        self.path.join("prescript.out")
    }

    /// Records of the runtime's own.
    pub fn records(&self) -> PathBuf {
        self.path.join("records")
    }

    /// Where an iteration, counted from 1, leaves its files.
    pub fn iteration(&self, number: u32) -> IterationDir {
        IterationDir { path: self.path.join(format!("iteration-{number}")) }
    }

    /// Makes the directory of an iteration, with what is always in it.
    pub fn create_iteration(&self, number: u32) -> Result<IterationDir, RunDirError> {
        let made = self.iteration(number);
        for directory in [made.path.clone(), made.transcripts()] {
            durable::create_dir(&directory).map_err(|source| RunDirError { path: directory, source })?;
        }
        Ok(made)
    }

    /// Removes the copies of the repository of all iterations but one: they are large, and only one is the result.
    pub fn keep_repo_of(&self, iterations: u32, kept: Option<u32>) -> io::Result<()> {
        for number in (1..=iterations).filter(|number| Some(*number) != kept) {
            match std::fs::remove_dir_all(self.iteration(number).repo()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// The files of one iteration.
#[derive(Clone, Debug)]
pub struct IterationDir {
    path: PathBuf,
}

impl IterationDir {
    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The raw stream of the runtime.
    pub fn stream(&self) -> PathBuf {
        self.path.join("output.jsonl")
    }

    /// What the agent delivered. Made when it is extracted.
    pub fn output(&self) -> PathBuf {
        self.path.join("output")
    }

    /// What the runtime wrote about the conversation.
    pub fn transcripts(&self) -> PathBuf {
        self.path.join("transcripts")
    }

    /// The runtime's debug log, by the runtime's name for it.
    pub fn debug_log(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The agent's copy of the repository. Made when it is extracted.
    pub fn repo(&self) -> PathBuf {
        self.path.join("repo")
    }

    /// What is different in that copy.
    pub fn changes(&self) -> PathBuf {
        self.path.join("changes.patch")
    }
}
