//! A harness as data, with the place of every value.

use std::path::{Path, PathBuf};

use fullsend_yaml::{Diagnostic, SourceMap, Visitor, Walk};
use indexmap::IndexMap;
use serde::Serialize;
use thiserror::Error;

use crate::compose::overlay;
use crate::config::{Configuration, Lookup};
use crate::library::Library;
use crate::schema::HarnessFile;
use crate::value::Platform;

/// How much composition to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShowOptions {
    /// Merge the chain of bases.
    pub resolved_base: bool,
    /// Apply a platform's overlay.
    pub forge: Option<Platform>,
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

/// A harness ready to be shown.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    /// The fullsend directory.
    pub root: PathBuf,
    /// The file that was asked for.
    pub path: PathBuf,
    /// The local files that were merged, the harness itself first.
    pub chain: Vec<PathBuf>,
    /// The harness; written to a file, it is a harness again.
    pub harness: serde_json::Value,
    /// The place of every value, by JSON Pointer.
    pub origins: IndexMap<String, Origin>,
}

/// Why a harness cannot be shown.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShowError {
    /// No harness of that name.
    #[error("no harness `{name}` in `{}`", root.display())]
    Unknown {
        /// What was asked for.
        name: String,
        /// The fullsend directory.
        root: PathBuf,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The agent is registered, but switched off.
    #[error("the agent `{name}` is disabled in `config.yaml`")]
    Disabled {
        /// The agent.
        name: String,
    },
    /// The harness is remote.
    #[error("the agent `{name}` is registered with a remote harness, `{url}`, which is not fetched here")]
    Remote {
        /// The agent.
        name: String,
        /// Where its harness is.
        url: String,
    },
    /// The chain ends in a remote base.
    #[error("the base `{url}` is remote and is not fetched here")]
    RemoteBase {
        /// The base.
        url: String,
    },
    /// The harness has overlays, but none for the platform.
    #[error("the harness has no `forge.{}`", platform.as_str())]
    ForgeNotConfigured {
        /// The platform.
        platform: Platform,
    },
    /// The harness has errors.
    #[error("the harness cannot be composed")]
    Broken {
        /// The files, for showing places.
        sources: Box<SourceMap>,
        /// The problems.
        problems: Vec<Diagnostic>,
    },
    /// The harness cannot be written as data.
    #[error("the harness cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}

/// Shows the harness that `name` leads to in the fullsend directory `root`.
///
/// # Errors
/// When there is none, or it cannot be composed as asked.
pub fn show(root: &Path, name: &str, options: ShowOptions) -> Result<Shown, ShowError> {
    let mut library = Library::new(root);
    let mut problems = Vec::new();
    let configuration = library.configuration(&mut problems);
    // A broken configuration may hide a registered agent, so it is not passed over.
    if configuration.damaged {
        return Err(broken(library, problems));
    }
    let path = locate(&configuration, root, name)?;
    let (harness, chain) = composed(&mut library, &path, options, &mut problems)
        .ok_or(())
        .and_then(|found| if problems.iter().any(Diagnostic::is_error) { Err(()) } else { Ok(found) })
        .map_err(|()| ShowError::Broken { sources: Box::new(library.sources().clone()), problems })?;
    if let Some(base) = harness.base.as_ref().filter(|base| options.resolved_base && base.local().is_none()) {
        return Err(ShowError::RemoteBase { url: base.value.to_string() });
    }
    let harness = match options.forge {
        Some(platform) => overlay(harness, platform).ok_or(ShowError::ForgeNotConfigured { platform })?,
        None => harness,
    };
    Ok(Shown {
        root: root.to_owned(),
        path,
        chain,
        origins: origins(&harness, library.sources()),
        harness: serde_json::to_value(&harness)?,
    })
}

fn broken(library: Library, problems: Vec<Diagnostic>) -> ShowError {
    ShowError::Broken { sources: Box::new(library.into_sources()), problems }
}

/// The harness file that a name leads to.
///
/// # Errors
/// When there is none here.
pub fn locate(configuration: &Configuration, root: &Path, name: &str) -> Result<PathBuf, ShowError> {
    let name = name.to_owned();
    match configuration.look_up(root, &name) {
        Lookup::File(path) => Ok(path),
        Lookup::Remote(url) => Err(ShowError::Remote { name, url }),
        Lookup::Disabled => Err(ShowError::Disabled { name }),
        Lookup::Unknown(known) => Err(ShowError::Unknown { name, root: root.to_owned(), known }),
    }
}

fn composed(
    library: &mut Library,
    path: &Path,
    options: ShowOptions,
    problems: &mut Vec<Diagnostic>,
) -> Option<(HarnessFile, Vec<PathBuf>)> {
    if options.resolved_base {
        let composition = library.compose(path, problems)?;
        return Some((composition.harness.as_ref().clone(), composition.chain));
    }
    let loaded = library.harness(path, problems)?;
    Some((loaded.harness?.as_ref().clone(), vec![path.to_owned()]))
}

fn origins(harness: &HarnessFile, sources: &SourceMap) -> IndexMap<String, Origin> {
    let mut origins = IndexMap::new();
    harness.walk(&mut Visitor::new(&mut |pointer, at| {
        if let Some((file, position)) = sources.resolve(at) {
            let origin = Origin { file: file.to_owned(), line: position.line, column: position.column };
            origins.insert(pointer.to_owned(), origin);
        }
    }));
    origins
}
