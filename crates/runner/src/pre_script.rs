//! What a pre-script says about the run: go on, or skip it, and what it tells the workflow.
//!
//! It writes lines `key=value` into a file of ours. Exit code 0 means that the file counts; 78 means that the run is skipped,
//! whatever the file says; any other code ends the run.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use thiserror::Error;

use crate::durable;
use crate::script::{End, Ran};

/// The variable that names the file.
pub const OUTPUT_VARIABLE: &str = "FULLSEND_PRESCRIPT_OUTPUT";

/// The exit code that skips the run.
pub const SKIP: i32 = 78;

/// The largest file that is read.
pub(crate) const LARGEST: u64 = 1 << 20;

/// The longest reason, in bytes.
const LONGEST_REASON: usize = 1024;

/// What a pre-script said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// Whether the run is skipped.
    pub skipped: bool,
    /// Why.
    pub reason: Option<String>,
    /// Everything else.
    pub outputs: BTreeMap<String, String>,
}

/// Why a pre-script ends the run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PreScriptError {
    /// It failed.
    #[error("the pre-script {0}; exit code 0 goes on with the run, {SKIP} skips it")]
    Failed(String),
    /// Its file is gone or cannot be read.
    #[error(
        "the file that `{OUTPUT_VARIABLE}` names cannot be read; append lines to it and leave it in its place"
    )]
    Unreadable(#[source] io::Error),
    /// Its file is larger than allowed.
    #[error("the file that `{OUTPUT_VARIABLE}` names has more than {LARGEST} bytes")]
    TooLarge,
    /// A line of it.
    #[error("line {line} of the file that `{OUTPUT_VARIABLE}` names: {problem}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        problem: LineProblem,
    },
    /// The workflow cannot be told.
    #[error("cannot write the outputs of the pre-script to `{path}`")]
    Relay {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// It is something else.
    #[error("not of the form `key=value`")]
    NotAPair,
    /// The key.
    #[error("a key begins with a letter or `_` and goes on with letters, digits, `_` and `-`")]
    Key,
    /// A key that looks like one with a meaning.
    #[error("write `{0}` in lower case")]
    Case(&'static str),
    /// The form for values of several lines.
    #[error("a value has one line; `key<<` is not supported")]
    Heredoc,
    /// The value.
    #[error("control characters are not allowed in a value")]
    Control,
    /// `skipped`.
    #[error("`skipped` is `true` or `false`")]
    Skipped,
    /// The encoding.
    #[error("not UTF-8")]
    Encoding,
}

/// Reads what a pre-script wrote. The last of several lines with the same key counts.
pub fn parse(bytes: &[u8]) -> Result<Declared, PreScriptError> {
    let mut declared = Declared::default();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let at_line = |problem| PreScriptError::Line { line: at + 1, problem };
        let line = std::str::from_utf8(line).map_err(|_| at_line(LineProblem::Encoding))?.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = pair(line).map_err(at_line)?;
        match key {
            "skipped" => {
                declared.skipped = match value {
                    "true" => true,
                    "false" => false,
                    _ => return Err(at_line(LineProblem::Skipped)),
                }
            }
            "reason" => declared.reason = Some(value.to_owned()).filter(|reason| !reason.is_empty()),
            _ => {
                declared.outputs.insert(key.to_owned(), value.to_owned());
            }
        }
    }
    Ok(declared)
}

fn pair(line: &str) -> Result<(&str, &str), LineProblem> {
    let before_heredoc = line.split_once("<<").map(|(key, _)| key.trim());
    let (key, value) = match line.split_once('=') {
        None if before_heredoc.is_some_and(is_key) => return Err(LineProblem::Heredoc),
        None => return Err(LineProblem::NotAPair),
        Some((key, value)) => (key.trim(), value.trim()),
    };
    if before_heredoc.is_some_and(|before| before.len() < key.len() && is_key(before)) {
        return Err(LineProblem::Heredoc);
    }
    if !is_key(key) {
        return Err(LineProblem::Key);
    }
    for known in ["skipped", "reason"] {
        if key != known && key.eq_ignore_ascii_case(known) {
            return Err(LineProblem::Case(known));
        }
    }
    if value.chars().any(char::is_control) {
        return Err(LineProblem::Control);
    }
    Ok((key, value))
}

fn is_key(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// What follows from how the pre-script ended and what it wrote to `file`.
pub fn judge(ran: &Ran, file: &Path) -> Result<Declared, PreScriptError> {
    match ran.end {
        End::Exited(0) => read(file),
        End::Exited(SKIP) => {
            // The exit code decides; the file may only add to it.
            let mut declared = read(file).unwrap_or_default();
            declared.skipped = true;
            let printed = || ran.last_line.as_deref().map(reason).filter(|reason| !reason.is_empty());
            declared.reason = declared.reason.or_else(printed);
            Ok(declared)
        }
        End::Exited(code) => Err(PreScriptError::Failed(format!("failed with exit code {code}"))),
        End::Signal(signal) => Err(PreScriptError::Failed(format!("was ended by signal {signal}"))),
        End::TimedOut => Err(PreScriptError::Failed("took too long and was ended".to_owned())),
        End::Cancelled(_) => Err(PreScriptError::Failed("was ended with the run".to_owned())),
    }
}

fn read(file: &Path) -> Result<Declared, PreScriptError> {
    let bytes = durable::read(file, LARGEST).map_err(PreScriptError::Unreadable)?;
    parse(&bytes.ok_or(PreScriptError::TooLarge)?)
}

fn reason(line: &str) -> String {
    let mut text: String = line.trim().chars().filter(|letter| !letter.is_control()).collect();
    let end = (0..=LONGEST_REASON.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or_default());
    text
}

/// Tells the workflow, by appending to the file at `path`: `skipped` first, then the other keys in order. A run without a
/// pre-script tells it too, with what [`Declared::default`] says.
pub fn relay(declared: &Declared, path: &Path) -> Result<(), PreScriptError> {
    let mut text = format!("skipped={}\n", declared.skipped);
    let reason = declared.reason.as_deref().map(|reason| ("reason", reason));
    let mut others: BTreeMap<&str, &str> = reason.into_iter().collect();
    others.extend(declared.outputs.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    for (key, value) in others {
        text.push_str(&format!("{key}={value}\n"));
    }
    let written = OpenOptions::new().append(true).create(true).open(path);
    written
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|source| PreScriptError::Relay { path: path.display().to_string(), source })
}
