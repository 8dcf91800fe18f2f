//! The documents of one fullsend directory, each read once.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_origin::PinnedUrl;
use fullsend_yaml::{
    Diagnostic, FileId, FromNode, Limits, Location, Reader, Rule, SourceMap, parse, rules as yaml_rules,
};
use thiserror::Error;

use crate::path::normalize;
use crate::rules;
use crate::schema::HarnessFile;

/// Why a file could not be read at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system said no.
    #[error("cannot read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Something other than a regular file is there. A pipe or device could block the reader or never end.
    #[error("`{}` is {kind}, not a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What is there.
        kind: &'static str,
    },
}

impl ReadError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            ReadError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                "make it readable for the user who runs fullsend".to_owned()
            }
            ReadError::Io { .. } => "create the file, or correct the path".to_owned(),
            ReadError::NotAFile { .. } => "put a regular file there, or rename what is there".to_owned(),
        }
    }

    fn rule(&self) -> &'static Rule {
        match self {
            ReadError::Io { .. } => &rules::MISSING_FILE,
            ReadError::NotAFile { .. } => &rules::FILE_KIND,
        }
    }
}

/// A harness file as it stands, before composition.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The file in the source map.
    pub file: FileId,
    /// The harness, unless the file is beyond reading.
    pub harness: Option<Arc<HarnessFile>>,
    /// Whether the file has errors, so that what it seems to lack may merely be unreadable.
    pub damaged: bool,
}

/// Reads the documents of a fullsend directory and keeps them, so that a base shared by many harnesses is read once.
#[derive(Debug)]
pub struct Library {
    root: PathBuf,
    limits: Limits,
    sources: SourceMap,
    harnesses: HashMap<PathBuf, Loaded>,
    provided: HashMap<String, Loaded>,
}

impl Library {
    /// A library of the fullsend directory `root`, which need not exist.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            limits: Limits::default(),
            sources: SourceMap::new(),
            harnesses: HashMap::new(),
            provided: HashMap::new(),
        }
    }

    /// The fullsend directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files read so far, for showing places.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// The files read so far, when nothing more will be read.
    #[must_use]
    pub fn into_sources(self) -> SourceMap {
        self.sources
    }

    /// A harness file, with its problems reported the first time it is asked for.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn try_harness(&mut self, path: &Path, problems: &mut Vec<Diagnostic>) -> Result<Loaded, ReadError> {
        let path = normalize(path);
        if let Some(loaded) = self.harnesses.get(&path) {
            return Ok(loaded.clone());
        }
        let mut found = Vec::new();
        let (file, harness) = self.document(&path, &mut found)?;
        let damaged = found.iter().any(Diagnostic::is_error);
        let loaded = Loaded { file, harness: harness.map(Arc::new), damaged };
        problems.append(&mut found);
        self.harnesses.insert(path, loaded.clone());
        Ok(loaded)
    }

    /// Reads the text of a remote harness whose content was verified; places in it are shown by its URL.
    pub fn read_remote(&mut self, url: &PinnedUrl, text: &str, problems: &mut Vec<Diagnostic>) -> Loaded {
        let file = self.sources.add(url.url().as_str(), text);
        let parsed = parse(&self.sources, file, self.limits);
        let mut found = parsed.problems;
        let harness =
            parsed.root.and_then(|root| HarnessFile::from_node(&root, &mut Reader::new(&mut found)));
        let damaged = found.iter().any(Diagnostic::is_error);
        problems.append(&mut found);
        Loaded { file, harness: harness.map(Arc::new), damaged }
    }

    /// Makes a remote base known, so that composition can follow it.
    pub fn provide(&mut self, url: &PinnedUrl, loaded: Loaded) {
        self.provided.insert(url.to_string(), loaded);
    }

    /// Forgets the remote bases that were provided: they were prepared for one harness on one platform.
    pub fn withdraw(&mut self) {
        self.provided.clear();
    }

    /// A remote base that was provided.
    pub(crate) fn provided(&self, url: &PinnedUrl) -> Option<&Loaded> {
        self.provided.get(&url.to_string())
    }

    /// As [`Library::try_harness`], with an unreadable file reported as a problem.
    pub fn harness(&mut self, path: &Path, problems: &mut Vec<Diagnostic>) -> Option<Loaded> {
        match self.try_harness(path, problems) {
            Ok(loaded) => Some(loaded),
            Err(error) => {
                problems.push(self.unreadable(path, &error));
                None
            }
        }
    }

    /// Reads a YAML document of any type.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn document<T: FromNode>(
        &mut self,
        path: &Path,
        problems: &mut Vec<Diagnostic>,
    ) -> Result<(FileId, Option<T>), ReadError> {
        let Some(file) = self.text(path, problems)? else {
            return Ok((self.sources.add(path, ""), None));
        };
        let parsed = parse(&self.sources, file, self.limits);
        problems.extend(parsed.problems);
        let value = parsed.root.and_then(|root| T::from_node(&root, &mut Reader::new(problems)));
        Ok((file, value))
    }

    /// Reads a text file into the source map; too long or undecodable ones are reported and `None`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn text(&mut self, path: &Path, problems: &mut Vec<Diagnostic>) -> Result<Option<FileId>, ReadError> {
        tracing::debug!(path = %path.display(), "reading");
        let bytes = read_bounded(path, self.limits.bytes)?;
        if bytes.len() > self.limits.bytes {
            let file = self.sources.add(path, "");
            let message = format!("the file has more than {} bytes", self.limits.bytes);
            problems.push(Diagnostic::new(&yaml_rules::TOO_LARGE, Location::new(file, 0..0), message));
            return Ok(None);
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(self.sources.add(path, text))),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let file = self.sources.add(path, String::from_utf8_lossy(error.as_bytes()));
                let message = format!("the byte at offset {valid} is not UTF-8");
                problems.push(Diagnostic::new(
                    &yaml_rules::ENCODING,
                    Location::new(file, valid..valid),
                    message,
                ));
                Ok(None)
            }
        }
    }

    /// A problem that stands for a file which cannot be read.
    pub fn unreadable(&mut self, path: &Path, error: &ReadError) -> Diagnostic {
        let file = self.sources.add(path, "");
        Diagnostic::new(error.rule(), Location::new(file, 0..0), error.to_string()).with_help(error.help())
    }

    /// What a document may cost.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }
}

/// Reads at most one byte more than the limit: enough to know that a file is too long without holding all of it.
fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, ReadError> {
    let failed = |source| ReadError::Io { path: path.to_owned(), source };
    // Looked at before it is opened: opening a pipe waits for a writer.
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        let kind = if metadata.is_dir() { "a directory" } else { "a pipe, socket or device" };
        return Err(ReadError::NotAFile { path: path.to_owned(), kind });
    }
    let capacity = usize::try_from(metadata.len()).unwrap_or(limit).min(limit) + 1;
    let mut bytes = Vec::with_capacity(capacity);
    let file = File::open(path).map_err(failed)?;
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
