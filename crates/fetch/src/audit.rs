//! The audit log: one line of JSON for everything that was fetched, found in the cache, or refused.
//!
//! The log at `<workspace>/.fullsend-cache/fetch-audit.jsonl` answers later what came into a run, from where, and
//! under whose permission. Other programs read it, so the keys and their order are fixed. Lines are whole: each is
//! written by a single append under a lock, and a line that a dying writer cut short is closed before the next one.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_origin::Sha256Digest;
use jiff::Timestamp;
use serde::Serialize;
use thiserror::Error;

use crate::cache::{self, CACHE_DIR, CacheError};
use crate::clock::Clock;
use crate::json;

/// The log in the cache directory.
const FILE: &str = "fetch-audit.jsonl";

/// On whose behalf something was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FetchType {
    /// A reference in a harness, a base or an agent source.
    Static,
    /// Asked for by the agent during a run.
    Runtime,
    /// A script beside a remote base.
    BaseScript,
    /// Another file beside a remote base.
    BaseResource,
    /// A skill beside a remote base.
    BaseSkill,
    /// A plugin beside a remote base.
    BasePlugin,
}

impl FetchType {
    /// The word in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Runtime => "runtime",
            Self::BaseScript => "base_script",
            Self::BaseResource => "base_resource",
            Self::BaseSkill => "base_skill",
            Self::BasePlugin => "base_plugin",
        }
    }
}

/// Where the content came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Over the network, now.
    Network,
    /// From the cache.
    Cache,
}

/// Something that was resolved.
#[derive(Clone, Copy, Debug)]
pub struct Success<'a> {
    /// The URL without its pin.
    pub url: &'a str,
    /// The digest of the file or tree.
    pub digest: Sha256Digest,
    /// On whose behalf.
    pub fetch_type: FetchType,
    /// The allow-list entry that permitted it, as written.
    pub allowed_by: &'a str,
    /// Where it came from.
    pub source: Source,
}

/// Something that was refused or failed.
#[derive(Clone, Copy, Debug)]
pub struct Refusal<'a> {
    /// The URL, as far as it was understood, without its pin.
    pub url: &'a str,
    /// The digest that was asked for, if there was one.
    pub digest: Option<Sha256Digest>,
    /// On whose behalf.
    pub fetch_type: FetchType,
    /// The allow-list entry that would have permitted it, if there was one.
    pub allowed_by: Option<&'a str>,
    /// The stable code of the error.
    pub code: &'a str,
    /// The message of the error.
    pub reason: &'a str,
}

/// A line as it is written; the order of the fields is the order of the keys.
#[derive(Debug, Serialize)]
struct Line<'a> {
    trace_id: &'a str,
    fetch_time: Timestamp,
    url: &'a str,
    sha256: String,
    fetch_type: &'a str,
    allowed_by: &'a str,
    cache_hit: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// Writes the audit log of one run.
#[derive(Clone, Debug)]
pub struct Audit {
    path: PathBuf,
    trace_id: String,
    clock: Arc<dyn Clock>,
}

impl Audit {
    /// The log of `workspace`, for the run that `trace_id` names. Nothing is created before the first line.
    pub fn open(
        workspace: &Path,
        trace_id: impl Into<String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, AuditError> {
        let workspace = std::path::absolute(workspace).map_err(AuditError::io(workspace))?;
        Ok(Self { path: workspace.join(CACHE_DIR).join(FILE), trace_id: trace_id.into(), clock })
    }

    /// Where the log is, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Logs something that was resolved, at the time of this call.
    pub fn success(&self, event: &Success<'_>) -> Result<(), AuditError> {
        self.append(&Line {
            trace_id: &self.trace_id,
            fetch_time: self.clock.now(),
            url: event.url,
            sha256: event.digest.to_string(),
            fetch_type: event.fetch_type.as_str(),
            allowed_by: event.allowed_by,
            cache_hit: event.source == Source::Cache,
            refused: None,
            reason: None,
        })
    }

    /// Logs something that was refused, at the time of this call.
    pub fn refusal(&self, event: &Refusal<'_>) -> Result<(), AuditError> {
        self.append(&Line {
            trace_id: &self.trace_id,
            fetch_time: self.clock.now(),
            url: event.url,
            sha256: event.digest.map(|digest| digest.to_string()).unwrap_or_default(),
            fetch_type: event.fetch_type.as_str(),
            allowed_by: event.allowed_by.unwrap_or_default(),
            cache_hit: false,
            refused: Some(event.code),
            reason: Some(event.reason),
        })
    }

    /// Appends one line in one write.
    fn append(&self, line: &Line<'_>) -> Result<(), AuditError> {
        let mut text = json::compact(line).map_err(AuditError::Json)?;
        text.push('\n');
        let directory = self.path.parent().unwrap_or(&self.path);
        cache::ensure_real_dir(directory).map_err(AuditError::Directory)?;
        write_line(&self.path, &text).map_err(AuditError::io(&self.path))
    }
}

/// Appends `line`, first closing a line that was cut short.
fn write_line(path: &Path, line: &str) -> io::Result<()> {
    let mut file = cache::files::open_append(path)?;
    file.lock()?;
    if is_cut_short(&mut file)? {
        return file.write_all(format!("\n{line}").as_bytes());
    }
    file.write_all(line.as_bytes())
}

/// Whether the last line has no end.
fn is_cut_short(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Why a line could not be logged. The caller decides whether to go on without it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The log could not be written.
    #[error("cannot write the fetch audit log `{}`", path.display())]
    Io {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory of the log could not be used.
    #[error("cannot use the directory of the fetch audit log")]
    Directory(#[source] CacheError),
    /// The line could not be turned into JSON.
    #[error("cannot write the audit line as JSON")]
    Json(#[source] serde_json::Error),
}

impl AuditError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "audit-io",
            Self::Directory(_) => "audit-directory",
            Self::Json(_) => "audit-json",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Io { path, .. } => {
                Some(format!("make `{}` a file that can be written, or remove it", path.display()))
            }
            Self::Directory(error) => error.help(),
            Self::Json(_) => None,
        }
    }

    /// Wraps an error of the system; made for `map_err`.
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests;
